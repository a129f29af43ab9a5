"""Constraints and parts of an objective under which nothing stands, as they are written.

What needs numbers, as rows that hold with room for every value within the bounds, is judged by the
checker (:mod:`engiagent.verify.levels.standing`), which uses these rules too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engiagent.blueprint.diagnostics import Diagnostic
from engiagent.blueprint.document import Blueprint, ConstraintDef, Core, ObjectiveDef
from engiagent.blueprint.elaborate import PATH
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Compare,
    GrammarError,
    Node,
    Number,
    Reduce,
    Ref,
    parse,
    references,
    walk,
)

_OPPOSITE = {"<=": ">=", ">=": "<="}
_SPAN = re.compile(r"span=\(\d+, \d+\),? ?")
_STATES = ("state_of_charge", "temperature", "level", "stored", "content")


def idle_findings(core: Core) -> Iterator[Diagnostic]:
    """Yield what asks for nothing, or counts nothing, though it is written down."""
    known = _Known(core)
    for position, constraint in enumerate(core.constraints):
        place = f"{PATH}.constraints[{position}].expression"
        label = constraint.name or constraint.constraint_id
        for code, message in _of_constraint(known, constraint):
            yield Diagnostic(code, "warning", place, message, name=label)
    goal = core.objective_function
    if goal is not None:
        yield from _of_objective(core, goal)
    yield from _without_dynamics(core)


class _Known:
    """What is asked of every constraint of a document, found once."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.variables = {v.name for v in core.decision_variables}
        self.bounded = {v.name for v in core.decision_variables if None not in (v.lower, v.upper)}
        self.private = set(private_variables(core))
        self.fixed: dict[str, set[str]] = {}
        for constraint in core.constraints:
            for text in _fixed(constraint, self.variables):
                self.fixed.setdefault(text, set()).add(constraint.constraint_id)


def _of_constraint(known: _Known, constraint: ConstraintDef) -> Iterator[tuple[str, str]]:
    node = parse(constraint.expression)
    if isinstance(node, Call) and node.function == "either" and covers_all(node):
        yield "EB050", "one of its alternatives always holds, so it demands nothing"
    if isinstance(node, Call) and node.function == "implies":
        for name in unset_switches(known.variables, known.private, node):
            yield "EB051", f"nothing else sets {name}, so the condition need never be met"
    if isinstance(node, Compare) and "==" not in node.ops:
        names = {ref.name for ref in references_of(node)}
        for name in sorted(names & known.private - known.bounded):
            if names & known.variables != {name}:
                yield "EB052", f"{name} has no price and occurs nowhere else: it takes up any gap"
    for part in zero_factors(constraint.expression):
        yield "EB053", f"{part} is multiplied by zero"
    if isinstance(node, Compare) and "==" not in node.ops and _fixed_elsewhere(known, constraint):
        yield "EB056", "another constraint already fixes every element that it compares"


def _of_objective(core: Core, goal: ObjectiveDef) -> Iterator[Diagnostic]:
    variables = {v.name for v in core.decision_variables}
    bodies = {e.name: e.expression for e in core.expressions}
    texts = {f"{PATH}.objective_function.expression": goal.expression}
    for place, term in enumerate(goal.terms):
        texts[f"{PATH}.objective_function.terms[{place}].expression"] = term.expression
    written = {path: text for path, text in texts.items() if text is not None}
    if written and not variables & _reached(written.values(), bodies):
        penalised = any(c.hard is False for c in core.constraints)
        if not penalised:
            path = next(iter(written))
            message = "no variable occurs in it: every plan is equally good"
            yield Diagnostic("EB054", "warning", path, message, name=goal.name)
    for path, text in written.items():
        for part in zero_factors(text):
            message = f"{part} is multiplied by zero"
            yield Diagnostic("EB053", "warning", path, message, name=goal.name)
        for name in _filtered(text, variables):
            message = f"it counts only those elements of {name} that the filter of its sum leaves"
            yield Diagnostic("EB055", "info", path, message, name=goal.name)


def _filtered(text: str, variables: set[str]) -> list[str]:
    """Return the variables that are summed under a filter and nowhere without one."""
    inside: set[str] = set()
    outside: set[str] = set()
    node = parse(text)
    under = {
        id(part)
        for reduce in walk(node)
        if isinstance(reduce, Reduce) and reduce.where is not None
        for part in walk(reduce)
    }
    for part in walk(node):
        if isinstance(part, Ref) and part.name in variables:
            (inside if id(part) in under else outside).add(part.name)
    return sorted(inside - outside)


