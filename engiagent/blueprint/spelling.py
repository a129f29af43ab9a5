"""Expressions as text: the way back from a syntax tree."""

from typing import Final

from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Choice,
    Compare,
    Convert,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
)

_STRENGTH: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 4}
_UNARY: Final = 3
_ATOM: Final = 9


def spell(node: Node) -> str:
    """Return an expression as text that reads back as the same expression.

    Changes of unit that a check has put in are left out.
    """
    match node:
        case Number(value=value, unit=unit):
            plain = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
            return plain if unit is None else f"{plain}[{unit}]"
        case Text(value=value):
            return repr(value)
        case Ref(name=name, indices=indices):
            return f"{name}[{', '.join(map(_index, indices))}]" if indices else name
        case Convert(operand=operand):
            return spell(operand)
        case Call(function=function, args=args):
            return f"{function}({', '.join(map(spell, args))})"
        case Members(items=items):
            return f"({', '.join(map(spell, items))}{',' if len(items) == 1 else ''})"
        case Reduce(function=function, body=body, binders=binders, where=where):
            loops = " ".join(f"for {_binder(binder)}" for binder in binders)
            condition = "" if where is None else f" if {spell(where)}"
            return f"{function}({bracketed(body, 0)} {loops}{condition})"
    return _spell_operation(node)


def _spell_operation(node: Node) -> str:
    match node:
        case Unary(op="not", operand=operand):
            return f"not {bracketed(operand, 1 if isinstance(operand, Logic | Choice) else 0)}"
        case Unary(op=op, operand=operand):
            return f"{op}{bracketed(operand, _UNARY)}"
        case Binary(op=op, left=left, right=right):
            strength = _STRENGTH[op]
            between = f" {op} " if strength == 1 or op in ("%", "//") else op
            # Powers bind to the right, everything else to the left.
            first, second = (strength + 1, strength) if op == "**" else (strength, strength + 1)
            return f"{bracketed(left, first)}{between}{bracketed(right, second)}"
        case Compare(ops=ops, operands=operands):
            text = bracketed(operands[0], 1)
            for op, operand in zip(ops, operands[1:], strict=True):
                text += f" {op} {bracketed(operand, 1)}"
            return text
        case Logic(op=op, operands=operands):
            return f" {op} ".join(bracketed(part, 1) for part in operands)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return f"{bracketed(then, 1)} if {spell(condition)} else {bracketed(otherwise, 1)}"
    return "…"


def _index(node: Node) -> str:
    text = spell(node)
    return text.replace(" + ", "+").replace(" - ", "-") if isinstance(node, Binary) else text


def _binder(binder: Binder) -> str:
    names = binder.names[0] if len(binder.names) == 1 else f"({', '.join(binder.names)})"
    return f"{names} in {binder.set}"


def bracketed(node: Node, strength: int) -> str:
    """Return a part as text, in brackets where it binds less than ``strength``.

    0 is the strength of conditions, 1 of sums, 2 of products, 3 of signs, 4 of powers.
    """
    while isinstance(node, Convert):
        node = node.operand
    own = _ATOM
    if isinstance(node, Binary):
        own = _STRENGTH[node.op]
    elif isinstance(node, Unary):
        own = 0 if node.op == "not" else _UNARY
    elif isinstance(node, Number) and node.value < 0:
        own = _UNARY
    elif isinstance(node, Compare | Logic | Choice):
        own = 0
    text = spell(node)
    return f"({text})" if own < strength else text
