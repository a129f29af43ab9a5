r"""A programme in rational arithmetic, and what multipliers prove of its affine rows.

For a minimisation and rows :math:`a_r x + c_r \le 0` (or :math:`= 0`) with multipliers
:math:`y_r \ge 0` (or of any sign),

.. math:: f(x) \ge f_0 + \sum_r y_r c_r + \sum_j \min_{l_j \le x_j \le u_j} d_j x_j, \qquad
    d = \nabla f + A^T y

holds for every allowed :math:`x`. Multipliers come as doubles; they are read as decimals, and where
a reduced cost of a variable without bounds does not vanish, others are tried: rounded to fewer
digits, and bounds that the rows imply.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elements import Core
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench
from engiagent.verify.exact.bench import (
    ExactBench,
    Fractions,
    floats,
    fraction,
    listed,
    read_off,
    written,
)
from engiagent.verify.frames import Bools
from engiagent.verify.levels.algebra import Row, rows_of
from engiagent.verify.levels.forms import Form, implied_ends
from engiagent.verify.levels.relaxation import elastic
from engiagent.verify.levels.relaxed import Proposer, Relaxation
from engiagent.verify.levels.variables import Bounds, bounds_of
from engiagent.verify.requirements import Rule
from engiagent.verify.values import Floats, Ints, Value, constants_of, grouped, summed, triplets

ZERO: Final[Any] = Fraction(0)
TINY: Final = 1e-30
DIGITS: Final = (17, 12, 9)
"""To how many significant digits multipliers are read, one after the other."""
Ends = tuple[Fractions, Fractions]
"""Lower and upper bounds of columns, infinite doubles where there is none."""


@dataclass(frozen=True, eq=False)
class ExactProgramme:
    """What a core asks, exactly; ``left_out`` says what has no rational value, and why."""

    bench: ExactBench
    core: Core
    rows: tuple[Row, ...]
    boxes: Mapping[str, Bounds]  # by variable, of fractions; infinite where there is none
    objective: Value | None
    sense: str
    left_out: tuple[str, ...]

    @cached_property
    def starts(self) -> dict[int, int]:
        """The first column of every variable, by its order."""
        found, at = {}, 0
        for value in self.bench.variables.values():
            found[value.order], at = at, at + value.data.size
        return found

    @property
    def point(self) -> Fractions:
        """The plan, one number per column, in SI."""
        parts = (value.data for value in self.bench.variables.values())
        return np.concatenate([np.zeros(0, dtype=object), *parts])

    @property
    def sign(self) -> int:
        """1 for a minimisation, -1 for a maximisation."""
        return 1 if self.sense == "minimize" else -1

    @property
    def affine(self) -> list[Row]:
        """The rows that a bound is made of."""
        return [row for row in self.rows if row.excess.degree < 2]

    def entries(self, value: Value) -> tuple[Ints, Ints, Fractions]:
        """Return the coefficients of an affine value as rows, columns and factors."""
        none = np.zeros(0, dtype=np.int64)
        parts: list[Any] = [(none, none, np.zeros(0, dtype=object))]
        for order, (rows, places, factors) in triplets(value).items() if value.degree else ():
            parts.append((rows, places + self.starts[order], factors))
        joined: Any = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        return joined[0], joined[1], joined[2]


def programme_of(
    bench: Bench,
    core: Core,
    objective: str | None,
    sense: str = "minimize",
    rules: Sequence[Rule] | None = None,
) -> ExactProgramme:
    """Return what the hard rules, the bounds and an objective say, in rational arithmetic.

    ``objective``: the expression; None for a mere question of feasibility. ``rules``: the rules;
    None for the constraints of the core.
    """
    exactly = ExactBench(bench)
    left_out: list[str] = []
    boxes: dict[str, Bounds] = {}
    for definition in core.decision_variables:
        try:
            exactly.evaluator.environment.symbol(definition.name)
            box = bounds_of(exactly, definition)
            boxes[definition.name] = Bounds(_ends(box.lower), _ends(box.upper), box.exists)
        except EngiagentError as error:
            left_out.append(f"{definition.name}: {error}")
    rows = tuple(rows_of(exactly, core, left_out, rules))
    goal = None
    if objective is not None:
        try:
            goal = exactly.evaluator.evaluate(objective)
        except EngiagentError as error:
            left_out.append(f"the objective: {error}")
    return ExactProgramme(exactly, core, rows, boxes, goal, sense, tuple(left_out))


def _ends(data: Any) -> Any:
    """Return ends of ranges as fractions, those that are infinite as they are."""
    return listed(
        end if isinstance(end, Fraction) or not np.isfinite(end) else fraction(end)
        for end in data.tolist()
    )


# --- as one linear system ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Linear:
    """Rows ``sum(factors x) + constant <= 0``, some of them ``== 0``, in a box.

    ``rows``, ``columns``, ``factors``: the coefficients, one entry for each place. ``constant``:
    what is left of every row where all columns are zero. ``order``: which row of its comparison
    each is. ``lower``, ``upper``: bounds of the columns. ``cost``, ``offset``: the objective, to be
    minimised. ``scale``: in what multipliers of rows are figures. ``point``: the plan.
    """

    rows: Ints
    columns: Ints
    factors: Fractions
    constant: Fractions
    equal: Bools
    order: Ints
    lower: Fractions
    upper: Fractions
    cost: Fractions
    offset: Fraction
    scale: Fractions
    point: Fractions

    @cached_property
    def relaxation(self) -> Relaxation:
        """The system in doubles."""
        import scipy.sparse as sp

        shape = self.constant.size, len(self.lower)
        matrix = sp.csr_matrix((floats(self.factors), (self.rows, self.columns)), shape=shape)
        matrix.eliminate_zeros()
        cost = sp.csr_matrix(floats(self.cost)[None, :])
        objective = Form(cost, np.array([float(self.offset)]), np.zeros(1))
        rows = Form(matrix, floats(self.constant), np.zeros(shape[0]))
        return Relaxation(objective, rows, self.equal, (), floats(self.lower), floats(self.upper))

    def boxes(self) -> Iterable[Ends]:
        """Yield the bounds of the columns: declared ones, then with those that rows imply."""
        yield self.lower, self.upper
        if all(isinstance(end, Fraction) for end in (*self.lower, *self.upper)):
            return
        found = self.relaxation
        point = floats(self.point)
        wider = implied_ends(found.rows, found.equal, self.order, point, found.lower, found.upper)
        ends = self.lower.copy(), self.upper.copy()
        for own, known, side in ((ends[0], wider[0], -1), (ends[1], wider[1], 1)):
            for place, number in enumerate(known.tolist()):
                if not isinstance(own[place], Fraction) and np.isfinite(number):
                    own[place] = _outwards(number, side)
        yield ends


def _outwards(number: float, side: int) -> Fraction:
    """Return a bound as a fraction; one beside zero is moved outwards to a figure of some size."""
    if 0 < abs(number) < TINY:
        return Fraction(side, 10**30) if number * side > 0 else ZERO
    return Fraction(number)


def linear_of(programme: ExactProgramme) -> Linear:
    """Return the affine rows of a programme as one system; the others are left out."""
    point, rows = programme.point, programme.affine
    none = np.zeros(0, dtype=np.int64)
    parts: list[Any] = [(none, none, np.zeros(0, dtype=object))]
    constants, orders = [np.zeros(0, dtype=object)], [none]
    at = 0
    for row in rows:
        size = row.excess.data.size
        own, columns, factors = programme.entries(row.excess)
        constants.append(row.excess.data - grouped(factors * point[columns], own, size))
        parts.append((own + at, columns, factors))
        orders.append(np.arange(size))
        at += size
    at_rows, at_columns, entries = (np.concatenate(part) for part in zip(*parts, strict=True))
    sizes = [row.excess.data.size for row in rows]
    equal = np.repeat(np.array([row.equal for row in rows], dtype=bool), sizes)
    cost, offset = constants_of(0, point.size, like=point), ZERO
    goal = programme.objective
    if goal is not None and goal.degree < 2:
        _, columns, factors = programme.entries(goal)
        cost = programme.sign * grouped(factors, columns, point.size)
        offset = programme.sign * goal.data[0] - summed(cost * point)
    unit = Fraction(1) if goal is None else goal.unit.factor
    pairs = zip(rows, sizes, strict=True)
    scale = listed(unit / row.excess.unit.factor for row, size in pairs for _ in range(size))
    constant, order = np.concatenate(constants), np.concatenate(orders)
    lower, upper = _ends_of(programme, point.size)
    rest = constant, equal, order, lower, upper, cost, offset, scale, point
    return Linear(at_rows, at_columns, entries, *rest)


def _ends_of(programme: ExactProgramme, size: int) -> Ends:
    lower, upper = (listed([end] * size) for end in (-np.inf, np.inf))
    for definition in programme.core.decision_variables:
        box = programme.boxes.get(definition.name)
        if box is None:
            continue
        start = programme.starts[programme.bench.variables[definition.name].order]
        zero = parse_unit(definition.unit or "1").zero or ZERO
        held = definition.type == "semicontinuous"
        for ends, own, widest in ((lower, box.lower, min), (upper, box.upper, max)):
            wide: Any = listed(widest(end, zero) if held else end for end in own)
            ends[start : start + own.size] = np.where(box.exists, wide, ZERO)
    return lower, upper


# --- bounds and rays ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ExactBound:
    """A bound in SI, of a minimisation, that holds without a rounding error.

    ``value`` is None when it is lost; ``reason`` says why.
    """

    value: Fraction | None
    reason: str | None = None


def dual_bound(linear: Linear, weights: Fractions, ends: Ends, ray: bool = False) -> ExactBound:
    """Return what multipliers prove of the objective; those of the wrong sign count as zero.

    ``ends``: bounds of the columns. ``ray``: whether the objective counts as nothing: above zero
    the rows contradict the bounds.
    """
    used = np.flatnonzero([bool(y) for y in weights] & (linear.equal | (weights > 0)))
    y = listed([ZERO] * len(weights))
    y[used] = weights[used]
    carried = np.flatnonzero([bool(y[row]) for row in linear.rows])
    pulled = linear.factors[carried] * y[linear.rows[carried]]
    d = grouped(pulled, linear.columns[carried], len(linear.lower))
    d = d if ray else d + linear.cost
    parts = [ZERO if ray else linear.offset, summed(y[used] * linear.constant[used])]
    for column in np.flatnonzero([bool(slope) for slope in d]).tolist():
        end = ends[0][column] if d[column] > 0 else ends[1][column]
        if not isinstance(end, Fraction):
            side = "lower" if d[column] > 0 else "upper"
            reason = f"column {column} has no {side} bound, its reduced cost is "
            return ExactBound(None, reason + written(d[column]))
        parts.append(d[column] * end)
    return ExactBound(summed(listed(parts)))


def repaired(linear: Linear, weights: Floats, ray: bool = False) -> ExactBound:
    """Return the first bound that is not lost, over fewer and fewer digits and wider knowledge."""
    found = ExactBound(None, "there are no duals")
    for ends in linear.boxes():
        for digits in DIGITS:
            found = dual_bound(linear, read_weights(linear, weights, digits), ends, ray)
            if found.value is not None:
                return found
    return found


def read_weights(linear: Linear, weights: Floats, digits: int = 17) -> Fractions:
    """Return multipliers in SI, read as decimals in their scale."""
    return np.asarray(read_off(weights / floats(linear.scale), digits) * linear.scale)


def proposed(linear: Linear) -> Floats | None:
    """Return multipliers of the rows, None where a linear solver finds none."""
    relaxation = linear.relaxation
    found = Proposer(relaxation, _sizes(relaxation))(relaxation.lower, relaxation.upper, [])
    return None if found is None else found[1]


def _sizes(relaxation: Relaxation) -> Floats:
    """Return the size of each column by its bounds and by rows with no other column.

    Without any it is that of the others: a coefficient that scaling makes tiny is dropped by
    solvers, and the row with it.
    """
    ends = (
        np.where(np.isfinite(end), np.abs(end), 0.0) for end in (relaxation.lower, relaxation.upper)
    )
    found = np.maximum(*ends)
    rows = relaxation.rows
    single = np.flatnonzero(np.diff(rows.matrix.indptr) == 1)
    places = rows.matrix.indptr[single]
    limits = np.abs(rows.constant[single] / rows.matrix.data[places])
    np.maximum.at(found, rows.matrix.indices[places], limits)
    known = found > 1e-12 * float(found.max(initial=0.0))
    usual = float(np.exp(np.log(found[known]).mean())) if known.any() else 1.0
    return np.where(known, found, usual)


def proposed_ray(linear: Linear) -> Floats | None:
    """Return weights of the rows by which they may contradict the bounds, None without any.

    They are multipliers of the task to make the largest violation small, which may be negative:
    so there always are some, and a conflict by a billionth shows as well as one by half.
    """
    count = linear.constant.size
    if not count:
        return None
    task, start = elastic(linear.relaxation, _sizes(linear.relaxation))
    found = Proposer(task, start)(task.lower, task.upper, [])
    if found is None:
        return None
    y = found[1][:count].copy()
    y[linear.equal] -= found[1][count:]
    most = float(np.abs(y).max(initial=0.0))
    return np.where(np.abs(y) > 1e-12 * most, y, 0.0)
