"""A programme in rational arithmetic: rows, bounds, integers, objective and the plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Core, VariableDef
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench
from engiagent.verify.exact.bench import ExactBench
from engiagent.verify.exact.numbers import Fractions, floats, fraction, listed
from engiagent.verify.frames import Bools
from engiagent.verify.levels.algebra import Rule
from engiagent.verify.levels.forms import Form
from engiagent.verify.levels.implied import implied_ends
from engiagent.verify.levels.optimality import Row, rows_of
from engiagent.verify.levels.relaxed import Relaxation
from engiagent.verify.levels.variables import bounds_of
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import Ints, Value, constants_of, grouped, summed

ZERO: Final = Fraction(0)
TINY: Final = 1e-30
Ends = tuple[list[Fraction | None], list[Fraction | None]]
"""Lower and upper bounds of columns, None where there is none."""


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds of a variable, in SI; None where there is none.

    ``exists``: where a sparse variable is. ``whole``: by how much a whole number of the variable's
    unit is larger than one in SI; None where it need not be whole. ``zero``: the SI value of the
    unit's zero, of which a scale of temperature has one of its own.
    """

    name: str
    start: int
    lower: tuple[Fraction | None, ...]
    upper: tuple[Fraction | None, ...]
    exists: Bools
    kind: str
    whole: Fraction | None
    zero: Fraction


@dataclass(frozen=True, eq=False)
class ExactProgramme:
    """What a core asks, exactly; ``left_out`` says what has no rational value, and why."""

    bench: ExactBench
    core: Core
    rows: tuple[Row, ...]
    boxes: tuple[Box, ...]
    objective: Value | None = None
    sense: str = "minimize"
    left_out: tuple[str, ...] = ()

    @property
    def starts(self) -> dict[str, int]:
        """The first column of every variable."""
        found, at = {}, 0
        for name, value in self.bench.variables.items():
            found[name], at = at, at + value.data.size
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
    def is_linear(self) -> bool:
        """Whether every row and the objective are affine, and nothing was left out."""
        values = [row.excess for row in self.rows]
        values += [] if self.objective is None else [self.objective]
        return all(value.degree < 2 for value in values) and not self.left_out

    def entries(self, value: Value) -> tuple[Ints, Ints, Fractions]:
        """Return the coefficients of an affine value as rows, columns and factors."""
        starts, found = self.starts, {}
        for name, variable in self.bench.variables.items():
            found[variable.order] = starts[name]
        none = np.zeros(0, dtype=np.int64)
        parts: list[Any] = [(none, none, np.zeros(0, dtype=object))]
        for order, (rows, places, factors) in triplets(value).items() if value.degree else ():
            parts.append((rows, places + found[order], factors))
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
    boxes = []
    for definition in core.decision_variables:
        try:
            boxes.append(_box(exactly, definition))
        except EngiagentError as error:
            left_out.append(f"{definition.name}: {error}")
    rows = tuple(rows_of(exactly, core, left_out, rules))
    goal = None
    if objective is not None:
        try:
            goal = exactly.evaluator.evaluate(objective)
        except EngiagentError as error:
            left_out.append(f"the objective: {error}")
    return ExactProgramme(exactly, core, rows, tuple(boxes), goal, sense, tuple(left_out))


def _box(bench: ExactBench, definition: VariableDef) -> Box:
    assert bench.evaluator.environment.symbol(definition.name).value is not None
    found, unit = bounds_of(bench, definition), parse_unit(definition.unit or "1")
    lower, upper = (tuple(map(_end, side)) for side in (found.lower, found.upper))
    before = takewhile(lambda name: name != definition.name, bench.variables)
    start = sum(bench.variables[name].data.size for name in before)
    whole = unit.factor if definition.type in ("integer", "binary") else None
    zero = unit.zero or ZERO
    return Box(definition.name, start, lower, upper, found.exists, definition.type, whole, zero)


def _end(number: Any) -> Fraction | None:
    """Return the end of a range as a fraction, None where it is infinite."""
    if isinstance(number, Fraction):
        return number
    return fraction(number) if np.isfinite(number) else None


