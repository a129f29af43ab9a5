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
from engiagent.formulations.values import Floats, Ints
from engiagent.run.certify import certify
from engiagent.solvers.highs import run_highs
from engiagent.solvers.iis import in_words
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session_engines import ARRAYS, HighsEngine
from engiagent.solvers.solution import to_arrays
from engiagent.solvers.solving import solve
from engiagent.study.live import Live, Setting, Variation
from engiagent.units.unit import parse_unit
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
    is_free: bool = False  # whether plans cost nothing but the prices


class Group(NamedTuple):
    """What is asked of assets that share: their best plans that take no more together than this."""

    values: tuple[Values, ...]
    most: Sequence[float]  # of the shared limit
    price: float  # of what they take beyond it


class Limit(NamedTuple):
    """The rows of the shared limit in a program, turned so that they are at most something.

    Its measure has 1 as the largest factor, lest a limit in GWh be kept by a tolerance.
    """

    rows: slice
    starts: Ints  # of each row's terms
    columns: Ints
    factors: Floats
    at_most: Floats
    scale: float  # the measure over the requirement's unit; negative for a lower limit
    unit: str

    @classmethod
    def of(cls, program: Program, name: str) -> "Limit":
        """Find it; InputError where there is none of that name, or it is no limit."""
        known = {block.constraint_id: block for block in program.rows if not block.generated}
        if name not in known:
            expected = ", ".join(known)
            raise InputError("the template has no such requirement", found=name, expected=expected)
        block = known[name]
        rows = slice(block.start, block.stop)
        if block.start == block.stop:
            raise InputError("the shared limit holds in no period", found=name, expected="a limit")
        ends = program.row_lower[rows], program.row_upper[rows]
        lower, upper = (bool(np.isfinite(end).all()) for end in ends)
        if lower == upper:
            expected = "quantities <= a limit, or >= one, in every period"
            raise InputError("this is no limit on one side", found=name, expected=expected)
        first, last = program.row_starts[block.start], program.row_starts[block.stop]
        terms = slice(int(first), int(last))
        factors = program.row_values[terms]
        largest = float(np.abs(factors).max(initial=0.0)) or 1.0
        scale = (1.0 if upper else -1.0) / largest
        starts = program.row_starts[block.start : block.stop + 1] - first
        places = program.row_columns[terms].copy()
        at_most = scale * ends[int(upper)]
        return cls(rows, starts, places, scale * factors, at_most, scale, block.unit)

    def hold(self, program: Program, most: Floats) -> None:
        """Let what a program takes be at most something else."""
        end = program.row_upper if self.scale > 0 else program.row_lower
        end[self.rows] = most / self.scale

    def taken(self, x: Floats) -> Floats:
        """Return what a plan takes, by period."""
        return row_sums(self.starts, self.factors * x[self.columns])


