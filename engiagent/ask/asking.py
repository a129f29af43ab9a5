"""A question from beginning to end: plan, calls, answer, and the folder that shows all of it."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Budget, Usage
from engiagent.agents.retrieval import Embed
from engiagent.ask.answers import Answered, answered
from engiagent.ask.cards import Staff
from engiagent.ask.execution import Execution
from engiagent.ask.page import page
from engiagent.ask.plan import Open, Plan, Step, filled, open_arguments
from engiagent.ask.planning import Planner, Planning
from engiagent.ask.requests import Model
from engiagent.errors import InputError
from engiagent.run.folder import CALLS, REPORT, RunFolder
from engiagent.tools.registry import Json, Watch
from engiagent.tools.stored import opened
from engiagent.tools.supervision import Session

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
    # the session or its folder; None for a new one in the folder of the answer
    session: Path | Session | None = None
    # values of open arguments, by ``step.argument`` or by the argument's name
    answers: Mapping[str, Any] = field(default_factory=dict)
    clarify: Clarify | None = None  # who is asked about the arguments that stay open
    watch: Watch = field(default_factory=Watch)
    without: frozenset[str] = frozenset()  # groups of tools that are not offered
    embed: Embed | None = None  # ranks the workflows of the archive in the place of words

    def by_model(self, asking: Asking, budget: Budget) -> Answered:
        """Have a model plan and write the answer.

        Raises ModelError when the model gives no answer that can be used.
        """
        asking.ready()
        engine = asking.engine(self.folder.path, budget)
        model = Model(engine, asking.model, self._tell)
        with self._opened() as session:
            staff = Staff(without=self.without)
            execution = Execution(session, staff, self._tell, watch=self.watch)
            planner = Planner(self.question, model, staff, execution, self.embed)
            execution.replan = planner.replan
            draft = self._planned(planner, execution)
            if not draft.questions:
                wanted, prose, draft = planner.answer(draft)
                draft = answered(draft, wanted, prose)
            hired = tuple(staff.hired)
            draft = replace(draft, hired=hired, usage=usage_of(engine.usage))
            return self._written(draft, session)

    def by_plan(self, plan: Plan) -> Answered:
        """Execute a plan as it stands."""
        with self._opened() as session:
            execution = Execution(
                session, Staff(without=self.without), self._tell, watch=self.watch
            )
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
        if isinstance(self.session, Session):
            return nullcontext(self.session)
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
        """Write plan, calls, answer and page into the folder."""
        document = found.to_dict()
        self.folder.write(PLAN, _json(document["plan"]))
        self.folder.write(CALLS, session.graph.to_json())
        self.folder.write(ANSWER, _json(document))
        self.folder.write(REPORT, page(found))
        return found


def _json(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def usage_of(usage: Usage) -> Json:
    """Return what a model took, as the answer states it; seconds are in the trace."""
    return {
        "requests": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
    }


def read_answers(path: Path) -> Json:
    """Return the answers of a YAML file: values of open arguments by name."""
    from engiagent.io.plainyaml import loads_yaml

    try:
        found = loads_yaml(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the answers cannot be read: {error}", str(path)) from None
    if not isinstance(found, dict):
        raise InputError("these are no answers", str(path), expected="step.argument: value")
    return found
