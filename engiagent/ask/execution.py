"""Plans made: calls through a session's supervisor, prerequisites first, failures planned anew."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Final

from engiagent.ask.cards import Staff
from engiagent.ask.plan import Plan, Step, resolved
from engiagent.ask.rules import holds
from engiagent.errors import EngiagentError, InputError
from engiagent.tools.registry import Json, Outcome, Tool, Watch, tools
from engiagent.tools.supervision import Session

MOST_REPLANS: Final = 2
_MOST_INSERTED: Final = 8
_SIDE_BY_SIDE: Final = 4

Tell = Callable[[str, Mapping[str, Any]], None]
"""Takes a line of the trace: its event, and what it says."""


@dataclass(frozen=True)
class Call:
    """A call that was made, or why it was not."""

    id: str
    agent: str
    tool: str
    arguments: Json
    status: str
    answer: Json
    artefacts: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether it has an answer that counts."""
        return self.status == "done"

    def to_dict(self) -> Json:
        """Return it as JSON has it."""
        return {**vars(self), "artefacts": list(self.artefacts)}


Replan = Callable[["Execution", Step, str], Sequence[Step] | None]
"""Returns the steps in the place of one that failed and all after it; None when there are none."""


@dataclass
class Execution:
    """The calls of one question."""

    session: Session
    staff: Staff
    tell: Tell
    # who plans anew after a failure; None for a plan that is executed as it stands
    replan: Replan | None = None
    watch: Watch = field(default_factory=Watch)
    calls: list[Call] = field(default_factory=list)
    not_done: list[str] = field(default_factory=list)
    replans: int = 0

    @property
    def answers(self) -> dict[str, Any]:
        """The answers that count, by step."""
        return {call.id: call.answer for call in self.calls if call.done}

    def run(self, plan: Plan) -> Plan:
        """Make the calls of a plan, and return the plan as it was made in the end.

        Steps are made in their order; those that follow one another, only read and need nothing of
        one another, side by side.
        """
        pending, made = list(plan.steps), list[Step]()
        while pending:
            batch = self._batch(pending)
            results = self._side_by_side(batch)
            for step, early in zip(batch, results, strict=True):
                pending.remove(step)
                why = self._step(step, early, made)
                if why is None:
                    made.append(step)
                    continue
                pending = self._after_failure(step, why, pending)
                break
        return replace(plan, steps=tuple(made))

    # --- one step --------------------------------------------------------------------------------

    def _step(self, step: Step, early: "Future[Outcome] | None", made: list[Step]) -> str | None:
        """Make one call; return why it has no answer that counts."""
        refusal = self.staff.refusal(step.agent, step.tool)
        if refusal is not None:
            return self._keep(step, {}, "refused", {"error": refusal})
        try:
            given = tools()[step.tool].checked(resolved(step.arguments, self.answers))
        except (InputError, KeyError) as error:
            return self._keep(step, step.arguments, "failed", {"error": str(error)})
        advice = self._prepared(step, given, made)
        if advice is not None:
            return self._keep(step, given, "blocked", {"error": advice})
        work = None if early is None else lambda state, arguments: early.result()
        seen = self.session.call(step.tool, given, self.watch, work)
        if seen.status != "done":
            return self._keep(step, given, seen.status, seen.content)
        try:
            valid = not step.validation or holds(step.validation, seen.content)
            said = f"the answer does not fulfil {step.validation}"
        except InputError as error:
            valid, said = False, str(error)
        if not valid:
            content = {"error": said, "answer": seen.content}
            return self._keep(step, given, "invalid", content, seen.artefacts)
        return self._keep(step, given, "done", seen.content, seen.artefacts)

    def _keep(
        self, step: Step, given: Json, status: str, answer: Json, artefacts: tuple[str, ...] = ()
    ) -> str | None:
        call = Call(step.id, step.agent, step.tool, given, status, answer, artefacts)
        self.calls.append(call)
        self.tell("call", {**call.to_dict(), "task": step.task})
        return None if call.done else str(answer.get("error") or answer.get("advice") or status)

    def _prepared(self, step: Step, given: Json, made: list[Step]) -> str | None:
        """Make what a call needs and what nothing has made; return the advice if that fails.

        A missing call without open arguments is inserted; a call is never made against its rule.
        """
        tool = tools()[step.tool].for_call(given)
        for number in range(_MOST_INSERTED):
            missing = self.session.missing(tool)
            if not missing:
                return None
            advice = self.session.advice(tool, missing)
            first = tools()[advice["first"]]
            agent = self._who(step.agent, first)
            if agent is None or any(a.required for a in first.arguments):
                return str(advice["advice"])
            inserted = Step(f"{step.id}-{number + 1}", agent, first.name, task=advice["advice"])
            self.tell("insert", {"before": step.id, "id": inserted.id, "tool": first.name})
            if self._step(inserted, None, made) is not None:
                return str(advice["advice"])
            made.append(inserted)
        return f"what {step.tool} needs is not there after {_MOST_INSERTED} calls"

    def _who(self, agent: str, tool: Tool) -> str | None:
        """Return who makes an inserted call: the step's agent, else the first that may."""
        order = [agent, *self.staff.cards]
        return next((name for name in order if not self.staff.refusal(name, tool.name)), None)

    # --- several steps ---------------------------------------------------------------------------

    def _batch(self, pending: Sequence[Step]) -> list[Step]:
        """Return the first step, with those behind it that may be made beside it."""
        first = pending[0]
        if not self._beside(first):
            return [first]
        ids = {first.id}
        rest = takewhile(lambda s: self._beside(s) and not ids & set(s.needed()), pending[1:])
        return [first, *rest]

    def _beside(self, step: Step) -> bool:
        """Whether a step can be made beside others: it reads, and what it needs is there."""
        tool = tools().get(step.tool)
        return (
            tool is not None
            and tool.access == "read"
            and not self.staff.refusal(step.agent, step.tool)
            and set(step.needed()) <= set(self.answers)
            and not self.session.missing(tool)
        )

    def _side_by_side(self, batch: Sequence[Step]) -> list["Future[Outcome] | None"]:
        """Return the work of several reads, done at once; None for a step that is alone."""
        if len(batch) == 1:
            return [None]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return [pool.submit(self._work, step) for step in batch]

    def _work(self, step: Step) -> Outcome:
        tool = tools()[step.tool]
        state = replace(self.session.state, watch=self.watch)
        return tool.work(state, tool.checked(resolved(step.arguments, self.answers)))

    def _after_failure(self, step: Step, why: str, pending: Sequence[Step]) -> list[Step]:
        """Return what is made after a step failed: a new plan, or what does not hang on it.

        A write that failed ends the plan: what comes after it would see another state.
        """
        if self.replan is not None and self.replans < MOST_REPLANS:
            self.replans += 1
            try:
                steps = self.replan(self, step, why)
            except EngiagentError as error:
                why, steps = f"{why}; and no new plan: {error}", None
            if steps is not None:
                self.tell("replan", {"from": step.id, "why": why, "steps": [s.id for s in steps]})
                return list(steps)
        self.not_done.append(f"{step.task or step.tool}: {why}")
        tool = tools().get(step.tool)
        lost = {step.id}
        kept = []
        for later in pending:
            if tool is None or tool.access == "write" or lost & set(later.needed()):
                lost.add(later.id)
                self.not_done.append(f"{later.task or later.tool}: rests on step {step.id}")
            else:
                kept.append(later)
        return kept
