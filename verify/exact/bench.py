"""A bench whose numbers are fractions: the same evaluator, another arithmetic.

Which rows there are, which element an index names and where a condition holds is asked of the
evaluator in floating point, for that is a matter of whole numbers; every number is worked out
again.
"""

import numpy as np

from engiagent.blueprint.grammar import Call, Node, Reduce, Ref
from engiagent.blueprint.sets import IndexSet
from engiagent.units.unit import Unit
from engiagent.verify import values
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.exact.numbers import filled, fraction, fractions
from engiagent.verify.frames import Bools, Environment, Frame, Symbol
from engiagent.verify.series import Series, bind
from engiagent.verify.values import Floats, Ints, NotExactError, Value


class ExactEvaluator(Evaluator):
    """Evaluates in rational arithmetic what it can; the rest is a :class:`NotExactError`."""

    def __init__(self, environment: Environment, floating: Evaluator) -> None:
        super().__init__(environment)
        self.floating = floating
        self.places = floating.places

    def repeated(self, number: float, unit: Unit, size: int, bare: bool = False) -> Value:
        """Return a figure on every row, as the shortest decimal that denotes it."""
        found = values.constant(filled(fraction(number), size), unit, bare)
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

    def one_step_back(self, node: Call, frame: Frame) -> tuple[Bools, Ref]:
        """Return on which rows ``prev`` has no earlier value, and its reference moved."""
        return self.floating.one_step_back(node, frame)

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row.

        Raises NotExactError when it has no rational value: a function such as ``exp`` stands in it.
        """
        if isinstance(node, Reduce) and node.function not in ("sum", "expect", "sumsq"):
            raise NotExactError(f"{node.function} over a set")
        try:
            return super().number(node, frame)
        except ZeroDivisionError:
            raise NotExactError("a division by zero") from None


class _Declarations(Declarations):
    """Declarations whose parameters are fractions."""

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
