"""Plans: a graph of steps, each one call of a tool by a specialist."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.ask.cards import Staff
from engiagent.ask.rules import checked, follow
from engiagent.errors import InputError
from engiagent.io.jsontext import loads_strict
from engiagent.tools.registry import Argument, Json, tools
from engiagent.tools.schemas import STORED

FORM: Final = "engiagent-plan/1"


@dataclass(frozen=True)
class Step:
    """One call."""

    id: str
    agent: str
    tool: str
    # a value ``{"from": "s1", "path": "result"}`` is taken from the answer of an earlier step
    arguments: Json = field(default_factory=dict)
    task: str = ""
    depends_on: tuple[str, ...] = ()
    expected: str = ""
    validation: str = ""  # a rule that its answer has to fulfil, as ``answer.cost.value < 40``

    def needed(self) -> tuple[str, ...]:
        """Return the steps that come before it: those it depends on and those it takes from."""
        taken = (place["from"] for place in references(self.arguments))
        return tuple(dict.fromkeys([*self.depends_on, *taken]))


@dataclass(frozen=True)
class Wanted:
    """A finding that is wanted: its label, and where it stands in which call's answer."""

    label: str
    call: str
    path: str


@dataclass(frozen=True)
class Plan:
    """Steps in the order in which they are made; independent ones that only read, side by side.

    ``unused`` are figures of the question that enter no call, each with the reason.
    """

    question: str
    steps: tuple[Step, ...] = ()
    findings: tuple[Wanted, ...] = ()
    prose: str = ""
    assumptions: tuple[str, ...] = ()
    unused: tuple[Mapping[str, str], ...] = ()

    def to_dict(self) -> Json:
        """Return it as JSON has it."""
        return {"schema": FORM, **json.loads(json.dumps(asdict(self)))}

    def edges(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of steps of which the second needs the first."""
        return tuple((before, step.id) for step in self.steps for before in step.needed())


@dataclass(frozen=True)
class Open:
    """An argument that nothing states: what is asked of the user."""

    step: str
    argument: Argument
    question: str

    @property
    def key(self) -> str:
        """What an answer to it is given under."""
        return f"{self.step}.{self.argument.name}"


def references(value: Any) -> Iterator[Mapping[str, str]]:
    """Yield what a value takes from earlier answers."""
    if isinstance(value, Mapping):
        if is_reference(value):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)


def is_reference(value: Any) -> bool:
    """Whether a value stands for a part of an earlier answer."""
    return isinstance(value, Mapping) and set(value) == {"from", "path"}


def resolved(value: Any, answers: Mapping[str, Any]) -> Any:
    """Return a value with what it takes from earlier answers in place."""
    if is_reference(value):
        return follow(answers[value["from"]], value["path"])[-1]
    if isinstance(value, Mapping):
        return {key: resolved(item, answers) for key, item in value.items()}
    return [resolved(item, answers) for item in value] if isinstance(value, list) else value


# --- reading -------------------------------------------------------------------------------------


def read_plan(text: str, file: str, staff: Staff) -> Plan:
    """Return the plan of a JSON text.

    Raises InputError with the place, for what the schema refuses and for what :func:`faults` finds.
    """
    return plan_of(loads_strict(text, file), file, staff)


def plan_of(document: Any, file: str, staff: Staff) -> Plan:
    """Return the plan of a document; see :func:`read_plan`."""
    error = next(Draft202012Validator(STORED["plan"].make()).iter_errors(document), None)
    if error is not None:
        raise InputError(f"{error.json_path}: {error.message[:300]}", file)
    steps = tuple(step_of(entry) for entry in document["steps"])
    plan = Plan(
        document["question"],
        steps,
        tuple(Wanted(**entry) for entry in document.get("findings", ())),
        document.get("prose", ""),
        tuple(document.get("assumptions", ())),
        tuple(document.get("unused", ())),
    )
    wrong = next(faults(plan, staff), None)
    if wrong is not None:
        raise InputError(wrong, file)
    return ordered(plan)


def step_of(entry: Json) -> Step:
    """Return the step that an entry is."""
    return Step(**{**entry, "depends_on": tuple(entry.get("depends_on", ()))})


def faults(plan: Plan, staff: Staff, done: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield what is wrong with a plan, after the calls that are ``done``.

    That an argument is open is no fault: it is a question to the user.
    """
    ids = [step.id for step in plan.steps]
    for name in {name for name in ids if ids.count(name) > 1 or name in done}:
        yield f"there are two steps {name}"
    for step in plan.steps:
        for before in step.needed():
            if before not in (*ids, *done):
                yield f"step {step.id} needs step {before}, which is not there"
        refusal = staff.refusal(step.agent, step.tool)
        yield from [f"step {step.id}: {refusal}"] if refusal else _misfits(step)
    for wanted in plan.findings:
        if wanted.call not in (*ids, *done):
            yield f"finding {wanted.label!r} is of step {wanted.call}, which is not there"
    try:
        TopologicalSorter({step.id: step.needed() for step in plan.steps}).prepare()
    except CycleError as error:
        yield f"the steps need one another: {', '.join(error.args[1])}"


def _misfits(step: Step) -> Iterator[str]:
    """Yield what does not fit in a step's arguments, of those that stand there, and its rule."""
    tool = tools()[step.tool]
    literal = {k: v for k, v in step.arguments.items() if not any(references(v))}
    partial = replace(tool, arguments=tuple(replace(a, required=False) for a in tool.arguments))
    unknown = set(step.arguments) - {argument.name for argument in tool.arguments}
    try:
        partial.checked({**literal, **dict.fromkeys(unknown)})
        if step.validation:
            checked(step.validation)
    except InputError as error:
        yield f"step {step.id}: {error}"


def open_arguments(plan: Plan) -> tuple[Open, ...]:
    """Return the arguments that a call needs and that nothing states."""
    return tuple(
        Open(step.id, argument, f"{step.task or step.tool}: {argument.said()}")
        for step in plan.steps
        for argument in tools()[step.tool].arguments
        if argument.required and argument.name not in step.arguments
    )


def filled(plan: Plan, answers: Mapping[str, Any]) -> Plan:
    """Return a plan with open arguments as the user answered them, by ``step.argument``."""
    steps = []
    for step in plan.steps:
        named = ((key.rpartition("."), value) for key, value in answers.items())
        own = {name: value for (owner, _, name), value in named if owner == step.id}
        steps.append(replace(step, arguments={**step.arguments, **own}))
    return replace(plan, steps=tuple(steps))


def ordered(plan: Plan) -> Plan:
    """Return a plan with each step after those that it needs, else in the order it has."""
    left, steps, placed = list(plan.steps), [], set[str]()
    own = {step.id for step in left}
    while left:
        ready = next(s for s in left if all(n in placed or n not in own for n in s.needed()))
        left.remove(ready)
        steps.append(ready)
        placed.add(ready.id)
    return replace(plan, steps=tuple(steps))
