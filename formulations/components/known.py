"""Numbers of a component that are known before any data file is read."""

from collections.abc import Iterator, Mapping

from engiagent.blueprint.elements import Core, Json, ParameterDef
from engiagent.blueprint.grammar import Node, Number, Ref, Unary, parse
from engiagent.errors import EngiagentError
from engiagent.units.unit import UnitError, convert, parse_unit


def known_values(value: Json, unit: str, core: Core) -> tuple[float, ...]:
    """Return the numbers [unit] behind a slot; none for a computed value or one from a file.

    ``value``: what fills the slot: a number, a literal, the name of a parameter, or numbers in
    brackets. ``unit``: in which they are wanted; a bare number has it already.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return ()
    if not isinstance(value, str):
        return (float(value),)
    items = bracketed(value)
    if items is not None:
        return tuple(n for item in items for n in known_values(item, unit, core))
    try:
        return tuple(_values(parse(value), unit, core))
    except (EngiagentError, UnitError):
        return ()  # found and located where the expression is read


def known_units(value: Json, core: Core) -> tuple[str, ...]:
    """Return the units that a slot's value is written in; none for bare and computed numbers."""
    if not isinstance(value, str):
        return ()
    items = bracketed(value)
    if items is not None:
        return tuple(unit for item in items for unit in known_units(item, core))
    try:
        node = parse(value)
    except EngiagentError:
        return ()
    while isinstance(node, Unary):
        node = node.operand
    if isinstance(node, Number):
        return (node.unit,) if node.unit else ()
    parameter = _parameter(node, core)
    return (str(parameter.unit),) if parameter is not None else ()


def bracketed(text: str) -> tuple[str, ...] | None:
    """Return the entries of numbers in brackets, None when the text is none.

    >>> bracketed("(0, 5[kW])")
    ('0', '5[kW]')
    """
    text = text.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return None
    items = tuple(part.strip() for part in text[1:-1].rstrip(", ").split(","))
    return None if any("(" in item or ")" in item or not item for item in items) else items


def _parameter(node: Node, core: Core) -> ParameterDef | None:
    """Return the parameter with a unit that a node names."""
    if not isinstance(node, Ref) or node.indices:
        return None
    found = next((p for p in core.parameters if p.name == node.name), None)
    return found if found is not None and isinstance(found.unit, str) else None


def _values(node: Node, unit: str, core: Core) -> Iterator[float]:
    if isinstance(node, Unary) and node.op == "-":
        yield from (-number for number in _values(node.operand, unit, core))
    elif isinstance(node, Number):
        yield _in(unit, node.value, node.unit or unit)
    elif (parameter := _parameter(node, core)) is not None:
        yield from (_in(unit, n, str(parameter.unit)) for n in _leaves(parameter.value))


def _leaves(value: Json) -> Iterator[float]:
    if isinstance(value, Mapping | tuple | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def _in(unit: str, number: float, source: str) -> float:
    if source == unit:  # long series mostly are, and exact conversions take their time
        return float(number)
    return convert(float(number), parse_unit(source), parse_unit(unit))
