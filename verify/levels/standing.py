"""What is asked of a blueprint beside its numbers, and which of its constraints ask for nothing."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, Literal, NamedTuple

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ConstraintDef, Core
from engiagent.blueprint.grammar import Call, parse, tree_of
from engiagent.blueprint.occurrences import (
    covers_all,
    listed_as_unused,
    private_variables,
    unset_switches,
    zero_factors,
)
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench
from engiagent.verify.levels.algebra import rules_of_core
from engiagent.verify.levels.coverage import used_names
from engiagent.verify.levels.forms import Columns, Form
from engiagent.verify.levels.minorants import bounded_atoms
from engiagent.verify.levels.sources import ProblemLike, all_leaves, words_of
from engiagent.verify.levels.variables import box_of
from engiagent.verify.requirements import Rule
from engiagent.verify.tolerances import floor_of
from engiagent.verify.values import Floats, Value, atoms_of, triplets


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
    fixed = [
        not value.degree
        or (value.degree < 2 and not any(part[2].any() for part in triplets(value).values()))
        for value in found
    ]
    penalised = any(c.hard is False and c.penalty is not None for c in core.constraints)
    return bool(fixed) and all(fixed) and not penalised


_ALWAYS: Final = "one of its alternatives always holds"

# --- what the words of a constraint show ----------------------------------------------------------


def _by_form(constraint: ConstraintDef, variables: set[str], private: set[str]) -> Iterator[str]:
    without = constraint.hard is False and constraint.penalty is None
    if without or (constraint.penalty and str(constraint.penalty.weight) in ("0", "0.0")):
        yield "it is soft and breaking it costs nothing"
        return
    node = tree_of(constraint.expression)
    if isinstance(node, Call) and node.function == "either" and covers_all(node):
        yield _ALWAYS
    if isinstance(node, Call) and node.function == "implies":
        free = unset_switches(variables, private, node)
        if free:
            yield f"its condition rests on {', '.join(free)}, which nothing else sets"


# --- what bounds show -----------------------------------------------------------------------------


class _Side(NamedTuple):
    """One comparison as ``value op 0``."""

    op: str
    value: Value
    floor: float


def _alternatives(bench: Bench, rule: Rule) -> list[list[_Side]]:
    """Return alternatives of which one has to hold; those that cannot be judged are left out."""
    try:
        node = parse(rule.expression)
        frame = bench.evaluator.frame(rule.forall, rule.where)
    except (EngiagentError, KeyError):
        return []
    parts = [rule.expression]
    if isinstance(node, Call):
        written = {"either": node.args, "implies": node.args[1:]}.get(node.function, ())
        parts = [rule.expression[slice(*part.span)] for part in written]
    found = []
    for part in parts:
        with suppress(EngiagentError, KeyError):
            chain = bench.evaluator.compared(part, frame)
            values = [(op, arithmetic.add(left, right, -1.0)) for op, left, right in chain]
            found.append([_Side(op, value, floor_of(value.unit)) for op, value in values])
    return found


class _Box:
    """The bounds of all variables as columns, and what single constraints fix.

    ``plain`` and ``held`` are ends of all columns, shape (2, columns): by the bounds alone, and by
    the constraints that fix single elements too. Behind the variables stand the nonlinear terms.
    ``fixed_by`` is the number of the rule that fixes a column, -1 where none does.
    """

    def __init__(self, bench: Bench, core: Core, private: set[str]) -> None:
        boxes = {v.name: box_of(bench, v) for v in core.decision_variables}
        for name in boxes:
            bench.evaluator.environment.symbol(name)
        rules = [rule for rule in rules_of_core(core) if rule.hard]
        self.numbers = {rule.id: number for number, rule in enumerate(rules)}
        self.rules = {rule.id: _alternatives(bench, rule) for rule in rules}
        known = [rule for rule in rules if self.rules[rule.id]]
        self.calls = {rule.id for rule in known if isinstance(parse(rule.expression), Call)}
        sides = [s for found in self.rules.values() for part in found for s in part]
        atoms = atoms_of([s.value for s in sides if s.value.degree > 1])
        every = [*bench.variables.values(), *atoms]
        places = np.cumsum([0, *(value.data.size for value in every)]).tolist()
        starts = {value.order: place for value, place in zip(every, places, strict=False)}
        self.columns = Columns(starts, [value.data for value in every])
        self.plain = np.repeat([[-np.inf], [np.inf]], places[-1], axis=1)
        self.private = np.zeros(places[-1], dtype=bool)
        for name, value in bench.variables.items():
            span = slice(starts[value.order], starts[value.order] + value.data.size)
            self.private[span] = name in private
            if name in boxes:
                self.plain[:, span] = boxes[name].lower, boxes[name].upper
        self.fixed_by = np.full(places[-1], -1)
        self.held = self.plain.copy()
        for identifier, found in self.rules.items():
            for op, value, _ in found[0] if found and identifier not in self.calls else ():
                if op == "==" and value.degree < 2:
                    self._fix(self.numbers[identifier], self.columns.form(value))
        for limits in (self.plain, self.held):
            bounded_atoms(self.columns, atoms, limits)

    def _fix(self, number: int, form: Form) -> None:
        """Note the columns that rows with a single entry fix, and at what; the first row counts."""
        starts = form.matrix.indptr
        rows = np.flatnonzero(np.diff(starts) == 1)[::-1]
        columns, factors = (part[starts[rows]] for part in (form.matrix.indices, form.matrix.data))
        fresh = (factors != 0) & (self.fixed_by[columns] < 0)
        rows, columns, factors = rows[fresh], columns[fresh], factors[fresh]
        self.fixed_by[columns] = number
        self.held[:, columns] = -form.constant[rows] / factors

    def idle(self, rule: Rule) -> str | None:
        """Return why a rule asks for nothing, None when it may ask for something."""
        found = self.rules.get(rule.id)
        if not found:
            return None
        if not any(side.value.data.size for part in found for side in part):
            return "its filter or its sets leave no rows"
        number = self.numbers[rule.id]
        reasons = [[self._idle(number, side) for side in part] for part in found]
        always = [part[0] for part in reasons if None not in part]
        if rule.id in self.calls:
            return _ALWAYS if always or self._cover(found) else None
        return always[0] if always else None

    def _idle(self, number: int, side: _Side) -> str | None:
        form = self.columns.form(side.value)
        matrix = form.matrix
        if not matrix.data.any():
            return "no variable has any effect in it"
        # What occurs nowhere else takes whatever value suits this row.
        own = self.private[matrix.indices]
        if own.any() and not own.all():
            return self._by_private(side.op, form)
        if side.op == "==":
            return None
        affine = side.value.degree < 2
        held = (self.fixed_by >= 0) & (self.fixed_by != number)
        room = _room(side.op, form, np.where(held, self.held, self.plain) if affine else self.held)
        if (room > side.floor).all():
            return "it holds with room to spare for every value within the bounds"
        if not (room >= -side.floor).all():
            return None
        fixed = held[matrix.indices].all()
        if not affine:  # an extreme needs only one of its elements to be held
            fixed = not (_room(side.op, form, self.plain) >= -side.floor).all()
        return "other constraints already fix all that it compares" if fixed else None

    def _cover(self, found: list[list[_Side]]) -> bool:
        """Whether two alternatives leave nothing between them: their excesses add up to nothing."""
        single = [part[0] for part in found if len(part) == 1 and part[0].op != "=="]
        for one, two in combinations(single, 2):
            first, second = self.columns.form(one.value), self.columns.form(two.value)
            if first.size == second.size:
                total = first.plus(second, 1.0 if one.op == two.op else -1.0)
                if (_room(one.op, total, self.held) >= -max(one.floor, two.floor)).all():
                    return True
        return False

    def _by_private(self, op: str, form: Form) -> str | None:
        """Return that variables which occur nowhere else can always meet a comparison."""
        open_below, open_above = self.plain[0] == -np.inf, self.plain[1] == np.inf
        matrix = form.matrix.multiply(self.private[None, :]).tocsr()
        positive, negative = (matrix > 0).astype(float), (matrix < 0).astype(float)
        falls = np.asarray(positive @ open_below + negative @ open_above) > 0
        rises = np.asarray(positive @ open_above + negative @ open_below) > 0
        met = {"<=": falls, ">=": rises, "==": falls & rises}[op]
        if met.all():
            return "a variable that occurs nowhere else and costs nothing can always meet it"
        return None


def _room(op: str, form: Form, limits: Floats) -> Floats:
    """Return by how much every row of ``form op 0`` is kept at least, within the limits."""
    low, high = form.interval(*limits)
    return -high if op == "<=" else low


@dataclass(frozen=True)
class Subject:
    """What a rule may look at: the problem, its blueprint, and both with their numbers."""

    problem: ProblemLike
    blueprint: Blueprint
    bench: Bench

    @cached_property
    def idle(self) -> Mapping[str, str]:
        """The constraints under which nothing stands, with the reason."""
        core = self.blueprint.core
        return idle_constraints(self.bench, core) if self.problem.sentences else {}


@dataclass(frozen=True)
class Remark:
    """What a rule has found, in a sentence.

    ``kind``: ``violated`` for what contradicts the text, ``open`` for what leaves the reading open,
    ``listed`` for the reader. ``name``: of what the sentence speaks: a parameter, a constraint, the
    objective.
    """

    kind: Literal["violated", "open", "listed"]
    name: str
    text: str


Question = Callable[[Subject], Iterator[Remark]]


def unused_parameters(subject: Subject) -> Iterator[Remark]:
    """Yield the parameters that nothing uses."""
    used = used_names(subject.blueprint) | listed_as_unused(subject.blueprint)
    for parameter in subject.blueprint.core.parameters:
        if parameter.name not in used and parameter.status != "missing":
            text = f"{parameter.name} is written down but used nowhere"
            yield Remark("open", parameter.name, text)


def constraints_without_source(subject: Subject) -> Iterator[Remark]:
    """Yield the constraints, physics apart, that name no words of the text."""
    for constraint in subject.blueprint.core.constraints:
        if constraint.source_reference is None and constraint.category != "Physical Laws":
            name = constraint.constraint_id
            yield Remark("listed", name, f"{name}: the constraint names no source in the text")


_LEAST: Final = re.compile(
    r"(?<!\bat )\b(minimi[sz]\w*|cheapest|lowest|least|smallest|"
    r"as (?:low|small|little|cheap) as)\b",
    re.I,
)
_MOST: Final = re.compile(
    r"(?<!\bat )\b(maximi[sz]\w*|highest|largest|greatest|most|best|"
    r"as (?:high|large|much|great) as)\b",
    re.I,
)


def sense_of_the_objective(subject: Subject) -> Iterator[Remark]:
    """Yield an objective whose sense is not that of the words that it rests on."""
    goal = subject.blueprint.core.objective_function
    if goal is None:
        return
    leaves = all_leaves(goal.source_reference)
    words = " ".join(words_of(leaf, subject.problem.text) for leaf in leaves)
    least, most = _LEAST.search(words), _MOST.search(words)
    whole = subject.problem.text  # "charged on the highest hour" says nothing of what is wanted
    for asked, other, sense in ((least, _MOST, "minimize"), (most, _LEAST, "maximize")):
        if asked and not other.search(whole) and goal.sense != sense:
            text = f"the objective is to {goal.sense}, but the text says {asked[0]!r}"
            yield Remark("open", "objective", text)


def cited_constraints_that_ask_nothing(subject: Subject) -> Iterator[Remark]:
    """Yield the constraints with a source under which nothing stands."""
    idle = subject.idle
    for constraint in subject.blueprint.core.constraints:
        name = constraint.constraint_id
        if name in idle and constraint.source_reference is not None:
            yield Remark("listed", name, f"{name}: {idle[name]}")


def objective_that_asks_nothing(subject: Subject) -> Iterator[Remark]:
    """Yield what is idle in the objective."""
    text = subject.problem.text[subject.problem.body_start :]
    for finding in idle_objective(text, subject.bench, subject.blueprint.core):
        yield Remark("open", "objective", finding)


RULES: Final[dict[str, Question]] = {
    "unused-parameters": unused_parameters,
    "constraints-without-source": constraints_without_source,
    "sense-of-the-objective": sense_of_the_objective,
    "cited-constraints-that-ask-nothing": cited_constraints_that_ask_nothing,
    "objective-that-asks-nothing": objective_that_asks_nothing,
}
"""All rules, in the order in which their findings are told."""
