"""How large the numbers of a row are by what is declared: the scale of its tolerance.

A schedule must not widen its own tolerances, so that their scale rests on parameters and bounds
alone. Each variable stands at the largest magnitude that its bounds allow; one that is open on a
side stands at the largest parameter or bound of its dimension, or at zero where there is none.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from engiagent.blueprint.document import VariableDef
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import EvaluationError, Frame, Symbol
from engiagent.verify.values import Floats, Value


def bound_of(bench: Bench, text: Any, frame: Frame, unit: Unit, default: float) -> Floats:
    """Return one bound of a variable over its grid, in SI."""
    if text is None or (isinstance(text, int | float) and not np.isfinite(text)):
        end = default if text is None else float(text)
        return values.wide(np.array([end]), frame.size)
    if isinstance(text, int | float):
        return bench.evaluator.repeated(float(text), unit, frame.size).data
    value = arithmetic.adopt(bench.evaluator.evaluate(str(text), frame), unit)
    if value.unit.dimension != unit.dimension or value.degree:
        raise EvaluationError(f"the bound {text!r} is {value.unit}, the variable {unit}")
    return value.data


def declared_of(bench: Bench) -> "DeclaredBench":
    """Return a bench at its declared magnitudes; it is made once, when a row asks for it."""
    if not isinstance(bench.reach, DeclaredBench):
        bench.reach = DeclaredBench(bench)
    return bench.reach


def declared_value(bench: Bench, name: str) -> Value:
    """Return a variable or quantity at its declared magnitude."""
    value = declared_of(bench).evaluator.environment.symbol(name).value
    if value is None:
        raise EvaluationError(f"{name} holds labels, not numbers")
    return value


class DeclaredBench(Bench):
    """The numbers of a schedule replaced by the largest magnitudes that are declared for them."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.declarations, bench.series)
        self._reaches: dict[str, Floats] = {}
        self._largest: dict[Any, float] = {}
        core = bench.declarations.core
        for parameter in core.parameters:
            try:
                symbol = bench.declarations.parameter(parameter.name)
            except EngiagentError:
                continue  # the levels say what is wrong with it
            if symbol is not None and symbol.value is not None and not symbol.value.unit.is_point:
                self._widen(symbol.value.unit, symbol.value.data)
        for definition in core.decision_variables:
            unit = parse_unit(definition.unit or "1")
            try:
                self._reaches[definition.name] = self._reach(bench, definition, unit)
            except EngiagentError:
                continue
            self._widen(unit, self._reaches[definition.name])

    def _widen(self, unit: Unit, data: Floats) -> None:
        few = np.abs(values.thin(data))
        largest = float(np.max(few, initial=0.0, where=np.isfinite(few)))
        self._largest[unit.dimension] = max(largest, self._largest.get(unit.dimension, 0.0))

    @staticmethod
    def _reach(bench: Bench, definition: VariableDef, unit: Unit) -> Floats:
        frame = bench.grid(definition.index)
        high = 1.0 if definition.type == "binary" else np.inf
        low = 0.0 if definition.type == "binary" else -np.inf
        ends = [
            values.thin(np.abs(bound_of(bench, text, frame, unit, default)))
            for text, default in ((definition.lower, low), (definition.upper, high))
        ]
        return values.wide(np.maximum(*ends), frame.size)

    def _variable(self, definition: VariableDef) -> Symbol:
        symbol = super()._variable(definition)
        assert symbol.value is not None
        return replace(symbol, value=self._at(symbol.value, self._reaches.get(definition.name)))

    def _quantity(self, name: str) -> Symbol | None:
        symbol = super()._quantity(name)
        if symbol is None or symbol.value is None:
            return symbol
        return replace(symbol, value=self._at(symbol.value, None))

    def _at(self, value: Value, reach: Floats | None) -> Value:
        """Return a variable at what is declared for it."""
        largest = self.largest(value.unit)
        if reach is None:
            data = values.wide(np.array([largest]), value.data.size)
        else:
            few = values.thin(reach)
            data = values.wide(np.where(np.isfinite(few), few, largest), value.data.size)
        return replace(value, data=data, sizes=data, order=values.new_order())

    def largest(self, unit: Unit) -> float:
        """Return the largest magnitude that is declared in a dimension, in SI; 0 for none."""
        return self._largest.get(unit.dimension, 0.0)
