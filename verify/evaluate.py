"""The checker's own reading of expressions, over whole index grids and in SI units.

It shares the grammar with the compiler and nothing else: no conversion is written into the tree,
every number is in coherent SI with its dimension from the start. Two implementations that agree
are the point.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from engiagent.blueprint.comparing import holds
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Choice,
    Compare,
    GrammarError,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    parse,
    parse_binder,
    walk,
)
from engiagent.blueprint.sets import is_timed
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify import arithmetic, functions, values
from engiagent.verify.frames import (
    Bools,
    Elements,
    Environment,
    EvaluationError,
    Frame,
    expand,
    within,
)
from engiagent.verify.places import Places, expand_window, located, window
from engiagent.verify.values import ONE, Floats, Ints, Value, constants_of

HOUR = parse_unit("h")
Compared = list[tuple[str, Value, Value]]
"""Operator, left and right side of each comparison of a chain."""


class Evaluator:
    """Evaluates expressions in an environment.

    ``faults``: what was found outside the domain of a function since somebody emptied the list.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.places = Places(environment, self.number)
        self.faults: list[functions.Fault] = []
        self._frames: dict[tuple[tuple[str, ...], str | None], Frame] = {}
        self._compared: dict[tuple[str, int], Compared] = {}

    def forget(self) -> None:
        """Let go of what is kept for whoever asks for the same rows again."""
        self._frames.clear()
        self._compared.clear()

    # -- entry points -----------------------------------------------------------------------------

    def frame(self, binders: tuple[str, ...], where: str | None = None) -> Frame:
        """Return the rows that binders such as ``t in T`` run over; asked again, the same frame."""
        key = tuple(binders), where
        if key not in self._frames:
            self._frames[key] = self._frame(key[0], where)
        return self._frames[key]

    def _frame(self, binders: tuple[str, ...], where: str | None) -> Frame:
        parsed = tuple(parse_binder(binder) for binder in binders)
        node = None if where is None else parse(where)
        return expand(Frame(1), parsed, self.environment.set, node, self.condition)[0]

    def evaluate(self, text: str, frame: Frame | None = None) -> Value:
        """Return the value of an expression on every row of a frame."""
        try:
            return self.number(parse(text), Frame(1) if frame is None else frame)
        except (UnitError, GrammarError) as error:
            raise EvaluationError(f"in {text!r}: {error}") from None

    def compared(self, text: str, frame: Frame) -> Compared:
        """Return operator and sides of every comparison of a chain.

        Two levels of a check ask for the same rows; they are evaluated once.
        """
        known = frame in self._frames.values()
        key = text, id(frame)
        if known and key in self._compared:
            return self._compared[key]
        try:
            result = self.chain(parse(text), frame)
        except (UnitError, GrammarError) as error:
            raise EvaluationError(f"in {text!r}: {error}") from None
        if known:
            self._compared[key] = result
        return result

    def chain(self, node: Node, frame: Frame) -> Compared:
        """Return operator and sides of each comparison of a chain, aligned in dimension."""
        if not isinstance(node, Compare) or not set(node.ops) <= {"<=", ">=", "=="}:
            raise EvaluationError(f"column {node.span[0] + 1}: no comparison by <=, >= or ==")
        sides = arithmetic.align_chain([self.number(part, frame) for part in node.operands])
        return list(zip(node.ops, sides, sides[1:], strict=False))

    # -- numbers ----------------------------------------------------------------------------------

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""
        rule = _NUMBERS.get(type(node))
        if rule is None:
            raise EvaluationError(f"column {node.span[0] + 1}: a number is needed here")
        return rule(self, node, frame)

    def repeated(self, number: float, unit: Unit, size: int, bare: bool = False) -> Value:
        """Return a figure on every row, in the arithmetic of this evaluator."""
        return values.repeated(number, unit, size, bare)

    def given(self, value: Value) -> Value:
        """Return a constant of the sets in the arithmetic of this evaluator."""
        return value

    def _literal(self, node: Number, frame: Frame) -> Value:
        unit = ONE if node.unit is None else parse_unit(node.unit)
        return self.repeated(node.value, unit, frame.size, bare=node.unit is None)

    def _ref(self, node: Ref, frame: Frame) -> Value:
        if node.name in frame.names and not node.indices:
            elements = frame.names[node.name]
            numbers = elements.set.numbers
            if numbers is None:
                raise EvaluationError(f"{node.name} is an element of a set, not a number")
            return self.given(_plain(numbers[elements.positions].astype(np.float64)))
        symbol = self.environment.symbol(node.name)
        if symbol.value is None:
            raise EvaluationError(f"{node.name} holds labels, not numbers")
        if not symbol.dims and not symbol.value.degree and not node.indices:
            return values.over(symbol.value, frame.size)
        span = self.places.span(node, symbol, frame)
        if span is not None:
            return arithmetic.gather(symbol.value, span)
        if symbol.before is None:
            return arithmetic.gather(symbol.value, self.places.flat(node, symbol, frame))
        history = symbol.before.data.size
        flat, early = self.places.flat_and_early(node, symbol, frame, history)
        now, then = np.flatnonzero(early == 0), np.flatnonzero(early)
        known = arithmetic.gather(symbol.value, flat[now])
        before = arithmetic.gather(symbol.before, early[then] - 1)
        return arithmetic.combine([(known, now), (before, then)], frame.size)

    def _unary(self, node: Unary, frame: Frame) -> Value:
        if isinstance(node.operand, Number) and node.op == "-":  # as -40[degC], which is a point
            return self._literal(replace(node.operand, value=-node.operand.value), frame)
        value = self.number(node.operand, frame)
        return value if node.op == "+" else arithmetic.negate(value)

    def _binary(self, node: Binary, frame: Frame) -> Value:
        left = self.number(node.left, frame)
        if node.op == "**":
            return self._power(left, node.right, frame)
        right = self.number(node.right, frame)
        if node.op in "+-":
            return arithmetic.add(left, right, 1.0 if node.op == "+" else -1.0)
        if node.op == "*":
            return arithmetic.multiply(left, right)
        if node.op == "/":
            return functions.finite(
                self, "the quotient", arithmetic.divide(left, right), (left, right), frame
            )
        return _modulo(node.op, left, right)

    def _power(self, base: Value, node: Node, frame: Frame) -> Value:
        exponent = self.number(node, frame)
        same = exponent.data.size == 0 or (exponent.data == exponent.data[0]).all()
        if exponent.degree or not exponent.unit.is_dimensionless or not same:
            raise EvaluationError("an exponent is one plain number")
        power = float(exponent.data[0]) if exponent.data.size else 1.0
        inside = base
        if power != int(power):
            inside = functions.not_below_zero(self, f"a power of {power:g}", base, frame)
        result = arithmetic.power(base, power, inside)
        return functions.finite(self, f"a power of {power:g}", result, (base,), frame)

    def _reduce(self, node: Reduce, frame: Frame) -> Value:
        if frame.size != 1 and not any(
            isinstance(part, Ref) and part.name in frame.names for part in walk(node)
        ):
            # The same on every row: once is enough.
            return arithmetic.gather(
                self._reduce(node, Frame(1)), np.zeros(frame.size, dtype=np.int64)
            )
        inner, rows = self.inner(node, frame)
        if node.function == "first_index":
            return self._first_index(node, inner, rows, frame.size)
        body = self.number(node.body, inner)
        if node.function == "expect":
            body = arithmetic.multiply(self.given(self.chances(node, inner)), body)
        if node.function == "sumsq":
            body = arithmetic.power(body, 2.0)
        if node.function in ("sum", "expect", "sumsq"):
            return arithmetic.segment_sum(body, rows, frame.size)
        return arithmetic.segment_extreme(body, rows, frame.size, node.function == "min")

    def inner(self, node: Reduce, frame: Frame) -> tuple[Frame, Ints]:
        """Return the rows that a reduction runs over, and the row that each belongs to."""
        sets = self.environment.set
        index_set = sets(node.binders[0].set)
        span = window(node.binders, node.where, frame, index_set, self.places, self.number)
        if span is None or node.where is None:
            return expand(frame, node.binders, sets, node.where, self.condition)
        inner, rows = expand_window(frame, node.binders[0], index_set, span)
        kept = np.flatnonzero(self.condition(node.where, inner))
        return inner.take(kept), rows[kept]

    def chances(self, node: Reduce, inner: Frame) -> Value:
        """Return the probability of the scenarios that an expectation runs over."""
        names = [name for binder in node.binders for name in binder.names]
        elements = [inner.names[n] for n in names if inner.names[n].set.root.kind == "scenario"]
        if not elements:
            raise EvaluationError("expect runs over a scenario set")
        chances = functions.OF_ELEMENTS["prob"](elements[0])
        for element in elements[1:]:
            chances = arithmetic.multiply(chances, functions.OF_ELEMENTS["prob"](element))
        return chances

    def _first_index(self, node: Reduce, inner: Frame, rows: Ints, size: int) -> Value:
        """Return the position of the first element that meets a condition, else how many are."""
        element = inner.names[node.binders[0].names[0]]
        holds = self.condition(node.body, inner)
        result = np.full(size, float(element.set.size))
        np.minimum.at(result, rows[holds], element.positions[holds].astype(np.float64))
        return self.given(_plain(result))

    def _choice(self, node: Choice, frame: Frame) -> Value:
        holds = self.condition(node.condition, frame)
        # Evaluate each branch on its own rows only: the other may name what is not there.
        yes, no = np.flatnonzero(holds), np.flatnonzero(~holds)
        parts = [(self.number(node.then, frame.take(yes)), yes)]
        parts.append((self.number(node.otherwise, frame.take(no)), no))
        return arithmetic.combine(parts, frame.size)

    def _call(self, node: Call, frame: Frame) -> Value:
        if node.function == "prev":
            return self._prev(node, frame)
        if node.function == "where":
            return self.number(Choice(node.span, *node.args), frame)
        if node.function == "len":
            return self.repeated(self.places.named_set(node).size, ONE, frame.size)
        if node.function in functions.OF_ELEMENTS:
            element = self.places.element(node.args[0], frame)
            return self.given(functions.OF_ELEMENTS[node.function](element))
        if node.function == "piecewise":
            return functions.piecewise(self, node, frame)
        arguments = [self.number(part, frame) for part in node.args]
        if node.function == "abs":
            return arithmetic.extreme("max", [arguments[0], arithmetic.negate(arguments[0])])
        if node.function in ("min", "max"):
            return arithmetic.extreme(node.function, arguments)
        if node.function not in functions.ELEMENTARY:
            raise EvaluationError(f"{node.function} gives no number")
        return functions.elementary(self, node, arguments[0], frame)

    def _prev(self, node: Call, frame: Frame) -> Value:
        """Return the value one step earlier, the second argument where there is no earlier one."""
        first, moved = self.one_step_back(node, frame)
        yes, no = np.flatnonzero(first), np.flatnonzero(~first)
        # The one looked back at comes first: its unit is that of the whole.
        earlier = self.number(moved, frame.take(no))
        return arithmetic.combine(
            [(earlier, no), (self.number(node.args[1], frame.take(yes)), yes)], frame.size
        )

    def one_step_back(self, node: Call, frame: Frame) -> tuple[Bools, Ref]:
        """Return on which rows ``prev`` has no earlier value, and its reference moved by one step.

        A step is one of the whole set, whatever subset the index runs over.
        """
        reference = node.args[0]
        if not isinstance(reference, Ref) or not reference.indices:
            raise EvaluationError("prev needs an indexed name, as prev(x[t], x0)")
        which = len(reference.indices) - 1
        for index in reversed(range(len(reference.indices))):
            part = reference.indices[index]
            if not isinstance(part, Text | Number) and is_timed(
                self.places.element(part, frame).set
            ):
                which = index
                break
        here = self.places.element(reference.indices[which], frame)
        root = here.set.root
        own = self.environment.symbol(reference.name).dims
        target = own[which].root if len(own) == len(reference.indices) else None
        start_at, goes_round = 0, root.cyclic
        if target is root and own[which].size:
            start_at = int(own[which].in_root[0])
        elif target is not None and target.periods_of is root:
            goes_round = False  # edges do not go round, also where the periods do
        in_root = here.set.rooted(here.positions)
        first = np.asarray((in_root == start_at) & (not goes_round))
        back = Binary(reference.span, "-", reference.indices[which], Number((0, 0), 1.0, None))
        moved = (*reference.indices[:which], back, *reference.indices[which + 1 :])
        return first, replace(reference, indices=moved)

    # -- conditions on indices and parameters ------------------------------------------------------

    def condition(self, node: Node, frame: Frame) -> Bools:
        """Return whether a condition holds on every row."""
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


# --- pieces ------------------------------------------------------------------------------------


def _plain(data: Floats) -> Value:
    return values.constant(data, ONE)


def _modulo(op: str, left: Value, right: Value) -> Value:
    left, right = arithmetic.align([left, right])
    if left.degree or right.degree or not left.unit.is_dimensionless:
        raise EvaluationError(f"{op} takes plain numbers and no variables")
    with np.errstate(all="ignore"):
        data = left.data % right.data if op == "%" else left.data // right.data
    return _plain(data * constants_of(1, data.size, like=left.data))


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
_NUMBERS: dict[type[Node], Callable[..., Value]] = {
    Binary: Evaluator._binary,
    Call: Evaluator._call,
    Choice: Evaluator._choice,
    Number: Evaluator._literal,
    Reduce: Evaluator._reduce,
    Ref: Evaluator._ref,
    Unary: Evaluator._unary,
}
