"""Fractions, and a bench whose numbers are fractions: the same evaluator, another arithmetic.

Which rows there are, which element an index names and where a condition holds is asked of the
evaluator in floating point, for that is a matter of whole numbers; every number is worked out
again.
"""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.grammar import Node, Reduce
from engiagent.blueprint.sets import IndexSet
from engiagent.units.unit import Unit
from engiagent.verify import values
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.frames import Bools, Environment, Frame, Symbol
from engiagent.verify.series import Series, bind
from engiagent.verify.values import Floats, Ints, NotExactError, Value, thin, wide

Fractions = npt.NDArray[np.object_]
"""An array whose elements are all :class:`fractions.Fraction`."""
LONGEST: Final = 120
"""How many characters a fraction may have to be written as one."""


def fraction(number: float) -> Fraction:
    """Return the shortest decimal that denotes a double; NotExactError when it is not finite.

    >>> fraction(0.95)
    Fraction(19, 20)
    """
    if not np.isfinite(number):
        raise NotExactError(f"{number} is no finite number")
    return Fraction(Decimal(repr(float(number))))


def fractions(data: Floats) -> Fractions:
    """Return doubles as the shortest decimals that denote them; repeated ones take no memory."""
    few = thin(np.asarray(data, dtype=np.float64).reshape(-1)).tolist()
    known = {number: fraction(number) for number in set(few)}
    made: Any = listed(known[number] for number in few)
    return np.asarray(wide(made, data.size))


def listed(numbers: Iterable[Fraction | float]) -> Fractions:
    """Return numbers as an array."""
    found = list(numbers)
    result = np.empty(len(found), dtype=object)
    result[:] = found
    return result


def read_off(data: Floats, digits: int) -> Fractions:
    """Return doubles to so many significant digits; 17 or more read them as they are."""
    if digits >= 17:
        return fractions(data)
    return listed(Fraction(Decimal(f"{number:.{digits - 1}e}")) for number in data.tolist())


def floats(data: Iterable[Fraction | float]) -> Floats:
    """Return the nearest doubles, infinite where there is none."""
    return np.array([_double(number) for number in data], dtype=np.float64)


def _double(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def written(number: Fraction, up: bool | None = None) -> str:
    """Return a fraction as text: a whole number, ``p/q``, or ``~`` and thirty digits if long.

    ``up``: which way a long one is rounded; None for the side away from zero.

    >>> written(Fraction(3, 7)), written(Fraction(-4))
    ('3/7', '-4')
    """
    if len(str(number)) <= LONGEST:
        return str(number)
    rounding = ROUND_CEILING if (number > 0 if up is None else up) else ROUND_FLOOR
    context = Context(prec=30, rounding=rounding, Emin=-(10**9), Emax=10**9)
    return f"~{context.divide(Decimal(number.numerator), Decimal(number.denominator))}"


class ExactEvaluator(Evaluator):
    """Evaluates in rational arithmetic what it can; the rest is a :class:`NotExactError`."""

    def __init__(self, environment: Environment, floating: Evaluator) -> None:
        super().__init__(environment)
        self.floating = floating
        self.places = floating.places

    def repeated(self, number: float, unit: Unit, size: int, bare: bool = False) -> Value:
        """Return a figure on every row, as the shortest decimal that denotes it."""
        single: Any = listed([fraction(number)])
        found = values.constant(np.asarray(wide(single, size)), unit, bare)
        found.nought = bare and number == 0
        return found

    def given(self, value: Value) -> Value:
        """Return a constant of the sets, read as the shortest decimals."""
        return values.exactly(value, fractions(value.data))

    def frame(self, binders: tuple[str, ...], where: str | None = None) -> Frame:
        """Return the rows that binders run over."""
        return self.floating.frame(binders, where)

    def condition(self, node: Node, frame: Frame) -> Bools:
        """Return whether a condition holds on every row."""
        return self.floating.condition(node, frame)

    def inner(self, node: Reduce, frame: Frame) -> tuple[Frame, Ints]:
        """Return the rows that a reduction runs over, and the row that each belongs to."""
        return self.floating.inner(node, frame)

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""
        if isinstance(node, Reduce) and node.function not in ("sum", "expect", "sumsq"):
            raise NotExactError(f"{node.function} over a set")
        try:
            return super().number(node, frame)
        except ZeroDivisionError:
            raise NotExactError("a division by zero") from None


class _Declarations(Declarations):
    def __init__(self, floating: Declarations, evaluator: Evaluator) -> None:
        super().__init__(floating.core, floating.folder)
        object.__setattr__(self, "_floating", evaluator)
        self.__dict__.update(sets=floating.sets, _elaboration=floating._elaboration)

    def _constant(self, numbers: Floats, unit: Unit) -> Value:
        return values.constant(fractions(numbers), unit)

    def _evaluator(self) -> Evaluator:
        environment = Environment(self.sets, {}, self.parameter)
        return ExactEvaluator(environment, self.__dict__["_floating"])

    def _evaluated(self, name: str, text: str) -> Symbol | None:
        found = super()._evaluated(name, text)
        if found is None:
            raise NotExactError(f"{name} is defined by itself")
        return found


class ExactBench(Bench):
    """The numbers of a bench once more, as fractions."""

    def __init__(self, floating: Bench) -> None:
        declarations = _Declarations(floating.declarations, floating.evaluator)
        super().__init__(declarations, floating.series, floating.recomputed)
        self.floating = floating
        environment = Environment(declarations.sets, self._symbols, self._resolve)
        self.evaluator: Evaluator = ExactEvaluator(environment, floating.evaluator)

    def _taken(
        self,
        name: str,
        series: Series,
        dims: tuple[IndexSet, ...],
        unit: Unit,
        mask: Bools | None = None,
    ) -> Value:
        self.floating.evaluator.environment.symbol(name)  # by which holes are refused
        numbers = np.nan_to_num(bind(series, dims, series.unit).reshape(-1), nan=0.0)
        found = values.variable(fractions(numbers), series.unit)
        found.unit = unit
        return found