def _without_dynamics(core: Core) -> Iterator[Diagnostic]:
    """Yield every stored quantity over instants whose next value follows from nothing."""
    instants = {s.name for s in core.sets if s.kind == "instants"}
    linked = set(linked_names([c.expression for c in core.constraints]))
    linked |= set(linked_names([e.expression for e in core.expressions]))
    models = {c.name for c in core.components}
    for position, variable in enumerate(core.decision_variables):
        owner, _, word = (variable.quantity or "").partition("@")[0].rpartition(".")
        over = {binder.rpartition(" in ")[2].strip() for binder in variable.index}
        stored = word in _STATES and over & instants
        executed = owner in models or any(variable.name.startswith(f"{m}_") for m in models)
        if stored and variable.name not in linked and not executed:
            message = f"{word} of {owner} has no dynamics: nothing links it to the instant before"
            yield Diagnostic(
                "EB057",
                "warning",
                f"{PATH}.decision_variables[{position}]",
                message,
                name=variable.name,
            )


def linked_names(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names that stand in expressions at an offset of their index, or under ``prev``."""
    for text in texts:
        try:
            node = parse(text)
        except GrammarError:
            continue
        for part in walk(node):
            if isinstance(part, Ref) and any(isinstance(i, Binary) for i in part.indices):
                yield part.name
            if isinstance(part, Call) and part.function == "prev":
                yield from (ref.name for ref in references_of(part))


# --- rules that the checker shares ----------------------------------------------------------------


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
    names = {ref.name for ref in references_of(node.args[0])} & variables
    return sorted(names) if names <= private else []


def references_of(node: Node) -> Iterator[Ref]:
    """Yield the references within a node."""
    yield from (part for part in walk(node) if isinstance(part, Ref))


def private_variables(core: Core) -> list[str]:
    """Return the variables that occur in one constraint only and have no price."""
    met: Counter[str] = Counter()
    bodies = {e.name: e.expression for e in core.expressions}
    for constraint in core.constraints:
        for name in _reached([constraint.expression], bodies):
            met[name] += 2 if constraint.penalty is not None else 1
    goal = core.objective_function
    if goal is not None:
        texts = [t for t in (goal.expression, *(term.expression for term in goal.terms)) if t]
        met.update(dict.fromkeys(_reached(texts, bodies), 2))
    executed = {
        part for c in core.components for part in _reached(map(str, c.parameters.values()), bodies)
    }
    return [v.name for v in core.decision_variables if met[v.name] == 1 and v.name not in executed]


def _reached(texts: Iterable[str], bodies: Mapping[str, str]) -> set[str]:
    """Return every name in expressions, through the named expressions that they use."""
    names: set[str] = set()
    waiting = list(texts)
    while waiting:
        try:
            more = {ref.name for ref in references(waiting.pop())} - names
        except GrammarError:
            continue
        names |= more
        waiting += [bodies[name] for name in more if name in bodies]
    return names


def zero_factors(text: str) -> list[str]:
    """Return the parts of an expression that are multiplied by a written zero."""
    try:
        node = parse(text)
    except GrammarError:
        return []
    return [
        text[other.span[0] : other.span[1]]
        for part in walk(node)
        if isinstance(part, Binary) and part.op == "*"
        for factor, other in ((part.left, part.right), (part.right, part.left))
        if isinstance(factor, Number) and factor.value == 0.0
    ]


def _fixed_elsewhere(known: _Known, constraint: ConstraintDef) -> bool:
    """Whether single equations fix every variable that a constraint without indices compares."""
    if constraint.forall or not known.fixed:
        return False
    references = references_of(parse(constraint.expression))
    found = {plain(ref) for ref in references if ref.name in known.variables}
    own = {constraint.constraint_id}
    return bool(found) and all(known.fixed.get(text, set()) - own for text in found)


def _fixed(constraint: ConstraintDef, variables: set[str]) -> Iterator[str]:
    """Yield the element that ``soc[first(I)] == E_start`` fixes."""
    node = parse(constraint.expression)
    if constraint.forall or constraint.hard is False or not isinstance(node, Compare):
        return
    met = [ref for ref in references_of(node) if ref.name in variables]
    if node.ops == ("==",) and len(met) == 1 and any(met[0] is side for side in node.operands):
        yield plain(met[0])


# --- numbers that enter no equation --------------------------------------------------------------


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
