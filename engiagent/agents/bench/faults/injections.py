"""Faults put into a right blueprint or into the replies of who writes it."""

import random
import re
from dataclasses import dataclass
from typing import Final, Literal

from engiagent.agents.bench.faults.elements import Json, Place, at, operations, put, quotes
from engiagent.agents.bench.faults.operators import OPERATORS, spoilings

Cure = Literal["slip", "misreading", "craft", "review", "stuck", "hopeless"]
"""Who can mend it: see :data:`engiagent.agents.bench.faults.analyst.CURES`."""

CURES_OF: Final[dict[str, tuple[Cure, ...]]] = {
    "vague": ("craft", "misreading", "slip"),
    "altered data": ("misreading", "slip"),
    "violated physics": ("craft", "review", "slip"),
    "over-constrained": ("review", "misreading", "craft"),
    "syntax": ("slip", "craft"),
    "index": ("slip", "craft"),
    "unknown name": ("slip", "craft"),
    "wrong unit": ("slip", "misreading"),
    "dropped requirement": ("misreading", "review"),
    "endless repetition": ("stuck",),
    "trace 1: import": ("slip", "craft"),
    "trace 2: nonlinear": ("misreading", "stuck"),
    "trace 3: mapping": ("review",),
    "trace 4: directed": ("craft",),
}
"""How a fault of a class may be mended; which way is drawn by the seed."""
REPLIES: Final = ("malformed", "truncated", "refused")
BAD_REPLY: Final = "bad reply"
FALSE_ALARM: Final = "trace 5: validation"
"""The blueprint is right, and whoever validates it accuses it falsely."""
CLASSES: Final = (*OPERATORS, BAD_REPLY, FALSE_ALARM)


@dataclass(frozen=True)
class Injection:
    """One spoilt element.

    Attributes
    ----------
    right, wrong
        The element as the expert has it and as it was spoilt; None where there is none.
    """

    fault_class: str
    operator: str
    cure: Cure
    place: Place
    right: Json | None
    wrong: Json | None

    def into(self, document: Json) -> Json:
        """Return the document with the fault in it."""
        return put(document, self.place, self.wrong)

    def present(self, document: Json) -> bool:
        """Whether the element differs from the expert's."""
        return at(document, self.place) != self.right

    def mended(self, document: Json) -> Json:
        """Return the document as the expert has it in this place."""
        return put(document, self.place, self.right)

    def patch(self, document: Json) -> list[Json]:
        """Return the operations that mend it."""
        return operations(document, self.place, self.right)

    def words(self) -> set[str]:
        """Return the names by which a finding may speak of the element."""
        found = {self.place.name} if self.place.name else {self.place.part, "objective"}
        for element in (self.right, self.wrong):
            for key in ("name", "constraint_id", "quantity", "param_id"):
                value = (element or {}).get(key)
                if isinstance(value, str):
                    found.add(value)
        # Names that only the right element speaks of: who hears of them knows what is missing.
        return found | (_spoken(self.right) - _spoken(self.wrong))

    def quotes(self) -> tuple[str, ...]:
        """Return the words of the text that the element rests on."""
        return tuple(dict.fromkeys(quotes(self.right or self.wrong)))


def _spoken(element: Json | None) -> set[str]:
    """Return the names in the expressions of an element."""
    texts = (str((element or {}).get(key) or "") for key in ("expression", "lower", "upper"))
    return {name for text in texts for name in re.findall(r"[A-Za-z_]\w+", text)}


@dataclass(frozen=True)
class Case:
    """What is put into one run.

    Attributes
    ----------
    replies
        How the first replies fail, whoever is asked.
    hidden
        Whether the second reading lacks the element too.
    """

    number: int
    problem: str
    fault_class: str
    injections: tuple[Injection, ...] = ()
    replies: tuple[str, ...] = ()
    false_alarm: bool = False
    hidden: bool = False

    @property
    def recoverable(self) -> bool:
        """Whether somebody is competent to mend every fault."""
        return all(i.cure != "hopeless" for i in self.injections)

    def spoilt(self, document: Json) -> Json:
        """Return a blueprint with all the faults."""
        for injection in self.injections:
            document = injection.into(document)
        return document


HOPELESS: Final = 0.05
"""The share of faults that nobody mends: such runs must end, and without a false certificate."""
TWO_FAULTS: Final = 0.3


def draw(
    number: int, problem: str, document: Json, text: str, fault_class: str, seed: str
) -> Case | None:
    """Return a case of a class; None where the blueprint offers no place for such a fault."""
    chance = random.Random(f"{seed}|{problem}|{fault_class}|{number}")
    if fault_class == BAD_REPLY:
        replies = tuple(chance.choice(REPLIES) for _ in range(chance.choice((1, 1, 2))))
        return Case(number, problem, fault_class, replies=replies)
    if fault_class == FALSE_ALARM:
        return Case(number, problem, fault_class, false_alarm=True)
    first = _injected(document, text, fault_class, chance)
    if first is None:
        return None
    injections = [first]
    if chance.random() < TWO_FAULTS:
        other = _injected(document, text, chance.choice(tuple(OPERATORS)), chance)
        if other is not None and other.place != first.place:
            injections.append(other)
    hidden = fault_class == "dropped requirement"
    return Case(number, problem, fault_class, tuple(injections), hidden=hidden)


def _injected(
    document: Json, text: str, fault_class: str, chance: random.Random
) -> Injection | None:
    found = spoilings(document, text, fault_class)
    if not found:
        return None
    operators = sorted({name for name, _, _ in found})
    operator = chance.choice(operators)  # each operator as likely, however many places it has
    _, place, wrong = chance.choice([item for item in found if item[0] == operator])
    cure = "hopeless" if chance.random() < HOPELESS else chance.choice(CURES_OF[fault_class])
    return Injection(fault_class, operator, cure, place, at(document, place), wrong)
