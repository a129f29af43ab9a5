"""What each function of the language takes and gives, and what some expressions stand for."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from engiagent.blueprint import grammar
from engiagent.blueprint.functions import ELEMENTARY
from engiagent.blueprint.grammar import Call, Choice, Convert, Members, Node, Number, Reduce, Ref
from engiagent.blueprint.symbols import HOUR, NONLINEAR, ONE, Scope, SetInfo, Typed, type_error
from engiagent.units.unit import Unit, UnitError, parse_unit

if TYPE_CHECKING:
    from engiagent.blueprint.typecheck import TypeChecker

CLOCKED = ("time", "instants")


def _set_function(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    name = _set_name(checker, node, 0)
    return Typed(node, "number") if node.function == "len" else Typed(node, "index", set=name)


def _set_name(checker: "TypeChecker", node: Call, which: int) -> str:
    argument = node.args[which]
    if not isinstance(argument, Ref) or argument.name not in checker.sets or argument.indices:
        raise type_error("EB002", f"{node.function} needs the name of a set", node)
    return argument.name


def _element_function(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    element = checker.check(node.args[0], scope)
    if element.sort != "index":
        text = f"{node.function} needs an element of a set, as {node.function}(t)"
        raise type_error("EB003", text, node)
    info = checker.sets[element.set or ""]
    stepped = info.kind == "periods" and node.function == "dt"
    if node.function != "pos" and info.kind not in CLOCKED and not stepped:
        raise type_error("EB003", f"{node.function} needs an element of a time set", node)
    unit = {"dt": parse_unit(info.step_unit or "h"), "clock": HOUR}.get(node.function, ONE)
    return Typed(replace(node, args=(element.node,)), "number", unit)


def _at(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    """``at(q, D)``: the period of the set D in which a period or an instant lies."""
    element = _clocked(checker, node, 0, scope)
    target = _set_name(checker, node, 1)
    if checker.sets[target].kind != "time":
        raise type_error("EB003", f"{target} is no time set", node.args[1])
    return Typed(replace(node, args=(element, node.args[1])), "index", set=target)


def _within(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    """``within(q, d)``: whether the period q lies inside the period d."""
    parts = tuple(_clocked(checker, node, which, scope) for which in (0, 1))
    return Typed(replace(node, args=parts), "condition")


def _clocked(checker: "TypeChecker", node: Call, which: int, scope: Scope) -> Node:
    element = checker.check(node.args[which], scope)
    if element.sort != "index" or checker.sets[element.set or ""].kind not in CLOCKED:
        text = f"{node.function} needs an element of a time set"
        raise type_error("EB003", text, node.args[which])
    return element.node


def _probability(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    element = checker.check(node.args[0], scope)
    if element.sort != "index" or checker.sets[element.set or ""].kind != "scenario":
        raise type_error("EB003", "prob needs an element of a scenario set", node)
    return Typed(replace(node, args=(element.node,)), "number")


def _piecewise(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    """``piecewise(x, xs, ys)``: interpolation in a table of breakpoints and values."""
    at = checker.operand(node.args[0], scope)
    xs, unit = _points(checker, node.args[1], scope, None if at.bare else at.unit)
    if at.bare:
        at = checker.convert(at, unit)
    ys, result = _points(checker, node.args[2], scope, None)
    sizes = [_count(checker, points) for points in (xs, ys)]
    if sizes[0] != sizes[1] and all(size.isdigit() == sizes[0].isdigit() for size in sizes):
        text = f"there are {sizes[0]} breakpoints and {sizes[1]} values"
        if not sizes[0].isdigit():
            text = f"the breakpoints run over {sizes[0]}, the values over {sizes[1]}"
        raise type_error("EB003", text, node, "both need the same points")
    degree = NONLINEAR if at.degree else 0
    return Typed(replace(node, args=(at.node, xs, ys)), "number", result, degree)


def _points(
    checker: "TypeChecker", node: Node, scope: Scope, unit: Unit | None
) -> tuple[Node, Unit]:
    """Check a listed row of numbers, or a parameter with one index left open: its last one."""
    if isinstance(node, Members):
        items = [checker.operand(item, scope) for item in node.items]
        if len(items) < 2 or not all(isinstance(item.node, Number) for item in items):
            raise type_error("EB010", "list at least two numbers", node, "as in (0, 50, 100)")
        wanted = unit or next((item.unit for item in items if not item.bare), ONE)
        return replace(node, items=tuple(checker.convert(i, wanted).node for i in items)), wanted
    symbol = checker.symbols.get(node.name) if isinstance(node, Ref) else None
    if symbol is None or symbol.kind != "parameter" or symbol.unit is None:
        raise type_error("EB010", "a parameter or a list of numbers is needed here", node)
    assert isinstance(node, Ref)
    if len(node.indices) != len(symbol.dims) - 1:
        text = f"{node.name} is named here without its last index, over which its points run"
        raise type_error("EB003", text, node, f"it is indexed by {', '.join(symbol.dims) or '–'}")
    plain: Node = replace(node, indices=tuple(checker.index(i, scope) for i in node.indices))
    wanted = unit or symbol.unit
    return checker.convert(Typed(plain, "number", symbol.unit), wanted).node, wanted


def _count(checker: "TypeChecker", points: Node) -> str:
    """Return how many points are listed, or the set over which those of a parameter run."""
    inner = points.operand if isinstance(points, Convert) else points
    if isinstance(inner, Members):
        return str(len(inner.items))
    assert isinstance(inner, Ref)
    return checker.symbols[inner.name].dims[-1]


def _where(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    """``where(condition, a, b)``: the same as ``a if condition else b``."""
    return checker.check(Choice(node.span, *node.args), scope)


def _statement(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    text = f"{node.function} states a constraint and has no value"
    raise type_error("EB010", text, node, "make it a constraint of its own")


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
    needed, unit = "a pure number", ONE
    try:
        if node.function == "sqrt":
            needed = "a pure number or a square, as kW^2"
            unit = argument.unit.root()
        plain = checker.convert(argument, unit**2)
    except (grammar.ExpressionError, UnitError):
        text = f"{node.function} needs {needed}, this is {argument.unit}"
        raise type_error("EB005", text, node, "divide by a reference value first") from None
    degree = NONLINEAR if plain.degree else 0
    return Typed(replace(node, args=(plain.node,)), "number", unit, degree)


def _extreme(checker: "TypeChecker", node: Call, scope: Scope) -> Typed:
    parts = [checker.operand(part, scope) for part in node.args]
    if node.function == "abs":
        checker.refuse_point(parts[0], node.args[0])
    first = next((k for k, part in enumerate(parts) if not part.bare), 0)
    unit = ONE if parts[first].bare else parts[first].unit
    aligned = [
        checker.align((f"argument {first + 1}", f"argument {k}"), part, unit)
        for k, part in enumerate(parts, 1)
    ]
    degree = NONLINEAR if any(part.degree for part in aligned) else 0
    return Typed(replace(node, args=tuple(p.node for p in aligned)), "number", unit, degree)


CALLS: dict[str, Callable[["TypeChecker", Call, Scope], Typed]] = {
    **dict.fromkeys(("first", "last", "len"), _set_function),
    **dict.fromkeys(("clock", "dt", "hour", "pos", "weekday"), _element_function),
    **dict.fromkeys(("complements", "either", "exclusive", "implies"), _statement),
    **dict.fromkeys(("abs", "max", "min"), _extreme),
    **dict.fromkeys(ELEMENTARY, _elementary),
    "at": _at,
    "piecewise": _piecewise,
    "prev": _prev,
    "prob": _probability,
    "where": _where,
    "within": _within,
}


def weighted(node: Reduce, sets: Mapping[str, SetInfo]) -> Node:
    """Return the body of an expectation times the probability of each scenario."""
    binder = node.binders[0]
    if len(node.binders) > 1 or sets[binder.set].kind != "scenario" or node.where is not None:
        hint = "write expect(cost[s] for s in S)"
        raise type_error("EB003", "expect runs over one scenario set", node, hint)
    probability = Call(node.body.span, "prob", (Ref(binder.span, binder.names[0], ()),))
    return grammar.Binary(node.body.span, "*", probability, node.body)


def first_index(node: Reduce) -> Node:
    """Return the least position at which a condition holds; the size of the set where none is."""
    binder = node.binders[0]
    if len(node.binders) > 1 or len(binder.names) > 1:
        hint = "write first_index(x[t] <= 0 for t in T)"
        raise type_error("EB003", "first_index runs over one set", node, hint)
    position = Call(node.body.span, "pos", (Ref(binder.span, binder.names[0], ()),))
    none = Call(node.body.span, "len", (Ref(binder.span, binder.set, ()),))
    found: Node = Choice(node.body.span, node.body, position, none)
    if node.where is not None:
        found = Choice(node.body.span, node.where, found, none)
    return replace(node, function="min", body=found, where=None)


def instead(node: Node) -> str:
    """Say how a constraint is written that is joined or negated."""
    if isinstance(node, grammar.Logic) and node.op == "or":
        return "write either(r1, r2) for at least one of them"
    if isinstance(node, grammar.Logic):
        return "write a constraint for each, or a chain as 1 <= x <= 5"
    if isinstance(node, grammar.Unary) and node.op == "not":
        return "state the comparison that holds instead"
    return "use <=, >= or =="


def is_zero(node: Node) -> bool:
    """Whether a node is the number 0."""
    return isinstance(node, Number) and node.value == 0.0


def converted(node: Node, factor: float, shift: float) -> Node:
    """Return a node in another unit: ``factor`` times it plus ``shift``."""
    if isinstance(node, Number):
        return replace(node, value=factor * node.value + shift)
    return Convert(node.span, node, factor, shift)


def clock_literal(text: grammar.Text) -> Number:
    """Return a time of the day, as '07:30', in hours."""
    hours, _, minutes = text.value.partition(":")
    if not (hours.isdigit() and minutes.isdigit()) or int(minutes) > 59 or int(hours) > 24:
        raise type_error("EB003", f"{text.value!r} is no time of day", text, "write it as '07:30'")
    return Number(text.span, int(hours) + int(minutes) / 60.0, "h")


def close(name: str, known: Iterable[object]) -> str | None:
    """Return a question for the known name that is nearest to one that is not."""
    near = get_close_matches(name, [str(k) for k in known], n=1)
    return f"did you mean {near[0]}?" if near else None


def unit_hint(typed: Typed, wanted: Unit) -> str | None:
    """Return what repairs the commonest slips: a power for an energy, a number without unit."""
    for unit in () if typed.unit.is_point or wanted.is_point else (HOUR, parse_unit("timeunit")):
        if (typed.unit * unit).dimension == wanted.dimension:
            return "multiply by dt(t)"
        if (typed.unit / unit).dimension == wanted.dimension:
            return "divide by dt(t), of a level take the change, as (soc[t+1] - soc[t])/dt(t)"
    return None if typed.unit.dimension else f"give a number its unit, as 5[{wanted}]"
