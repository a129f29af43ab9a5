"""A run in plain words: what to do, what it costs, whether it is safe, and why to believe it.

Nothing is stated here that the certificate does not state; what it leaves open is called open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.report import findings, words
from engiagent.report.artefacts import Run, finite, mapping
from engiagent.report.charts.series import PREFIXES
from engiagent.report.schedule import Instructions
from engiagent.units.unit import CURRENCIES
from engiagent.verify.certificate import LEVELS
from engiagent.verify.claims import none_allowed, reading_line
from engiagent.verify.verdicts import PROVEN, USABLE

_FEW: Final = 3
_SETTINGS: Final = 4
_NONE_LEFT: Final = 1e-6
"""A relative gap up to which no better plan is worth the name."""
QUESTIONS: Final = {
    "data": "Are these the problem's numbers?",
    "algebra": "Do the requirements hold?",
    "physics": "Does the plan work when it is executed?",
    "optimality": "How far is it from the best?",
}


@dataclass(frozen=True)
class Answer:
    """A question that a reader has, its answer in a sentence, and what belongs to it."""

    question: str
    text: str
    details: tuple[str, ...] = ()
    tone: str = ""


@dataclass(frozen=True)
class Level:
    """One level of the certificate and what it found."""

    name: str
    question: str
    symbol: str
    tone: str
    status: str
    notes: tuple[str, ...]


def answers(run: Run, todo: Instructions | None, enough: Sequence[str] = ()) -> list[Answer]:
    """Return the answers in the order in which they are asked; without a plan there are fewer.

    ``enough`` are, where there is no plan, changes of which each is enough for one.
    """
    what, why = _what_to_do(run, todo), _why_believe_it(run)
    if not has_plan(run):
        helps = tuple(f"This would be enough: {text}" for text in enough[:_FEW])
        return [replace(what, details=helps), why]
    return [what, _what_it_costs(run), _is_it_safe(run), why]


def levels(run: Run) -> list[Level]:
    """Return the levels of the certificate in their order."""
    found = run.part("levels")
    return [
        Level(
            name,
            QUESTIONS[name],
            *findings.status(_status(run, name)),
            notes=(*_told(run, name), *findings.notes(run, name)),
        )
        for name in LEVELS
        if name in found
    ]


def has_plan(run: Run) -> bool:
    """Whether there is a plan, good or bad."""
    if run.solution is None or run.part("plan").get("claim") == "no plan":
        return False
    return any(not str(name).startswith(PREFIXES) for name in run.solution.data_vars)


# --- what to do --------------------------------------------------------------------------------


def _what_to_do(run: Run, todo: Instructions | None) -> Answer:
    question, verdict = "What to do", run.certificate.get("verdict")
    if not has_plan(run):
        return Answer(question, _without_plan(run), tone="open")
    if verdict == "violated":
        text = "Do not use this plan: something that must hold does not. What, is listed above."
        return Answer(question, text, tone="bad")
    lead, tone = "", "good"
    if verdict not in USABLE:
        lead, tone = _LEADS.get(str(verdict), _LEADS["undecided"]), "open"
    if todo is None:
        return Answer(question, f"{lead}The values to use are listed above.", tone=tone)
    when = "One setting for the whole time" if todo.total == 1 else f"{todo.total} settings in turn"
    text = f"{lead}{when}; the table of settings says when."
    return Answer(question, text, todo.used[:_SETTINGS], tone)


_LEADS: Final = {
    "solved": "Compare what is listed as open with the text before you act on it. ",
    "undecided": "Do not act on it yet: it is not shown that this plan is allowed. ",
}


def _without_plan(run: Run) -> str:
    if run.certificate.get("verdict") == "proven infeasible":
        return "No plan can meet all requirements at once. One of those listed has to be relaxed."
    if none_allowed(run.certificate):
        return (
            "The blueprint allows no plan, and its reading is open: compare it with the text, or "
            "relax one of the requirements listed below."
        )
    if findings.listed(run, "contradictions"):
        return "Settle which of the statements listed below counts, and run it again."
    if findings.listed(run, "missing"):
        return "Give the missing data that are listed below, and run it again. There is no plan."
    if findings.listed(run, "not_understood"):
        return "Say the listed sentences in other words, or look at them. There is no plan."
    return "There is no plan to follow."


# --- what it costs -----------------------------------------------------------------------------


def _what_it_costs(run: Run) -> Answer:
    goal = run.part("objective")
    value, unit, sense = finite(goal.get("value")), goal.get("unit"), goal.get("sense")
    if value is None:
        return Answer("What it costs", "It was not computed.", tone="open")
    shown, details = words.quantity(value, unit, 7), tuple(_room(run, value, unit, sense))
    if unit not in {f"{prefix}{name}" for prefix in ("", "k", "M") for name in CURRENCIES}:
        size = "large" if sense == "maximize" else "small"
        return Answer("What it comes to", f"{shown}, as {size} as possible.", details)
    if sense == "maximize":
        return Answer("What it brings", f"{shown} in all.", details)
    text = f"{shown} in all."
    if value < 0:
        text = f"Nothing: it brings in {words.quantity(-value, unit, 7)} more than it costs."
    return Answer("What it costs", text, details)


def _room(run: Run, value: float, unit: Any, sense: Any) -> Iterator[str]:
    """Yield how much better another plan could be."""
    given, unproven = run.part("bound"), "How much better another plan could be is not proven."
    bound = finite(given.get("value"))
    if bound is None:
        yield unproven
        return
    room = bound - value if sense == "maximize" else value - bound
    negligible = _NONE_LEFT * max(1.0, abs(value))
    if room < -negligible:
        yield "That is better than any allowed plan can be, so this one cannot be allowed."
    elif room <= negligible:
        yield _BEST.get(str(run.part("plan").get("optimum")), unproven)
    else:
        gap = words.percent(given.get("gap"))
        reported = "not recomputed" in str(given.get("method") or "")
        known = "as a solver reports, not recomputed" if reported else "this is proven"
        yield (
            f"Another allowed plan could be better by {words.quantity(room, unit, 4)} at the most"
            f"{f' ({gap})' if gap else ''}; {known}."
        )


_BETTER: Final = "no other allowed plan is better by an amount that matters"
_BEST: Final = {
    "recomputed": f"Proven: {_BETTER}.",
    "agreed": f"Two different solvers report that {_BETTER}; the checker did not recompute it.",
    "reported": f"One solver reports that {_BETTER}; the checker did not recompute it.",
}


# --- is it safe --------------------------------------------------------------------------------


def _is_it_safe(run: Run) -> Answer:
    question, broken = "Is it safe?", findings.violations(run)
    if broken:
        listed = dict.fromkeys(found.text for found in broken)
        return Answer(question, "No: not all requirements hold.", tuple(listed)[:_FEW], "bad")
    if {"unchecked", ""} & {_status(run, name) for name in ("algebra", "physics")}:
        text = "Not known: not every requirement could be checked. The levels below say which."
        return Answer(question, text, tone="open")
    total = sum(level == "algebra" for level, _ in findings.checks(run))
    text = f"Yes: all {total} requirements hold" if total > 1 else "Yes: what is required holds"
    if run.part("levels", "physics").get("states"):
        text += ", on paper and when the plan is executed in a simulation"
    return Answer(question, f"{text}.", tuple(findings.least_slack(run, _FEW)), "good")


# --- why to believe it -------------------------------------------------------------------------


def _why_believe_it(run: Run) -> Answer:
    question, checker = "Why believe it?", "A checker that trusts neither the model nor the solver"
    verdict = run.certificate.get("verdict")
    if not run.part("levels"):
        return Answer(question, "Nothing was checked.", tone="open")
    if none_allowed(run.certificate):
        tone = "good" if verdict == "proven infeasible" else "open"
        line = reading_line(run.certificate)
        read = f"The reading is {line}." if line else "The text was not read."
        proof = (read, "That the blueprint allows no plan is proven, and it was checked.")
        return Answer(question, f"{checker} verified the proof.", proof, tone)
    if not has_plan(run):
        return Answer(question, "Nothing is claimed, so there is nothing to believe.", tone="open")
    if verdict == "violated":
        return Answer(question, f"{checker} found what is violated.", tone="open")
    passed = sum(_status(run, name) == "pass" for name in LEVELS)
    text = f"{checker} worked everything out again: {passed} of {len(LEVELS)} levels hold."
    return Answer(question, text, tone="good" if verdict in PROVEN else "open")


def _told(run: Run, name: str) -> list[str]:
    """Return whose requirements were checked, and what the optimum rests on."""
    if name == "algebra" and run.part("levels", name).get("source") == "blueprint":
        return ["taken from the model itself, so one that the model forgot would be missed"]
    if name == "optimality" and _status(run, name) == "pass" and not none_allowed(run.certificate):
        return [_BOUNDS.get(str(run.part("plan").get("optimum")), "reported, not recomputed")]
    return []


_BOUNDS: Final = {
    "recomputed": "the checker proved this by itself",
    "agreed": "two different solvers report this, and the checker did not recompute it",
}


def _status(run: Run, name: str) -> str:
    return str(mapping(run.part("levels").get(name)).get("status") or "")
