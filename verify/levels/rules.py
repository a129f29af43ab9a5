"""What is asked of a blueprint beside its numbers: one generator a rule, and the table of them.

A rule yields what it finds; what it finds stands in the certificate at the level of the data. What
contradicts the text is a violation, what leaves the reading open keeps a plan from being certified,
and the rest is listed for whoever reads the certificate.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.occurrences import listed_as_unused
from engiagent.verify.documents import Bench
from engiagent.verify.levels.coverage import used_names
from engiagent.verify.levels.sources import ProblemLike, all_leaves, words_of
from engiagent.verify.levels.standing import idle_constraints, idle_objective


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


Rule = Callable[[Subject], Iterator[Remark]]


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


RULES: Final[dict[str, Rule]] = {
    "unused-parameters": unused_parameters,
    "constraints-without-source": constraints_without_source,
    "sense-of-the-objective": sense_of_the_objective,
    "cited-constraints-that-ask-nothing": cited_constraints_that_ask_nothing,
    "objective-that-asks-nothing": objective_that_asks_nothing,
}
"""All rules, in the order in which their findings are told."""
