"""A run in plain words: what to do, what it costs, whether it is safe, and why to believe it.

Nothing is said here that the certificate does not say; what it leaves open is called open.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.report import findings, words
from engiagent.report.artefacts import Run, finite, mapping
from engiagent.report.charts.series import PREFIXES
from engiagent.report.instructions import Instructions
from engiagent.units.unit import CURRENCIES
from engiagent.verify.claims import none_allowed, reading_line
from engiagent.verify.verdicts import PROVEN, USABLE

_TIGHTEST: Final = 3
_SETTINGS: Final = 4
_NO_DRIFT: Final = 1e-6
"""In whatever unit a state has: what no meter shows."""
_NONE_LEFT: Final = 1e-6
"""A relative gap up to which no better plan is worth the name."""


@dataclass(frozen=True)
class Answer:
    """A question that a reader has, its answer in a sentence, and what belongs to it."""

    question: str
    text: str
    details: tuple[str, ...] = ()
    tone: str = ""


def answers(run: Run, todo: Instructions | None, enough: Sequence[str] = ()) -> list[Answer]:
    """Return the answers in the order in which they are asked; without a plan there are fewer.

    Parameters
    ----------
    todo
        What the plan asks for over time.
    enough
        Where there is no plan: changes of which each is enough for one.
    """
    what, why = _what_to_do(run, todo), _why_believe_it(run)
    if not has_plan(run):
        helps = tuple(f"This would be enough: {text}" for text in enough[:_TIGHTEST])
        return [replace(what, details=helps), why]
    return [what, _what_it_costs(run), _is_it_safe(run), why]


def has_plan(run: Run) -> bool:
    """Whether there is a plan, good or bad."""
    if run.solution is None or _claim(run) == "no plan":
        return False
    return any(not str(name).startswith(PREFIXES) for name in run.solution.data_vars)


def money(unit: Any) -> bool:
    """Whether a unit is one of money, as EUR or kUSD."""
    text = unit if isinstance(unit, str) else ""
    return any(text in (f"{prefix}{name}" for prefix in ("", "k", "M")) for name in CURRENCIES)


# --- what to do --------------------------------------------------------------------------------


def _what_to_do(run: Run, todo: Instructions | None) -> Answer:
    question, verdict = "What to do", run.certificate.get("verdict")
    if not has_plan(run):
        return Answer(question, _without_plan(run), tone="open")
    if verdict == "violated":
        text = "Do not use this plan: something that must hold does not. What, is listed below."
        return Answer(question, text, tone="bad")
    usable = verdict in USABLE
    lead = "" if usable else _LEADS.get(str(verdict), _LEADS["undecided"])
    tone = "good" if usable else "open"
    if todo is None:
        return Answer(question, f"{lead}The values to use are listed below.", tone=tone)
    when = "One setting for the whole time" if todo.total == 1 else f"{todo.total} settings in turn"
    text = f"{lead}{when}; the table below says when."
    return Answer(question, text, todo.used[:_SETTINGS], tone)


_LEADS: Final = {
    "solved": "Compare what is listed as open with the text before you act on it. ",
    "undecided": "Do not act on it yet: it is not shown that this plan is allowed. ",
}


def _without_plan(run: Run) -> str:
    if none_allowed(run.certificate) and run.certificate.get("verdict") != "proven infeasible":
        return (
            "The blueprint allows no plan, and nobody else has read the text: compare the two, or "
            "let one of the requirements listed below give way."
        )
    if run.certificate.get("verdict") == "proven infeasible":
        return (
            "No plan can meet all requirements at once. One of those listed below has to give way."
        )
    if findings.contradictions(run):
        return "Settle which of the statements listed below counts, and run it again."
    if findings.missing(run):
        return "Give the missing data that are listed below, and run it again. There is no plan."
    if findings.not_understood(run):
        return "Say the listed sentences in other words, or look at them. There is no plan."
    return "There is no plan to follow."


# --- what it costs -----------------------------------------------------------------------------


def _what_it_costs(run: Run) -> Answer:
    goal = mapping(run.certificate.get("objective"))
    value, unit, sense = finite(goal.get("value")), goal.get("unit"), goal.get("sense")
    is_cost = money(unit)
    question = "What it brings" if sense == "maximize" else "What it costs"
    question = question if is_cost else "What it comes to"
    if value is None:
        return Answer("What it costs", "Nobody has worked it out.", tone="open")
    shown = words.quantity(value, unit, 7)
    text = f"{shown} in all." if is_cost else f"{shown}: {_aim(run, sense)}."
    if is_cost and sense == "minimize" and value < 0:
        amount = words.quantity(-value, unit, 7)
        text = f"Nothing: it brings in {amount} more than it costs."
    return Answer(question, text, details=tuple(_room(run, value, unit, sense)))


def _aim(run: Run, sense: Any) -> str:
    objective = run.blueprint.core.objective_function if run.blueprint is not None else None
    name = (objective.name if objective is not None else None) or "the objective"
    size = "large" if sense == "maximize" else "small"
    return f"{name.replace('_', ' ')}, as {size} as possible"


def _room(run: Run, value: float, unit: Any, sense: Any) -> Iterator[str]:
    """Yield how much better another plan could be."""
    bound = finite(mapping(run.certificate.get("bound")).get("value"))
    if bound is None:
        yield "How much better another plan could be is not proven."
        return
    room = bound - value if sense == "maximize" else value - bound
    if room < -_NONE_LEFT * max(1.0, abs(value)):
        yield "That is better than any allowed plan can be, so this one cannot be allowed."
        return
    if room <= _NONE_LEFT * max(1.0, abs(value)):
        yield _BEST.get(_evidence(run), "How much better another plan could be is not proven.")
        return
    share = words.percent(mapping(run.certificate.get("bound")).get("gap"))
    method = str(mapping(run.certificate.get("bound")).get("method") or "")
    shown = (
        "as a solver reports, not recomputed" if "not recomputed" in method else "this is proven"
    )
    yield (
        f"Another allowed plan could be better by {words.quantity(room, unit, 4)} at the most"
        f"{f' ({share})' if share else ''}; {shown}."
    )


_BETTER: Final = "no other allowed plan is better by an amount that matters"
_BEST: Final = {
    "recomputed": f"Proven: {_BETTER}.",
    "agreed": f"Two different solvers report that {_BETTER}; the checker did not recompute it.",
    "reported": f"One solver reports that {_BETTER}; the checker did not recompute it.",
}


def _evidence(run: Run) -> str:
    return str(mapping(run.certificate.get("plan")).get("optimum"))


def _claim(run: Run) -> str:
    return str(mapping(run.certificate.get("plan")).get("claim"))


# --- is it safe --------------------------------------------------------------------------------


def _is_it_safe(run: Run) -> Answer:
    question = "Is it safe?"
    broken = findings.broken(run)
    if broken:
        count = "1 requirement is" if len(broken) == 1 else f"{len(broken)} requirements are"
        return Answer(question, f"No: {count} broken.", tuple(broken[:_TIGHTEST]), "bad")
    states = {name: _status(run, name) for name in ("algebra", "physics")}
    if "unchecked" in states.values() or "" in states.values():
        text = "Not known: not every requirement could be checked. What is open, is listed below."
        return Answer(question, text, tone="open")
    total = len(findings.demands(run))
    text = f"Yes: all {total} requirements hold" if total > 1 else "Yes: what is required holds"
    simulated = mapping(mapping(run.certificate.get("levels")).get("physics")).get("states")
    if simulated:
        text += ", on paper and when the plan is executed in a simulation"
    return Answer(question, f"{text}.", tuple(findings.tightest(run, _TIGHTEST)), "good")


# --- why to believe it -------------------------------------------------------------------------


def _why_believe_it(run: Run) -> Answer:
    question = "Why believe it?"
    levels = mapping(run.certificate.get("levels"))
    if not levels:
        return Answer(question, "Nothing was checked.", tone="open")
    if none_allowed(run.certificate):
        text = "A checker that trusts neither the model nor the solver verified the proof."
        tone = "good" if run.certificate.get("verdict") == "proven infeasible" else "open"
        return Answer(question, text, (_read(run), in_words(run, "optimality")), tone)
    if not has_plan(run):
        return Answer(question, "Nothing is claimed, so there is nothing to believe.", tone="open")
    if run.certificate.get("verdict") == "violated":
        text = "A checker that trusts neither the model nor the solver found what is broken."
        return Answer(question, text, tone="open")
    passed = sum(_status(run, name) == "pass" for name in findings.LEVELS)
    text = (
        "A checker that trusts neither the model nor the solver worked everything out again: "
        f"{passed} of {len(findings.LEVELS)} levels hold."
    )
    tone = "good" if run.certificate.get("verdict") in PROVEN else "open"
    details = (_read(run), *(in_words(run, name) for name in findings.LEVELS))
    return Answer(question, text, details, tone)


def _read(run: Run) -> str:
    """Return who has read the text."""
    line = reading_line(run.certificate)
    return f"The reading is {line}." if line else "Nobody has looked at the text."


def levels(run: Run) -> list[findings.Level]:
    """Return the levels of the certificate, each with what it means."""
    return [replace(level, meaning=in_words(run, level.name)) for level in findings.levels(run)]


def in_words(run: Run, name: str) -> str:
    """Return what a level of the certificate means, for a reader who knows none of its terms."""
    level = mapping(mapping(run.certificate.get("levels")).get(name))
    status = _status(run, name)
    grade = mapping(run.certificate.get("reading")).get("grade")
    if name == "data" and (grade == "stated" or not run.problem_text):
        return _STATED[status if status == "fail" else "pass"]
    writer = {"pass": _PASSED, "fail": _FAILED}.get(status, _OPEN)[name]
    return writer.format(
        parameters=_counted(level.get("parameters"), "number"),
        source=_SOURCES.get(str(level.get("source")), "taken from the problem"),
        drift=_drift(level),
        bound=_bound(run),
        reported="; one solver reports that it is the best" if _evidence(run) == "reported" else "",
    )


_PASSED: Final = {
    "data": "The data are the problem's: {parameters} followed back to the text and its files.",
    "algebra": "The requirements hold, each worked out again from the plan; they were {source}.",
    "physics": "{drift}",
    "optimality": "{bound}",
}
_STATED: Final = {
    "pass": "The data are those that the input states; there is no text to compare them with.",
    "fail": "The data are not all those of the files that the input names; see below.",
}
_FAILED: Final = {
    "data": "The data are not all the problem's: what differs is listed below.",
    "algebra": "Not all requirements hold; those that do not are listed below.",
    "physics": "Executed in a simulation, the plan does not keep what it promises.",
    "optimality": "What is claimed about the best plan does not hold.",
}
_OPEN: Final = {
    "data": "Not all of the data could be followed back to the text.",
    "algebra": "Not all requirements could be checked.",
    "physics": "The plan could not be executed in a simulation, or not all of it.",
    "optimality": "How far the plan is from the best one is not proven{reported}.",
}
_SOURCES: Final = {
    "annotated": "written down from the text, apart from the model",
    "blueprint": "taken from the model itself, so one that the model forgot would be missed",
}


def _drift(level: Mapping[str, Any]) -> str:
    states = [s for s in level.get("states") or () if isinstance(s, Mapping)]
    if not states:
        return "Nothing in the problem has a state that a simulation would have to follow."
    worst = [_apart(state) for state in states[:_TIGHTEST]]
    return f"Executed in a simulation, the plan keeps its promise: {', '.join(worst)}."


def _apart(state: Mapping[str, Any]) -> str:
    """Return how far a state is from what the plan says of it."""
    name, drift = state.get("quantity"), finite(state.get("drift"))
    if drift is not None and abs(drift) < _NO_DRIFT:
        return f"{name} comes out the same"
    return f"{name} differs by {words.quantity(drift, state.get('unit'), 2)} at most"


def _bound(run: Run) -> str:
    if none_allowed(run.certificate):
        return "That the blueprint allows no plan is proven, and the proof was checked."
    bound = mapping(run.certificate.get("bound"))
    goal = mapping(run.certificate.get("objective"))
    if finite(bound.get("value")) is None:
        return "There is nothing better to look for."
    side = "more" if goal.get("sense") == "maximize" else "less"
    shown = words.quantity(bound["value"], goal.get("unit"), 7)
    how = {
        "recomputed": "the checker proved this by itself",
        "agreed": "two different solvers report this, and the checker did not recompute it",
    }.get(_evidence(run), "this is reported, not recomputed")
    return f"No allowed plan reaches {side} than {shown}: {how}."


def _counted(count: Any, noun: str) -> str:
    if not isinstance(count, int):
        return f"the {noun}s were"
    return f"1 {noun} was" if count == 1 else f"{count} {noun}s were"


def _status(run: Run, name: str) -> str:
    level = mapping(mapping(run.certificate.get("levels")).get(name))
    return str(level.get("status") or "")
