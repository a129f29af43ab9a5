r"""A plan of one reading in the terms of the other: names, axes by labels, values by unit.

What the other reading has beside (an epigraph's bound, binaries of its own) is completed: the
shared quantities are fixed, the rest minimises

.. math:: \sum_r |s_r| / \max_j |a_{rj}|, \qquad r^-_r \le \sum_j a_{rj} x_j + s_r \le r^+_r

so that a completion that keeps every row is found where there is one, and the fewest rows are
missed where there is none. The checker then judges the completed plan; the solve itself counts for
nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import Core, ExpressionDef, VariableDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.explain.explaining import explained, reasons
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import OBJECTIVE, ColumnBlock, Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.frames import EvaluationError
from engiagent.verify.series import Series

_OFFSET = re.compile(r"[+-]\d\d:\d\d$")


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of one quantity in SI over the grid of ``dims``; NaN where it does not exist."""

    dims: tuple[IndexSet, ...]
    data: Floats
    unit: Unit


@dataclass(frozen=True, eq=False)
class Side:
    """One reading: its blueprint, components expanded, and what its solve came to."""

    blueprint: Blueprint
    folder: Path | None
    program: Program
    schedule: Any  # as ``to_dataset`` gives it; what a solver claims stands in its attributes
    # the solver's own account, for why there is no plan; None where it was not stored
    result: SolverResult | None = None
    written: str = ""  # hash of the blueprint as it was written; empty for that of ``blueprint``
    isolated: bool = True  # whether what is solved of this reading is solved in a child process

    @property
    def core(self) -> Core:
        """The model itself."""
        return self.blueprint.core

    @property
    def status(self) -> str:
        """How the solve ended, in the solver's word."""
        return str(self.schedule.attrs.get("status", "error"))

    @cached_property
    def declarations(self) -> Declarations:
        """Sets and parameters, read once."""
        return Declarations(self.core, self.folder)

    @cached_property
    def units(self) -> dict[str, Unit]:
        """The unit of each decision variable by its name."""
        return {v.name: parse_unit(v.unit or "1") for v in self.core.decision_variables}

    @cached_property
    def plan(self) -> dict[str, Series]:
        """The reading's own plan by the names of its variables."""
        found = {}
        for v in self.core.decision_variables:
            if v.name in self.schedule:
                array = self.schedule[v.name]
                unit = parse_unit(str(array.attrs.get("units") or v.unit or "1"))
                found[v.name] = Series(v.name, np.asarray(array.values, dtype=np.float64), unit)
        return found

    def bench(self, plan: Mapping[str, Series] | None = None) -> Bench:
        """Return the checker's view of a plan in this reading's names."""
        return Bench(self.declarations, self.plan if plan is None else plan)

    def trouble(self) -> str:
        """Return why there is no best plan: statements that clash, or quantities that grow."""
        if self.result is None:
            return ""
        given = (self.blueprint, self.program, self.result, self.folder or Path(), None)
        try:
            return "; ".join(reasons(explained(*given, name="reading")))
        except EngiagentError:
            return ""

    def values(self) -> dict[str, Values]:
        """Return the plan by quantity: variables, and expressions that name one."""
        bench, found = self.bench(), {}
        named = (e for e in self.core.expressions if e.quantity)
        items: tuple[VariableDef | ExpressionDef, ...] = (*self.core.decision_variables, *named)
        for item in items:
            key = item.quantity or item.name
            if key in found:
                continue
            try:
                symbol = bench.evaluator.environment.symbol(item.name)
            except EvaluationError:
                continue
            assert symbol.value is not None
            data = np.array(symbol.value.data, dtype=np.float64)
            if symbol.defined is not None:
                data[~symbol.defined] = np.nan
            found[key] = Values(symbol.dims, data, symbol.value.unit)
        return found


def solve_reading(
    blueprint: Blueprint, folder: Path | None, options: SolveOptions, *, isolate: bool = True
) -> Side:
    """Compile and solve a reading."""
    full = expand(blueprint)
    program = compile_blueprint(full, folder)
    result = solve(program, options, isolate=isolate)
    schedule = to_dataset(program, result)
    return Side(full, folder, program, schedule, result, blueprint.sha256, isolate)


def on_grid(block: ColumnBlock, values: Floats) -> Floats:
    """Return the values of a block's columns over its whole grid, NaN where there is none."""
    if block.positions is None:
        return values
    grid = np.full(int(np.prod(block.shape)), np.nan)
    grid[block.positions] = values
    return grid


