"""The compact page on the blueprint language that a model reads before it writes any.

Fields come from the schema, functions from the grammar, models from the formulations, so that the
page says what this version takes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from math import log
from typing import Any, Final

from engiagent.blueprint.document import schema
from engiagent.blueprint.grammar import FUNCTIONS, REDUCTIONS
from engiagent.formulations.components import MODELS
from engiagent.slots import Component

MOST_DETAILS: Final = 5
"""Models whose every slot is shown, chosen by the words of the problem."""
_RECORDS: Final = (
    ("sets", "set"),
    ("parameters", "parameter"),
    ("decision_variables", "variable"),
    ("components", "component"),
    ("expressions", "namedExpression"),
    ("objective_function", "objective"),
    ("constraints", "constraint"),
)
_LEFT_OUT: Final = ("symbol", "param_id", "expanded", "unit_override", "description")
_WORD: Final = re.compile(r"[a-z]{3,}")
_COMMON: Final = frozenset(
    [
        "and",
        "the",
        "with",
        "for",
        "its",
        "one",
        "that",
        "any",
        "has",
        "may",
        "max",
        "min",
        "out",
        "several",
        "alike",
        "power",
        "power_max",
        "seen",
        "from",
        "curve",
        "share",
        "other",
    ]
)


def syntax_values() -> dict[str, Any]:
    """Return what the page on expressions is filled with."""
    return {
        "functions": ", ".join(f"`{name}`" for name in FUNCTIONS),
        "reductions": ", ".join(f"`{name}`" for name in REDUCTIONS),
    }


@cache
def document_values() -> Mapping[str, Any]:
    """Return what the page on documents is filled with."""
    definitions = schema()["$defs"]
    categories = definitions["constraint"]["properties"]["category"]["enum"]
    return {
        "records": [(name, _fields(definitions[entry])) for name, entry in _RECORDS],
        "categories": ", ".join(f'"{name}"' for name in categories),
        "models": [_line(name, model) for name, model in MODELS.items()],
    }


def _fields(definition: Mapping[str, Any]) -> str:
    needed = definition.get("required", ())
    names = [name for name in definition["properties"] if name not in _LEFT_OUT]
    return ", ".join(f"{name}*" if name in needed else name for name in names)


def _line(name: str, model: Component) -> str:
    """Return what a model is, in short."""
    return f"{name}: {model.summary.split(';')[0]}"


def details(text: str, currency: str | None) -> list[str]:
    """Return everything that the models take whose words a text has, the likeliest first.

    Prices are in the text's currency, without one in money.
    """
    said = {word[:6] for word in _WORD.findall(text.lower())}
    words = _distinctive()
    scores = {name: sum(w for word, w in words[name].items() if word in said) for name in MODELS}
    ranked = sorted(MODELS, key=lambda name: -scores[name])
    likely = (name for name in ranked[:MOST_DETAILS] if scores[name] > 0)
    return [_detail(name, MODELS[name]).replace("EUR", currency or "money") for name in likely]


@cache
def _distinctive() -> Mapping[str, Mapping[str, float]]:
    """Return the beginnings of words that speak for each model, with how much they say."""
    words = {}
    for name, model in MODELS.items():
        said = " ".join([name.replace("_", " ") * 2, model.summary, *model.slots]).lower()
        found = (w for w in _WORD.findall(said.replace("_", " ")) if w not in _COMMON)
        words[name] = Counter(word[:6] for word in found)
    known = Counter(word for counted in words.values() for word in counted)
    total = len(words)
    return {
        name: {
            w: log(total / known[w]) * min(n, 3) / len(counted) ** 0.5 for w, n in counted.items()
        }
        for name, counted in words.items()
    }


def _detail(name: str, model: Component) -> str:
    slots = [
        f"{slot} {said.unit}{'!' if said.required else ''}" for slot, said in model.slots.items()
    ]
    parts = [
        ", ".join(slots),
        f"connections {', '.join(model.connections)}" if model.connections else "",
        f"options {', '.join(_options(model))}" if model.options else "",
        f"series {', '.join(_series(model))}",
    ]
    return f"{name}: {'; '.join(part for part in parts if part)}"


def _options(model: Component) -> Iterator[str]:
    for option, words in model.options.items():
        yield " ".join([option, *(["|".join(words)] if words else [])])


def _series(model: Component) -> Iterator[str]:
    for series, quantity in model.quantities.items():
        yield f"{series} {quantity.unit}"
