"""Where names occur in a document: what links, covers, sets or counts nothing, as it is written.

The checker (:mod:`engiagent.verify.levels.standing`) judges constraints by these rules.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import Core
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Compare,
    Node,
    Number,
    Ref,
    names_in,
    tree_of,
    walk,
)

_OPPOSITE = {"<=": ">=", ">=": "<="}
_SPAN = re.compile(r"span=\(\d+, \d+\),? ?")


def linked_names(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names that stand in expressions at an offset of their index, or under ``prev``."""
    for text in texts:
        tree = tree_of(text)
        for part in () if tree is None else walk(tree):
            if isinstance(part, Ref) and any(isinstance(i, Binary) for i in part.indices):
                yield part.name
            if isinstance(part, Call) and part.function == "prev":
                yield from names_in(part)


def covers_all(node: Call) -> bool:
    """Whether two alternatives of ``either`` are one comparison and its opposite."""
    seen: set[tuple[str, str, str]] = set()
    for part in node.args:
        if not isinstance(part, Compare) or len(part.ops) != 1 or part.ops[0] not in _OPPOSITE:
            continue
        left, right = (plain(side) for side in part.operands)
        op = part.ops[0]
        if (left, _OPPOSITE[op], right) in seen or (right, op, left) in seen:
            return True
        seen.add((left, op, right))
    return False


def plain(node: Node) -> str:
    """Return a node as text that does not depend on where it stands."""
    return _SPAN.sub("", repr(node))


def unset_switches(variables: set[str], private: set[str], node: Call) -> list[str]:
    """Return the variables of a condition, where none of them occurs anywhere else."""
    names = names_in(node.args[0]) & variables
    return sorted(names) if names <= private else []


def private_variables(core: Core) -> list[str]:
    """Return the variables that occur in one constraint only and have no price."""
    met: Counter[str] = Counter()
    bodies = {e.name: e.expression for e in core.expressions}
    for constraint in core.constraints:
        for name in reached([constraint.expression], bodies):
            met[name] += 2 if constraint.penalty is not None else 1
    goal = core.objective_function
    if goal is not None:
        texts = [t for t in (goal.expression, *(term.expression for term in goal.terms)) if t]
        met.update(dict.fromkeys(reached(texts, bodies), 2))
    executed = {
        part for c in core.components for part in reached(map(str, c.parameters.values()), bodies)
    }
    return [v.name for v in core.decision_variables if met[v.name] == 1 and v.name not in executed]


def reached(texts: Iterable[str], bodies: Mapping[str, str]) -> set[str]:
    """Return every name in expressions, through the named expressions that they use."""
    names: set[str] = set()
    waiting = list(texts)
    while waiting:
        more = names_in(waiting.pop()) - names
        names |= more
        waiting += [bodies[name] for name in more if name in bodies]
    return names


def zero_factors(text: str) -> list[str]:
    """Return the parts of an expression that are multiplied by a written zero."""
    tree = tree_of(text)
    return [
        text[other.span[0] : other.span[1]]
        for part in (() if tree is None else walk(tree))
        if isinstance(part, Binary) and part.op == "*"
        for factor, other in ((part.left, part.right), (part.right, part.left))
        if isinstance(factor, Number) and factor.value == 0.0
    ]


def listed_as_unused(blueprint: Blueprint) -> frozenset[str]:
    """Return the parameters whose every source lies in a place listed as unused, with a reason."""
    extended = blueprint.extended_analysis_and_robustness
    listed = [
        (int(entry["span"][0]), int(entry["span"][1]))
        for entry in (extended.unused if extended is not None else ())
        if str(entry.get("reason", "")).strip()
    ]
    found = set()
    for parameter in blueprint.core.parameters if listed else ():
        spans = list(_spans(parameter.source_reference))
        if spans and all(any(a <= s and e <= b for a, b in listed) for s, e in spans):
            found.add(parameter.name)
    return frozenset(found)


def _spans(source: Any) -> Iterator[tuple[int, int]]:
    if isinstance(source, Mapping):
        span = source.get("span")
        if span is not None:
            yield int(span[0]), int(span[1])
        yield from _spans(source.get("of"))
    elif isinstance(source, list | tuple):
        for item in source:
            yield from _spans(item)
