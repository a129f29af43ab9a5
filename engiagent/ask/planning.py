"""Three ways from a question to calls, one to plan anew, and one from calls to an answer.

``two-stage`` chooses tools by their names and then writes the arguments with the schemas of the
chosen ones; ``one-stage`` writes the plan with all schemas at once; ``decentralised`` states goals,
and each specialist chooses its calls with the schemas of its own tools.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from engiagent.agents.retrieval import Embed
from engiagent.ask.answers import Answered, forgotten
from engiagent.ask.archive import Workflow, similar
from engiagent.ask.cards import Staff
from engiagent.ask.execution import Execution
from engiagent.ask.plan import Plan, Step, Wanted, faults, open_arguments, ordered
from engiagent.ask.requests import (
    Model,
    agents_text,
    calls_text,
    names_text,
    plan_text,
    schemas_text,
    session_text,
    step_of_reply,
)
from engiagent.errors import InputError
from engiagent.tools.registry import Json

Planning = Literal["two-stage", "one-stage", "decentralised"]
PLANNINGS: Final[tuple[Planning, ...]] = ("two-stage", "one-stage", "decentralised")
_MOST_GOALS: Final = 12

Sections = list[tuple[str, str]]


@dataclass
class Planner:
    """Plans one question with a model."""

    question: str
    model: Model
    staff: Staff
    execution: Execution
    embed: Embed | None = None  # ranks the workflows of the archive in the place of words
    assumptions: list[str] = field(default_factory=list)
    # figures of the question that enter no call, with reasons, as the model gives them
    reserved: list[Mapping[str, str]] = field(default_factory=list)
    _insisted: bool = False

    def two_stage(self) -> Plan:
        """Return the plan: names first, then the arguments of the chosen tools."""
        known = similar(self.question, embed=self.embed)
        shown = "\n".join(f"- {w.name}: {w.text} ({w.chain})" for w in known)
        sections = [*self._situation(), ("Known workflows", shown)]
        agents = [("Agents", agents_text(self.staff.cards.values()))]
        names = [("Tools", names_text(self.staff.tools.values()))]
        outline, alike = self.model.ask("plan-names", [*agents, *names, *sections], self._outlined)
        chosen = dict.fromkeys(entry["tool"] for entry in outline)
        examples = "\n\n".join(plan_text(w.plan) for w in known if w.name in alike)
        lines = (f"{e['id']} {e['agent']} {e['tool']}: {e['task']}" for e in outline)
        return self._arguments(
            [
                ("Tools", schemas_text(self.staff.tools[name] for name in chosen)),
                ("Examples of plans", examples),
                *self._situation(),
                ("Chosen calls", "\n".join(lines)),
            ]
        )

    def one_stage(self) -> Plan:
        """Return the plan, written with the schemas of all tools at once."""
        agents = agents_text(self.staff.cards.values())
        examples = _examples(similar(self.question, embed=self.embed))
        every = schemas_text(self.staff.tools.values())
        sections = [("Agents", agents), ("Tools", every), ("Examples of plans", examples)]
        return self._arguments([*sections, *self._situation()])

    def goals(self) -> tuple[Json, ...]:
        """Return goals, each with the specialist that reaches it."""
        agents = agents_text(self.staff.cards.values())
        sections = [("Agents", agents), *self._situation()]
        found: tuple[Json, ...] = self.model.ask("plan-goals", sections, self._goals)
        return found

    def specialist(self, goal: Json) -> Plan:
        """Return the calls by which a specialist reaches its goal."""
        card = self.staff.cards[goal["agent"]]
        sections = [
            ("You", f"{card.role} Scope: {card.scope}. {' '.join(card.constraints)}"),
            ("Your tools", schemas_text(card.authorised())),
            *self._situation(),
            ("Calls made", calls_text(self.execution.calls)),
            ("Your goal", f"{goal['task']} Expected: {goal['expected']}"),
        ]

        def check(reply: Json) -> Plan:
            steps = []
            for number, entry in enumerate(reply["calls"], start=1):
                own = {"id": f"{goal['id']}_{number}", "agent": card.id, "task": goal["task"]}
                steps.append(step_of_reply({**entry, **own, "depends_on": []}))
            return self._checked(steps)

        plan: Plan = self.model.ask("specialist", sections, self._noting(check), card)
        return plan

    def replan(self, execution: Execution, failed: Step, why: str) -> Sequence[Step] | None:
        """Return the steps from a failed one on; None where no call can help."""
        made = [call.tool for call in execution.calls]
        named, offered = dict.fromkeys([failed.tool, *made]), self.staff.tools
        known = [offered[name] for name in named if name in offered]
        sections = [
            ("Agents", agents_text(self.staff.cards.values())),
            ("Tools", names_text(self.staff.tools.values())),
            ("Arguments", schemas_text(known)),
            *self._situation(),
            ("Calls made", calls_text(execution.calls)),
            ("Failed", f"{failed.id} {failed.tool}: {why}"),
        ]

        def check(reply: Json) -> Plan:
            return self._checked([step_of_reply(entry) for entry in reply["revised"]])

        plan: Plan = self.model.ask("replan", sections, check)
        missing = open_arguments(plan)
        if missing:
            raise InputError(f"{missing[0].key} is open: {missing[0].question}")
        return plan.steps or None

    def answer(self, draft: Answered) -> tuple[tuple[Wanted, ...], str, Answered]:
        """Return the findings that are wanted, the prose, and the draft with what was stated."""
        failed = [call for call in draft.calls if not call.done]
        sections = [
            ("Question", self.question),
            ("Calls", calls_text([call for call in draft.calls if call.done])),
            ("Calls that failed", calls_text(failed)),
        ]

        def check(reply: Json) -> tuple[tuple[Wanted, ...], Json]:
            calls = {call.id for call in draft.calls if call.done}
            unknown = [f["call"] for f in reply["findings"] if f["call"] not in calls]
            if unknown:
                raise InputError(f"there is no call {unknown[0]!r}", expected=", ".join(calls))
            return tuple(Wanted(**entry) for entry in reply["findings"]), reply

        wanted, reply = self.model.ask("answer", sections, check)
        stated = (*draft.assumptions, *reply["assumptions"])
        open_points = (*draft.not_done, *reply["not_done"])
        return wanted, reply["prose"], replace(draft, assumptions=stated, not_done=open_points)

    # --- parts of requests and checks of replies -------------------------------------------------

    def _situation(self) -> Sections:
        session = session_text(self.execution.session)
        return [("Session", session), ("Question", self.question)]

    def _arguments(self, sections: Sections) -> Plan:
        def check(reply: Json) -> Plan:
            self.staff.hire(reply["hire"])
            plan = self._checked([step_of_reply(entry) for entry in reply["steps"]])
            return self._whole(replace(plan, unused=tuple(reply["unused"])))

        plan: Plan = self.model.ask("plan-arguments", sections, self._noting(check))
        return plan

    def _noting(self, check: Any) -> Any:
        """Return a check that keeps what a reply that fits states beside its calls."""

        def noted(reply: Json) -> Any:
            found = check(reply)
            self.assumptions += reply["assumptions"]
            self.reserved += reply["unused"]
            return found

        return noted

    def _outlined(self, reply: Json) -> tuple[tuple[Json, ...], frozenset[str]]:
        self.staff.hire(reply["hire"])
        for entry in reply["outline"]:
            refusal = self.staff.refusal(entry["agent"], entry["tool"])
            if refusal is not None:
                raise InputError(f"step {entry['id']}: {refusal}")
        return tuple(reply["outline"]), frozenset(reply["similar"])

    def _goals(self, reply: Json) -> tuple[Json, ...]:
        self.staff.hire(reply["hire"])
        for goal in reply["goals"]:
            if goal["agent"] not in self.staff.cards:
                known = ", ".join(self.staff.cards)
                raise InputError(f"there is no agent {goal['agent']!r}", expected=known)
        return tuple(reply["goals"][:_MOST_GOALS])

    def _checked(self, steps: Sequence[Step]) -> Plan:
        """Return the plan of some steps, after the calls that were made."""
        plan = Plan(self.question, tuple(steps))
        wrong = list(faults(plan, self.staff, tuple(self.execution.answers)))
        if wrong:
            raise InputError("; ".join(wrong))
        return ordered(plan)

    def _whole(self, plan: Plan) -> Plan:
        """Return a plan of the whole question; one that leaves out a figure is sent back once."""
        left_out = forgotten(plan, self.question)
        if left_out and not open_arguments(plan) and not self._insisted:
            self._insisted = True
            raise InputError("; ".join(left_out), expected="a call with it, or a reason in unused")
        return plan


def _examples(known: Sequence[Workflow]) -> str:
    return "\n\n".join(plan_text(workflow.plan) for workflow in known)
