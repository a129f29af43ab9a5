"""Wrong blueprints whose data were altered: one function per operator."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import FrozenMap, ParameterDef
from tests.mutants.runs import Run

Blueprints = Iterator[tuple[str, Blueprint]]
Change = Callable[[float], float]


def with_parameter(run: Run, changed: ParameterDef) -> Blueprint:
    """Return the run's blueprint with one parameter replaced."""
    parameters = tuple(
        changed if p.name == changed.name else p for p in run.blueprint.core.parameters
    )
    return run.blueprint.with_core(parameters=parameters)


def _numbers(run: Run, change: Change) -> Blueprints:
    """Change every number that is written in the blueprint; the first of a list."""
    for definition in run.blueprint.core.parameters:
        value = definition.value
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        several = isinstance(value, tuple | FrozenMap) and not definition.type
        if not (plain or several):
            continue
        changed = _first(value, change)
        if changed != value:
            yield definition.name, with_parameter(run, replace(definition, value=changed))


def _first(value: Any, change: Change) -> Any:
    """Return a value whose first number is changed."""
    if isinstance(value, int | float):
        return change(float(value))
    if isinstance(value, tuple):
        return (_first(value[0], change), *value[1:])
    key = next(iter(value))
    return FrozenMap({k: _first(v, change) if k == key else v for k, v in value.items()})


def number_three_per_cent_more(run: Run) -> Blueprints:
    """Make every number 3 % larger."""
    yield from _numbers(run, lambda value: value * 1.03)


def number_slightly_less(run: Run) -> Blueprints:
    """Make every number 0.1 % smaller."""
    yield from _numbers(run, lambda value: value * 0.999)


def number_tenfold(run: Run) -> Blueprints:
    """Slip by one decimal place."""
    yield from _numbers(run, lambda value: value * 10.0)


def number_a_thousandth(run: Run) -> Blueprints:
    """Convert by a thousand where nothing is to be converted."""
    yield from _numbers(run, lambda value: value / 1000.0)


def digits_exchanged(run: Run) -> Blueprints:
    """Exchange the first two digits of every number that has two."""

    def change(value: float) -> float:
        text = repr(value)
        digits = [k for k, character in enumerate(text) if character in "123456789"]
        if len(digits) < 2 or text[digits[0]] == text[digits[1]] or "e" in text:
            return value
        letters = list(text)
        letters[digits[0]], letters[digits[1]] = letters[digits[1]], letters[digits[0]]
        return float("".join(letters))

    yield from _numbers(run, change)


def sign_turned(run: Run) -> Blueprints:
    """Turn the sign of every number."""
    yield from _numbers(run, lambda value: -value)


def number_forgotten(run: Run) -> Blueprints:
    """Put nought for every number."""
    yield from _numbers(run, lambda value: 0.0)


def numbers_exchanged(run: Run) -> Blueprints:
    """Exchange the values of two parameters of one unit."""
    written = [
        p
        for p in run.blueprint.core.parameters
        if isinstance(p.value, int | float) and isinstance(p.unit, str)
    ]
    for k, one in enumerate(written):
        for two in written[k + 1 :]:
            if one.unit == two.unit and one.value != two.value:
                swapped = {one.name: two.value, two.name: one.value}
                parameters = tuple(
                    replace(p, value=swapped[p.name]) if p.name in swapped else p
                    for p in run.blueprint.core.parameters
                )
                yield f"{one.name} and {two.name}", run.blueprint.with_core(parameters=parameters)


def _efficiencies(run: Run, change: Change) -> Blueprints:
    """Change every pure number between 50 % and 100 %."""
    for definition in run.blueprint.core.parameters:
        if not isinstance(definition.value, int | float) or definition.unit not in ("1", "%"):
            continue
        whole = 100.0 if definition.unit == "%" else 1.0
        share = definition.value / whole
        if 0.5 < share < 1.0:
            changed = replace(definition, value=whole * change(share))
            yield definition.name, with_parameter(run, changed)


def one_way_for_both_ways(run: Run) -> Blueprints:
    """Take an efficiency as that of a round trip."""
    yield from _efficiencies(run, lambda share: share**0.5)


def both_ways_twice(run: Run) -> Blueprints:
    """Square an efficiency."""
    yield from _efficiencies(run, lambda share: share**2)


def efficiency_inverted(run: Run) -> Blueprints:
    """Take an efficiency the other way round."""
    yield from _efficiencies(run, lambda share: 1.0 / share)


def lossless(run: Run) -> Blueprints:
    """Leave losses out."""
    yield from _efficiencies(run, lambda share: 1.0)


