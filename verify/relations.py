"""What a constraint asks of the numbers: comparisons, chains and the four logical functions.

Everything is judged on the values themselves; nothing is lowered. A constraint becomes a few
:class:`Part` s, each with a slack for some of its rows: the constraint holds where every slack is
within its tolerance of zero or above.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engiagent.blueprint.grammar import (
    Call,
    Compare,
    GrammarError,
    Logic,
    Node,
    Number,
    Ref,
    Unary,
    parse,
)
from engiagent.units.unit import Unit, UnitError
from engiagent.verify import arithmetic, values
from engiagent.verify.evaluate import Compared, Evaluator
from engiagent.verify.frames import Bools, EvaluationError, Frame
from engiagent.verify.tolerances import hidden, row_tolerance
from engiagent.verify.values import Floats, Ints, Value

Growth = Callable[[Value], Floats]
"""By how much each row of a value can grow at most, by what is uncertain."""


@dataclass(frozen=True)
class Judge:
    """By what comparisons are judged."""

    # the absolute tolerance that a rule states, in SI, given the unit of what is compared
    stated: Callable[[Unit], float | None] = lambda unit: None
    growth: Growth | None = None  # given when the worst case is to be judged
    # how to get the evaluator at declared magnitudes, which sets the scale of tolerances
    declared: Callable[[], Evaluator] | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """Slacks of some rows of a constraint."""

    rows: Ints | None  # which rows of the frame; None for all
    # slack, tolerance: in SI, one for each of these rows; a negative slack is by how much it fails
    slack: Floats
    tolerance: Floats
    unit: Unit  # in which amounts are told
    telling: bool = True  # whether the slack says more than that a quantity is not negative
    # the rows, of these, whose rounding may hide a share of what is declared; None for none
    hidden: Bools | None = None

    def take(self, kept: Bools) -> "Part":
        """Return the part on those rows of the frame for which ``kept`` is true."""
        rows = np.arange(kept.size) if self.rows is None else self.rows
        chosen = np.flatnonzero(kept[rows])
        return Part(
            rows[chosen],
            self.slack[chosen],
            self.tolerance[chosen],
            self.unit,
            self.telling,
            None if self.hidden is None else self.hidden[chosen],
        )


def parts_of(evaluator: Evaluator, text: str, frame: Frame, judge: Judge) -> list[Part]:
    """Return the parts of a constraint over the rows of a frame."""
    try:
        node = parse(text)
        if isinstance(node, Call) and node.function in _STATEMENTS:
            return _STATEMENTS[node.function](evaluator, node, frame, judge)
        if isinstance(node, Compare):
            return _parts(node, evaluator.compared(text, frame), frame, judge)
        return _compared(evaluator, node, frame, judge)
    except (UnitError, GrammarError) as error:
        raise EvaluationError(f"in {text!r}: {error}") from None


def slack_of(op: str, left: Value, right: Value) -> Floats:
    """Return by how much a comparison holds, row by row; for == never more than zero."""
    with np.errstate(all="ignore"):
        difference = np.asarray(right.data - left.data)
    if op == "==":
        np.abs(difference, out=difference)
    return difference if op == "<=" else np.negative(difference, out=difference)


def _compared(evaluator: Evaluator, node: Node, frame: Frame, judge: Judge) -> list[Part]:
    if isinstance(node, Logic) and node.op == "and":
        return [p for item in node.operands for p in _compared(evaluator, item, frame, judge)]
    return _parts(node, evaluator.chain(node, frame), frame, judge)


def _parts(node: Node, compared: Compared, frame: Frame, judge: Judge) -> list[Part]:
    found = []

    @lru_cache(maxsize=1)
    def chain() -> Compared:
        assert judge.declared is not None
        return judge.declared().chain(node, frame)

    for op, left, right in compared:
        unit = left.unit
        slack = values.wide(slack_of(op, left, right), frame.size)
        if judge.growth is not None:
            slack = slack - judge.growth(arithmetic.add(left, right, -1.0))
        declared = None if judge.declared is None else _widest(chain)
        stated = judge.stated(unit)
        tolerance = values.wide(row_tolerance(left, right, stated, declared), frame.size)
        telling = bool(values.thin(left.data).any() and values.thin(right.data).any())
        unseen = None if declared is None else hidden(left, right, declared)
        unseen = None if unseen is None else values.wide(unseen, frame.size)
        found.append(Part(None, slack, tolerance, unit.difference(), telling, unseen))
    return found


def _widest(chain: Callable[[], Compared]) -> Callable[[], tuple[Value, Value]]:
    """Return how to get the comparison of a chain that reaches furthest: it is of one quantity.

    In ``0 <= x <= 4[MWh]`` the scale of x is 4 MWh at either end.
    """

    def reach(pair: tuple[str, Value, Value]) -> float:
        return sum(float(np.max(values.thin(side.size), initial=0.0)) for side in pair[1:])

    return lambda: max(chain(), key=reach)[1:]


# --- logic -------------------------------------------------------------------------------------


def _active(evaluator: Evaluator, node: Node, frame: Frame) -> Bools:
    if isinstance(node, Logic):
        parts = [_active(evaluator, part, frame) for part in node.operands]
        reduce = np.logical_and.reduce if node.op == "and" else np.logical_or.reduce
        return np.asarray(reduce(parts), dtype=bool)
    if isinstance(node, Unary) and node.op == "not":
        return ~_active(evaluator, node.operand, frame)
    if isinstance(node, Compare) and node.ops == ("==",):
        left, right = node.operands
        if isinstance(left, Number):
            left, right = right, left
        if isinstance(right, Number) and right.unit is None and right.value in (0.0, 1.0):
            holds = _active(evaluator, left, frame)
            return holds if right.value == 1.0 else ~holds
    if not isinstance(node, Ref):
        raise EvaluationError(f"column {node.span[0] + 1}: a binary variable is needed here")
    value = evaluator.number(node, frame)
    if not np.isfinite(value.data).all():
        raise EvaluationError(f"{node.name} is no finite number")
    # A switch in between is refused by its own check; here it counts as what it is closer to.
    return np.asarray(value.data >= 0.5)


def _implies(evaluator: Evaluator, node: Call, frame: Frame, judge: Judge) -> list[Part]:
    active = _active(evaluator, node.args[0], frame)
    return [part.take(active) for part in _compared(evaluator, node.args[1], frame, judge)]


def _either(evaluator: Evaluator, node: Call, frame: Frame, judge: Judge) -> list[Part]:
    """Judge each row by the alternative that is closest to holding."""
    alternatives = [_compared(evaluator, arg, frame, judge) for arg in node.args]
    alike = len({part.unit.dimension for parts in alternatives for part in parts}) == 1
    failing = np.stack([_worst_of(parts, alike) for parts in alternatives])
    closest = np.argmin(failing, axis=0)
    return [
        part.take(closest == place) for place, parts in enumerate(alternatives) for part in parts
    ]


def _worst_of(parts: Sequence[Part], alike: bool) -> Floats:
    """Return how far each row is from meeting all parts: below zero when it meets them.

    The measure is the amount where all are of one dimension, else the multiple of the tolerance.
    """
    worst = []
    for part in parts:
        margin = part.slack + part.tolerance
        measure = -part.slack if alike else -part.slack / part.tolerance
        measure = np.where(margin >= 0, -1.0, np.maximum(measure, 0.0))
        worst.append(np.where(np.isfinite(margin), measure, np.inf))
    return np.asarray(np.max(np.stack(worst), axis=0))


def _exclusive(evaluator: Evaluator, node: Call, frame: Frame, judge: Judge) -> list[Part]:
    """Judge each row by the second largest of the quantities."""
    found = [evaluator.number(arg, frame) for arg in node.args]
    alike = len({value.unit.dimension for value in found}) == 1
    sizes, tolerances, measures = [], [], []
    for arg, value in zip(node.args, found, strict=True):
        if value.unit.is_point:
            raise EvaluationError(f"a temperature in {value.unit} cannot be exclusive")
        zero = values.constant(np.zeros(1), value.unit)
        size = np.abs(np.broadcast_to(value.data, (frame.size,)))
        declared = None if judge.declared is None else _beside_zero(judge.declared, arg, frame)
        tolerance = np.broadcast_to(
            row_tolerance(value, zero, judge.stated(value.unit), declared), size.shape
        )
        sizes.append(size)
        tolerances.append(tolerance)
        measures.append(np.where(np.isfinite(size), size if alike else size / tolerance, np.inf))
    second = np.argsort(np.stack(measures), axis=0, kind="stable")[-2]
    everywhere = zip(found, sizes, tolerances, strict=True)
    return [
        Part(None, -size, tolerance, value.unit).take(second == place)
        for place, (value, size, tolerance) in enumerate(everywhere)
    ]


def _beside_zero(
    declared: Callable[[], Evaluator], node: Node, frame: Frame
) -> Callable[[], tuple[Value, Value]]:
    """Return how to get an amount at its declared magnitude, beside zero."""

    def pair() -> tuple[Value, Value]:
        value = declared().number(node, frame)
        return value, values.constant(np.zeros(1), value.unit)

    return pair


def _complements(evaluator: Evaluator, node: Call, frame: Frame, judge: Judge) -> list[Part]:
    """Judge both inequalities, and that one of them holds with equality."""
    pair = []
    for arg in node.args:
        parts = _compared(evaluator, arg, frame, judge)
        if len(parts) != 1 or not isinstance(arg, Compare) or arg.ops[0] == "==":
            raise EvaluationError("complements takes two inequalities")
        pair += parts
    first, second = pair
    alike = first.unit.dimension == second.unit.dimension
    shares = [part.slack if alike else part.slack / part.tolerance for part in pair]
    with np.errstate(invalid="ignore"):
        by_first = shares[0] <= shares[1]
    for part, chosen in ((first, by_first), (second, ~by_first)):
        pair.append(Part(None, -part.slack, part.tolerance, part.unit).take(chosen))
    return pair


_STATEMENTS: dict[str, Callable[[Evaluator, Call, Frame, Judge], list[Part]]] = {
    "complements": _complements,
    "either": _either,
    "exclusive": _exclusive,
    "implies": _implies,
}
