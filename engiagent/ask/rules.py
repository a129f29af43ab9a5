"""Validations: small rules over an answer, evaluated without ``eval``; and paths into answers."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from engiagent.blueprint.grammar import python_expression
from engiagent.errors import InputError

_COMPARED: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_COMPUTED: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: Final[Mapping[type, Callable[[Any], Any]]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "len": len,
    "max": max,
    "min": min,
}
_MOST: Final = 300
"""Letters of a rule."""
FORM: Final = "as answer.cost.value < 40 and answer.notes == []"


def checked(rule: str) -> ast.expr:
    """Return a rule as a tree that :func:`holds` can evaluate; refuse everything else."""
    try:
        tree = python_expression(rule.strip()[: _MOST + 1])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError("the validation is no rule", found=repr(rule), expected=FORM) from None
    if len(rule) > _MOST or not all(map(_known, ast.walk(tree))):
        raise InputError("the validation says too much", found=repr(rule), expected=FORM)
    return tree


def _known(node: ast.AST) -> bool:
    """Whether a node belongs to the language of rules: no names but ``answer`` and functions."""
    if isinstance(node, ast.Name):
        return node.id == "answer" or node.id in _FUNCTIONS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
    plain = (ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Load, ast.Compare)
    logic = (ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp)
    return isinstance(node, (*plain, *logic, *_COMPARED, *_COMPUTED, *_UNARY))


def holds(rule: str, answer: Any) -> bool:
    """Whether a rule holds of an answer.

    Raises InputError when it is no rule, or asks for what the answer does not have.

    Examples
    --------
    >>> holds("answer.cost.value < 40", {"cost": {"value": 13.3}})
    True
    """
    try:
        return bool(_value(checked(rule), answer))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"the validation {rule!r} cannot be evaluated: {error}") from None


def _value(node: ast.expr, answer: Any) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name():
            return answer
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, answer) for item in items]
        case ast.Attribute(value=inner, attr=name):
            return step(_value(inner, answer), name)
        case ast.Subscript(value=inner, slice=place):
            return step(_value(inner, answer), str(_value(place, answer)))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, answer) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, answer) for part in parts)
        case ast.UnaryOp(op=sign, operand=inner):
            return _UNARY[type(sign)](_value(inner, answer))
        case ast.BinOp(left=left, op=sign, right=right):
            return _COMPUTED[type(sign)](_value(left, answer), _value(right, answer))
        case ast.Call(func=ast.Name(id=name), args=given):
            return _FUNCTIONS[name](*(_value(item, answer) for item in given))
        case ast.Compare(left=left, ops=signs, comparators=others):
            values = [_value(item, answer) for item in (left, *others)]
            pairs = zip(signs, values, values[1:], strict=False)
            return all(_COMPARED[type(sign)](one, two) for sign, one, two in pairs)
    raise InputError("the validation says too much", expected=FORM)


def step(value: Any, name: str) -> Any:
    """Return what a value has at one step of a path.

    A list is entered by number, or by the ``name`` or ``id`` of an item; where several items have
    the name, by ``name/component``.
    """
    if isinstance(value, Mapping) and name in value:
        return value[name]
    if isinstance(value, list):
        if name.lstrip("-").isdecimal() and -len(value) <= int(name) < len(value):
            return value[int(name)]
        found = [item for item in value if isinstance(item, Mapping) and name in _names(item)]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(_names(item)[-1] for item in found)
            raise InputError(f"several items are called {name!r}", expected=several)
    raise InputError(f"the answer has no {name!r}", expected=_there(value))


def _names(item: Mapping[str, Any]) -> list[str]:
    name = item.get("name", item.get("id"))
    component = item.get("component")
    return [str(name), *([f"{name}/{component}"] if component else [])]


def _there(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(map(str, list(value)[:30])) or "nothing is there"
    if isinstance(value, list):
        names = [_names(item)[-1] for item in value if isinstance(item, Mapping)]
        return ", ".join(names[:30]) or f"a number below {len(value)}"
    return "no further step"


def follow(value: Any, path: str) -> list[Any]:
    """Return what stands along a path as ``figures.energy_cost.value``, the answer first.

    A key that has dots itself, as ``zone.room.temperature``, is found as a whole.
    """
    parts, trail = [part for part in path.replace("[", ".").replace("]", "").split(".") if part], []
    trail.append(value)
    while parts:
        here = trail[-1]
        joined = (n for n in range(len(parts), 1, -1) if isinstance(here, Mapping))
        size = next((n for n in joined if ".".join(parts[:n]) in here), 1)
        trail.append(step(here, ".".join(parts[:size])))
        parts = parts[size:]
    return trail
