"""Requests to a model: one system prompt a kind, short lists of agents, tools and answers.

The first line of a request's system prompt is its kind: ``plan-names``, ``plan-goals``,
``plan-arguments``, ``specialist``, ``replan`` or ``answer``.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.agents.engines.exchange import Reply, Request, Turn
from engiagent.agents.engines.language_model import LanguageModel
from engiagent.agents.engines.wire import WireError, read_object
from engiagent.agents.protocol import Fault
from engiagent.ask.cards import Card
from engiagent.ask.execution import Call
from engiagent.ask.plan import Plan, Step
from engiagent.errors import EngiagentError, InputError
from engiagent.io.jsontext import loads_strict
from engiagent.io.schemawords import TEXT, TEXTS, list_of, record, said
from engiagent.tools.registry import Argument, Json, Tool
from engiagent.tools.supervision import Session

COORDINATOR: Final = "claude-opus-5-5"
_MOST_TOKENS: Final = 6_000
_MOST_ANSWER: Final = 4_000
"""Letters of a tool's answer that a model is shown."""
_MOST_ITEMS: Final = 8
_MOST_FILES: Final = 20
_SEVERAL: Final = 3
"""From how many tools on an argument that they take alike is written once."""

_ARGUMENTS: Final = said(TEXT, 'a JSON object as text, as {"cop": 4.5}')
_CALL: Final[Json] = {"tool": TEXT, "arguments": _ARGUMENTS, "expected": TEXT, "validation": TEXT}
_STEP: Final = record({"id": TEXT, "agent": TEXT, "task": TEXT, **_CALL, "depends_on": TEXTS})
_HIRE: Final = list_of(record({"id": TEXT, "role": TEXT, "tools": TEXTS}))
_UNUSED: Final = list_of(record({"figure": TEXT, "reason": TEXT}))
_OUTLINE: Final = record({"id": TEXT, "agent": TEXT, "task": TEXT, "tool": TEXT})
_GOAL: Final = {"id": TEXT, "agent": TEXT, "task": TEXT, "depends_on": TEXTS, "expected": TEXT}
SCHEMAS: Final[dict[str, Json]] = {
    "plan-names": record({"outline": list_of(_OUTLINE), "similar": TEXTS, "hire": _HIRE}),
    "plan-goals": record({"goals": list_of(record(_GOAL)), "hire": _HIRE}),
    "plan-arguments": record(
        {"steps": list_of(_STEP), "unused": _UNUSED, "assumptions": TEXTS, "hire": _HIRE}
    ),
    "specialist": record(
        {"calls": list_of(record(_CALL)), "unused": _UNUSED, "assumptions": TEXTS}
    ),
    "replan": record({"revised": list_of(_STEP), "reason": TEXT}),
    "answer": record(
        {
            "findings": list_of(record({"label": TEXT, "call": TEXT, "path": TEXT})),
            "prose": TEXT,
            "assumptions": TEXTS,
            "not_done": TEXTS,
        }
    ),
}
"""Of the replies by kind; the first field tells kinds apart too."""


