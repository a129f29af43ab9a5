"""Rewritten expressions: what stands for another, and what should have been written instead."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Choice,
    Convert,
    Logic,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
)
from engiagent.blueprint.symbols import SetInfo, type_error


def weighted(node: Reduce, sets: Mapping[str, SetInfo]) -> Node:
    """Return the body of an expectation times the probability of each scenario."""
    binder = node.binders[0]
    if len(node.binders) > 1 or sets[binder.set].kind != "scenario" or node.where is not None:
        raise type_error(
            "EB003", "expect runs over one scenario set", node, "write expect(cost[s] for s in S)"
        )
    probability = Call(node.body.span, "prob", (Ref(binder.span, binder.names[0], ()),))
    return Binary(node.body.span, "*", probability, node.body)


def first_index(node: Reduce) -> Node:
    """Return the least position at which a condition holds; the size of the set where none is."""
    binder = node.binders[0]
    if len(node.binders) > 1 or len(binder.names) > 1:
        raise type_error(
            "EB003",
            "first_index runs over one set",
            node,
            "write first_index(x[t] <= 0 for t in T)",
        )
    position = Call(node.body.span, "pos", (Ref(binder.span, binder.names[0], ()),))
    none = Call(node.body.span, "len", (Ref(binder.span, binder.set, ()),))
    found: Node = Choice(node.body.span, node.body, position, none)
    if node.where is not None:
        found = Choice(node.body.span, node.where, found, none)
    return replace(node, function="min", body=found, where=None)


def instead(node: Node) -> str:
    """Say how a constraint is written that somebody has joined or negated."""
    if isinstance(node, Logic) and node.op == "or":
        return "write either(r1, r2) for at least one of them"
    if isinstance(node, Logic):
        return "write a constraint for each, or a chain as 1 <= x <= 5"
    if isinstance(node, Unary) and node.op == "not":
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


def clock_literal(text: Text) -> Number:
    """Return a time of the day, as '07:30', in hours."""
    hours, _, minutes = text.value.partition(":")
    if not (hours.isdigit() and minutes.isdigit()) or int(minutes) > 59 or int(hours) > 24:
        raise type_error("EB003", f"{text.value!r} is no time of day", text, "write it as '07:30'")
    return Number(text.span, int(hours) + int(minutes) / 60.0, "h")


def close(name: str, known: Iterable[object]) -> str | None:
    """Return a question for the known name that is nearest to one that is not."""
    near = get_close_matches(name, [str(k) for k in known], n=1)
    return f"did you mean {near[0]}?" if near else None
