"""Which constraints stand for anything: rows that no allowed value can ever bring to their limit.

A constraint meets a requirement of the text only where it can bind. One that is soft, has no rows,
compares constants or elements that other constraints fix, holds with room for every value within
the bounds, or can always be met by a variable that occurs nowhere else, asks for nothing.
"""

import re
from collections.abc import Iterator

import numpy as np

from engiagent.blueprint.document import ConstraintDef, Core
from engiagent.blueprint.grammar import Call, GrammarError, parse
from engiagent.blueprint.occurrences import (
    covers_all,
    private_variables,
    unset_switches,
    zero_factors,
)
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench
from engiagent.verify.levels.algebra import Rule, rules_of_core
from engiagent.verify.levels.forms import Columns, Form
from engiagent.verify.levels.variables import box_of
from engiagent.verify.sweeps import triplets
from engiagent.verify.tolerances import floor_of
from engiagent.verify.values import Floats, Value


def idle_constraints(bench: Bench, core: Core) -> dict[str, str]:
    """Return by constraint why it asks for nothing; what cannot be judged is left out."""
    private = set(private_variables(core))
    written = {v.name for v in core.decision_variables}
    found = {
        c.constraint_id: reason
        for c in core.constraints
        for reason in _by_form(c, written, private)
    }
    try:
        box = _Box(bench, core, private)
    except EngiagentError:
        return found  # the levels say what is wrong with the variables
    for rule in rules_of_core(core):
        if rule.id in found:
            continue
        reason = box.idle(rule)
        if reason is not None:
            found[rule.id] = reason
    return found


WANTS_BEST = re.compile(
    r"\b(minimi[sz]\w*|maximi[sz]\w*|optimal\w*|optimi[sz]\w+|cheapest|cheaply"
    r"|as (?:low|small|little|high|large|much|great|few|cheap)(?: \w+){0,3} as possible"
    r"|(?:lowest|least|smallest|highest|largest|greatest|best)(?: possible)? (?:\w+ )?"
    r"(?:cost|costs|price|bill|profit|revenue|income|result|consumption|emissions|plan|schedule))\b",
    re.IGNORECASE,
)
"""Words by which a text wants the best of something."""


def idle_objective(text: str, bench: Bench, core: Core) -> Iterator[str]:
    """Yield why the objective leaves nothing to be chosen though a text wants the best."""
    goal = core.objective_function
    wanted = WANTS_BEST.search(text)
    if goal is None:
        if wanted:
            yield f"there is no objective, but the text says {wanted[0]!r}"
        return
    if constant_objective(bench, core):
        yield "the objective is the same for every plan"
    for written in (goal.expression, *(term.expression for term in goal.terms)):
        for part in zero_factors(written or ""):
            yield f"the objective multiplies {part} by zero, so that it counts nothing"


def constant_objective(bench: Bench, core: Core) -> bool:
    """Whether there is an objective on which no variable has any effect."""
    goal = core.objective_function
    texts = [] if goal is None else [goal.expression, *(term.expression for term in goal.terms)]
    binders = (goal.scenario,) if goal is not None and goal.scenario else ()
    written = [text for text in texts if text is not None]
    try:
        frame = bench.evaluator.frame(binders)
        found = [bench.evaluator.evaluate(text, frame) for text in written]
    except EngiagentError:
        return False
    fixed = [value.degree < 2 and not _has_terms(value) for value in found]
    penalised = any(c.hard is False and c.penalty is not None for c in core.constraints)
    return bool(fixed) and all(fixed) and not penalised


def _has_terms(value: Value) -> bool:
    return value.degree > 0 and any(rows.size for rows, _, _ in triplets(value).values())


# --- what the words of a constraint show ----------------------------------------------------------


def _by_form(constraint: ConstraintDef, variables: set[str], private: set[str]) -> Iterator[str]:
    if constraint.hard is False and constraint.penalty is None:
        yield "it is soft and breaking it costs nothing"
        return
    if constraint.penalty is not None and str(constraint.penalty.weight) in ("0", "0.0"):
        yield "it is soft and breaking it costs nothing"
        return
    try:
        node = parse(constraint.expression)
    except GrammarError:
        return
    if isinstance(node, Call) and node.function == "either" and covers_all(node):
        yield "one of its alternatives always holds"
    if isinstance(node, Call) and node.function == "implies":
        free = unset_switches(variables, private, node)
        if free:
            yield f"its condition rests on {', '.join(free)}, which nothing else sets"


# --- what bounds show -----------------------------------------------------------------------------


