"""Constraints and parts of an objective under which nothing stands, as they are written.

What needs numbers, as rows that hold with room for every value within the bounds, is judged by the
checker (:mod:`engiagent.verify.levels.standing`).
"""

from collections.abc import Iterator

from engiagent.blueprint.diagnostics import Diagnostic
from engiagent.blueprint.document import ConstraintDef, Core, ObjectiveDef
from engiagent.blueprint.elaborate import PATH
from engiagent.blueprint.grammar import Call, Compare, Node, Reduce, Ref, names_in, parse, walk
from engiagent.blueprint.occurrences import (
    covers_all,
    linked_names,
    plain,
    private_variables,
    reached,
    unset_switches,
    zero_factors,
)

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
        names = names_in(node)
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
    if written and not variables & reached(written.values(), bodies):
        penalised = any(c.hard is False for c in core.constraints)
        if not penalised:
            path = next(iter(written))
            message = "no variable occurs in it: every plan is equally good"
            yield Diagnostic("EB054", "warning", path, message, name=goal.name)
    for path, text in written.items():
        for part in zero_factors(text):
            message = f"{part} is multiplied by zero"
            yield Diagnostic("EB053", "warning", path, message, name=goal.name)
        for name in _filtered(text, variables, {s.name for s in core.sets if s.kind == "subset"}):
            message = f"it counts only those elements of {name} that its filter or subset leaves"
            yield Diagnostic("EB055", "info", path, message, name=goal.name)


def _filtered(text: str, variables: set[str], subsets: set[str]) -> list[str]:
    """Return the variables that are summed under a filter or over a subset, nowhere without."""
    inside: set[str] = set()
    outside: set[str] = set()
    node = parse(text)
    under = {
        id(part)
        for reduce in walk(node)
        if isinstance(reduce, Reduce)
        and (reduce.where is not None or subsets & {binder.set for binder in reduce.binders})
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


def _references_of(node: Node) -> Iterator[Ref]:
    """Yield the references within a node."""
    yield from (part for part in walk(node) if isinstance(part, Ref))


def _fixed_elsewhere(known: _Known, constraint: ConstraintDef) -> bool:
    """Whether single equations fix every variable that a constraint without indices compares."""
    if constraint.forall or not known.fixed:
        return False
    references = _references_of(parse(constraint.expression))
    found = {plain(ref) for ref in references if ref.name in known.variables}
    own = {constraint.constraint_id}
    return bool(found) and all(known.fixed.get(text, set()) - own for text in found)


def _fixed(constraint: ConstraintDef, variables: set[str]) -> Iterator[str]:
    """Yield the element that ``soc[first(I)] == E_start`` fixes."""
    node = parse(constraint.expression)
    if constraint.forall or constraint.hard is False or not isinstance(node, Compare):
        return
    met = [ref for ref in _references_of(node) if ref.name in variables]
    if node.ops == ("==",) and len(met) == 1 and any(met[0] is side for side in node.operands):
        yield plain(met[0])