def series_of(side: Side, x: Floats) -> dict[str, Series]:
    """Return a point of a reading's program in the names of its variables."""
    return {
        b.name: Series(b.name, on_grid(b, x[b.start : b.stop]).reshape(b.shape), side.units[b.name])
        for b in side.program.columns
        if not b.generated
    }


# --- mapping -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mapped:
    """What of a reading's variables another reading's plan gives.

    ``shared`` are values in SI over each variable's own grid, NaN where the other says nothing;
    ``pairs`` has the other's quantity by variable, ``own`` the variables that it does not have.
    """

    shared: Mapping[str, Floats]
    pairs: Mapping[str, str]
    own: tuple[str, ...]
    faults: tuple[str, ...]


def mapped(values: Mapping[str, Values], side: Side) -> Mapped:
    """Return a plan, given by quantity, in the variables of ``side``.

    A quantity left over on both is paired by dimension and index shape where that is unique.
    """
    shared: dict[str, Floats] = {}
    pairs: dict[str, str] = {}
    faults: list[str] = []
    left: list[VariableDef] = []
    for v in side.core.decision_variables:
        key = v.quantity or v.name
        if key not in values:
            left.append(v)
            continue
        found = _aligned(values[key], v, side)
        if isinstance(found, str):
            faults.append(f"{key}: {found}")
        else:
            shared[v.name], pairs[v.name] = found, key
    rest = {k: x for k, x in values.items() if k not in pairs.values()}
    for v in left:
        fitting = [k for k, x in rest.items() if _alike(x, v, side)]
        rivals = [w for w in left if any(_alike(rest[k], w, side) for k in fitting)]
        if len(fitting) == 1 and len(rivals) == 1 and v.role != "auxiliary":
            found = _aligned(rest[fitting[0]], v, side)
            if not isinstance(found, str):
                shared[v.name], pairs[v.name] = found, fitting[0]
    own = tuple(v.name for v in left if v.name not in shared)
    return Mapped(shared, pairs, own, tuple(faults))


def _alike(values: Values, v: VariableDef, side: Side) -> bool:
    dims, _ = side.declarations.dims(v.index)
    shapes = [[(dim.root.kind, dim.size) for dim in known] for known in (dims, values.dims)]
    return side.units[v.name].dimension == values.unit.dimension and shapes[0] == shapes[1]


def _aligned(values: Values, v: VariableDef, side: Side) -> Floats | str:
    """Return values over a variable's own grid, in SI; text where they do not fit."""
    unit = side.units[v.name]
    if unit.dimension != values.unit.dimension:
        return f"one reading measures it in {values.unit}, the other in {unit}"
    dims, _ = side.declarations.dims(v.index)
    if len(dims) != len(values.dims):
        return f"one reading has it over {len(values.dims)} set(s), the other over {len(dims)}"
    order: list[int] = []
    places = []
    for dim in dims:
        for k, other in enumerate(values.dims):
            place = None if k in order else _positions(dim, other)
            if place is not None:
                order.append(k)
                places.append(place)
                break
        else:
            sizes = " x ".join(f"{d.size} {d.root.kind}" for d in values.dims)
            own = f"{dim.size} {dim.root.kind}"
            return f"the members of its index sets differ: {sizes} against {own}"
    data = values.data.reshape([dim.size for dim in values.dims]).transpose(order)
    for axis, place in enumerate(places):
        data = np.take(data, np.maximum(place, 0), axis=axis)
        np.moveaxis(data, axis, 0)[place < 0] = np.nan
    flat: Floats = np.asarray(data, dtype=np.float64).reshape(-1)
    return flat


def _positions(dim: IndexSet, other: IndexSet) -> np.ndarray[Any, Any] | None:
    """Return where the members of ``dim`` stand in ``other``, -1 for those that do not."""
    roots = dim.root, other.root
    if (roots[0].kind == "instants") != (roots[1].kind == "instants"):
        return None
    if roots[0].size != roots[1].size:
        return None  # a subset is a way of writing, another number of members is another reading
    found = _found(dim, other)
    if bool((_found(*roots) >= 0).all()):
        return found if (found >= 0).any() else None
    dated = [root.axis is not None and root.axis.dated for root in roots]
    timed = all(root.kind in ("time", "periods", "instants") for root in roots)
    if timed and not all(dated) and dim.size == other.size:
        return np.arange(dim.size)  # one of them has no date to compare
    return None


def _found(dim: IndexSet, other: IndexSet) -> np.ndarray[Any, Any]:
    places = []
    texts = {str(label): k for k, label in enumerate(other.labels)}
    for label in dim.labels:
        place = texts.get(str(label))
        if place is None and isinstance(label, str):
            place = other.find(_OFFSET.sub("", label))
        places.append(-1 if place is None else place)
    return np.asarray(places, dtype=np.int64)


