"""Answers: findings by path from calls, prose whose figures calls have, and what stayed open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from engiagent.ask.execution import Call
from engiagent.ask.figures import (
    figures_of,
    given_figures,
    placed,
    struck,
    text_of,
    unused,
    value_at,
)
from engiagent.ask.plan import Open, Plan, Wanted
from engiagent.errors import InputError
from engiagent.tools.registry import Json

FORM: Final = "engiagent-answer/1"
Status = Literal["answered", "partial", "open"]


@dataclass(frozen=True)
class Answered:
    """An answer.

    ``status``: ``partial`` when something was not done or a figure was struck out, ``open`` when a
    question has to be answered by the user first. ``findings``: each with
    ``label, value, unit, call, path``, and the ``artefact`` of its call. ``struck_out``: figures of
    the prose that no call produced, each with its context. ``usage``: requests, tokens, cost and
    seconds of the model.
    """

    question: str
    planning: str
    plan: Plan
    calls: tuple[Call, ...]
    findings: tuple[Json, ...] = ()
    prose: str = ""
    assumptions: tuple[str, ...] = ()
    not_done: tuple[str, ...] = ()
    struck_out: tuple[Mapping[str, str], ...] = ()
    questions: tuple[Open, ...] = ()
    hired: tuple[Json, ...] = ()
    usage: Mapping[str, Any] | None = None

    @property
    def status(self) -> Status:
        """Whether the question is answered."""
        if self.questions:
            return "open"
        return "partial" if self.not_done or self.struck_out else "answered"

    def to_dict(self) -> Json:
        """Return it as JSON has it."""
        return {
            "schema": FORM,
            "status": self.status,
            "question": self.question,
            "planning": self.planning,
            "findings": list(self.findings),
            "prose": self.prose,
            "assumptions": list(self.assumptions),
            "not_done": list(self.not_done),
            "struck_out": [dict(item) for item in self.struck_out],
            "questions": [{"id": q.key, "question": q.question} for q in self.questions],
            "plan": self.plan.to_dict(),
            "calls": [call.to_dict() for call in self.calls],
            "hired": list(self.hired),
            "usage": None if self.usage is None else dict(self.usage),
        }

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        from engiagent.ask.page import fragment

        return fragment(self)


def answered(draft: Answered, wanted: Sequence[Wanted], prose: str) -> Answered:
    """Return an answer with the findings that are wanted, as calls have them, and a prose.

    What the calls do not have is not done; a figure of the question that entered no call is named.
    """
    done = {call.id: call for call in draft.calls if call.done}
    findings, not_done = [], list(draft.not_done)
    for item in wanted:
        try:
            findings.append(_finding(item, done))
        except InputError as error:
            not_done.append(f"{item.label}: {error}")
    produced = [f for call in done.values() for f in figures_of(call.answer)]
    given = [f for call in done.values() for f in given_figures(call.tool, call.arguments)]
    texts = text_of([[call.arguments, call.answer] for call in done.values()])
    labels = {item["label"] for item in findings}
    shown, struck_out = struck(prose, [*produced, *given], texts, labels)
    not_done += forgotten(draft.plan, draft.question)
    return replace(
        draft,
        findings=tuple(findings),
        prose=placed(shown, findings),
        not_done=tuple(dict.fromkeys(not_done)),
        struck_out=struck_out,
    )


def _finding(wanted: Wanted, done: Mapping[str, Call]) -> Json:
    if wanted.call not in done:
        raise InputError(f"call {wanted.call} has no answer")
    call = done[wanted.call]
    value, unit = value_at(call.answer, wanted.path)
    if isinstance(value, dict | list):
        raise InputError(f"{wanted.path} is no single value", expected="a path to a value")
    return {
        "label": wanted.label,
        "value": value,
        "unit": unit,
        "call": wanted.call,
        "path": wanted.path,
        "artefact": next(iter(call.artefacts), None),
    }


def forgotten(plan: Plan, question: str) -> list[str]:
    """Return the figures of a question that neither enter a call of a plan nor have a reason."""
    given = [f for step in plan.steps for f in given_figures(step.tool, step.arguments)]
    texts = text_of([step.arguments for step in plan.steps])
    reasons = " ".join(str(item.get("figure")) for item in plan.unused)
    return [
        f"{figure} of the question enters no call"
        for figure in unused(question, given, texts)
        if figure not in reasons
    ]
