"""A question from beginning to end: plan, calls, answer, and the folder that shows all of it.

There are three ways to a plan. ``two-stage`` chooses tools by their names and then writes the
arguments with the schemas of the chosen ones; ``one-stage`` writes the plan with all schemas at
once; ``decentralised`` states goals, and each specialist chooses its calls with the schemas of its
own tools. Beside a question workflows of the archive are shown that were verified
(``archive/<name>.yaml``, each a plan with its question), ranked by BM25 over words, cut off at the
break of relevance, and filtered by structure, which is the tools and the edges of the workflow.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Budget
from engiagent.agents.retrieval import ranked, structurally_alike, words
from engiagent.ask.answers import Answered, answered, forgotten
from engiagent.ask.cards import Staff
from engiagent.ask.execution import Execution
from engiagent.ask.plan import (
    Open,
    Plan,
    Step,
    Wanted,
    faults,
    filled,
    open_arguments,
    ordered,
    plan_of,
)
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
from engiagent.io.files import packaged_yaml
from engiagent.io.plainyaml import loads_yaml
from engiagent.run.folder import CALLS, RunFolder
from engiagent.tools.registry import Json, Watch, tools
from engiagent.tools.stored import opened
from engiagent.tools.supervision import Session

MOST: Final = 3


@dataclass(frozen=True)
class Workflow:
    """A question with its plan."""

    name: str
    plan: Plan

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the question."""
        return words(self.plan.question)

    @property
    def structure(self) -> tuple[str, ...]:
        """The tools, and the pairs of which the second works from the first."""
        tool = {step.id: step.tool for step in self.plan.steps}
        edges = {f"{tool[a]}>{tool[b]}" for a, b in self.plan.edges()}
        return tuple(sorted({*tool.values(), *edges}))

    @property
    def chain(self) -> str:
        """The tools in their order."""
        return ", ".join(step.tool for step in self.plan.steps)


@cache
def archive() -> Mapping[str, Workflow]:
    """Return all workflows of the archive by name."""
    folder, staff = files("engiagent.ask") / "archive", Staff()
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".yaml"))
    plans = {n: plan_of(packaged_yaml("engiagent.ask", f"archive/{n}"), n, staff) for n in names}
    return {name[:-5]: Workflow(name[:-5], plan) for name, plan in plans.items()}