# --- completion --------------------------------------------------------------------------------


def completed(
    side: Side, given: Mapped, options: SolveOptions, goal: bool = False
) -> dict[str, Series] | None:
    """Return a plan of ``side`` with the shared values as they are and the rest solved for.

    With ``goal`` what is solved for is also as good as it can be for the reading's goal. None
    where no solver finds a completion.
    """
    fixed = np.full(side.program.column_count, np.nan)
    named = [b for b in side.program.columns if not b.generated]
    for block in named:
        if block.name in given.shared:
            data = side.units[block.name].from_si(given.shared[block.name])
            part = data if block.positions is None else data[block.positions]
            fixed[block.start : block.stop] = np.round(part) if _whole(block, part) else part
    free = any(np.isnan(fixed[b.start : b.stop]).any() for b in named)
    x = _completion(side, fixed, options, goal) if free else fixed
    return None if x is None else series_of(side, x)


def _whole(block: ColumnBlock, values: Floats) -> bool:
    """Whether values are those of counted things, but for the solver's rounding."""
    near = bool((np.abs(values - np.round(values)) < 1e-6)[~np.isnan(values)].all())
    return block.kind in ("integer", "binary") and near


def _completion(side: Side, fixed: Floats, options: SolveOptions, goal: bool) -> Floats | None:
    program = side.program
    known = ~np.isnan(fixed)
    lower = np.where(known, fixed, program.column_lower)
    upper = np.where(known, fixed, program.column_upper)
    # A switch that is fixed in between is the checker's to refuse, not a reason to stop here.
    whole = program.integrality & ~known
    held = replace(
        program, column_lower=lower, column_upper=upper, integrality=whole, goals=(), method=None
    )
    elastic = _elastic(held)
    if elastic is None:
        return None
    first = _solved(elastic, options, side.isolated)
    if first is None or first.x is None:
        return None
    n, x = program.column_count, first.x
    if goal and (program.cost[~known].any() or len(program.products.rows) or program.nonlinear):
        room = np.maximum(x[n:], 0.0) * (1 + 1e-9) + 1e-12
        upper = np.concatenate((upper, room))
        second = replace(
            elastic,
            cost=np.concatenate((program.cost, np.zeros(elastic.column_count - n))),
            column_upper=upper,
            sense=program.sense,
            products=program.products,
            nonlinear=program.nonlinear,
        )
        better = _solved(second, options, side.isolated)
        x = x if better is None or better.x is None else better.x
    return np.where(known, fixed, x[:n])


def _solved(program: Program, options: SolveOptions, isolate: bool) -> SolverResult | None:
    try:
        return solve(program, replace(options, start=None, backend=None), isolate=isolate)
    except EngiagentError:
        return None


def _elastic(program: Program) -> Program | None:
    """Return the program with two slacks a row, whose scaled sum is to be least."""
    n, m = program.column_count, program.row_count
    of_goal = [p.row_numbers() == OBJECTIVE for p in program.nonlinear]
    if any(rows.any() != rows.all() for rows in of_goal):
        return None
    counts = np.diff(program.row_starts)
    rows = np.repeat(np.arange(m), counts)
    scale = np.zeros(m)
    np.maximum.at(scale, rows, np.abs(program.row_values))
    scale[scale == 0.0] = 1.0
    # Each row gets its two slacks at the end of its entries.
    ends = program.row_starts[1:]
    at: Ints = np.asarray(np.repeat(ends, 2), dtype=np.int64)
    extra = n + np.arange(2 * m)
    signs = np.tile([1.0, -1.0], m) * np.repeat(scale, 2)
    return replace(
        program,
        sense="minimize",
        cost=np.concatenate((np.zeros(n), np.ones(2 * m))),
        offset=0.0,
        column_lower=np.concatenate((program.column_lower, np.zeros(2 * m))),
        column_upper=np.concatenate((program.column_upper, np.full(2 * m, np.inf))),
        integrality=np.concatenate((program.integrality, np.zeros(2 * m, dtype=bool))),
        row_starts=program.row_starts + 2 * np.arange(m + 1),
        row_columns=np.asarray(np.insert(program.row_columns, at, extra), dtype=np.int64),
        row_values=np.insert(program.row_values, at, signs),
        products=program.products.of_rows(),
        nonlinear=tuple(
            p for p, rows in zip(program.nonlinear, of_goal, strict=True) if not rows.any()
        ),
        columns=(
            *program.columns,
            ColumnBlock(name="slack__", start=n, stop=n + 2 * m, unit="1", generated=True),
        ),
    )
