"""What a certificate claims, one claim about the plan and one about the reading of the text.

*The plan* is held against the blueprint (and annotated requirements): whether its rows hold and it
works when executed, and what shows that it is the best. *The reading* is held against the text: who
besides the author of the blueprint has read it. The verdict follows from the two by
:func:`verdict_of` and from nothing else; a blueprint is no evidence for itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Final, Literal

from engiagent.blueprint.document import Blueprint

Claim = Literal["plan", "no plan", "answer", "nothing"]
Evidence = Literal["recomputed", "agreed", "reported", "open", "contradicted", "no goal"]
Grade = Literal["annotated", "confirmed", "stated", "author only"]

CLAIMS: Final[Mapping[str, str]] = {
    "plan": "a plan is allowed",
    "no plan": "no plan is allowed",
    "answer": "values were computed from definitions",
    "nothing": "nothing was solved",
}
EVIDENCE: Final[Mapping[str, str]] = {
    "recomputed": "the checker recomputed the bound or the proof",
    "agreed": "two different solvers report the optimum; the checker did not recompute it",
    "reported": "one solver reports the optimum; the checker did not recompute it",
    "open": "nothing shows how far the best is",
    "contradicted": "what is known of the optimum contradicts itself",
    "no goal": "there is nothing to optimise",
}
GRADES: Final[Mapping[str, str]] = {
    "annotated": "experts read the text and wrote down its requirements",
    "confirmed": "two independent readings of the text agree",
    "stated": "the input is formal; there is no prose to read",
    "author only": "only the author of the blueprint has read the text",
}
SHOWN_BEST: Final = ("recomputed", "agreed", "no goal")
COUNTING: Final = ("annotated", "confirmed", "stated")
FROM_PROSE: Final = ("text", "table")
"""Kinds of source that point into a text."""
ONLY_AUTHOR: Final = "the requirements of the text, which only the blueprint's author has read"
ABSENT_TEXT: Final = "the text that the blueprint quotes is not beside it"


EDITED: Final = "the text, which was not compared with the blueprint as edited"


@dataclass(frozen=True)
class Plan:
    """What is claimed of the plan."""

    claim: Claim  # one of ``CLAIMS``
    holds: str  # ``pass``, ``fail`` or ``unchecked``: rows and execution; of ``no plan``, its proof
    optimum: Evidence  # one of ``EVIDENCE``

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Reading:
    """What is claimed of the reading of the text."""

    grade: Grade = "author only"  # one of ``GRADES``
    # who read the text besides the blueprint's author, as ``experts`` or the name of an engine; of
    # a formal input what states it, as ``blueprint`` or ``plant block``; empty for nobody
    by: str = ""
    # what that reading is, as ``expert/requirements.yaml`` or the hash of a second blueprint
    what: str = ""
    open: tuple[str, ...] = ()  # numbers and requirements of the text that remain open, by name
    # numbers of the blueprint by name, and sentences of the text, that a second reading takes in
    # the same way: tracing may not find their words, and yet they are no gap
    settled: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the blueprint may be taken for the problem."""
        return self.grade in COUNTING and not self.open

    def leaving(self, *items: str) -> "Reading":
        """Return the reading with more that remains open."""
        return replace(self, open=tuple(dict.fromkeys([*self.open, *items])))

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON."""
        return {"grade": self.grade, "by": self.by, "what": self.what, "open": list(self.open)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Reading":
        """Return the claim that a certificate has."""
        return cls(data["grade"], data["by"], data["what"], tuple(data["open"]))


AUTHOR_ONLY: Final = Reading()


def formal_reading(blueprint: Blueprint | None) -> Reading:
    """Return the reading of a blueprint that is given without a problem's text.

    It is the statement of the problem, unless it quotes a text: then it is somebody's reading of
    that text, which is not there to be compared.
    """
    if blueprint is not None and any(_prose(blueprint.to_dict())):
        return Reading(open=(ABSENT_TEXT,))
    return Reading("stated", "blueprint")


def _prose(value: Any) -> Iterator[bool]:
    if isinstance(value, Mapping):
        yield (value.get("kind") in FROM_PROSE and "quote" in value) or "span" in value
        for item in value.values():
            yield from _prose(item)
    elif isinstance(value, list):
        for item in value:
            yield from _prose(item)


def plan_of(
    claim: Claim, levels: Mapping[str, Mapping[str, Any]], violations: Sequence[Any] = ()
) -> Plan:
    """Return the claim about a plan that the levels of a certificate support."""
    status = {name: str(level.get("status")) for name, level in levels.items()}
    best = levels.get("optimality", {})
    evidence: Evidence = best.get("evidence", "open")
    needed = {
        "plan": ("algebra", "physics"),
        "no plan": ("optimality",),
        "answer": ("data", "algebra", "physics"),
        "nothing": (),
    }[claim]
    chosen = claim != "answer" or evidence in SHOWN_BEST
    if violations or "fail" in status.values():
        holds = "fail"
    elif needed and chosen and all(status.get(name) == "pass" for name in needed):
        holds = "pass"
    else:
        holds = "unchecked"
    return Plan(claim, holds, evidence)


def verdict_of(
    plan: Plan, reading: Reading, *, missing: bool = False, not_understood: bool = False
) -> str:
    """Return the verdict that follows from the two claims.

    ``missing``: whether data are missing or statements of the problem clash. ``not_understood``:
    whether there are sentences that nobody accounted for. What is missing may stand in them, so
    that nothing is said to be missing then.
    """
    if plan.holds == "fail":
        return "violated"
    if missing:
        return "undecided" if not_understood else "ill-posed"
    if plan.holds != "pass" or plan.claim == "nothing" or plan.optimum == "contradicted":
        return "undecided"
    if plan.claim == "answer":
        return "undecided" if not_understood else "reproduced"
    if plan.claim == "no plan":
        return "proven infeasible" if reading.counts else "undecided"
    if not reading.counts:
        return "solved"
    return "certified" if plan.optimum in SHOWN_BEST else "feasible"


def none_allowed(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate has a proof that its blueprint allows no plan, whoever read it."""
    plan = certificate.get("plan") or {}
    return plan.get("claim") == "no plan" and plan.get("holds") == "pass"


