"""What each function of the language takes and gives."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engiagent.blueprint.grammar import Call, ExpressionError, Ref
from engiagent.blueprint.symbols import HOUR, NONLINEAR, ONE, Scope, Typed, type_error
from engiagent.blueprint.units import Unit, parse_unit

if TYPE_CHECKING:
    from engiagent.blueprint.typecheck import TypeChecker


def _set_function(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    name = _set_name(checker, node)
    if node.function == "len":
        return Typed(node, "number")
    return Typed(node, "index", set=name)


def _set_name(checker: "TypeChecker", node: Call) -> str:
    argument = node.args[0]
    if not isinstance(argument, Ref) or argument.name not in checker.sets or argument.indices:
        raise type_error("EB002", f"{node.function} needs the name of a set", node)
    checker.used.add(argument.name)
    return argument.name


def _element_function(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    element = checker.check(node.args[0], scope)
    if element.sort != "index":
        raise type_error(
            "EB003", f"{node.function} needs an element of a set, as {node.function}(t)", node
        )
    kind = checker.sets[element.set or ""].kind
    timed = kind in ("time", "instants") or (kind == "periods" and node.function == "dt")
    if node.function != "pos" and not timed:
        raise type_error("EB003", f"{node.function} needs an element of a time set", node)
    unit = {"dt": _step_unit(checker, element.set or ""), "clock": HOUR}.get(node.function, ONE)
    return Typed(replace(node, args=(element.node,)), "number", unit)


def _step_unit(checker: "TypeChecker", name: str) -> Unit:
    return parse_unit(checker.sets[name].step_unit or "h")


def _prev(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    reference, start = node.args
    if not isinstance(reference, Ref) or not reference.indices:
        raise type_error("EB003", "prev needs an indexed name", node, "write prev(x[t], x0)")
    earlier = checker.operand(reference, scope)
    first = checker.convert(checker.operand(start, scope), earlier.unit)
    degree = max(earlier.degree, first.degree)
    return Typed(replace(node, args=(earlier.node, first.node)), "number", earlier.unit, degree)


def _elementary(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    argument = checker.operand(node.args[0], scope)
    checker.refuse_point(argument, node.args[0])
    try:
        plain = checker.convert(argument, ONE)
    except ExpressionError:
        raise type_error(
            "EB005",
            f"{node.function} needs a pure number, this is {argument.unit}",
            node,
            "divide by a reference value first",
        ) from None
    degree = NONLINEAR if plain.degree else 0
    return Typed(replace(node, args=(plain.node,)), "number", degree=degree)


def _extreme(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    parts = [checker.operand(part, scope) for part in node.args]
    if node.function == "abs":
        checker.refuse_point(parts[0], node.args[0])
    unit = next((part.unit for part in parts if not part.bare), ONE)
    aligned = [checker.align(node, part, unit) for part in parts]
    degree = NONLINEAR if any(part.degree for part in aligned) else 0
    args = tuple(part.node for part in aligned)
    return Typed(replace(node, args=args), "number", unit, degree)


CALLS: dict[str, Callable[["TypeChecker", Call, Scope], Typed]] = {
    "abs": _extreme,
    "clock": _element_function,
    "cos": _elementary,
    "dt": _element_function,
    "exp": _elementary,
    "first": _set_function,
    "hour": _element_function,
    "last": _set_function,
    "len": _set_function,
    "log": _elementary,
    "max": _extreme,
    "min": _extreme,
    "pos": _element_function,
    "prev": _prev,
    "sin": _elementary,
    "sqrt": _elementary,
    "tanh": _elementary,
    "weekday": _element_function,
}
