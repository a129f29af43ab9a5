"""The numbers of a blueprint's components: usual or not, alone and in proportion to each other."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import ComponentDef, ParameterDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.explain.audit.findings import Finding
from engiagent.explain.labels import shown
from engiagent.explain.places import Text
from engiagent.io.files import packaged_yaml
from engiagent.units.unit import convert, parse_unit


@dataclass(frozen=True)
class Range:
    """What a slot of a component can be and usually is, in ``unit``."""

    unit: str
    said: str
    possible: tuple[float, float]
    usual: tuple[float, float]
    because: str


@dataclass(frozen=True)
class Ratio:
    """Two parameters of a component whose quotient, or product, has a usual range."""

    component: str
    first: str
    second: str
    product: bool
    unit: str
    low: float
    high: float
    said: str
    because: str


@lru_cache(maxsize=1)
def ranges() -> Mapping[tuple[str, str], Range]:
    """Return what is usual, by model and slot."""
    return {
        (model, slot): Range(
            r["unit"], r["said"], _pair(r["possible"]), _pair(r["usual"]), r["because"].strip()
        )
        for model, slots in _table()["slots"].items()
        for slot, r in slots.items()
    }


@lru_cache(maxsize=1)
def ratios() -> tuple[Ratio, ...]:
    """Return the proportions that are usual."""
    return tuple(
        Ratio(
            r["component"],
            r["first"],
            r["second"],
            bool(r.get("product")),
            r["unit"],
            *_pair(r["usual"]),
            r["said"],
            r["because"].strip(),
        )
        for r in _table()["ratios"]
    )


def _pair(ends: Any) -> tuple[float, float]:
    low, high = ends
    return float(low), float(high)


def _table() -> Any:
    return packaged_yaml("engiagent.explain.audit", "ranges.yaml")


Floats = npt.NDArray[np.float64]
LISTED: Final = 6
_QUANTITY: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\[([^\]]+)\]\s*")
"""A number with its unit in the slot itself, as ``200[kWh]``."""


@dataclass(frozen=True)
class Known:
    """A parameter of a component with its numbers.

    ``values``: in ``unit``, flattened.
    """

    component: ComponentDef
    slot: str
    parameter: ParameterDef | None
    values: Floats
    unit: str


def components_of(blueprint: Blueprint, folder: Path) -> tuple[Known, ...]:
    """Return the parameters of all components whose numbers are known."""
    elaboration = Elaboration(blueprint.core, folder)
    named = {p.name: p for p in blueprint.core.parameters}
    found = []
    for component in blueprint.core.components:
        for slot, given in component.parameters.items():
            parameter = named.get(given) if isinstance(given, str) else None
            try:
                inline = _QUANTITY.fullmatch(given) if isinstance(given, str) else None
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
            found.append(Known(component, slot, parameter, values.ravel(), unit))
    return tuple(found)


def odd_parameters(known: tuple[Known, ...], text: Text) -> Iterator[Finding]:
    """Yield parameters of components outside what is usual, or possible, for their slot."""
    for item in known:
        found = ranges().get((item.component.model, item.slot))
        if found is not None:
            yield from _odd(item, found, text)


def _odd(item: Known, known: Range, text: Text) -> Iterator[Finding]:
    numbers = _in_unit(item, known.unit)
    if numbers is None:
        return
    low, high = known.usual
    wrong = np.flatnonzero(~((numbers >= low - 1e-12) & (numbers <= high + 1e-12)))
    if not wrong.size:
        return
    worst = float(numbers[wrong[np.argmax(np.abs(numbers[wrong]))]])
    possible = known.possible[0] - 1e-12 <= worst <= known.possible[1] + 1e-12
    if not possible:
        low, high = known.possible
    reference = item.parameter.source_reference if item.parameter is not None else None
    yield Finding(
        code="unusual-value" if possible else "implausible-value",
        severity="suspicious",
        component=item.component.name,
        quantity=item.slot,
        explanation=f"{shown(worst, known.unit)} "
        f"{'is unusual for' if possible else 'cannot be'} the {known.said}; "
        f"{'usual are' if possible else 'possible are'} "
        f"{shown(low, known.unit)} to {shown(high, known.unit)}: {known.because}",
        suggestion="check number and unit",
        places=text.of(reference, [int(k) for k in wrong[:LISTED]]),
    )


def odd_ratios(known: tuple[Known, ...], text: Text) -> Iterator[Finding]:
    """Yield components two of whose parameters are out of proportion."""
    for ratio in ratios():
        names = dict.fromkeys(
            item.component.name for item in known if item.component.model == ratio.component
        )
        for name in names:
            parts = {k.slot: k for k in known if k.component.name == name}
            first, second = parts.get(ratio.first), parts.get(ratio.second)
            if first is not None and second is not None:
                yield from _disproportion(ratio, first, second, text)


def _disproportion(ratio: Ratio, first: Known, second: Known, text: Text) -> Iterator[Finding]:
    a, b = float(np.max(first.values)), float(np.max(second.values))
    if b == 0.0 and not ratio.product:
        return
    try:
        one, other = parse_unit(first.unit or "1"), parse_unit(second.unit or "1")
        measure = one * other if ratio.product else one / other
        value = convert(a * b if ratio.product else a / b, measure, parse_unit(ratio.unit))
    except EngiagentError:
        return
    if ratio.low <= value <= ratio.high:
        return
    said = f"{value * 3600:.3g} s" if value < ratio.low else shown(value, ratio.unit)
    references = [k.parameter.source_reference for k in (first, second) if k.parameter is not None]
    yield Finding(
        code="out-of-proportion",
        severity="suspicious",
        component=first.component.name,
        quantity=f"{ratio.first}{'*' if ratio.product else '/'}{ratio.second}",
        explanation=f"{ratio.first.replace('_', ' ')} {shown(a, first.unit)} and "
        f"{ratio.second.replace('_', ' ')} {shown(b, second.unit)} make a {ratio.said} of {said}; "
        f"usual are {shown(ratio.low, ratio.unit)} to {shown(ratio.high, ratio.unit)}: "
        f"{ratio.because}",
        suggestion="check both numbers and their units, kW against MW and kWh against MWh",
        places=text.of(references),
    )


def _in_unit(item: Known, unit: str) -> Floats | None:
    if not item.unit or not unit:
        return item.values
    try:
        source, target = parse_unit(item.unit), parse_unit(unit)
        return np.array([convert(float(x), source, target) for x in item.values])
    except EngiagentError:
        return None