# --- values that the user changed ----------------------------------------------------------------


@dataclass(frozen=True)
class Override:
    """A value that the user put in the place of the problem's."""

    name: str  # of the parameter, slot, bound or constraint, as ``battery.energy_capacity``
    # what the problem states: a number, a formula, or where it stands, as ``prices.csv#price``;
    # None where it states nothing
    before: float | str | None
    after: float | str  # what the user gave
    unit: str = ""  # of both

    def __str__(self) -> str:
        name = self.name.replace("_", " ").replace(".", " ")
        unit = f" {self.unit}" if self.unit not in ("", "1") else ""
        old = "" if self.before is None else f"{_shown(self.before)} → "
        return f"{name} {old}{_shown(self.after)}{unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


def overrides_of(blueprint: Blueprint | None) -> tuple[Override, ...]:
    """Return what the provenance of a blueprint records as changed by the user."""
    if blueprint is None:
        return ()
    found: dict[str, Override] = {}
    core = blueprint.core
    owners: list[Iterable[Any]] = [
        core.parameters,
        core.components,
        core.decision_variables,
        core.constraints,
    ]
    goals = [] if core.objective_function is None else [core.objective_function]
    for owner in chain(*owners, goals):
        for entry in _replaced(owner.source_reference):
            one = Override(
                str(entry["name"]), entry.get("before"), entry["after"], entry.get("unit", "")
            )
            if one.before != one.after:
                found[one.name] = one
    return tuple(found[name] for name in sorted(found))


def _replaced(reference: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(reference, Mapping):
        yield from reference.get("replaces") or ()
        yield from _replaced(reference.get("of"))
    elif isinstance(reference, list | tuple):
        for item in reference:
            yield from _replaced(item)


def _shown(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, int | float) else value


# --- in a line each for people; no certificate rests on it ---------------------------------------


def verdict_line(certificate: Mapping[str, Any]) -> str:
    """Return the verdict of a certificate with the values that the user changed or gave.

    >>> verdict_line({"verdict": "certified", "overrides": [
    ...     {"name": "energy_capacity", "before": 250.0, "after": 400.0, "unit": "kWh"}]})
    'certified with 1 value changed by the user: energy capacity 250 → 400 kWh'
    """
    changed = overrides_line(certificate)
    return f"{certificate.get('verdict')} {changed}" if changed else str(certificate.get("verdict"))


def overrides_line(certificate: Mapping[str, Any]) -> str:
    """Return which values the user changed or gave; empty for none."""
    every = [Override(**item) for item in certificate.get("overrides") or ()]
    parts = []
    for verb, some in (
        ("changed", [one for one in every if one.before is not None]),
        ("given", [one for one in every if one.before is None]),
    ):
        if some:
            noun = "value" if len(some) == 1 else "values"
            listed = ", ".join(map(str, some))
            parts.append(f"{len(some)} {noun} {verb} by the user: {listed}")
    return f"with {'; '.join(parts)}" if parts else ""


def not_established(certificate: Mapping[str, Any]) -> str:
    """Return the level and the item of the plan that could not be established; empty for none."""
    for name in ("algebra", "physics"):
        level = (certificate.get("levels") or {}).get(name) or {}
        if level.get("status") == "unchecked":
            rows = (c for c in level.get("checks") or () if c.get("status") == "unchecked")
            said = [f"{c.get('name') or c.get('id')}, {c.get('note') or 'unchecked'}" for c in rows]
            said += [*(level.get("findings") or ()), *(level.get("notes") or ())]
            return f"{name}: {said[0]}" if said else name
    return ""


def plan_line(certificate: Mapping[str, Any]) -> str:
    """Return in a line what is claimed of the plan, empty where nothing is."""
    plan = certificate.get("plan") or {}
    claim, holds = plan.get("claim"), plan.get("holds")
    if claim not in ("plan", "no plan"):
        return ""
    if claim == "no plan":
        proven = holds == "pass"
        return "none is allowed: the proof was recomputed" if proven else "none found; not proven"
    kept = {
        "pass": "holds on paper and when executed",
        "fail": "does not hold",
        "unchecked": "could not be checked in full",
    }[str(holds)]
    item = not_established(certificate)
    kept += f" ({item})" if holds == "unchecked" and item else ""
    return kept if holds == "fail" else f"{kept}; {EVIDENCE[str(plan.get('optimum'))]}"


def reading_line(certificate: Mapping[str, Any]) -> str:
    """Return in a line what is claimed of the reading, empty without a certificate."""
    reading = certificate.get("reading") or {}
    grade = str(reading.get("grade"))
    if grade not in GRADES or (certificate.get("plan") or {}).get("claim") == "nothing":
        return ""
    by = ", ".join(str(reading[key]) for key in ("by", "what") if reading.get(key))
    count = len(reading.get("open") or ())
    left = "" if not count else f"; {count} point{'' if count == 1 else 's'} of the text open"
    return f"{grade}: {GRADES[grade]}" + (f" ({by})" if by else "") + left