def per_cent_as_fraction(run: Run) -> Blueprints:
    """Read per cent as a fraction, and a fraction as per cent."""
    for definition in run.blueprint.core.parameters:
        if definition.unit in ("%", "1") and isinstance(definition.value, int | float):
            other = "1" if definition.unit == "%" else "%"
            yield definition.name, with_parameter(run, replace(definition, unit=other))


def units_swapped(run: Run) -> Blueprints:
    """Read a power as an energy, an energy as a power, and kilo as mega."""
    swap = {"kW": "kWh", "MW": "MWh", "kWh": "kW", "MWh": "MW"}
    mega = {"kW": "MW", "MW": "kW", "kWh": "MWh", "MWh": "kWh"}
    for definition in run.blueprint.core.parameters:
        if definition.data is not None or isinstance(definition.value, str):
            continue  # a column or an expression carries its own unit and is converted: no fault
        for other in (swap, mega):
            if definition.unit in other:
                changed = replace(definition, unit=other[definition.unit])
                yield f"{definition.name} in {changed.unit}", with_parameter(run, changed)


def degrees_mistaken(run: Run) -> Blueprints:
    """Read degrees Celsius as Fahrenheit and as kelvin."""
    for definition in run.blueprint.core.parameters:
        if definition.unit == "degC" and definition.data is None:
            for other in ("degF", "K"):
                changed = replace(definition, unit=other)
                yield f"{definition.name} in {other}", with_parameter(run, changed)


def price_unit_mistaken(run: Run) -> Blueprints:
    """Read a price per MWh as one per kWh, and the other way round."""
    swap = {"EUR/MWh": "EUR/kWh", "EUR/kWh": "EUR/MWh", "ct/kWh": "EUR/kWh", "EUR/m2": "ct/m2"}
    for definition in run.blueprint.core.parameters:
        if definition.unit in swap and not isinstance(definition.value, str):
            changed = replace(definition, unit=swap[str(definition.unit)], unit_override=None)
            if definition.data is not None:
                changed = _inline(run, definition, swap[str(definition.unit)])
            yield definition.name, with_parameter(run, changed)


def _inline(
    run: Run, definition: ParameterDef, unit: str | None = None, change: Any = None
) -> ParameterDef:
    """Write a series of a file into the blueprint, changed."""
    values = Elaboration(run.blueprint.core, run.problem.folder).table(definition.name).values
    values = values.copy() if change is None else change(values.copy())
    return replace(
        definition, data=None, value=tuple(values.tolist()), unit=unit or definition.unit
    )


def _series(run: Run, change: Callable[[Any], Any]) -> Blueprints:
    for definition in run.blueprint.core.parameters:
        if definition.data is not None and not definition.type:
            yield definition.name, with_parameter(run, _inline(run, definition, change=change))


def one_value_of_a_series(run: Run) -> Blueprints:
    """Change one value of every series of a file."""

    def change(values: Any) -> Any:
        values[len(values) // 2] += 1.0 + 0.1 * abs(values[len(values) // 2])
        return values

    yield from _series(run, change)


def series_an_hour_late(run: Run) -> Blueprints:
    """Read a series one step late, as with labels at the end of the hour."""
    yield from _series(run, lambda values: np.roll(values, 1))


def series_scaled(run: Run) -> Blueprints:
    """Make a whole series 1 % larger."""
    yield from _series(run, lambda values: values * 1.01)


def series_without_negatives(run: Run) -> Blueprints:
    """Cut a series off at nought."""
    yield from _series(run, lambda values: np.maximum(values, 0.0))


def series_averaged(run: Run) -> Blueprints:
    """Put the mean for a series."""
    yield from _series(run, lambda values: np.full_like(values, values.mean()))


def columns_exchanged(run: Run) -> Blueprints:
    """Read one column of a file where another is meant."""
    read = [p for p in run.blueprint.core.parameters if p.data is not None and "#" in str(p.data)]
    for one in read:
        for two in read:
            if one is not two and one.index == two.index:
                changed = replace(one, data=two.data, source_reference=two.source_reference)
                yield f"{one.name} from {two.data}", with_parameter(run, changed)


def other_step(run: Run) -> Blueprints:
    """Take steps of half the length, or one period less."""
    for definition in run.blueprint.core.sets:
        if definition.kind != "time" or definition.periods is None:
            continue
        halves = {"1 h": "30 min", "30 min": "15 min", "15 min": "5 min"}
        changes = {"one period less": replace(definition, periods=definition.periods - 1)}
        if isinstance(definition.step, str) and definition.step in halves:
            changes["half steps"] = replace(definition, step=halves[definition.step])
        for word, changed in changes.items():
            sets = tuple(changed if s is definition else s for s in run.blueprint.core.sets)
            yield f"{definition.name}: {word}", run.blueprint.with_core(sets=sets)
