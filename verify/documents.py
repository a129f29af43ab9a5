"""A blueprint, or the declarations of a requirements file, as the checker sees it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import Core, ParameterDef, VariableDef
from engiagent.blueprint.grammar import Binder, parse, parse_binder, references
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.values import unit_of
from engiagent.errors import EngiagentError, InputError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.frames import (
    Bools,
    Environment,
    EvaluationError,
    Frame,
    MissingQuantity,
    Symbol,
    whole_grid,
)
from engiagent.verify.series import Series, bind, match_dims
from engiagent.verify.values import Floats, Value


@dataclass(frozen=True)
class Declarations:
    """Sets, parameters and definitions; data files are read from ``folder``."""

    core: Core
    folder: Path | None

    @cached_property
    def _elaboration(self) -> Elaboration:
        return Elaboration(self.core, self.folder)

    @cached_property
    def sets(self) -> dict[str, IndexSet]:
        """Every declared set with its elements."""
        return {s.name: self._elaboration.index_set(s.name) for s in self.core.sets}

    @cached_property
    def _cache(self) -> dict[str, Symbol]:
        return {}

    @cached_property
    def _parameter_defs(self) -> dict[str, ParameterDef]:
        return {parameter.name: parameter for parameter in self.core.parameters}

    def parameter(self, name: str) -> Symbol | None:
        """Return a parameter in SI units, or None when there is none of that name."""
        if name not in self._cache:
            definition = self._parameter_defs.get(name)
            if definition is None:
                return None
            if definition.status == "missing":
                raise EvaluationError(f"the parameter {name} is missing in the problem")
            try:
                self._cache[name] = self._read_parameter(name, definition.value)
            except EvaluationError:
                raise
            except EngiagentError as error:
                raise EvaluationError(str(error)) from None
        return self._cache[name]

    def with_parameters(self, symbols: Mapping[str, Symbol]) -> "Declarations":
        """Return the same declarations with other values of some parameters.

        What is computed of these parameters is computed anew; sets stay the very same.
        """
        other = Declarations(self.core, self.folder)
        other.__dict__.update(sets=self.sets, _elaboration=self._elaboration)
        other._cache.update(symbols)
        return other

    def _read_parameter(self, name: str, written: object) -> Symbol:
        definition = self._parameter_defs[name]
        if isinstance(written, str) and definition.type in (None, "number"):
            symbol = self._evaluated(name, written)
            if symbol is not None:
                return symbol
        table = self._elaboration.table(name)
        flat = np.asarray(table.values).reshape(-1)
        if table.element_of is not None:
            return Symbol(name, table.sets, elements=(table.element_of, flat.astype(np.int64)))
        if flat.dtype == object:
            return Symbol(name, table.sets, labels=flat)
        numbers = np.asarray(flat, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise EvaluationError(f"the parameter {name} holds a value that is not finite")
        return Symbol(name, table.sets, self._constant(numbers, unit_of(definition)))

    def _constant(self, numbers: Floats, unit: Unit) -> Value:
        return values.constant(numbers, unit)

    def _evaluator(self) -> Evaluator:
        return Evaluator(Environment(self.sets, {}, self.parameter))

    def _evaluated(self, name: str, text: str) -> Symbol | None:
        """Evaluate a parameter that is an expression; None for a recursion over itself."""
        if any(ref.name == name for ref in references(text)):
            return None
        definition = self._parameter_defs[name]
        dims, binders = self.dims(definition.index)
        frame = whole_grid(dims, binders)
        value = self._evaluator().evaluate(text, frame)
        unit = parse_unit(definition.unit if isinstance(definition.unit, str) else "1")
        if value.bare:
            value = values.constant(value.data, unit)
        if value.unit.dimension != unit.dimension:
            raise EvaluationError(f"the parameter {name} is {value.unit}, declared is {unit}")
        return Symbol(name, dims, value)

    def dims(self, binders: tuple[str, ...]) -> tuple[tuple[IndexSet, ...], tuple[Binder, ...]]:
        """Return the sets of an index list and the binder of each."""
        dims, parsed = [], []
        for position, text in enumerate(binders):
            binder = parse_binder(text if " in " in text else f"i__{position} in {text}")
            if binder.set not in self.sets:
                raise EvaluationError(f"unknown set {binder.set!r}")
            dims.append(self.sets[binder.set])
            parsed.append(binder)
        return tuple(dims), tuple(parsed)


class Bench:
    """Declarations together with the numbers of one schedule.

    ``declarations``: the blueprint or the requirements. ``series``: numbers by variable name and by
    quantity. ``recomputed``: quantities whose numbers stand for the expressions that the blueprint
    has for them.
    """

    def __init__(
        self,
        declarations: Declarations,
        series: Mapping[str, Series],
        recomputed: Collection[str] = (),
    ) -> None:
        self.declarations = declarations
        self.series = series
        self.recomputed = recomputed
        self.variables: dict[str, Value] = {}
        self._open: set[str] = set()
        self._symbols: dict[str, Symbol] = {}
        self._grids: dict[tuple[str, ...], Frame] = {}
        self.reach: Bench | None = None  # filled by declared_of
        self._variable_defs = {v.name: v for v in declarations.core.decision_variables}
        self.evaluator = Evaluator(Environment(declarations.sets, self._symbols, self._resolve))

    def _resolve(self, name: str) -> Symbol | None:
        found = self.declarations.parameter(name)
        if found is None and name in self._variable_defs:
            found = self._variable(self._variable_defs[name])
        if found is None:
            found = self._expression(name)
        if found is None and "." in name:
            found = self._quantity(name)
        if found is not None:
            self._symbols[name] = found
        return found

    def forget(self) -> None:
        """Let go of all numbers: benches refer to themselves, and their arrays are large."""
        self._symbols.clear()
        self._grids.clear()
        self.variables.clear()
        self.evaluator.forget()
        if self.reach is not None:
            self.reach.forget()
            self.reach = None

    def grid(self, index: tuple[str, ...]) -> Frame:
        """Return the rows of an index list such as a variable's, in the order of its symbol."""
        if index not in self._grids:
            self._grids[index] = whole_grid(*self.declarations.dims(index))
        return self._grids[index]

    def _series_of(self, definition: VariableDef) -> Series | None:
        by_name = self.series.get(definition.name)
        if by_name is None and definition.quantity is not None:
            return self.series.get(definition.quantity)
        return by_name

    def mask(self, definition: VariableDef) -> Bools | None:
        """Return where a sparse variable exists, None for everywhere."""
        if definition.where is None:
            return None
        return self.evaluator.condition(parse(definition.where), self.grid(definition.index))

    def _variable(self, definition: VariableDef) -> Symbol:
        series = self._series_of(definition)
        if series is None:
            raise MissingQuantity(definition.quantity or definition.name)
        dims, _ = self.declarations.dims(definition.index)
        unit = parse_unit(definition.unit or "1")
        mask = self.mask(definition)
        value = self._taken(definition.name, series, dims, unit, mask)
        self.variables[definition.name] = value
        return Symbol(
            definition.name, dims, value, defined=mask, before=self._before(definition, unit)
        )

    def _taken(
        self,
        name: str,
        series: Series,
        dims: tuple[IndexSet, ...],
        unit: Unit,
        mask: Bools | None = None,
    ) -> Value:
        """Return a variable as the schedule has it, zero where it does not exist."""
        numbers = bind(series, dims, unit)
        _refuse_holes(name, numbers, mask, dims)
        filled = numbers if mask is None else np.where(np.isnan(numbers), 0.0, numbers)
        return values.variable(filled, unit)

    def _before(self, definition: VariableDef, unit: Unit) -> Value | None:
        if definition.initial is None:
            return None
        given = definition.initial
        items = given if isinstance(given, tuple) else (given,)
        history = []
        for item in items:
            if isinstance(item, str):
                value = arithmetic.adopt(self.evaluator.evaluate(item), unit)
            elif isinstance(item, int | float):
                value = self.evaluator.repeated(float(item), unit, 1)
            else:
                raise EvaluationError(
                    f"the values of {definition.name} before the first period are a number or a "
                    "list, latest first"
                )
            history.append(value)
        rows = np.arange(len(history))
        return arithmetic.combine(
            [(v, rows[k : k + 1]) for k, v in enumerate(history)], len(history)
        )

    def _expression(self, name: str) -> Symbol | None:
        core = self.declarations.core
        definition = next(
            (e for e in core.expressions if e.name == name or ("." in name and e.quantity == name)),
            None,
        )
        if definition is None:
            return None
        if definition.quantity in self.recomputed and definition.quantity is not None:
            return self._quantity(definition.quantity)
        if name in self._open:
            raise EvaluationError(f"the expression {name} is defined by itself")
        self._open.add(name)
        dims, _ = self.declarations.dims(definition.index)
        frame = self.grid(definition.index)
        mask = None
        if definition.where is not None:
            mask = self.evaluator.condition(parse(definition.where), frame)
            rows = np.flatnonzero(mask)
            part = self.evaluator.evaluate(definition.expression, frame.take(rows))
            spread = np.zeros(frame.size, dtype=np.int64)
            spread[rows] = np.arange(rows.size)
            value = arithmetic.gather(part, spread) if rows.size else part
        else:
            value = self.evaluator.evaluate(definition.expression, frame)
        if definition.unit is not None:
            unit = parse_unit(definition.unit)
            value = replace(
                arithmetic.align([values.constant(np.zeros(1), unit), value])[1], unit=unit
            )
        self._open.discard(name)
        return Symbol(name, dims, value, defined=mask)

    def _quantity(self, name: str) -> Symbol | None:
        series = self.series.get(name)
        if series is None:
            return None
        dims = match_dims(series, self.declarations.sets)
        value = self._taken(name, series, dims, series.unit)
        self.variables[name] = value
        return Symbol(name, dims, value)


def _refuse_holes(
    name: str, numbers: Floats, mask: Bools | None, dims: tuple[IndexSet, ...]
) -> None:
    bad = ~np.isfinite(numbers) if mask is None else ~np.isfinite(numbers) & mask
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        places = np.unravel_index(first, [dim.size for dim in dims]) if dims else ()
        pairs = zip(dims, places, strict=True)
        where = ", ".join(f"{dim.name} = {dim.labels[int(p)]}" for dim, p in pairs)
        what = f"{name} is {numbers[first]}" + (f" at {where}" if where else "")
        raise InputError(what, "the schedule", expected="a finite number")


# --- how large the numbers of a row are by what is declared: the scale of its tolerance ---------


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
