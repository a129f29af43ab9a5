"""Expressions in rational arithmetic.

Which rows there are, which element an index names and where a condition holds is asked of the
evaluator in floating point, for that is a matter of whole numbers; every number is worked out
again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from engiagent.blueprint.document import ExpressionDef, ParameterDef, VariableDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Choice,
    Compare,
    GrammarError,
    Node,
    Number,
    Reduce,
    Ref,
    Unary,
    parse,
    walk,
)
from engiagent.blueprint.values import unit_of
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify import functions
from engiagent.verify.documents import Bench
from engiagent.verify.exact import forms
from engiagent.verify.exact.forms import Entries, Exact
from engiagent.verify.exact.numbers import (
    Fractions,
    NotExactError,
    filled,
    fraction,
    fractions,
    stretched,
)
from engiagent.verify.frames import Frame, Symbol
from engiagent.verify.series import bind
from engiagent.verify.values import ONE, Ints

Compared = list[tuple[str, Exact, Exact]]


@dataclass
class Columns:
    """Where the elements of each variable stand, and what they are in the schedule, in SI."""

    starts: dict[str, int] = field(default_factory=dict)
    points: dict[str, Fractions] = field(default_factory=dict)
    count: int = 0

    def add(self, name: str, point: Fractions) -> int:
        """Give a variable its columns; returns the first."""
        self.starts[name], self.points[name] = self.count, point
        self.count += point.size
        return self.starts[name]


class ExactEvaluator:
    """Evaluates the expressions of a bench in rational arithmetic.

    Attributes
    ----------
    columns
        Grows as variables are named.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.columns = Columns()
        core = bench.declarations.core
        self._parameters = {item.name: item for item in core.parameters}
        self._variables = {item.name: item for item in core.decision_variables}
        self._tables = Elaboration(core, bench.declarations.folder)
        self._known: dict[str, Exact] = {}

    def evaluate(self, text: str, frame: Frame | None = None) -> Exact:
        """Return the value of an expression on every row of a frame.

        Raises
        ------
        NotExactError
            When it has no rational value: a function such as ``exp`` stands in it.
        EngiagentError
            When it cannot be evaluated at all.
        """
        try:
            return self.number(parse(text), Frame(1) if frame is None else frame)
        except (UnitError, GrammarError) as error:
            raise NotExactError(str(error)) from None

    def compared(self, text: str, frame: Frame) -> Compared:
        """Return operator and sides of every comparison of a chain; see :meth:`evaluate`."""
        try:
            node = parse(text)
            if not isinstance(node, Compare) or not set(node.ops) <= {"<=", ">=", "=="}:
                raise NotExactError("a logical statement, judged in floating point")
            sides = forms.align_chain([self.number(part, frame) for part in node.operands])
        except (UnitError, GrammarError) as error:
            raise NotExactError(str(error)) from None
        return list(zip(node.ops, sides, sides[1:], strict=False))

    def variable(self, name: str) -> Exact:
        """Return a variable of the bench over its whole grid, with its columns."""
        self.bench.evaluator.environment.symbol(name)
        return self._symbol(name)[0]

    # -- nodes ------------------------------------------------------------------------------------

    def number(self, node: Node, frame: Frame) -> Exact:
        """Return the numbers of a node, one per row; see :meth:`evaluate`."""
        rule = _NUMBERS.get(type(node))
        if rule is None:
            raise NotExactError(f"column {node.span[0] + 1}: a number is needed here")
        return rule(self, node, frame)

    def _literal(self, node: Number, frame: Frame) -> Exact:
        unit = ONE if node.unit is None else parse_unit(node.unit)
        found = forms.constant(filled(fraction(node.value), frame.size), unit, node.unit is None)
        return replace(found, nought=found.bare and node.value == 0)

    def _ref(self, node: Ref, frame: Frame) -> Exact:
        evaluator = self.bench.evaluator
        if node.name in frame.names and not node.indices:
            return _constant_of(evaluator.number(node, frame).data)
        symbol = evaluator.environment.symbol(node.name)
        if symbol.value is None:
            raise NotExactError(f"{node.name} holds labels, not numbers")
        value, before = self._symbol(node.name, symbol)
        if not symbol.dims and not node.indices and value.is_constant:
            return replace(value, data=stretched(value.data, frame.size))
        if before is None:
            return forms.gather(value, evaluator.places.flat(node, symbol, frame))
        flat, early = evaluator.places.flat_and_early(node, symbol, frame, before.size)
        now, then = np.flatnonzero(early == 0), np.flatnonzero(early)
        parts = [
            (forms.gather(value, flat[now]), now),
            (forms.gather(before, early[then] - 1), then),
        ]
        return forms.combine(parts, frame.size)

    def _unary(self, node: Unary, frame: Frame) -> Exact:
        if isinstance(node.operand, Number) and node.op == "-":
            return self._literal(replace(node.operand, value=-node.operand.value), frame)
        value = self.number(node.operand, frame)
        return value if node.op == "+" else forms.negate(value)

    def _binary(self, node: Binary, frame: Frame) -> Exact:
        if node.op in ("%", "//"):
            return self._rounded(node, frame)
        left = self.number(node.left, frame)
        right = self.number(node.right, frame)
        if node.op in ("+", "-"):
            return forms.add(left, right, 1 if node.op == "+" else -1)
        if node.op == "*":
            return forms.multiply(left, right)
        if node.op == "/":
            return forms.divide(left, right)
        exponent = right.data[0] if right.size else Fraction(1)
        if not right.is_constant or exponent.denominator != 1 or abs(exponent) > 64:
            raise NotExactError("a power whose exponent is no small whole number")
        if any(other != exponent for other in right.data):
            raise NotExactError("a power with several exponents")
        return forms.power(left, int(exponent))

    def _rounded(self, node: Binary, frame: Frame) -> Exact:
        left, right = forms.align([self.number(part, frame) for part in (node.left, node.right)])
        if not (left.is_constant and right.is_constant and all(right.data)):
            raise NotExactError(f"{node.op} of variables or by zero")
        pairs = zip(left.data, right.data, strict=True)
        data = np.empty(left.size, dtype=object)
        data[:] = [Fraction(a % b if node.op == "%" else a // b) for a, b in pairs]
        return Exact(data, ONE)

    def _reduce(self, node: Reduce, frame: Frame) -> Exact:
        if node.function not in ("sum", "expect", "sumsq"):
            raise NotExactError(f"{node.function} over a set")
        used = {part.name for part in walk(node) if isinstance(part, Ref)}
        if frame.size != 1 and not used & set(frame.names):
            once = self._reduce(node, Frame(1))
            return forms.gather(once, np.zeros(frame.size, dtype=np.int64))
        inner, rows = self.bench.evaluator.inner(node, frame)
        body = self.number(node.body, inner)
        if node.function == "expect":
            chances = _constant_of(self.bench.evaluator.chances(node, inner).data)
            body = forms.multiply(chances, body)
        if node.function == "sumsq":
            body = forms.power(body, 2)
        return forms.segment_sum(body, rows, frame.size)

    def _choice(self, node: Choice, frame: Frame) -> Exact:
        holds = self.bench.evaluator.condition(node.condition, frame)
        yes, no = np.flatnonzero(holds), np.flatnonzero(~holds)
        parts = [
            (self.number(node.then, frame.take(yes)), yes),
            (self.number(node.otherwise, frame.take(no)), no),
        ]
        return forms.combine(parts, frame.size)

    def _call(self, node: Call, frame: Frame) -> Exact:
        evaluator = self.bench.evaluator
        if node.function == "prev":
            first, moved = evaluator.one_step_back(node, frame)
            yes, no = np.flatnonzero(first), np.flatnonzero(~first)
            parts = [
                (self.number(moved, frame.take(no)), no),
                (self.number(node.args[1], frame.take(yes)), yes),
            ]
            return forms.combine(parts, frame.size)
        if node.function == "where":
            return self._choice(Choice(node.span, *node.args), frame)
        if node.function == "len" or node.function in functions.OF_ELEMENTS:
            value = evaluator.number(node, frame)
            return Exact(fractions(value.data), value.unit)
        if node.function in ("abs", "min", "max"):
            arguments = [self.number(part, frame) for part in node.args]
            if node.function == "abs":
                return forms.extreme("max", [arguments[0], forms.negate(arguments[0])])
            return forms.extreme(node.function, arguments)
        raise NotExactError(f"{node.function} has no rational value")

    # -- symbols ----------------------------------------------------------------------------------

    def _symbol(self, name: str, symbol: Symbol | None = None) -> tuple[Exact, Exact | None]:
        """Return what a name stands for over its grid, and its values before the first period."""
        before = None
        definition = self._variables.get(name)
        if definition is not None and definition.initial is not None:
            before = self._before(definition)
        if name not in self._known:
            self._known[name] = self._worked_out(name, symbol)
        return self._known[name], before

    def _worked_out(self, name: str, symbol: Symbol | None) -> Exact:
        parameter = self._parameters.get(name)
        if parameter is not None:
            return self._parameter(parameter)
        if name in self.bench.variables:
            return self._variable(name)
        core = self.bench.declarations.core
        for expression in core.expressions:
            if name in (expression.name, expression.quantity):
                return self._expression(expression)
        raise NotExactError(f"{name} has no value that could be worked out again")

    def _parameter(self, definition: ParameterDef) -> Exact:
        name, written = definition.name, definition.value
        if isinstance(written, str) and definition.type in (None, "number"):
            recursive = any(isinstance(n, Ref) and n.name == name for n in walk(parse(written)))
            if recursive:
                raise NotExactError(f"{name} is defined by itself")
            frame = self.bench.grid(definition.index)
            value = self.number(parse(written), frame)
            unit = parse_unit(definition.unit if isinstance(definition.unit, str) else "1")
            return forms.constant(value.data, unit) if value.bare else value
        table = np.asarray(self._tables.table(name).values).reshape(-1)
        if table.dtype == object:
            raise NotExactError(f"{name} holds labels, not numbers")
        return forms.constant(fractions(table.astype(np.float64)), unit_of(definition))

    def _variable(self, name: str) -> Exact:
        definition = self._variables.get(name)
        series = self.bench.series.get(name)
        if series is None and definition is not None and definition.quantity is not None:
            series = self.bench.series.get(definition.quantity)
        if series is None:
            raise NotExactError(f"{name} is not in the schedule")
        dims = self.bench.evaluator.environment.symbol(name).dims
        numbers = np.nan_to_num(bind(series, dims, series.unit).reshape(-1), nan=0.0)
        point = forms.constant(fractions(numbers), series.unit).data
        unit = series.unit
        if definition is not None:
            unit = parse_unit(definition.unit or "1")
        start = self.columns.add(name, point)
        rows = np.arange(point.size)
        own = Entries(rows, rows + start, filled(Fraction(1), point.size))
        return Exact(point, unit, (own,))

    def _before(self, definition: VariableDef) -> Exact:
        given = definition.initial
        unit = parse_unit(definition.unit or "1")
        parts = []
        for place, item in enumerate(given if isinstance(given, tuple) else (given,)):
            if isinstance(item, str):
                value = forms.adopt(self.evaluate(item), unit)
            else:
                value = forms.constant(filled(fraction(float(item or 0)), 1), unit)
            parts.append((value, np.array([place])))
        return forms.combine(parts, len(parts))

    def _expression(self, definition: ExpressionDef) -> Exact:
        frame = self.bench.grid(definition.index)
        if definition.where is None:
            value = self.number(parse(definition.expression), frame)
        else:
            mask = self.bench.evaluator.condition(parse(definition.where), frame)
            rows = np.flatnonzero(mask)
            part = self.number(parse(definition.expression), frame.take(rows))
            spread: Ints = np.zeros(frame.size, dtype=np.int64)
            spread[rows] = np.arange(rows.size)
            value = forms.gather(part, spread) if rows.size else part
        if definition.unit is None:
            return value
        unit = parse_unit(definition.unit)
        zero = forms.constant(filled(Fraction(0), 1), unit)
        return replace(forms.align([zero, value])[1], unit=unit)


def _constant_of(data: np.typing.NDArray[np.float64], unit: Unit = ONE) -> Exact:
    return Exact(fractions(data), unit)


_NUMBERS: dict[type[Node], Callable[..., Exact]] = {
    Binary: ExactEvaluator._binary,
    Call: ExactEvaluator._call,
    Choice: ExactEvaluator._choice,
    Number: ExactEvaluator._literal,
    Reduce: ExactEvaluator._reduce,
    Ref: ExactEvaluator._ref,
    Unary: ExactEvaluator._unary,
}