class ModelError(EngiagentError):
    """The model gave no answer that can be used; ``kind`` is that of the fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.kind = fault.kind


@dataclass
class Model:
    """Asks a language model one kind of request after the other."""

    engine: LanguageModel
    name: str | None
    tell: Callable[[str, Json], None]  # hears of every request: kind, whom it stands for, tokens

    def ask(
        self,
        kind: str,
        sections: Iterable[tuple[str, str]],
        check: Callable[[Json], Any],
        card: Card | None = None,
    ) -> Any:
        """Return what ``check`` makes of the reply to a request; it raises for what does not fit.

        Raises ModelError when the model refuses, cannot be reached, is out of budget or does not
        fit twice.
        """
        text = "\n\n".join(f"## {title}\n{body}" for title, body in sections if body)
        model, effort = (COORDINATOR, "medium") if card is None else (card.model, card.effort)
        request = Request(
            label=f"{'coordinator' if card is None else card.id}: {kind}",
            model=self.name or model,
            effort=effort,
            max_tokens=_MOST_TOKENS,
            system=(_system(kind),),
            turns=(Turn("user", text),),
            schema=SCHEMAS[kind],
        )
        answer = self.engine.answer(request, lambda reply: _read(reply, kind, check))
        fault = answer.fault
        who = "coordinator" if card is None else card.id
        message = None if fault is None else fault.message
        self.tell("message", {"kind": kind, "agent": who, "fault": message, **vars(answer.usage)})
        if fault is not None:
            raise ModelError(fault)
        assert answer.value is not None
        return answer.value["found"]


def _read(reply: Reply, kind: str, check: Callable[[Json], Any]) -> Any:
    if reply.fault is not None:
        return reply.fault
    try:
        value = read_object(reply.text)
        error = next(Draft202012Validator(SCHEMAS[kind]).iter_errors(value), None)
        if error is not None:
            return Fault("reply-malformed", error.message[:300], error.json_path)
        return {"found": check(value)}
    except (WireError, InputError) as error:
        return Fault("reply-malformed", str(error)[:600])


@cache
def _system(kind: str) -> str:
    return (files("engiagent.ask") / "prompts" / f"{kind}.txt").read_text("utf-8").strip()


# --- replies -------------------------------------------------------------------------------------


def step_of_reply(entry: Json) -> Step:
    """Return the step that an entry of a reply is, with its arguments read from their text."""
    arguments = loads_strict(entry["arguments"] or "{}")
    if not isinstance(arguments, dict):
        raise InputError(f"{entry['tool']}: arguments are no JSON object")
    return Step(**{**entry, "arguments": arguments, "depends_on": tuple(entry["depends_on"])})


# --- what a model is shown -----------------------------------------------------------------------


def agents_text(cards: Iterable[Card]) -> str:
    """Return specialists as a list: id, role, and which tools they may call."""
    return "\n".join(f"- {c.id}: {c.role} Tools: {', '.join(_rights(c))}." for c in cards)


def _rights(card: Card) -> list[str]:
    return [*(f"group {group}" for group in card.groups), *card.tools]


def names_text(known: Iterable[Tool]) -> str:
    """Return tools by group, with one line each."""
    groups: dict[str, list[str]] = {}
    for tool in known:
        line = f"- {tool.name}: {tool.description.split('. ')[0].rstrip('.')}."
        groups.setdefault(tool.group, []).append(line)
    return "\n".join(f"{group}\n" + "\n".join(lines) for group, lines in groups.items())


def schemas_text(known: Iterable[Tool]) -> str:
    """Return tools with their arguments, kinds, units and limits.

    An argument that several tools take alike is written once, before them.
    """
    shown = list(known)
    counts = Counter(_argument_text(a) for tool in shown for a in tool.arguments)
    shared: dict[str, str] = {}
    for tool in shown:
        for argument in tool.arguments:
            text = _argument_text(argument)
            if counts[text] >= _SEVERAL:
                shared.setdefault(argument.name, text)
    lines = ["Arguments of several tools:", *shared.values()] if shared else []
    return "\n".join([*lines, *(_schema_text(tool, shared) for tool in shown)])


def _argument_text(argument: Argument) -> str:
    return f"  {argument.said()}{' (required)' if argument.required else ''}"


def _schema_text(tool: Tool, shared: Mapping[str, str]) -> str:
    own = [_argument_text(a) for a in tool.arguments if shared.get(a.name) != _argument_text(a)]
    alike = [a.name for a in tool.arguments if shared.get(a.name) == _argument_text(a)]
    also = [f"  takes {', '.join(alike)}"] if alike else []
    return "\n".join([f"{tool.name}: {tool.description}", *own, *also])


def plan_text(plan: Plan) -> str:
    """Return a plan as an example: one line a step."""
    lines = (
        f"{s.id} {s.agent} {s.tool} {json.dumps(s.arguments, ensure_ascii=False)}"
        f"{' after ' + ', '.join(s.depends_on) if s.depends_on else ''}"
        for s in plan.steps
    )
    return f"{plan.question}\n" + "\n".join(lines)


def calls_text(calls: Sequence[Call]) -> str:
    """Return calls with their arguments and answers, shortened."""
    return "\n".join(
        f"{c.id} {c.tool} {json.dumps(c.arguments, ensure_ascii=False)} {c.status}: "
        f"{short_json(c.answer)}"
        for c in calls
    )


def short_json(value: Any) -> str:
    """Return an answer as one line of limited length, long lists of values cut."""
    text = json.dumps(_short(value), ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _MOST_ANSWER else f"{text[:_MOST_ANSWER]}…"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items() if item is not None}
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if not isinstance(value, list):
        return value
    if len(value) > _MOST_ITEMS and not any(isinstance(item, dict) for item in value):
        return [*map(_short, value[: _MOST_ITEMS // 2]), f"… {len(value) - _MOST_ITEMS // 2} more"]
    return [_short(item) for item in value]


def session_text(session: Session) -> str:
    """Return what a session holds already: its parts, its site, its files."""
    state = session.state
    lines = [f"holds: {', '.join(sorted(state.parts))}" if state.parts else "The session is empty."]
    site = state.get("site") if state.has("site") else None
    if site is not None and site.active is not None:
        document = site.configurations[site.active]
        lines.append(f"active configuration {site.active}: {short_json(document)}")
    paths = (path for path in session.root.iterdir() if path.name != "session")
    names = sorted(path.name for path in paths if not path.name.startswith("."))
    return "\n".join([*lines, *([f"files: {', '.join(names[:_MOST_FILES])}"] if names else [])])
