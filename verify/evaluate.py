"""The checker's own reading of expressions, over whole index grids and in SI units.

It shares the grammar with the compiler and nothing else: no conversion is written into the tree,
every number is in coherent SI with its dimension from the start. Two implementations that agree
are the point.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

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
from engiagent.blueprint.sets import IndexSet, is_timed
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.blueprint.units import UnitError, parse_unit
from engiagent.verify import values
from engiagent.verify.frames import (
    Bools,
    Elements,
    Environment,
    EvaluationError,
    Frame,
    Symbol,
    expand,
)
from engiagent.verify.places import Places, located
from engiagent.verify.values import ONE, Floats, Ints, Value

HOUR = parse_unit("h")


class Evaluator:
    """Evaluates expressions in an environment."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.places = Places(environment, self.number)

    # -- entry points -----------------------------------------------------------------------------

    def frame(self, binders: tuple[str, ...], where: str | None = None) -> Frame:
        """Return the rows that binders such as ``t in T`` run over."""
        parsed = tuple(parse_binder(binder) for binder in binders)
        node = None if where is None else parse(where)
        return expand(Frame(1), parsed, self.environment.set, node, self.condition)[0]

    def evaluate(self, text: str, frame: Frame | None = None) -> Value:
        """Return the value of an expression on every row of a frame.

        Raises
        ------
        EvaluationError
            With the expression and what is wrong in it.
        """
        try:
            return self.number(parse(text), Frame(1) if frame is None else frame)
        except (UnitError, GrammarError) as error:
            raise EvaluationError(f"in {text!r}: {error}") from None

    def sides(self, text: str, frame: Frame) -> tuple[tuple[str, ...], list[Value]]:
        """Return the operators of a comparison and its sides, aligned in dimension.

        Raises
        ------
        EvaluationError
            When it is no comparison by <=, >= or ==, or cannot be evaluated.
        """
        try:
            node = parse(text)
            if not isinstance(node, Compare) or not set(node.ops) <= {"<=", ">=", "=="}:
                raise EvaluationError(f"{text!r} is no comparison by <=, >= or ==")
            return node.ops, values.align([self.number(part, frame) for part in node.operands])
        except (UnitError, GrammarError) as error:
            raise EvaluationError(f"in {text!r}: {error}") from None

    # -- numbers ----------------------------------------------------------------------------------

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""
        rule = _NUMBERS.get(type(node))
        if rule is None:
            raise EvaluationError(f"column {node.span[0] + 1}: a number is needed here")
        return rule(self, node, frame)

    def _literal(self, node: Number, frame: Frame) -> Value:
        unit = ONE if node.unit is None else parse_unit(node.unit)
        return values.constant(np.full(frame.size, node.value), unit, bare=node.unit is None)

    def _ref(self, node: Ref, frame: Frame) -> Value:
        if node.name in frame.names and not node.indices:
            elements = frame.names[node.name]
            numbers = elements.set.numbers
            if numbers is None:
                raise EvaluationError(f"{node.name} is an element of a set, not a number")
            return _plain(numbers[elements.positions].astype(np.float64))
        symbol = self.environment.symbol(node.name)
        if symbol.value is None:
            raise EvaluationError(f"{node.name} holds labels, not numbers")
        if symbol.before is None:
            return values.gather(symbol.value, self.places.flat(node, symbol, frame))
        history = symbol.before.data.size
        flat, early = self.places.flat_and_early(node, symbol, frame, history)
        now, then = np.flatnonzero(early == 0), np.flatnonzero(early)
        known = values.gather(symbol.value, flat[now])
        before = values.gather(symbol.before, early[then] - 1)
        return values.combine([(known, now), (before, then)], frame.size)

    def _unary(self, node: Unary, frame: Frame) -> Value:
        value = self.number(node.operand, frame)
        return value if node.op == "+" else values.negate(value)

    def _binary(self, node: Binary, frame: Frame) -> Value:
        left = self.number(node.left, frame)
        if node.op == "**":
            return self._power(left, node.right, frame)
        right = self.number(node.right, frame)
        if node.op in "+-":
            return values.add(left, right, 1.0 if node.op == "+" else -1.0)
        if node.op == "*":
            return values.multiply(left, right)
        if node.op == "/":
            return values.divide(left, right)
        return _modulo(node.op, left, right)

    def _power(self, base: Value, node: Node, frame: Frame) -> Value:
        exponent = self.number(node, frame)
        same = exponent.data.size == 0 or (exponent.data == exponent.data[0]).all()
        if exponent.degree or not exponent.unit.is_dimensionless or not same:
            raise EvaluationError("an exponent is one plain number")
        return values.power(base, float(exponent.data[0]) if exponent.data.size else 1.0)

    def _reduce(self, node: Reduce, frame: Frame) -> Value:
        used = {part.name for part in walk(node) if isinstance(part, Ref)}
        if frame.size != 1 and not used & set(frame.names):
            # The same on every row: once is enough.
            return values.gather(self._reduce(node, Frame(1)), np.zeros(frame.size, dtype=np.int64))
        inner, rows = expand(frame, node.binders, self.environment.set, node.where, self.condition)
        body = self.number(node.body, inner)
        if node.function == "sum":
            return values.segment_sum(body, rows, frame.size)
        return values.segment_extreme(body, rows, frame.size, node.function == "min")

    def _choice(self, node: Choice, frame: Frame) -> Value:
        holds = self.condition(node.condition, frame)
        return self._branches(holds, node.then, node.otherwise, frame)

    def _branches(self, holds: Bools, then: Node, otherwise: Node, frame: Frame) -> Value:
        """Evaluate each branch on its own rows only: the other may name what is not there."""
        yes, no = np.flatnonzero(holds), np.flatnonzero(~holds)
        parts = [(self.number(then, frame.take(yes)), yes)]
        parts.append((self.number(otherwise, frame.take(no)), no))
        return values.combine(parts, frame.size)

    def _call(self, node: Call, frame: Frame) -> Value:
        if node.function == "prev":
            return self._prev(node, frame)
        if node.function == "len":
            return _plain(np.full(frame.size, float(self.places.named_set(node).size)))
        if node.function in _OF_ELEMENTS:
            return _OF_ELEMENTS[node.function](self.places.element(node.args[0], frame))
        arguments = [self.number(part, frame) for part in node.args]
        if node.function in ("min", "max", "abs"):
            return _extreme(node.function, arguments)
        if node.function not in _ELEMENTARY:
            raise EvaluationError(f"{node.function} gives no number")
        (argument,) = values.align([*arguments, _plain(np.ones(1))])[:1]
        with np.errstate(all="ignore"):
            return values.function(argument, *_ELEMENTARY[node.function](argument.data))

    def _prev(self, node: Call, frame: Frame) -> Value:
        """Return the value one step earlier, the second argument where there is no earlier one.

        A step is one of the whole set, whatever subset the index runs over.
        """
        reference, start = node.args
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
        in_root = here.positions if here.set is root else here.set.in_root[here.positions]
        first = (in_root == start_at) & (not goes_round)
        back = Binary(reference.span, "-", reference.indices[which], Number((0, 0), 1.0, None))
        moved = (*reference.indices[:which], back, *reference.indices[which + 1 :])
        yes, no = np.flatnonzero(first), np.flatnonzero(~first)
        earlier = self.number(replace(reference, indices=moved), frame.take(no))
        # The one looked back at comes first: its unit is that of the whole.
        return values.combine(
            [(earlier, no), (self.number(start, frame.take(yes)), yes)], frame.size
        )

    # -- conditions -------------------------------------------------------------------------------

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
        if not isinstance(node, Compare):
            raise EvaluationError(f"column {node.span[0] + 1}: a condition is needed here")
        if node.ops[0] in ("in", "not in"):
            inside = self._membership(node, frame)
            return inside if node.ops[0] == "in" else ~inside
        holds = np.ones(frame.size, dtype=bool)
        for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
            holds &= self._compare(op, left, right, frame)
        return holds

    def _compare(self, op: str, left: Node, right: Node, frame: Frame) -> Bools:
        relation = _COMPARE[op]
        if self.places.is_element(left, frame) or self.places.is_element(right, frame):
            return np.asarray(relation(*self._elements(left, right, frame)), dtype=bool)
        labels = [self._labels(part, frame) for part in (left, right)]
        if labels[0] is not None and labels[1] is not None:
            return np.asarray(relation(labels[0], labels[1]), dtype=bool)
        a, b = values.align([self._clock_or_number(p, frame) for p in (left, right)])
        if a.degree or b.degree:
            raise EvaluationError("a condition may use indices and parameters only")
        return np.asarray(relation(a.data, b.data), dtype=bool)

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
            known = np.array(first.set.labels, dtype=object)[first.positions]
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
        found = self.places.positions(item, target, frame)
        return np.asarray((found >= 0) & (found < target.size))


