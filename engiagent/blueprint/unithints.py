"""What to write instead where units do not fit, in the words of the expression itself.

Pure functions over syntax trees: whoever finds two units that do not meet asks :func:`clash` for
the message and the repair, which is offered only where it brings the right dimension about.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Choice,
    Convert,
    Node,
    Number,
    Reduce,
    Ref,
    Unary,
    walk,
)
from engiagent.blueprint.spelling import bracketed, spell
from engiagent.blueprint.symbols import SetInfo, Symbol
from engiagent.units.unit import CURRENCIES, Unit, parse_unit

MAX_QUOTE: Final = 60
_SHORT_QUOTE: Final = 40
_STEPPED: Final = ("time", "periods")


class Names(NamedTuple):
    """What the names of an expression stand for."""

    symbols: Mapping[str, Symbol]
    sets: Mapping[str, SetInfo]

    def over_time(self, name: str) -> bool:
        """Whether a set is one of periods or instants."""
        return name in self.sets and self.sets[name].kind in ("time", "instants", "periods")


def clash(
    where: tuple[str, str], other: Unit, offending: Node, found: Unit, names: Names
) -> tuple[str, str | None]:
    """Return the message and the suggestion for two parts whose units differ.

    ``where``: what the other part and the offending one are called, as
    ``("left side", "right side")``. ``other``, ``found``: the unit of the other part, which is
    wanted, and that of the offending one. ``offending``: the part that does not fit, as written.

    Reads as ``left side is kW, right side is kWh (soc[t])`` and
    ``did you mean (soc[t+1] - soc[t])/dt(t)?``.
    """
    text = spell(offending)
    quote = f" ({text})" if len(text) <= _SHORT_QUOTE else ""
    message = f"{where[0]} is {other}, {where[1]} is {found}{quote}"
    return message, suggestion(offending, found, other, names)


def suggestion(node: Node, found: Unit, wanted: Unit, names: Names) -> str | None:
    """Return what would repair the commonest slips; None where nothing can be said.

    They are: a power for an energy and a cost per hour for a cost (or the other way round), a
    price without its energy, a temperature for a difference, another currency, and a bare factor.
    """
    if found.is_point or wanted.is_point:
        return _temperature(node, found, wanted)
    for step in ("h", "timeunit"):
        unit = parse_unit(step)
        if (found * unit).dimension == wanted.dimension:
            return _mean(_stepped("*", node, names), "multiply by dt(t)")
        if (found / unit).dimension == wanted.dimension:
            return _mean(_stepped("/", _change(node, names), names), "divide by dt(t)")
    return _exchange(found, wanted) or _price(found, wanted) or _bare(node, found, wanted)


def _mean(node: Node, in_general: str) -> str:
    text = spell(node)
    return f"did you mean {text}?" if len(text) <= MAX_QUOTE else in_general


def _temperature(node: Node, found: Unit, wanted: Unit) -> str | None:
    if found.dimension != wanted.dimension:
        return None
    text = spell(node)
    if found.is_point and not wanted.is_point:
        return f"take a difference, as {bracketed(node, 1)} - 20[{found}]"
    if isinstance(node, Number):
        return f"write {node.value:g}[{wanted}] for a temperature"
    return f"add it to a temperature, as 20[{wanted}] + {text}"


def _exchange(found: Unit, wanted: Unit) -> str | None:
    """Look for the same quantity in another currency."""
    ours, theirs = _currency(found), _currency(wanted)
    if ours is None or theirs is None or ours == theirs:
        return None
    rate = parse_unit(f"{theirs}/{ours}")
    if (found * rate).dimension != wanted.dimension:
        return None
    return f"multiply by an exchange rate in {theirs}/{ours}"


def _currency(unit: Unit) -> str | None:
    names = [base for base, power in unit.dimension if power == 1 and base in CURRENCIES]
    return names[0] if len(names) == 1 else None


def _price(found: Unit, wanted: Unit) -> str | None:
    """Look for a price that is missing the amount that it is paid for, or an amount its price."""
    for amount, words in (("kWh", "an energy"), ("kW", "a power"), ("h", "a duration")):
        unit = parse_unit(amount)
        if _currency(found) and (found * unit).dimension == wanted.dimension:
            how = ", as price[t]*power[t]*dt(t)" if amount == "kWh" else ""
            return f"multiply the price by {words}{how}"
    money = _currency(wanted)
    if money is not None and not _currency(found) and found.dimension:
        return f"multiply by a price in {money}/{found}"
    return None


def _bare(node: Node, found: Unit, wanted: Unit) -> str | None:
    if found.dimension:
        return None
    number = next(_numbers(node), None)
    if number is not None:
        return f"give the number its unit, as {number.value:g}[{wanted}]"
    return f"multiply by one unit of it, as {bracketed(node, 2)}*1[{wanted}]"


def _numbers(node: Node) -> Iterator[Number]:
    """Yield the bare numbers whose unit would be that of the whole: terms and factors."""
    match node:
        case Number(unit=None):
            yield node
        case Unary(operand=part) | Convert(operand=part) | Reduce(body=part):
            yield from _numbers(part)
        case Binary(op="/", left=part):
            yield from _numbers(part)
        case Binary(op="*" | "+" | "-", left=one, right=other) | Choice(then=one, otherwise=other):
            yield from _numbers(one)
            yield from _numbers(other)


# -- steps of time --------------------------------------------------------------------------------


def _change(node: Node, names: Names) -> Node:
    """Return the change of a lone level over its period; of anything else that itself."""
    symbol = names.symbols.get(node.name) if isinstance(node, Ref) else None
    if not isinstance(node, Ref) or symbol is None or len(node.indices) != 1:
        return node
    if [names.sets[dim].kind for dim in symbol.dims if dim in names.sets] != ["instants"]:
        return node
    return Binary(node.span, "-", replace(node, indices=(_next(node.indices[0]),)), node)


def _stepped(op: str, node: Node, names: Names, loops: tuple[str, ...] = ()) -> Node:
    """Return an expression times or per step, inside a sum over time in each term."""
    if isinstance(node, Reduce) and node.function == "sum":
        single = [b for b in node.binders if len(b.names) == 1]
        if any(b.set in names.sets and names.sets[b.set].kind in _STEPPED for b in single):
            timed = tuple(b.names[0] for b in single if names.over_time(b.set))
            return replace(node, body=_stepped(op, node.body, names, (*loops, *timed)))
    index = _time_index(node, names, loops) or "t"
    step = Call(node.span, "dt", (Ref(node.span, index, ()),))
    return Binary(node.span, op, node, step)


def _time_index(node: Node, names: Names, loops: tuple[str, ...]) -> str | None:
    """Return the index by which an expression runs over time, or the only loop over time."""
    for part in walk(node):
        if isinstance(part, Ref) and part.name in names.symbols:
            dims = names.symbols[part.name].dims
            for position, index in enumerate(part.indices):
                timed = len(dims) == len(part.indices) and names.over_time(dims[position])
                for inner in walk(index):
                    if isinstance(inner, Ref) and (inner.name in loops or timed):
                        return inner.name
    return loops[0] if len(loops) == 1 else None


def _next(index: Node) -> Node:
    """Return the index one step on."""
    if isinstance(index, Binary) and index.op == "-" and isinstance(index.right, Number):
        if index.right.value == 1:
            return index.left
        return replace(index, right=replace(index.right, value=index.right.value - 1))
    if isinstance(index, Binary) and index.op == "+" and isinstance(index.right, Number):
        return replace(index, right=replace(index.right, value=index.right.value + 1))
    return Binary(index.span, "+", index, Number(index.span, 1.0, None))
