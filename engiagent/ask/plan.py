"""Plans: a graph of steps, each one call of a tool by a specialist; paths and rules of answers.

A validation is a small rule over an answer, evaluated without ``eval``.
"""

import ast
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.ask.cards import Staff
from engiagent.errors import InputError
from engiagent.io.jsontext import loads_strict
from engiagent.tools.registry import Argument, Json, tools
from engiagent.tools.schemas import STORED

_COMPARED: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_COMPUTED: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: Final[Mapping[type, Callable[[Any], Any]]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "len": len,
    "max": max,
    "min": min,
}
_MOST: Final = 300
"""Letters of a rule."""
_RULE: Final = "as answer.cost.value < 40 and answer.notes == []"


def checked(rule: str) -> ast.expr:
    """Return a rule as a tree that :func:`holds` can evaluate; refuse everything else."""
    try:
        tree = ast.parse(rule.strip()[: _MOST + 1], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError("the validation is no rule", found=repr(rule), expected=_RULE) from None
    if len(rule) > _MOST or not all(map(_known, ast.walk(tree))):
        raise InputError("the validation says too much", found=repr(rule), expected=_RULE)
    return tree


def _known(node: ast.AST) -> bool:
    """Whether a node belongs to the language of rules: no names but ``answer`` and functions."""
    if isinstance(node, ast.Name):
        return node.id == "answer" or node.id in _FUNCTIONS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
    plain = (ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Load, ast.Compare)
    logic = (ast.BoolOp, ast.And, ast.Or, ast.BinOp, ast.UnaryOp)
    return isinstance(node, (*plain, *logic, *_COMPARED, *_COMPUTED, *_UNARY))


def holds(rule: str, answer: Any) -> bool:
    """Whether a rule holds of an answer.

    Raises InputError when it is no rule, or asks for what the answer does not have.

    Examples
    --------
    >>> holds("answer.cost.value < 40", {"cost": {"value": 13.3}})
    True
    """
    try:
        return bool(_value(checked(rule), answer))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"the validation {rule!r} cannot be evaluated: {error}") from None


def _value(node: ast.expr, answer: Any) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name():
            return answer
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, answer) for item in items]
        case ast.Attribute(value=inner, attr=name):
            return step(_value(inner, answer), name)
        case ast.Subscript(value=inner, slice=place):
            return step(_value(inner, answer), str(_value(place, answer)))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, answer) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, answer) for part in parts)
        case ast.UnaryOp(op=sign, operand=inner):
            return _UNARY[type(sign)](_value(inner, answer))
        case ast.BinOp(left=left, op=sign, right=right):
            return _COMPUTED[type(sign)](_value(left, answer), _value(right, answer))
        case ast.Call(func=ast.Name(id=name), args=given):
            return _FUNCTIONS[name](*(_value(item, answer) for item in given))
        case ast.Compare(left=left, ops=signs, comparators=others):
            values = [_value(item, answer) for item in (left, *others)]
            pairs = zip(signs, values, values[1:], strict=False)
            return all(_COMPARED[type(sign)](one, two) for sign, one, two in pairs)
    raise InputError("the validation says too much", expected=_RULE)


def step(value: Any, name: str) -> Any:
    """Return what a value has at a step: a key, a number, or the name or id of an item."""
    if isinstance(value, Mapping) and name in value:
        return value[name]
    if isinstance(value, list):
        if name.lstrip("-").isdecimal() and -len(value) <= int(name) < len(value):
            return value[int(name)]
        found = [item for item in value if isinstance(item, Mapping) and name in _names(item)]
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(_names(item)[-1] for item in found)
            raise InputError(f"several items are called {name!r}", expected=several)
    raise InputError(f"the answer has no {name!r}", expected=_there(value))


def _names(item: Mapping[str, Any]) -> list[str]:
    name = item.get("name", item.get("id"))
    component = item.get("component")
    return [str(name), *([f"{name}/{component}"] if component else [])]


def _there(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(map(str, list(value)[:30])) or "nothing is there"
    if isinstance(value, list):
        names = [_names(item)[-1] for item in value if isinstance(item, Mapping)]
        return ", ".join(names[:30]) or f"a number below {len(value)}"
    return "no further step"


def follow(value: Any, path: str) -> list[Any]:
    """Return what stands along a path, the answer first; a key with dots is found as a whole."""
    parts, trail = [part for part in path.replace("[", ".").replace("]", "").split(".") if part], []
    trail.append(value)
    while parts:
        here = trail[-1]
        joined = (n for n in range(len(parts), 1, -1) if isinstance(here, Mapping))
        size = next((n for n in joined if ".".join(parts[:n]) in here), 1)
        trail.append(step(here, ".".join(parts[:size])))
        parts = parts[size:]
    return trail


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
    """Steps in their order; ``unused`` are figures that enter no call, with the reason."""

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
    """Return the plan of a JSON text; InputError for what the schema or :func:`faults` refuse."""
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
    """Yield what is wrong with a plan after some calls; an open argument is a question instead."""
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