# --- pieces ------------------------------------------------------------------------------------


def _plain(data: Floats) -> Value:
    return values.constant(data, ONE)


def _same_set(first: Elements, second: Elements) -> tuple[Ints, Ints]:
    if first.set.root is second.set.root:
        return first.set.in_root[first.positions], second.set.in_root[second.positions]
    if first.set.map_to(second.set) is not None:
        return located(first, second.set), second.positions
    if second.set.map_to(first.set) is not None:
        return first.positions, located(second, first.set)
    raise EvaluationError(f"elements of {first.set.name} and {second.set.name} never meet")


def _modulo(op: str, left: Value, right: Value) -> Value:
    left, right = values.align([left, right])
    if left.degree or right.degree or not left.unit.is_dimensionless:
        raise EvaluationError(f"{op} takes plain numbers and no variables")
    with np.errstate(all="ignore"):
        return _plain(left.data % right.data if op == "%" else left.data // right.data)


def _extreme(name: str, arguments: list[Value]) -> Value:
    if name == "abs":
        arguments = [arguments[0], values.negate(arguments[0])]
    aligned = values.align(arguments)
    stacked = np.stack([value.data for value in aligned])
    which = stacked.argmin(axis=0) if name == "min" else stacked.argmax(axis=0)
    parts = []
    for place, value in enumerate(aligned):
        rows = np.flatnonzero(which == place)
        parts.append((values.gather(value, rows), rows))
    result = values.combine(parts, stacked.shape[1])
    return replace(result, degree=2 if result.degree else 0)


def _axis(elements: Elements) -> tuple[TimeAxis, Ints]:
    root = elements.set.root
    if root.axis is None:
        raise EvaluationError(f"{elements.set.name} is no time set")
    return root.axis, elements.set.in_root[elements.positions]


def _dt(elements: Elements) -> Value:
    axis, places = _axis(elements)
    if places.size and places.max() >= len(axis.steps):
        raise EvaluationError("dt of the last instant: no period begins there")
    return values.constant(axis.steps[places], parse_unit(axis.step_unit))


def _clock(elements: Elements) -> Value:
    axis, places = _axis(elements)
    return values.constant(axis.clock[places], HOUR)


def _hour(elements: Elements) -> Value:
    axis, places = _axis(elements)
    return _plain(np.floor(axis.clock[places]))


def _weekday(elements: Elements) -> Value:
    axis, places = _axis(elements)
    return _plain(axis.weekday[places].astype(np.float64))


def _pos(elements: Elements) -> Value:
    return _plain(elements.positions.astype(np.float64))


def symbol_of(
    name: str, dims: tuple[IndexSet, ...], value: Value, before: Value | None = None
) -> Symbol:
    """Return a symbol for numbers over a full grid; NaN marks what a sparse variable leaves out."""
    holes = np.isnan(value.data)
    return Symbol(name, dims, value, defined=~holes if holes.any() else None, before=before)


_OF_ELEMENTS: dict[str, Callable[[Elements], Value]] = {
    "clock": _clock,
    "dt": _dt,
    "hour": _hour,
    "pos": _pos,
    "weekday": _weekday,
}

_ELEMENTARY: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "cos": lambda x: (np.cos(x), -np.sin(x)),
    "exp": lambda x: (np.exp(x), np.exp(x)),
    "log": lambda x: (np.log(x), 1.0 / x),
    "sin": lambda x: (np.sin(x), np.cos(x)),
    "sqrt": lambda x: (np.sqrt(x), 0.5 / np.sqrt(x)),
    "tanh": lambda x: (np.tanh(x), 1.0 - np.tanh(x) ** 2),
}

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