# --- as one linear system ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Linear:
    """Rows ``sum(factors x) + constant <= 0``, some of them ``== 0``, in a box.

    ``rows``, ``columns``, ``factors``: the coefficients, one entry for each place. ``constant``:
    what is left of every row where all columns are zero. ``lower``, ``upper``: bounds of the
    columns; None where there is none. ``whole``: steps of integers in SI; zero for a column that
    need not be whole. ``cost``, ``offset``: the objective, to be minimised. ``spans``: where the
    rows of each comparison are, by rule and number.
    """

    rows: Ints
    columns: Ints
    factors: Fractions
    constant: Fractions
    equal: Bools
    lower: list[Fraction | None]
    upper: list[Fraction | None]
    whole: Fractions
    cost: Fractions
    offset: Fraction
    spans: Mapping[tuple[str, int], slice]

    def relaxation(self) -> Relaxation:
        """Return the system in doubles."""
        import scipy.sparse as sp

        shape = self.constant.size, len(self.lower)
        matrix = sp.csr_matrix((floats(self.factors), (self.rows, self.columns)), shape=shape)
        none = np.zeros(shape[0])
        cost = sp.csr_matrix(floats(self.cost)[None, :])
        lower, upper = (
            np.array([default if end is None else float(end) for end in side], dtype=np.float64)
            for side, default in ((self.lower, -np.inf), (self.upper, np.inf))
        )
        return Relaxation(
            Form(cost, np.array([float(self.offset)]), np.zeros(1)),
            Form(matrix, floats(self.constant), none),
            self.equal,
            (),
            lower,
            upper,
        )


def linear_of(programme: ExactProgramme) -> Linear:
    """Return the affine rows of a programme as one system; the others are left out."""
    point = programme.point
    none = np.zeros(0, dtype=np.int64)
    parts: list[Any] = [(none, none, np.zeros(0, dtype=object))]
    constants, equal = [np.zeros(0, dtype=object)], [np.zeros(0, dtype=bool)]
    spans: dict[tuple[str, int], slice] = {}
    at = 0
    for row in programme.rows:
        if row.excess.degree > 1:
            continue
        size = row.excess.data.size
        rows, columns, factors = programme.entries(row.excess)
        constants.append(row.excess.data - grouped(factors * point[columns], rows, size))
        parts.append((rows + at, columns, factors))
        equal.append(np.full(size, row.equal))
        spans[row.rule.id, row.number] = slice(at, at + size)
        at += size
    joined: Any = [np.concatenate(part) for part in zip(*parts, strict=True)]
    entries = _merged(joined[0], joined[1], joined[2], point.size)
    cost, offset = constants_of(0, point.size, like=point), ZERO
    goal = programme.objective
    if goal is not None and goal.degree < 2:
        _, columns, factors = programme.entries(goal)
        cost = programme.sign * grouped(factors, columns, point.size)
        offset = programme.sign * goal.data[0] - summed(cost * point)
    constant, exactly = np.concatenate(constants), np.concatenate(equal)
    ends, steps = _ends_of(programme.boxes, point.size)
    return Linear(*entries, constant, exactly, *ends, steps, cost, offset, spans)


def _ends_of(boxes: tuple[Box, ...], size: int) -> tuple[Ends, Fractions]:
    """Return lower and upper bounds of all columns, and the steps of integers."""
    lower: list[Fraction | None] = [None] * size
    upper: list[Fraction | None] = [None] * size
    steps = listed([ZERO] * size)
    for box in boxes:
        span = slice(box.start, box.start + len(box.lower))
        low, high = list(box.lower), list(box.upper)
        if box.kind == "semicontinuous":
            low = [None if end is None else min(end, box.zero) for end in low]
            high = [None if end is None else max(end, box.zero) for end in high]
        lower[span] = [e if there else ZERO for e, there in zip(low, box.exists, strict=True)]
        upper[span] = [e if there else ZERO for e, there in zip(high, box.exists, strict=True)]
        if box.whole is not None and not box.zero:  # multiples of it are what a case cuts at
            steps[span] = box.whole
    return (lower, upper), steps


def implied(programme: ExactProgramme, system: Linear) -> Ends:
    """Return the bounds of the columns, missing ones as rows imply them, rounded outwards."""
    found = system.relaxation()
    spans = [np.arange(span.stop - span.start) for span in system.spans.values()]
    order = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
    point = floats(programme.point)
    wider = implied_ends(found.rows, found.equal, order, point, found.lower, found.upper)
    lower, upper = list(system.lower), list(system.upper)
    for ends, known, side in ((lower, wider[0], -1), (upper, wider[1], 1)):
        for place, number in enumerate(known.tolist()):
            if ends[place] is None and np.isfinite(number):
                ends[place] = _outwards(number, side)
    return lower, upper


def _outwards(number: float, side: int) -> Fraction:
    """Return a bound as a fraction; one beside zero is moved outwards to a figure of some size."""
    if 0 < abs(number) < TINY:
        return Fraction(side, 10**30) if number * side > 0 else ZERO
    return Fraction(number)


def _merged(
    rows: Ints, columns: Ints, factors: Fractions, count: int
) -> tuple[Ints, Ints, Fractions]:
    """Return entries of which none stands at the same place as another."""
    keys, which = np.unique(rows * max(count, 1) + columns, return_inverse=True)
    sums = grouped(factors, which.reshape(-1), keys.size)
    kept = np.flatnonzero([bool(number) for number in sums])
    return keys[kept] // max(count, 1), keys[kept] % max(count, 1), sums[kept]
