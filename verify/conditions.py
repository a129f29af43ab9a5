"""Conditions on indices and parameters, row by row."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from engiagent.blueprint.comparing import holds
from engiagent.blueprint.grammar import (
    Call,
    Compare,
    Logic,
    Members,
    Node,
    Number,
    Ref,
    Text,
    Unary,
)
from engiagent.units.unit import parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.clocks import within
from engiagent.verify.frames import Bools, Elements, Environment, EvaluationError, Frame
from engiagent.verify.places import Places, located
from engiagent.verify.values import Ints, Value

HOUR = parse_unit("h")


class Conditions(ABC):
    """The part of evaluation that says on which rows a filter holds."""

    environment: Environment
    places: Places

    @abstractmethod
    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""

    def condition(self, node: Node, frame: Frame) -> Bools:
        """Return whether a condition holds on every row.

        Raises
        ------
        EvaluationError
            When it is no condition or depends on a variable.
        """
        if isinstance(node, Logic):
            parts = [self.condition(part, frame) for part in node.operands]
            reduce = np.logical_and.reduce if node.op == "and" else np.logical_or.reduce
            return np.asarray(reduce(parts))
        if isinstance(node, Unary) and node.op == "not":
            return ~self.condition(node.operand, frame)
        if isinstance(node, Call) and node.function == "within":
            return within(*(self.places.element(part, frame) for part in node.args))
        if not isinstance(node, Compare):
            raise EvaluationError(f"column {node.span[0] + 1}: a condition is needed here")
        if node.ops[0] in ("in", "not in"):
            inside = self._membership(node, frame)
            return inside if node.ops[0] == "in" else ~inside
        found = np.ones(frame.size, dtype=bool)
        if len(node.ops) > 1 and self._are_numbers(node.operands, frame):
            numbers = self._numbers(node.operands, frame)
            for op, one, other in zip(node.ops, numbers, numbers[1:], strict=False):
                found &= holds(op, one.data, other.data)
            return found
        for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
            found &= self._compare(op, left, right, frame)
        return found

    def _are_numbers(self, parts: Sequence[Node], frame: Frame) -> bool:
        """Whether what is compared are numbers, among which a text is a time of day."""
        written = [part for part in parts if not isinstance(part, Text)]
        return bool(written) and not any(
            self.places.is_element(part, frame) or self._labels(part, frame) is not None
            for part in written
        )

    def _numbers(self, parts: Sequence[Node], frame: Frame) -> list[Value]:
        """Return the numbers of a comparison, none of which may depend on a variable."""
        found = arithmetic.align_chain([self._clock_or_number(part, frame) for part in parts])
        if any(value.degree for value in found):
            raise EvaluationError("a condition may use indices and parameters only")
        return found

    def _compare(self, op: str, left: Node, right: Node, frame: Frame) -> Bools:
        relation = _COMPARE[op]
        if self.places.is_element(left, frame) or self.places.is_element(right, frame):
            return np.asarray(relation(*self._elements(left, right, frame)), dtype=bool)
        labels = [self._labels(part, frame) for part in (left, right)]
        if labels[0] is not None and labels[1] is not None:
            return np.asarray(relation(labels[0], labels[1]), dtype=bool)
        a, b = self._numbers((left, right), frame)
        return holds(op, a.data, b.data)

    def _clock_or_number(self, node: Node, frame: Frame) -> Value:
        """Read ``"07:30"`` beside a number as a time of day."""
        if not isinstance(node, Text):
            return self.number(node, frame)
        hours, _, minutes = node.value.partition(":")
        if not (hours.isdigit() and minutes.isdigit()):
            raise EvaluationError(f"{node.value!r} is neither a label nor a time of day")
        return values.constant(np.full(frame.size, int(hours) + int(minutes) / 60.0), HOUR)

    def _labels(self, node: Node, frame: Frame) -> object:
        if isinstance(node, Text):
            return np.full(frame.size, node.value, dtype=object)
        if isinstance(node, Ref) and node.name not in frame.names:
            symbol = self.environment.symbol(node.name)
            if symbol.labels is not None:
                return symbol.labels[self.places.flat(node, symbol, frame)]
        return None

    def _elements(self, left: Node, right: Node, frame: Frame) -> tuple[object, object]:
        """Return comparable positions of two elements, or an element and a label."""
        one = left if self.places.is_element(left, frame) else right
        other = right if one is left else left
        first = self.places.element(one, frame)
        if isinstance(other, Text | Number) or self._labels(other, frame) is not None:
            texts = self._labels(other, frame)
            if isinstance(other, Number):
                texts = np.full(frame.size, int(other.value), dtype=object)
            inside = (first.positions >= 0) & (first.positions < first.set.size)
            # What an offset or ``at`` leads out of the set to has a label that is equal to none.
            labels = np.array([*first.set.labels, None], dtype=object)
            known = labels[np.where(inside, first.positions, -1)]
            return (known, texts) if one is left else (texts, known)
        second = self.places.element(other, frame)
        pair = _same_set(first, second)
        return pair if one is left else (pair[1], pair[0])

    def _membership(self, node: Compare, frame: Frame) -> Bools:
        item, group = node.operands
        if isinstance(group, Members):
            parts = [self._compare("==", item, member, frame) for member in group.items]
            return np.asarray(np.logical_or.reduce(parts))
        if not isinstance(group, Ref):
            raise EvaluationError("'in' needs a set or a list in brackets")
        target = self.environment.set(group.name)
        if isinstance(item, Members):
            found = self.places.in_tuples(item.items, target, frame)
        else:
            found = self.places.positions(item, target, frame)
        return np.asarray((found >= 0) & (found < target.size))


def _same_set(first: Elements, second: Elements) -> tuple[Ints, Ints]:
    if first.set.root is second.set.root:
        return first.set.rooted(first.positions), second.set.rooted(second.positions)
    if first.set.map_to(second.set) is not None:
        return located(first, second.set), second.positions
    if second.set.map_to(first.set) is not None:
        return first.positions, located(second, first.set)
    raise EvaluationError(f"elements of {first.set.name} and {second.set.name} never meet")


_COMPARE: dict[str, Callable[..., object]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    ">": np.greater,
}
