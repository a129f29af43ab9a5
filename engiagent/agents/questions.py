"""The questions that agents ask, with the JSON Schemas that every answer must fit."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from engiagent.agents.protocol import (
    AGENTS,
    AgentName,
    Answer,
    Engine,
    Fault,
    Outcome,
    Question,
    Sufficiency,
)

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}


def _object(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _list(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties, *optional)}


_FREE: Final = {"type": ["object", "null"]}
_OPERATION: Final = {
    "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
    "path": _TEXT,
    "value": {},
    "from": _TEXT,
}
_SCORE: Final = _object({"score": {"type": "number", "minimum": 0, "maximum": 1}, "why": _TEXT})

SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "analyse": _object(
        {
            "sufficiency": {"enum": list(get_args(Sufficiency))},
            "missing": _list({"component": _TEXT, "quantity": _TEXT, "why": _TEXT}),
            "contradictions": _list({"quotes": _TEXTS, "why": _TEXT}),
            "not_understood": _list({"quote": _TEXT, "why": _TEXT}),
            "blueprint": _FREE,
            "notes": _TEXTS,
        }
    ),
    "script": _object({"why": _TEXT, "script": {"type": "string", "minLength": 1}}),
    "repair": _object({"why": _TEXT, "patch": _list(_OPERATION, "value", "from")}),
    "requirements": _object(
        {"requirements": _FREE, "not_expressible": _list({"quote": _TEXT, "why": _TEXT})}
    ),
    "second": _object(
        {"blueprint": _FREE, "objections": _list({"quote": _TEXT, "why": _TEXT}), "why": _TEXT}
    ),
    "differ": _object(
        {
            "differences": _list(
                {
                    "number": {"type": "integer"},
                    "right": {"enum": ["one", "two", "both", "neither"]},
                    "quote": _TEXT,
                    "why": _TEXT,
                }
            )
        }
    ),
    "evaluate": _object(dict.fromkeys(("IE", "DR", "MO", "UH"), _SCORE)),
    "diagnose": _object(
        {
            "agent": {"enum": [*AGENTS, "none"]},
            "strategy": _TEXT,
            "priority": {"enum": ["high", "medium", "low"]},
            "estimated_success": {"type": "number", "minimum": 0, "maximum": 1},
            "reasoning": _TEXT,
        }
    ),
}
"""By the kind of a question."""


def ask(engine: Engine, question: Question) -> Answer:
    """Ask an engine and hold its answer against the schema.

    Returns the answer; without a value and with the fault ``reply-malformed`` where it does not
    fit.
    """
    answer = engine.ask(question)
    if answer.value is None:
        return answer
    wrong = misfit(answer.value, question.schema)
    if wrong is None:
        return answer
    return Answer(None, answer.usage, wrong)


def unanswered(agent: AgentName, answer: Answer) -> Outcome:
    """Return the outcome of an agent whose question got no answer."""
    fault = answer.fault or Fault("engine-unreachable", "the engine gave no answer")
    return Outcome(
        agent=agent,
        status="refused" if fault.kind == "engine-refused" else "failed",
        summary=fault.message,
        faults=(fault,),
        usage=answer.usage,
    )


def misfit(value: Any, schema: Mapping[str, Any]) -> Fault | None:
    """Return why a value does not fit a schema, None where it does."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    found = best_match(Draft202012Validator(schema).iter_errors(value))
    if found is None:
        return None
    return Fault("reply-malformed", found.message[:500], found.json_path)