class _Box:
    """The bounds of all variables as columns, and what single constraints fix.

    ``fixed_by`` is the number of the rule that fixes a column, -1 where none does, at ``fixed_at``.
    """

    def __init__(self, bench: Bench, core: Core, private: set[str]) -> None:
        self.bench = bench
        boxes = {v.name: box_of(bench, v) for v in core.decision_variables}
        for name in boxes:
            bench.evaluator.environment.symbol(name)
        sizes = {name: value.data.size for name, value in bench.variables.items()}
        places = np.cumsum([0, *sizes.values()]).tolist()
        orders = (value.order for value in bench.variables.values())
        points = [value.data for value in bench.variables.values()]
        self.columns = Columns(dict(zip(orders, places, strict=False)), points)
        ends: list[Floats] = [np.zeros((2, 0))]
        for name, size in sizes.items():
            known = boxes.get(name)
            open_ = np.repeat([[-np.inf], [np.inf]], size, axis=1)
            ends.append(open_ if known is None else np.stack([known.lower, known.upper]))
        self.lower, self.upper = np.concatenate(ends, axis=1)
        flags = np.array([name in private for name in sizes], dtype=bool)
        self.private = np.repeat(flags, list(sizes.values()))
        rules = [rule for rule in rules_of_core(core) if rule.hard]
        self.forms = {rule.id: self._forms(rule) for rule in rules}
        self.numbers = {rule.id: number for number, rule in enumerate(rules)}
        self.fixed_by = np.full(places[-1], -1)
        self.fixed_at = np.zeros(places[-1])
        for identifier, forms in self.forms.items():
            for op, form, _ in forms or ():
                if op == "==":
                    self._fix(self.numbers[identifier], form)

    def _forms(self, rule: Rule) -> list[tuple[str, Form, float]] | None:
        """Return the comparisons of a rule as ``form op 0``; None where one is not affine."""
        try:
            frame = self.bench.evaluator.frame(rule.forall, rule.where)
            if isinstance(parse(rule.expression), Call):
                return None
            found = []
            for op, left, right in self.bench.evaluator.compared(rule.expression, frame):
                value = arithmetic.add(left, right, -1.0)
                if value.degree > 1:
                    return None
                found.append((op, self.columns.form(value), floor_of(value.unit)))
        except (EngiagentError, KeyError):
            return None
        return found

    def _fix(self, number: int, form: Form) -> None:
        """Note the columns that rows with a single entry fix, and at what; the first row counts."""
        starts = form.matrix.indptr
        rows = np.flatnonzero(np.diff(starts) == 1)[::-1]
        columns, factors = (part[starts[rows]] for part in (form.matrix.indices, form.matrix.data))
        fresh = (factors != 0) & (self.fixed_by[columns] < 0)
        rows, columns, factors = rows[fresh], columns[fresh], factors[fresh]
        self.fixed_by[columns] = number
        self.fixed_at[columns] = -form.constant[rows] / factors

    def idle(self, rule: Rule) -> str | None:
        """Return why a rule asks for nothing, None when it may ask for something."""
        forms = self.forms.get(rule.id)
        if forms is None:
            return None
        if all(form.size == 0 for _, form, _ in forms):
            return "its filter or its sets leave no rows"
        reasons = [self._idle(rule, op, form, floor) for op, form, floor in forms]
        return None if None in reasons else reasons[0]

    def _idle(self, rule: Rule, op: str, form: Form, floor: float) -> str | None:
        matrix = form.matrix
        if not matrix.data.any():
            return "no variable has any effect in it"
        held = (self.fixed_by >= 0) & (self.fixed_by != self.numbers[rule.id])
        lower, upper = self.lower, self.upper
        if held[matrix.indices].any():
            lower, upper = (np.where(held, self.fixed_at, ends) for ends in (lower, upper))
        # What occurs nowhere else takes whatever value suits this row.
        own = self.private[matrix.indices]
        if own.any() and not own.all():
            return self._by_private(op, form)
        if op == "==":
            return None
        low, high = form.interval(lower, upper)
        room = -high if op == "<=" else low
        if (room > floor).all():
            return "it holds with room to spare for every value within the bounds"
        if (room >= -floor).all() and held[matrix.indices].all():
            return "other constraints already fix all that it compares"
        return None

    def _by_private(self, op: str, form: Form) -> str | None:
        """Return that variables which occur nowhere else can always meet a comparison."""
        open_below, open_above = self.lower == -np.inf, self.upper == np.inf
        matrix = form.matrix.multiply(self.private[None, :]).tocsr()
        positive, negative = (matrix > 0).astype(float), (matrix < 0).astype(float)
        falls = np.asarray(positive @ open_below + negative @ open_above) > 0
        rises = np.asarray(positive @ open_above + negative @ open_below) > 0
        met = {"<=": falls, ">=": rises, "==": falls & rises}[op]
        if met.all():
            return "a variable that occurs nowhere else and costs nothing can always meet it"
        return None