def similar(question: str, known: Sequence[Workflow] | None = None) -> tuple[Workflow, ...]:
    """Return the workflows to show beside a question, the best first, never its own."""
    others = [
        w
        for w in (known or tuple(archive().values()))
        if w.plan.question.strip() != question.strip()
    ]
    return structurally_alike(ranked(others, question))[:MOST]


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
    assumptions: list[str] = field(default_factory=list)
    # figures of the question that enter no call, with reasons, as the model gives them
    reserved: list[Mapping[str, str]] = field(default_factory=list)
    _insisted: bool = False

    def two_stage(self) -> Plan:
        """Return the plan: names first, then the arguments of the chosen tools."""
        known = similar(self.question)
        shown = "\n".join(f"- {w.name}: {w.plan.question} ({w.chain})" for w in known)
        sections = [*self._situation(), ("Known workflows", shown)]
        agents = [("Agents", agents_text(self.staff.cards.values()))]
        names = [("Tools", names_text(tools().values()))]
        outline, alike = self.model.ask("plan-names", [*agents, *names, *sections], self._outlined)
        chosen = dict.fromkeys(entry["tool"] for entry in outline)
        examples = "\n\n".join(plan_text(w.plan) for w in known if w.name in alike)
        lines = (f"{e['id']} {e['agent']} {e['tool']}: {e['task']}" for e in outline)
        return self._arguments(
            [
                ("Tools", schemas_text(tools()[name] for name in chosen)),
                ("Examples of plans", examples),
                *self._situation(),
                ("Chosen calls", "\n".join(lines)),
            ]
        )

    def one_stage(self) -> Plan:
        """Return the plan, written with the schemas of all tools at once."""
        agents = agents_text(self.staff.cards.values())
        examples = "\n\n".join(plan_text(w.plan) for w in similar(self.question))
        every = schemas_text(tools().values())
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
        known = [tools()[name] for name in dict.fromkeys([failed.tool, *made]) if name in tools()]
        sections = [
            ("Agents", agents_text(self.staff.cards.values())),
            ("Tools", names_text(tools().values())),
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


# --- from a question to its answer ---------------------------------------------------------------

ANSWER: Final = "answer.json"
PLAN: Final = "plan.json"
WORKSPACE: Final = "workspace"

Clarify = Callable[[Open], Any]
"""Returns the user's answer to an open argument; None when there is none."""


@dataclass
class Inquiry:
    """One question in a session."""

    folder: RunFolder
    question: str
    planning: Planning | None
    # the folder of the session; None for a new one in the folder of the answer
    session: Path | None = None
    # values of open arguments, by ``step.argument`` or by the argument's name
    answers: Mapping[str, Any] = field(default_factory=dict)
    clarify: Clarify | None = None  # who is asked about the arguments that stay open
    watch: Watch = field(default_factory=Watch)

    def by_model(self, asking: Asking, budget: Budget) -> Answered:
        """Have a model plan and write the answer; ModelError when it gives none."""
        asking.ready()
        engine = asking.engine(self.folder.path, budget)
        model = Model(engine, asking.model, self._tell)
        with self._opened() as session:
            staff = Staff()
            execution = Execution(session, staff, self._tell, watch=self.watch)
            planner = Planner(self.question, model, staff, execution)
            execution.replan = planner.replan
            draft = self._planned(planner, execution)
            if not draft.questions:
                wanted, prose, draft = planner.answer(draft)
                draft = answered(draft, wanted, prose)
            usage = engine.usage
            tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
            took = {"requests": usage.calls, **tokens, "cost": usage.cost}
            draft = replace(draft, hired=tuple(staff.hired), usage=took)
            return self._written(draft, session)

    def by_plan(self, plan: Plan) -> Answered:
        """Execute a plan as it stands."""
        with self._opened() as session:
            execution = Execution(session, Staff(), self._tell, watch=self.watch)
            draft = self._executed(plan, execution)
            if not draft.questions:
                draft = answered(draft, plan.findings, plan.prose)
            return self._written(draft, session)

    def _planned(self, planner: Planner, execution: Execution) -> Answered:
        if self.planning != "decentralised":
            plan = planner.two_stage() if self.planning == "two-stage" else planner.one_stage()
            draft = self._executed(plan, execution)
        else:
            draft = self._delegated(planner, execution)
        for card in planner.staff.hired:
            self._tell("hire", card)
        stated = replace(draft.plan, unused=tuple(planner.reserved))
        return replace(draft, plan=stated, assumptions=tuple(planner.assumptions))

    def _delegated(self, planner: Planner, execution: Execution) -> Answered:
        """Have specialists reach their goals, one after the other; stop at an open argument."""
        steps = list[Step]()
        draft = self._drafted(Plan(self.question), execution)
        for goal in planner.goals():
            self._tell("goal", goal)
            draft = self._executed(planner.specialist(goal), execution)
            steps += draft.plan.steps
            if draft.questions or draft.not_done:
                break
        return replace(draft, plan=replace(draft.plan, steps=tuple(steps)))

    def _executed(self, plan: Plan, execution: Execution) -> Answered:
        """Make the calls of a plan; none while an argument is open."""
        plan, questions = self._clarified(plan)
        self._tell("plan", plan.to_dict())
        if not questions:
            plan = execution.run(plan)
        return replace(self._drafted(plan, execution), questions=questions)

    def _drafted(self, plan: Plan, execution: Execution) -> Answered:
        return Answered(
            self.question,
            self.planning or "plan",
            plan,
            tuple(execution.calls),
            assumptions=plan.assumptions,
            not_done=tuple(execution.not_done),
        )

    def _clarified(self, plan: Plan) -> tuple[Plan, tuple[Open, ...]]:
        """Return a plan with what the user answered, and the questions that stay open."""
        given: Json = {}
        for question in open_arguments(plan):
            value = self.answers.get(question.key, self.answers.get(question.argument.name))
            if value is None and self.clarify is not None:
                value = self.clarify(question)
            if value is not None:
                given[question.key] = value
                self._tell("clarified", {"id": question.key, "value": value})
        plan = filled(plan, given)
        return plan, open_arguments(plan)

    def _opened(self) -> AbstractContextManager[Session]:
        if self.session is not None:
            return opened(self.session)
        own = self.folder.path / WORKSPACE
        own.mkdir(exist_ok=True)
        return nullcontext(Session(own.resolve()))

    def _tell(self, event: str, line: Mapping[str, Any]) -> None:
        self.folder.line(event, line)
        if self.watch.said is not None and event in ("message", "call"):
            self.watch.said(0.0, f"{line.get('kind') or line.get('tool')} …")

    def _written(self, found: Answered, session: Session) -> Answered:
        """Write plan, calls and answer into the folder."""
        document = found.to_dict()
        self.folder.write(PLAN, _json(document["plan"]))
        self.folder.write(CALLS, session.graph.to_json())
        self.folder.write(ANSWER, _json(document))
        return found


def _json(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def read_answers(path: Path) -> Json:
    """Return the answers of a YAML file: values of open arguments by name."""
    try:
        found = loads_yaml(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the answers cannot be read: {error}", str(path)) from None
    if not isinstance(found, dict):
        raise InputError("these are no answers", str(path), expected="step.argument: value")
    return found
