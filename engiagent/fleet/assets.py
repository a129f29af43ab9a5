"""What a worker does for one asset: plan it, or price what it takes of the shared limit."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from engiagent.errors import EngiagentError, InputError
from engiagent.fleet.description import Template
from engiagent.formulations.program import Program, row_sums
from engiagent.formulations.values import Floats
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solution import to_arrays
from engiagent.solvers.solving import solve
from engiagent.study.live import Live, Setting
from engiagent.verify.certificate import SEAL, seal_of

Json = dict[str, Any]
ABOUT: Final = b"engiagent"
"""The key of what a part says of its columns."""
FIELDS: Final = {
    **dict.fromkeys(("asset", "verdict", "reason", "certificate", SEAL), pa.string()),
    **dict.fromkeys(("objective", "bound"), pa.float64()),
    "taken": pa.list_(pa.float64()),  # of the shared limit
}
ROOM: Final = 1e-9
"""Share by which a plan may exceed what it is given of the shared limit: rounding."""


class Ask(NamedTuple):
    """What is asked of an asset: its best plan, or what it takes of the shared limit."""

    name: str
    values: tuple[float, ...]
    prices: Sequence[float] = ()  # ask for cost, bound and what is taken by the best plan at them
    most: Sequence[float] = ()  # ask for the best plan that takes no more than this instead


class Planner:
    """The template compiled once on a worker, with places that each asset fills."""

    def __init__(self, template: Template) -> None:
        places = [variation.name for variation in template.variations]
        setting = Setting(template.folder, isolate=False)
        self.template, self.live = template, Live(template.blueprint, places, setting)
        self.sign = 1.0 if self.live.program.sense == "minimize" else -1.0
        if template.limit is not None:
            self._share(self.live.program, template.limit)

    def _share(self, program: Program, name: str) -> None:
        """Take the rows of the shared limit, their matrix, and what they come to at most."""
        if program.is_mip or not program.is_linear or program.goals:
            found = "whole numbers, products or several goals in the template"
            text, expected = "a shared limit needs plans that can be mixed", "a linear programme"
            raise InputError(text, found=found, expected=expected)
        known = {block.constraint_id: block for block in program.rows if not block.generated}
        if name not in known:
            expected = ", ".join(known)
            raise InputError("the template has no such requirement", found=name, expected=expected)
        self.rows, self.unit = slice(known[name].start, known[name].stop), known[name].unit
        self.limit = program.row_upper[self.rows].copy()
        if np.isfinite(program.row_lower[self.rows]).any() or not np.isfinite(self.limit).all():
            raise InputError("this is no upper limit", found=name, expected="quantities <= a limit")
        self.starts = program.row_starts[self.rows.start : self.rows.stop + 1]
        self.terms = slice(int(self.starts[0]), int(self.starts[-1]))
        self.columns = program.row_columns[self.terms].copy()
        self.factors = program.row_values[self.terms].copy()

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a plan's row: what stands of it, and a list of numbers a quantity."""
        program = self.live.program
        about: Json = dict.fromkeys(("reason", "solver", "solver_version"), "")
        x = np.zeros(program.column_count)
        arrays = to_arrays(program, SolverResult(status="feasible", is_mip=False, x=x, **about))
        series, axes = arrays.data_vars, arrays.coords
        used = {dim for a in series.values() for dim in a.dims}
        about = {"unit": program.objective_unit, "sense": program.sense}
        about["dims"] = {name: a.dims for name, a in series.items()}
        about["units"] = {name: a.attrs.get("units") or "1" for name, a in series.items()}
        about["axes"] = {k: list(map(str, v.values)) for k, v in axes.items() if k in used}
        if self.template.limit is not None:
            about["limit"] = {"name": self.template.limit, "unit": self.unit}
            about["limit"]["at_most"] = self.limit.tolist()
        lists = dict.fromkeys(series, pa.list_(pa.float64()))
        return pa.schema(FIELDS | lists, {ABOUT: json.dumps(about)})

    def numbers(self, ask: Ask) -> dict[str, Floats]:
        """Return the numbers at the template's places for an asset."""
        pairs = zip(self.template.variations, ask.values, strict=True)
        return {item.name: self.live.moved(item, value) for item, value in pairs}

    def program(self, ask: Ask) -> Program:
        """Return the program of an asset, of which the shared limit is what it is given."""
        program = self.live.program_at(self.numbers(ask))
        if self.template.limit is None:
            return program
        upper, factors = program.row_upper.copy(), program.row_values[self.terms]
        if (upper[self.rows] != self.limit).any() or (factors != self.factors).any():
            raise EngiagentError(f"{self.template.limit} depends on what the table fills")
        most = np.array(ask.most or math.inf)
        upper[self.rows] = most + ROOM * (1.0 + np.abs(most))
        return replace(program, row_upper=upper)

    def taken(self, x: Floats) -> list[float]:
        """Return what a plan takes of the shared limit in each period."""
        if self.template.limit is None:
            return []
        return list(map(float, row_sums(self.starts, self.factors * x[self.columns])))

    def solved(self, program: Program) -> tuple[SolverResult, Floats]:
        """Return the best plan of a program; EngiagentError when there is none."""
        result = solve(program, SolveOptions(), isolate=False)
        if result.x is None:
            raise EngiagentError(f"{result.status}: {result.reason}")
        return result, result.x

    def priced(self, ask: Ask) -> list[float]:
        """Return cost, proven bound with prices, and what is taken by the best plan at prices.

        All are of a minimisation.
        """
        program, sign = self.program(ask), self.sign
        each, cost = np.repeat(ask.prices, np.diff(self.starts)), program.cost.copy()
        np.add.at(cost, self.columns, sign * self.factors * each)
        result, x = self.solved(replace(program, cost=cost))
        if result.bound is None:
            raise EngiagentError(f"the solver proves no bound: {result.reason}")
        return [sign * program.objective_at(x), sign * result.bound, *self.taken(x)]

    def planned(self, ask: Ask) -> Json:
        """Return the row of a plan."""
        program = self.program(ask)
        result, x = self.solved(program)
        if ask.most:
            reason = "the best that takes no more of the shared limit than it is given"
            no: Json = dict.fromkeys(("row_dual", "column_dual", "bound", "gap"))
            result = replace(result, status="feasible", reason=reason, **no)
        arrays, blueprint = to_arrays(program, result), self.live.at(self.numbers(ask))
        about: Json = {"folder": self.template.folder, "name": ask.name}
        certificate = certify(None, arrays, blueprint, **about)
        row: Json = {
            "verdict": certificate.verdict,
            "certificate": certificate.to_json(),
            "objective": (certificate.objective or {}).get("value"),
            "bound": (certificate.bound or {}).get("value"),
            "taken": self.taken(x),
        }
        if ask.most:  # of the asset with its part of the prices
            row["bound"] = self.sign * self.priced(ask._replace(most=()))[1]
        for name in self.schema.names[len(FIELDS) :]:
            values = np.asarray(arrays.data_vars[name].values, np.float64).ravel().tolist()
            row[name] = [None if value != value else value for value in values]  # JSON has no NaN
        return self.sealed(ask.name, "", row)

    def sealed(self, asset: str, reason: str, row: Json) -> Json:
        """Return the row of an asset with the seal of all that it holds."""
        whole = dict.fromkeys(self.schema.names) | row | {"asset": asset, "reason": reason}
        del whole[SEAL]
        return whole | {SEAL: seal_of(whole)}


def answer(planner: Planner, ask: Ask) -> Any:
    """Return the row of an asset's plan, or what it takes at prices; on a worker."""
    return planner.priced(ask) if ask.prices and not ask.most else planner.planned(ask)
