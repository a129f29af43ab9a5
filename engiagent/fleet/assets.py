"""What a worker does for one asset: plan it, or price what it takes of the shared limit."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from engiagent.errors import EngiagentError, InputError
from engiagent.fleet.description import Template
from engiagent.formulations.program import Program, row_sums
from engiagent.formulations.values import Floats
from engiagent.run.certify import certify
from engiagent.solvers.highs import run_highs
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session_engines import ARRAYS, HighsEngine
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
Values = tuple[float, ...]
"""Of the places that the table fills."""


class Ask(NamedTuple):
    """What is asked of an asset: its best plan, where there is a limit within a part of it."""

    name: str
    values: Values
    most: Sequence[float] = ()  # that it may take of the shared limit
    prices: Sequence[float] = ()  # of the limit, for a bound


class Block(NamedTuple):
    """What is asked of several assets: what their best plans at prices cost and take."""

    names: tuple[str, ...]
    values: tuple[Values, ...]
    prices: Sequence[float] = ()
    each: bool = False  # of each asset, instead of their sum


class Group(NamedTuple):
    """What is asked of assets that share: their best plans that take no more together than this."""

    values: tuple[Values, ...]
    most: Sequence[float]  # of the shared limit
    price: float  # of what they take beyond it


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
        about["types"] = {k: str(axes[k].values.dtype) for k in about["axes"]}
        if self.template.limit is not None:
            about["limit"] = {"name": self.template.limit, "unit": self.unit}
            about["limit"]["at_most"] = self.limit.tolist()
        lists = dict.fromkeys(series, pa.list_(pa.float64()))
        return pa.schema(FIELDS | lists, {ABOUT: json.dumps(about)})

    def numbers(self, values: Values) -> dict[str, Floats]:
        """Return the numbers at the template's places for an asset."""
        pairs = zip(self.template.variations, values, strict=True)
        return {item.name: self.live.moved(item, value) for item, value in pairs}

    def program(self, ask: Ask) -> Program:
        """Return the program of an asset, of which the shared limit is what it is given."""
        program = self.live.program_at(self.numbers(ask.values))
        if self.template.limit is None:
            return program
        self._require_limit(program)
        upper = program.row_upper.copy()
        upper[self.rows] = ask.most or math.inf
        return replace(program, row_upper=upper)

    def _require_limit(self, program: Program) -> None:
        factors = program.row_values[self.terms]
        if (program.row_upper[self.rows] != self.limit).any() or (factors != self.factors).any():
            raise EngiagentError(f"{self.template.limit} depends on what the table fills")

    @contextmanager
    def _at_prices(self, values: Values, each: Floats) -> Iterator[tuple[Program, Floats]]:
        """Yield the program of an asset that pays for what it takes, and its costs without that."""
        program = self.live.program_at(self.numbers(values))
        self._require_limit(program)
        cost = program.cost.copy()
        np.add.at(program.cost, self.columns, self.sign * self.factors * each)
        program.row_upper[self.rows] = math.inf
        try:
            yield program, cost
        finally:
            program.cost[:], program.row_upper[self.rows] = cost, self.limit

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

    def priced(self, block: Block) -> Json:
        """Return rows of cost, proven bound with prices, and what is taken by best plans at prices.

        All are of a minimisation; who has no plan is named with why. Each solve starts from where
        the one before it in the block ended: what is found depends on the block alone.
        """
        each, engine = np.repeat(block.prices, np.diff(self.starts)), None
        rows, lost = [], {}
        for name, values in zip(block.names, block.values, strict=True):
            try:
                with self._at_prices(values, each) as (program, cost):
                    if engine is None or engine.program is not program:
                        engine = HighsEngine(program, SolveOptions())
                    result = engine.solve()
                    if result.x is None or result.bound is None:
                        raise EngiagentError(f"{result.status}: {result.reason}")
                    own = self.sign * (float(cost @ result.x) + program.offset)
                    rows.append([own, self.sign * result.bound, *self.taken(result.x)])
            except EngiagentError as error:
                lost[name], engine = str(error), None
        found = np.reshape(rows, (len(rows), 2 + self.limit.size))
        found = found if block.each else found.sum(axis=0, keepdims=True)
        return {"rows": found.tolist(), "lost": lost}

    def shared(self, group: Group) -> Json:
        """Return cost and what is taken by the best plans of a group, and prices of its part.

        One linear programme of all its assets; all are as of a minimisation.
        """
        own = [_copied(self.program(Ask("", values))) for values in group.values]
        width, periods, count = own[0].column_count, self.limit.size, len(own)
        parts = [(p.row_values, p.row_columns, p.row_starts) for p in own]
        alone = sparse.block_diag([sparse.csr_array(p, (len(p[2]) - 1, width)) for p in parts])
        about: Any = (self.factors, self.columns, self.starts - self.starts[0])
        flows = [sparse.csr_array(about, (periods, width))] * count
        matrix = sparse.block_array(
            [[alone, None], [sparse.hstack(flows), -sparse.eye_array(periods)]], format="csr"
        )
        cost = [self.sign * program.cost for program in own]
        endless = np.full(periods, math.inf)
        program = Program(
            sense="minimize",
            cost=np.concatenate([*cost, np.full(periods, group.price)]),
            column_lower=np.concatenate([*(p.column_lower for p in own), np.zeros(periods)]),
            column_upper=np.concatenate([*(p.column_upper for p in own), endless]),
            integrality=np.zeros(count * width + periods, dtype=bool),
            row_starts=matrix.indptr,
            row_columns=matrix.indices,
            row_values=matrix.data,
            row_lower=np.concatenate([*(p.row_lower for p in own), -endless]),
            row_upper=np.concatenate([*(p.row_upper for p in own), group.most]),
        )
        run = run_highs(program, SolveOptions(), None, {"solver": "ipm"})  # faster for so many
        x = run.point() if run.status == "kOptimal" else None
        if x is None:
            raise EngiagentError(f"HiGHS ends the programme of a group with {run.status}")
        plans = x[: count * width].reshape(count, width)
        costs = [self.sign * p.objective_at(x) for p, x in zip(own, plans, strict=True)]
        rows = [[float(c), *self.taken(plan)] for c, plan in zip(costs, plans, strict=True)]
        prices = np.maximum(-run.duals()[0][-periods:], 0.0)
        return {"rows": rows, "prices": prices.tolist()}

    def planned(self, ask: Ask) -> Json:
        """Return the row of a plan."""
        program = self.program(ask)
        result, x = self.solved(program)
        if ask.most:
            reason = "the best that takes no more of the shared limit than it is given"
            no: Json = dict.fromkeys(("row_dual", "column_dual", "bound", "gap"))
            result = replace(result, status="feasible", reason=reason, **no)
        arrays, blueprint = to_arrays(program, result), self.live.at(self.numbers(ask.values))
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
            [found] = self.priced(Block((ask.name,), (ask.values,), ask.prices))["rows"]
            row["bound"] = self.sign * found[1]
        for name in self.schema.names[len(FIELDS) :]:
            values = np.asarray(arrays.data_vars[name].values, np.float64).ravel().tolist()
            row[name] = [None if value != value else value for value in values]  # JSON has no NaN
        return self.sealed(ask.name, "", row)

    def sealed(self, asset: str, reason: str, row: Json) -> Json:
        """Return the row of an asset with the seal of all that it holds."""
        whole = dict.fromkeys(self.schema.names) | row | {"asset": asset, "reason": reason}
        del whole[SEAL]
        return whole | {SEAL: seal_of(whole)}


def _copied(program: Program) -> Program:
    """Return a program whose numbers stay when those of the template change."""
    return replace(program, **{name: getattr(program, name).copy() for name in ARRAYS})


def answer(planner: Planner, asked: Ask | Block | Group) -> Json:
    """Return the row of an asset's plan, or what several assets take; on a worker."""
    if isinstance(asked, Ask):
        return planner.planned(asked)
    return planner.priced(asked) if isinstance(asked, Block) else planner.shared(asked)