class Planner:
    """The template compiled once on a worker, with places that each asset fills."""

    def __init__(self, template: Template) -> None:
        places = [variation.name for variation in template.variations]
        setting = Setting(template.folder, isolate=False)
        self.template = template
        try:
            self.live = Live(template.blueprint, places, setting)
            self.variations = [self._stated(item) for item in template.variations]
        except InputError as wrong:
            if wrong.file is None and any(place in str(wrong) for place in places):
                wrong.file = template.table
            raise
        program, name = self.live.program, template.limit
        self.sign = 1.0 if program.sense == "minimize" else -1.0
        self.limit = None if name is None else self._shared(program, name)

    def _stated(self, item: Variation) -> Variation:
        """Return a place with the unit of its column; InputError for a unit that it cannot have."""
        if not item.factor and item.unit is None:
            own = self.live.places[item.name].unit
            if parse_unit(own).dimension != parse_unit("1").dimension:
                text, expected = "the column has no unit", f"{item.name} [{own}]"
                raise InputError(text, found=item.name, expected=expected)
            item = replace(item, unit="1")
        try:
            self.live.moved(item, 0.0)
        except InputError as wrong:
            wrong.found = f"{item.name} [{item.unit}]"
            raise
        return item

    def _shared(self, program: Program, name: str) -> Limit:
        """Return the shared limit; InputError where plans cannot share it."""
        whole = [block.name for block in program.columns if block.kind != "continuous"]
        if whole or not program.is_linear or program.goals:
            found = f"whole numbers ({', '.join(whole)})" if whole else "products or several goals"
            text, expected = "a shared limit needs plans that can be mixed", "a linear programme"
            if not self.template.is_one_way:
                raise InputError(text, found=found, expected=expected)
            why = "a price below 0, or an export that earns more than import costs"
            raise InputError(text, found=f"{found}, since there is {why}", expected=expected)
        soft = {c.constraint_id for c in self.template.blueprint.core.constraints if c.penalty}
        if name in soft:
            text, expected = "a shared limit cannot be broken at a price", "one without a penalty"
            raise InputError(text, found=name, expected=expected)
        return Limit.of(program, name)

    def require_shared(self, values: Values) -> None:
        """Raise InputError where the shared limit depends on what the table fills."""
        if self.limit is not None:
            self._limit_in(self.live.program_at(self.numbers(values)))

    def _limit_in(self, program: Program) -> Limit:
        assert self.limit is not None
        assert self.template.limit is not None
        found = Limit.of(program, self.template.limit)
        pairs = (found.at_most, self.limit.at_most), (found.factors, self.limit.factors)
        if not all(np.array_equal(*pair) for pair in pairs):
            name, expected = self.template.limit, "a limit that is the same for all"
            said = "the shared limit depends on what the table fills"
            raise InputError(said, found=name, expected=expected)
        return found

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
        if self.limit is not None:
            about["limit"] = {"name": self.template.limit, "unit": self.limit.unit}
            about["limit"] |= {"end": (self.limit.at_most / self.limit.scale).tolist()}
            about["limit"] |= {"is_lower": self.limit.scale < 0, "terms": self._terms()}
        lists = dict.fromkeys(series, pa.list_(pa.float64()))
        return pa.schema(FIELDS | lists, {ABOUT: json.dumps(about)})

    def _terms(self) -> list[Json]:
        """Return how what is taken comes from the series of a plan; none where they lack some."""
        limit, program = self.limit, self.live.program
        assert limit is not None
        rows = np.repeat(np.arange(limit.at_most.size), np.diff(limit.starts))
        found: list[Json] = []
        for block in (b for b in program.columns if not b.generated):
            own = (limit.columns >= block.start) & (limit.columns < block.stop)
            places = limit.columns[own] - block.start
            places = places if block.positions is None else block.positions[places]
            about = {
                "rows": rows[own],
                "places": places,
                "factors": limit.factors[own] / limit.scale,
            }
            found.append({"series": block.name, **{k: v.tolist() for k, v in about.items()}})
        return found if sum(len(f["rows"]) for f in found) == limit.columns.size else []

    def numbers(self, values: Values) -> dict[str, Floats]:
        """Return the numbers at the template's places for an asset."""
        pairs = zip(self.variations, values, strict=True)
        return {item.name: self.live.moved(item, value) for item, value in pairs}

    def program(self, values: Values, most: Sequence[float] = ()) -> tuple[Program, Limit | None]:
        """Return the program of an asset, and the shared limit in it, which is what it is given."""
        program = _copied(self.live.program_at(self.numbers(values)))
        if self.limit is None:
            return program, None
        limit = self._limit_in(program)
        limit.hold(program, np.array(most) if most else np.full(limit.at_most.size, math.inf))
        return program, limit

    @contextmanager
    def _at_prices(
        self, values: Values, prices: Floats, is_free: bool
    ) -> Iterator[tuple[Program, Limit, Floats]]:
        """Yield the program of an asset that pays for what it takes, and its costs without that."""
        program = self.live.program_at(self.numbers(values))
        limit, cost = self._limit_in(program), program.cost.copy()
        if is_free:
            program.cost[:] = 0.0
        each = np.repeat(prices, np.diff(limit.starts))
        np.add.at(program.cost, limit.columns, self.sign * limit.factors * each)
        limit.hold(program, np.full(len(prices), math.inf))
        try:
            yield program, limit, cost
        finally:
            program.cost[:] = cost
            limit.hold(program, limit.at_most)

    def solved(self, program: Program) -> tuple[SolverResult, Floats]:
        """Return the best plan of a program; EngiagentError when there is none."""
        result = solve(program, SolveOptions(), isolate=False)
        if result.x is None:
            raise _refused(program, result)
        return result, result.x

    def priced(self, block: Block) -> Json:
        """Return rows of cost, proven bound with prices, and what is taken by best plans at prices.

        All are of a minimisation; who has no plan is named with why. Each solve starts from where
        the one before it in the block ended: what is found depends on the block alone.
        """
        engine, prices = None, np.array(block.prices)
        rows, lost = [], {}
        for name, values in zip(block.names, block.values, strict=True):
            try:
                with self._at_prices(values, prices, block.is_free) as (program, limit, cost):
                    if engine is None or engine.program is not program:
                        engine = HighsEngine(program, SolveOptions())
                    result = engine.solve()
                    if result.x is None or result.bound is None:
                        raise _refused(program, result)
                    own = self.sign * (float(cost @ result.x) + program.offset)
                    bound = result.bound - program.offset * block.is_free
                    rows.append([own, self.sign * bound, *limit.taken(result.x)])
            except EngiagentError as error:
                lost[name], engine = str(error), None
        found = np.reshape(rows, (len(rows), 2 + prices.size))
        found = found if block.each else found.sum(axis=0, keepdims=True)
        return {"rows": found.tolist(), "lost": lost}

    def shared(self, group: Group) -> Json:
        """Return cost and what is taken by the best plans of a group, and prices of its part.

        One linear programme of all its assets; all are as of a minimisation.
        """
        own, flows, limits, periods = [], [], [], len(group.most)
        for program, limit in map(self.program, group.values):
            assert limit is not None
            own.append(program)
            limits.append(limit)
            about: Any = (limit.factors, limit.columns, limit.starts)
            flows.append(sparse.csr_array(about, (periods, program.column_count)))
        parts: list[Any] = [(p.row_values, p.row_columns, p.row_starts) for p in own]
        shapes = [(p.row_starts.size - 1, p.column_count) for p in own]
        alone = sparse.block_diag(list(map(sparse.csr_array, parts, shapes)))
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
            integrality=np.zeros(matrix.shape[1], dtype=bool),
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
        plans = np.split(x, np.cumsum([p.column_count for p in own]))[:-1]
        rows = [
            [self.sign * p.objective_at(plan), *limit.taken(plan).tolist()]
            for p, limit, plan in zip(own, limits, plans, strict=True)
        ]
        prices = np.maximum(-run.duals()[0][-periods:], 0.0)
        return {"rows": rows, "prices": prices.tolist()}

    def planned(self, ask: Ask) -> Json:
        """Return the row of a plan."""
        program, limit = self.program(ask.values, ask.most)
        result, x = self.solved(program)
        if ask.most:
            reason = "the best that takes no more of the shared limit than it is given"
            no: Json = dict.fromkeys(("row_dual", "column_dual", "bound", "gap"))
            result = replace(result, status="feasible", reason=reason, **no)
        arrays, blueprint = to_arrays(program, result), self.live.at(self.numbers(ask.values))
        rules = blueprint.core.constraints  # the shared one is not each asset's own
        alone = tuple(rule for rule in rules if rule.constraint_id != self.template.limit)
        blueprint = blueprint.with_core(constraints=alone)
        about: Json = {"folder": self.template.folder, "name": ask.name}
        certificate = certify(None, arrays, blueprint, **about)
        row: Json = {
            "verdict": certificate.verdict,
            "certificate": certificate.to_json(),
            "objective": (certificate.objective or {}).get("value"),
            "bound": (certificate.bound or {}).get("value"),
            "taken": [] if limit is None else (limit.taken(x) / limit.scale).tolist(),
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


def _refused(program: Program, result: SolverResult) -> EngiagentError:
    """Return that there is no plan, with what cannot hold together where that is why."""
    clash = in_words(program) if result.status == "infeasible" else ""
    return EngiagentError(f"{result.status}: {result.reason}{clash}")


def _copied(program: Program) -> Program:
    """Return a program whose numbers stay when those of the template change."""
    return replace(program, **{name: getattr(program, name).copy() for name in ARRAYS})


def answer(planner: Planner, asked: Ask | Block | Group) -> Json:
    """Return the row of an asset's plan, or what several assets take; on a worker."""
    if isinstance(asked, Ask):
        return planner.planned(asked)
    return planner.priced(asked) if isinstance(asked, Block) else planner.shared(asked)
