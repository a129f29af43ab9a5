"""The numbers of a blueprint's components: usual or not, alone and in proportion to each other.

What is usual, and why, is the table ``ranges.yaml``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import ComponentDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.explain.labels import shown
from engiagent.explain.places import Finding, Text
from engiagent.formulations.values import Floats
from engiagent.io.files import packaged_yaml
from engiagent.units.unit import convert, parse_unit

LISTED: Final = 6
_QUANTITY: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\[([^\]]+)\]\s*")
"""A number with its unit in the slot itself, as ``200[kWh]``."""


@dataclass(frozen=True)
class _Known:
    """A parameter of a component with its numbers in ``unit``, flattened."""

    component: ComponentDef
    slot: str
    source: Any
    values: Floats
    unit: str


@lru_cache(maxsize=1)
def _table() -> Any:
    return packaged_yaml("engiagent.explain", "ranges.yaml")


def odd_numbers(blueprint: Blueprint, folder: Path, text: Text) -> Iterator[Finding]:
    """Yield numbers outside what is usual for their slot, and pairs out of proportion."""
    try:
        known = list(_components(blueprint, folder))
    except EngiagentError:
        return
    for item in known:
        usual = _table()["slots"].get(item.component.model, {}).get(item.slot)
        if usual is not None:
            yield from _odd(item, usual, text)
    by_place = {(item.component.name, item.slot): item for item in known}
    for ratio in _table()["ratios"]:
        for (name, slot), first in by_place.items():
            second = by_place.get((name, ratio["second"]))
            fits = first.component.model == ratio["component"] and slot == ratio["first"]
            if fits and second is not None:
                yield from _disproportion(ratio, first, second, text)


def _components(blueprint: Blueprint, folder: Path) -> Iterator[_Known]:
    """Yield the parameters of all components whose numbers are known."""
    elaboration = Elaboration(blueprint.core, folder)
    named = {p.name: p for p in blueprint.core.parameters}
    for component in blueprint.core.components:
        for slot, given in component.parameters.items():
            parameter = named.get(given) if isinstance(given, str) else None
            inline = _QUANTITY.fullmatch(given) if isinstance(given, str) else None
            try:
                if inline is not None:
                    values, unit = np.array([float(inline[1])]), inline[2]
                elif parameter is None:
                    values, unit = np.array([float(given)]), ""
                elif parameter.status == "missing":
                    continue
                else:
                    values = np.asarray(elaboration.table(parameter.name).values, dtype=float)
                    unit = str(parameter.unit or "1")
            except (EngiagentError, ValueError, TypeError):
                continue
            source = parameter.source_reference if parameter is not None else None
            yield _Known(component, slot, source, values.ravel(), unit)


def _odd(item: _Known, usual: Any, text: Text) -> Iterator[Finding]:
    """Yield a number that is unusual, or impossible, for its slot."""
    unit, numbers = usual["unit"], item.values
    if item.unit:
        try:
            source, target = parse_unit(item.unit), parse_unit(unit)
            numbers = np.array([convert(float(x), source, target) for x in numbers])
        except EngiagentError:
            return
    low, high = map(float, usual["usual"])
    wrong = np.flatnonzero(~((numbers >= low - 1e-12) & (numbers <= high + 1e-12)))
    if not wrong.size:
        return
    worst = float(numbers[wrong[np.argmax(np.abs(numbers[wrong]))]])
    least, most = map(float, usual["possible"])
    words, span = ("is unusual for", "usual are"), f"{shown(low, unit)} to {shown(high, unit)}"
    possible = least - 1e-12 <= worst <= most + 1e-12
    if not possible:
        words, span = ("cannot be", "possible are"), f"{shown(least, unit)} to {shown(most, unit)}"
    yield Finding(
        code="unusual-value" if possible else "implausible-value",
        severity="suspicious",
        component=item.component.name,
        quantity=item.slot,
        explanation=f"{shown(worst, unit)} {words[0]} the {usual['said']}; {words[1]} {span}: "
        f"{usual['because'].strip()}",
        suggestion="check number and unit",
        places=text.of(item.source, [int(k) for k in wrong[:LISTED]]),
    )


def _disproportion(ratio: Any, first: _Known, second: _Known, text: Text) -> Iterator[Finding]:
    """Yield two parameters whose quotient, or product, is out of its usual range."""
    a, b = float(np.max(first.values)), float(np.max(second.values))
    unit, product = ratio["unit"], bool(ratio.get("product"))
    if b == 0.0 and not product:
        return
    try:
        one, other = parse_unit(first.unit or "1"), parse_unit(second.unit or "1")
        measure = one * other if product else one / other
        value = convert(a * b if product else a / b, measure, parse_unit(unit))
    except EngiagentError:
        return
    low, high = map(float, ratio["usual"])
    if low <= value <= high:
        return
    found = f"{value * 3600:.3g} s" if value < low else shown(value, unit)
    yield Finding(
        code="out-of-proportion",
        severity="suspicious",
        component=first.component.name,
        quantity=f"{first.slot}{'*' if product else '/'}{second.slot}",
        explanation=f"{first.slot.replace('_', ' ')} {shown(a, first.unit)} and "
        f"{second.slot.replace('_', ' ')} {shown(b, second.unit)} make a {ratio['said']} of "
        f"{found}; usual are {shown(low, unit)} to {shown(high, unit)}: {ratio['because'].strip()}",
        suggestion="check both numbers and their units, kW against MW and kWh against MWh",
        places=text.of([item.source for item in (first, second) if item.source is not None]),
    )
