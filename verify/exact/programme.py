"""A programme in rational arithmetic: rows, bounds, whole numbers, objective and the plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from engiagent.blueprint.document import Core, VariableDef
from engiagent.blueprint.grammar import GrammarError
from engiagent.errors import EngiagentError
from engiagent.units.unit import UnitError, parse_unit
from engiagent.verify.documents import Bench
from engiagent.verify.exact import forms
from engiagent.verify.exact.evaluator import ExactEvaluator
from engiagent.verify.exact.forms import Entries, Exact
from engiagent.verify.exact.numbers import Fractions, NotExactError, filled, fraction, grouped
from engiagent.verify.frames import EvaluationError, Frame
from engiagent.verify.levels.algebra import Rule, judge_of, rules_of_core
from engiagent.verify.levels.variables import bound_tolerance
from engiagent.verify.relations import parts_of
from engiagent.verify.values import ONE, Floats, Ints

UNREADABLE = (NotExactError, UnitError, GrammarError, EngiagentError)

ZERO = Fraction(0)


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of one comparison of one rule: ``excess op 0``.

    Attributes
    ----------
    number
        Which comparison of a chain, from 1.
    excess
        Left side less right side, in SI.
    tolerance
        By how much each row may fail, in SI, as the check in floating point allows it.
    """

    rule: Rule
    number: int
    op: str
    excess: Exact
    tolerance: Floats
    frame: Frame

    @property
    def violation(self) -> Fractions:
        """By how much each row fails in the plan, none below zero."""
        data = self.excess.data
        if self.op == "==":
            return np.asarray(abs(data))
        over: Any = data if self.op == "<=" else -data
        result = np.empty(over.size, dtype=object)
        result[:] = [max(number, Fraction(0)) for number in over]
        return result


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds of a variable, in SI; None where there is none.

    Attributes
    ----------
    exists
        Where a sparse variable is.
    whole
        By how much a whole number of the variable's unit is larger than one in SI; None where it
        need not be whole.
    zero
        The SI value of the unit's zero, of which a scale of temperature has one of its own.
    """

    name: str
    start: int
    lower: tuple[Fraction | None, ...]
    upper: tuple[Fraction | None, ...]
    exists: Any
    kind: str
    whole: Fraction | None
    zero: Fraction = ZERO


@dataclass(frozen=True, eq=False)
class ExactProgramme:
    """What a core asks, exactly; ``left_out`` says what has no rational value, and why."""

    evaluator: ExactEvaluator
    core: Core
    blocks: tuple[Block, ...]
    boxes: tuple[Box, ...]
    objective: Exact | None = None
    sense: str = "minimize"
    left_out: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.evaluator.columns.count

    @property
    def point(self) -> Fractions:
        """The plan, one number per column, in SI."""
        parts = self.evaluator.columns.points
        return np.concatenate([np.zeros(0, dtype=object), *parts.values()])

    @property
    def is_linear(self) -> bool:
        """Whether every row and the objective are affine, and nothing was left out."""
        rows = all(block.excess.entries is not None for block in self.blocks)
        goal = self.objective is None or self.objective.entries is not None
        return rows and goal and not self.left_out


def programme_of(bench: Bench, core: Core, objective: str | None, sense: str) -> ExactProgramme:
    """Return what the hard rules, the bounds and an objective say, in rational arithmetic.

    Parameters
    ----------
    objective
        The expression; None for a mere question of feasibility.
    """
    evaluator = ExactEvaluator(bench)
    left_out: list[str] = []
    boxes = []
    for definition in core.decision_variables:
        try:
            boxes.append(_box(evaluator, definition))
        except UNREADABLE as error:
            left_out.append(f"{definition.name}: {error}")
    blocks = list(blocks_of(evaluator, rules_of_core(core), left_out))
    goal = None
    if objective is not None:
        try:
            goal = evaluator.evaluate(objective)
        except UNREADABLE as error:
            left_out.append(f"the objective: {error}")
    return ExactProgramme(
        evaluator, core, tuple(blocks), tuple(boxes), goal, sense, tuple(left_out)
    )


def blocks_of(
    evaluator: ExactEvaluator, rules: Sequence[Rule], left_out: list[str]
) -> Iterator[Block]:
    """Yield the rows of the hard rules; what has no rational value is named in ``left_out``."""
    bench = evaluator.bench
    for rule in rules:
        if not rule.hard:
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            if not frame.size:
                continue
            compared = evaluator.compared(rule.expression, frame)
            judge = judge_of(bench, rule)
            parts = parts_of(bench.evaluator, rule.expression, frame, judge)
        except UNREADABLE as error:
            left_out.append(f"{rule.id}: {error}")
            continue
        for number, ((op, left, right), part) in enumerate(zip(compared, parts, strict=True), 1):
            excess = forms.add(left, right, -1)
            if excess.size != frame.size:
                excess = forms.gather(excess, np.zeros(frame.size, dtype=np.int64))
            yield Block(rule, number, op, excess, part.tolerance, frame)


def _box(evaluator: ExactEvaluator, definition: VariableDef) -> Box:
    bench = evaluator.bench
    value = evaluator.variable(definition.name)
    frame = bench.grid(definition.index)
    unit = parse_unit(definition.unit or "1")
    ends: list[tuple[Fraction | None, ...]] = []
    for given in (definition.lower, definition.upper):
        if given is None or (isinstance(given, int | float) and not np.isfinite(given)):
            ends.append((None,) * frame.size)
            continue
        if isinstance(given, int | float):
            bound = forms.constant(filled(fraction(float(given)), frame.size), unit)
        else:
            bound = forms.adopt(evaluator.evaluate(str(given), frame), unit)
        if bound.unit.dimension != unit.dimension or not bound.is_constant:
            raise EvaluationError(f"the bound {given!r} is {bound.unit}, the variable {unit}")
        ends.append(tuple(bound.data))
    lower, upper = ends
    if definition.type == "semicontinuous" and definition.lower is None:
        lower = (unit.zero or ZERO,) * frame.size
    if definition.type == "binary":
        lower = tuple(Fraction(0) if e is None else max(e, Fraction(0)) for e in lower)
        upper = tuple(Fraction(1) if e is None else min(e, Fraction(1)) for e in upper)
    mask = bench.mask(definition)
    whole = unit.factor if definition.type in ("integer", "binary") else None
    start = evaluator.columns.starts[definition.name]
    assert value.size == frame.size
    zero = unit.zero or ZERO
    return Box(definition.name, start, lower, upper, mask, definition.type, whole, zero)


def box_tolerance(bench: Bench, name: str) -> Floats:
    """Return by how much each element of a variable may exceed its bounds, in SI."""
    return bound_tolerance(bench, name, bench.variables[name])


@dataclass(frozen=True, eq=False)
class Linear:
    """Rows ``low <= entries x + constant`` and the like, as one system.

    Attributes
    ----------
    ops
        ``<=``, ``>=`` or ``==`` of every row, against zero.
    constant
        What is left of every row where all columns are zero.
    lower, upper
        Bounds of the columns; None where there is none.
    whole
        Steps of whole numbers in SI; zero for a column that need not be whole.
    """

    entries: Entries
    ops: Any
    constant: Fractions
    lower: list[Fraction | None]
    upper: list[Fraction | None]
    whole: Fractions
    starts: dict[tuple[str, int], slice]


def linear_of(programme: ExactProgramme) -> Linear:
    """Return the affine rows of a programme as one system; the others are left out."""
    point, size = programme.point, programme.size
    parts, ops, constants = [], [], []
    starts: dict[tuple[str, int], slice] = {}
    at = 0
    for block in programme.blocks:
        if block.excess.entries is None:
            continue
        own = block.excess.joined()
        products = own.factors * point[own.columns]
        constants.append(block.excess.data - grouped(products, own.rows, block.excess.size))
        parts.append(Entries(own.rows + at, own.columns, own.factors))
        ops.append(np.full(block.excess.size, block.op, dtype=object))
        starts[block.rule.id, block.number] = slice(at, at + block.excess.size)
        at += block.excess.size
    empty = np.zeros(0, dtype=object)
    whole = Exact(np.concatenate([empty, *constants]), ONE, tuple(parts))
    lower, upper, steps = ends_of(programme.boxes, size)
    return Linear(
        merged(whole.joined(), size),
        np.concatenate([empty, *ops]),
        whole.data,
        lower,
        upper,
        steps,
        starts,
    )


def ends_of(
    boxes: Sequence[Box], size: int
) -> tuple[list[Fraction | None], list[Fraction | None], Fractions]:
    """Return lower and upper bounds of all columns, and the steps of whole numbers."""
    lower: list[Fraction | None] = [None] * size
    upper: list[Fraction | None] = [None] * size
    steps = np.empty(size, dtype=object)
    steps[:] = Fraction(0)
    zero = Fraction(0)
    for box in boxes:
        span = slice(box.start, box.start + len(box.lower))
        low, high = list(box.lower), list(box.upper)
        if box.kind == "semicontinuous":
            low = [None if end is None else min(end, box.zero) for end in low]
            high = [None if end is None else max(end, box.zero) for end in high]
        if box.exists is not None:
            low = [end if there else zero for end, there in zip(low, box.exists, strict=True)]
            high = [end if there else zero for end, there in zip(high, box.exists, strict=True)]
        lower[span], upper[span] = low, high
        if box.whole is not None and not box.zero:  # multiples of it are what a case cuts at
            steps[span] = box.whole
    return lower, upper, steps


def merged(entries: Entries, columns: int) -> Entries:
    """Return entries of which none stands at the same place as another."""
    keys = entries.rows * max(columns, 1) + entries.columns
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    fresh = np.concatenate(([True], keys[1:] != keys[:-1])) if keys.size else np.zeros(0, bool)
    if fresh.all():
        return Entries(entries.rows[order], entries.columns[order], entries.factors[order])
    group: Ints = np.cumsum(fresh) - 1
    summed = grouped(entries.factors[order], group, int(fresh.sum()))
    first = order[np.flatnonzero(fresh)]
    kept = np.flatnonzero([bool(number) for number in summed])
    return Entries(entries.rows[first][kept], entries.columns[first][kept], summed[kept])
