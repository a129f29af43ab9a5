"""What a worker does for one asset: plan it, price it, or mix plans that prices gave."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.fleet.description import SharedLimit
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solution import to_arrays
from engiagent.solvers.solving import solve
from engiagent.study.live import Live, Setting, Variation

_OF_DUALS = ("dual__", "reduced_cost__")


@dataclass(frozen=True)
class Asset:
    """One row of the table."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Plan:
    """Ask for a plan: the best alone, or a mix of those at some prices.

    ``mix``: shares, which add up to 1, and the prices of each, as bytes of float64.
    """

    asset: Asset
    mix: tuple[tuple[float, bytes], ...] = ()


@dataclass(frozen=True)
class Price:
    """Ask for the best plan at prices of the shared quantity, as bytes of float64."""

    asset: Asset
    prices: bytes


@dataclass(frozen=True)
class Shared:
    """What all assets have in common."""

    blueprint: Blueprint
    folder: str
    variations: tuple[Variation, ...]
    limit: SharedLimit | None
    options: SolveOptions


class Template:
    """The template compiled once on a worker, with places that each asset fills."""

    def __init__(self, shared: Shared) -> None:
        self.folder = Path(shared.folder)
        names = [variation.name for variation in shared.variations]
        setting = Setting(self.folder, shared.options, isolate=False)
        self.live = Live(shared.blueprint, names, setting)
        self.shared = shared

    def numbers(self, asset: Asset) -> dict[str, Floats]:
        """Return the numbers at the template's places for an asset."""
        pairs = zip(self.shared.variations, asset.values, strict=True)
        return {item.name: self.live.moved(item, value) for item, value in pairs}

    def solved(self, program: Program) -> SolverResult:
        """Return the best plan of a program; EngiagentError when there is none."""
        result = solve(program, self.shared.options, isolate=False)
        if result.x is None:
            raise EngiagentError(f"{result.status}: {result.reason}")
        return result

    def priced(self, program: Program, prices: bytes) -> Program:
        """Return a program in which the shared quantity costs its prices as well."""
        assert self.shared.limit is not None
        cost, given = program.cost.copy(), np.frombuffer(prices)
        sign = 1.0 if program.sense == "minimize" else -1.0
        for block, factor in self.shared.limit.rows(program):
            cost[block.start : block.stop] += sign * factor * given
        return replace(program, cost=cost)

    def within(self, program: Program, most: Floats) -> Program:
        """Return a program whose shared quantity is at most this in each period."""
        assert self.shared.limit is not None
        rows = self.shared.limit.rows(program)
        factors = np.array([factor for _, factor in rows])
        columns = np.array([np.arange(block.start, block.stop) for block, _ in rows]).T
        ends = program.row_starts[-1] + len(rows) * np.arange(1, most.size + 1)
        return replace(
            program,
            row_starts=np.append(program.row_starts, ends),
            row_columns=np.concatenate([program.row_columns, columns.ravel()]),
            row_values=np.append(program.row_values, np.tile(factors, most.size)),
            row_lower=np.append(program.row_lower, np.full(most.size, -np.inf)),
            row_upper=np.append(program.row_upper, most),
        )

    def flow(self, program: Program, x: Floats) -> Floats:
        """Return the shared quantity of a plan in each period."""
        assert self.shared.limit is not None
        rows = self.shared.limit.rows(program)
        return np.asarray(sum(factor * x[b.start : b.stop] for b, factor in rows))


def answer(template: Template, task: Plan | Price) -> Any:
    """Return what is asked for an asset; on a worker."""
    new = template.numbers(task.asset)
    program = template.live.program_at(new)
    if isinstance(task, Price):
        return _column(template, program, task.prices)
    result = _mixed(template, program, task) if task.mix else template.solved(program)
    arrays = to_arrays(program, result)
    certificate = certify(
        *(None, arrays, template.live.at(new)), folder=template.folder, name=task.asset.name
    )
    stated = certificate.to_dict()
    named = {k: v for k, v in arrays.data_vars.items() if not k.startswith(_OF_DUALS)}
    return {
        "asset": task.asset.name,
        "status": result.status,
        "verdict": certificate.verdict,
        "objective": (stated.get("objective") or {}).get("value"),
        "bound": (stated.get("bound") or {}).get("value"),
        "series": {k: (v.dims, np.asarray(v.values, np.float64)) for k, v in named.items()},
        "axes": {k: [str(label) for label in v.values] for k, v in arrays.coords.items()},
        "units": {k: str(v.attrs.get("units", "1")) for k, v in named.items()},
        "margins": list(_margins(stated)),
        "flow": None
        if template.shared.limit is None or result.x is None
        else template.flow(program, result.x),
        "seal": stated["sha256"],
        "certificate": zlib.compress(certificate.to_json().encode(), 1),
    }


def _mixed(template: Template, program: Program, task: Plan) -> SolverResult:
    """Return the best plan that takes no more of the shared quantity than a mix of plans.

    The mix itself would do for the programme, but where one of its plans charges a store while
    another discharges it, it does both.
    """
    plans = [template.solved(template.priced(program, prices)) for _, prices in task.mix]
    x = np.array([share for share, _ in task.mix]) @ np.array([plan.x for plan in plans])
    again = solve(
        template.within(program, template.flow(program, x)), template.shared.options, isolate=False
    )
    x = x if again.x is None else again.x
    return replace(
        plans[0],
        status="feasible",
        reason=f"takes no more of what is shared than a mix of {len(plans)} plans",
        x=x,
        objective=program.objective_at(x),
        row_dual=None,
        column_dual=None,
        bound=None,
        gap=None,
    )


def _column(template: Template, program: Program, prices: bytes) -> tuple[float, float, bytes]:
    """Return cost, proven bound with prices, and the shared quantity of the best plan at prices.

    Cost and bound are those of a minimisation.
    """
    result = template.solved(template.priced(program, prices))
    if result.bound is None:
        raise EngiagentError(f"the solver proves no bound: {result.reason}")
    assert result.x is not None
    sign = 1.0 if program.sense == "minimize" else -1.0
    flow = template.flow(program, result.x)
    return sign * program.objective_at(result.x), sign * result.bound, flow.tobytes()


def _margins(certificate: dict[str, Any]) -> Any:
    """Yield id, slack beyond the tolerance, unit and place of the worst row of each check."""
    checks: Sequence[dict[str, Any]] = certificate["levels"].get("algebra", {}).get("checks", ())
    for check in checks:
        worst = check.get("worst") or {}
        if worst.get("slack") is not None:
            place = ", ".join(str(label) for label in worst["where"].values())
            yield check["id"], worst["slack"], worst.get("unit") or "", place
