"""Prompts: what a question becomes in words, by the cards of the agents (``cards/<agent>.yaml``).

The first block of a prompt is the page on the language, the same for every problem, the second the
agent's card; both can stay in a server's cache for as long as a run goes on. Of the page, fields
come from the schema, functions from the grammar, models from the formulations, so that it says what
this version takes. The problem comes last and as data: between marks that nobody who wrote it could
know, in full but for the cells of its files, of which a model needs names, units and the first few.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import log
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.engines.exchange import Request, Turn
from engiagent.agents.engines.shortform import short_text
from engiagent.agents.engines.wire import wire_schema
from engiagent.agents.protocol import AGENTS, Fault, Instruction, Question
from engiagent.agents.verifier import formulas
from engiagent.blueprint.document import schema
from engiagent.blueprint.grammar import FUNCTIONS, REDUCTIONS
from engiagent.formulations.components import MODELS
from engiagent.io.files import packaged_yaml
from engiagent.io.jsontext import loads_strict
from engiagent.slots import Component
from engiagent.text import Problem
from engiagent.text.datafile import Column, DataFile

NAMES: Final = (*AGENTS, "coordinator")


@dataclass(frozen=True)
class Card:
    """What an agent is: its role, what it can be asked for, and what it must never do.

    ``model``, ``effort`` and ``max_tokens`` say who answers for it, how thoroughly, and at what
    length at most; ``tools`` name what its code may do.
    """

    role: str
    capabilities: tuple[str, ...]
    tools: tuple[str, ...]
    model: str
    effort: str
    max_tokens: int
    constraints: tuple[str, ...]


@cache
def cards() -> Mapping[str, Card]:
    """Return every agent's card by its name."""
    found = {}
    for name in NAMES:
        entry = packaged_yaml("engiagent.agents", f"cards/{name}.yaml")
        values: dict[str, Any] = {
            key: value.strip() if isinstance(value, str) else value for key, value in entry.items()
        }
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        found[name] = Card(**{**values, **lists})
    return found


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
    re.findall(
        r"\w+",
        "and the with for its one that any has may max min out several alike power power_max "
        "seen from curve share other",
    )
)


@cache
def document_values() -> Mapping[str, Any]:
    """Return what the pages on expressions and documents are filled with."""
    definitions = schema()["$defs"]
    categories = definitions["constraint"]["properties"]["category"]["enum"]
    return {
        "functions": ", ".join(f"`{name}`" for name in FUNCTIONS),
        "reductions": ", ".join(f"`{name}`" for name in REDUCTIONS),
        "records": [(name, _fields(definitions[entry])) for name, entry in _RECORDS],
        "categories": ", ".join(f'"{name}"' for name in categories),
        "models": [f"{name}: {model.summary.split(';')[0]}" for name, model in MODELS.items()],
    }


def _fields(definition: Mapping[str, Any]) -> str:
    needed = definition.get("required", ())
    names = [name for name in definition["properties"] if name not in _LEFT_OUT]
    return ", ".join(f"{name}*" if name in needed else name for name in names)


def details(text: str, currency: str | None) -> list[str]:
    """Return everything that the models take whose words a text has, the likeliest first.

    Prices are in the text's currency, without one in money.
    """
    text = text.lower()
    said = {word[:6] for word in _WORD.findall(text)}
    words = _distinctive()
    scores = {name: sum(w for word, w in words[name].items() if word in said) for name in MODELS}
    ranked = sorted(MODELS, key=lambda name: -scores[name])
    likely = (name for name in ranked[:MOST_DETAILS] if scores[name] > 0)
    shown = (_detail(name, MODELS[name], text) for name in likely)
    return [detail.replace("EUR", currency or "money") for detail in shown]


@cache
def _distinctive() -> Mapping[str, Mapping[str, float]]:
    """Return the beginnings of words that speak for each model, with how much they say."""
    words = {}
    for name, model in MODELS.items():
        slots = (slot for slot, known in model.slots.items() if not known.topics)
        said = " ".join([name.replace("_", " ") * 2, model.summary, *slots]).lower()
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


def _detail(name: str, model: Component, text: str) -> str:
    named = [known.topics for known in model.slots.values() if known.topics]
    silent = {
        word for words in named if not any(w.lower() in text for w in words) for word in words
    }
    given = [(slot, known) for slot, known in model.slots.items() if not silent & {*known.topics}]
    slots = [f"{slot} {known.unit}{'!' if known.required else ''}" for slot, known in given]
    options = [" ".join([o, *(["|".join(w)] if w else [])]) for o, w in model.options.items()]
    quantities = [pair for pair in model.quantities.items() if not pair[0].startswith((*silent,))]
    series = [f"{word} {quantity.unit}" for word, quantity in quantities]
    parts = [
        ", ".join(slots),
        f"connections {', '.join(model.connections)}" if model.connections else "",
        f"options {', '.join(options)}" if options else "",
        f"series {', '.join(series)}",
    ]
    return f"{name}: {'; '.join(part for part in parts if part)}"


if TYPE_CHECKING:
    from jinja2 import Environment


PAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "analyse": ("syntax.j2", "document.j2", "components.j2"),
    "repair": ("syntax.j2", "document.j2", "components.j2"),
    "second": ("syntax.j2", "document.j2", "example.j2"),
    "requirements": ("syntax.j2",),
}
"""Which pages on the language a kind of question needs."""
_DETAILED: Final = ("analyse", "requirements")
"""Kinds that are shown every slot of the likeliest models."""
MOST_FAULTS: Final = 12
MOST_LETTERS: Final = 600
"""Of one finding."""
MOST_COLUMNS: Final = 40
FIRST_ROWS: Final = 4
SHORT_FILE: Final = 12
"""Rows up to which a file is shown whole: there each row is a thing of its own, not a sample."""
MOST_CELL: Final = 40


@dataclass(frozen=True)
class Prompting:
    """Makes requests of questions; ``boundary`` is the mark around what others wrote."""

    model: str | None = None
    exemplars: Sequence[str] = ()
    boundary: str = field(default_factory=lambda: f"data-{token_hex(8)}")

    def request(self, question: Question) -> Request:
        """Return the request that a question is."""
        card = cards()[question.agent]
        shared = question.kind == "repair"
        name = "repair.j2" if shared else f"{question.agent}_{question.kind}.j2"
        text = _environment().get_template(name).render(self._values(question))
        return Request(
            label=f"{question.agent}: {question.kind}",
            model=self.model or card.model,
            effort=card.effort,
            max_tokens=card.max_tokens,
            system=self._system(question.kind, card),
            turns=(Turn("user", text),),
            schema=wire_schema(question.kind),
            boundary=self.boundary,
        )

    def _system(self, kind: str, card: Card) -> tuple[str, ...]:
        said = _environment().get_template("card.j2").render(card=card, boundary=self.boundary)
        pages = PAGES.get(kind)
        return (said,) if pages is None else (_pages(pages), said)

    def _values(self, question: Question) -> dict[str, Any]:
        board = question.board
        instruction = question.values.get("instruction") or Instruction()
        faults = tuple(question.values.get("faults") or instruction.faults)
        problem = board.problem
        text = "" if problem is None else problem.text[problem.body_start :].strip()
        currency = None if problem is None else problem.conventions.currency
        return {
            "boundary": self.boundary,
            "text": self._bare(text),
            "files": [] if problem is None else [_file(f) for f in problem.data.values()],
            "details": details(text, currency) if question.kind in _DETAILED else [],
            "exemplars": [self._bare(text) for text in self.exemplars],
            "settings": [f"{name}={value}" for name, value in board.overrides.items()],
            "instruction": Instruction(instruction.strategy, faults, instruction.lessons),
            "faults": [self._fault(fault) for fault in faults[:MOST_FAULTS]],
            "more": max(0, len(faults) - MOST_FAULTS),
            "lessons": [self._line(lesson) for lesson in instruction.lessons],
            "blueprint": self._blueprint(question.values.get("blueprint"), problem),
            "names": self._bare(names.to_text()) if (names := question.values.get("names")) else "",
            "differences": [
                [self._line(formula) for formula in formulas(item)]
                for item in question.values.get("differences") or ()
            ],
            "script": self._bare(str(question.values.get("script") or "")),
            "quantities": question.values.get("quantities") or (),
            "seconds": question.values.get("seconds") or 0.0,
            "tried": [
                f"{agent} ({signature.split(':')[0]})"
                for agent, signature in question.values.get("tried") or ()
            ],
        }

    def _blueprint(self, blueprint: Any, problem: Problem | None) -> str:
        """Return a blueprint, or a draft that is none yet, as one line."""
        if blueprint is None:
            return ""
        draft = blueprint if isinstance(blueprint, Mapping) else loads_strict(blueprint.to_json())
        return self._bare(short_text(draft, problem))

    def _fault(self, fault: Fault) -> Fault:
        return replace(
            fault,
            message=self._line(fault.message),
            place=self._line(fault.place),
            suggestion=self._line(fault.suggestion),
        )

    def _line(self, text: str) -> str:
        """Return a text as one line of limited length."""
        line = " ".join(self._bare(text).split())
        return line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 1] + "…"

    def _bare(self, text: str) -> str:
        """Return a text without the marks, were they ever in it, and without what nobody sees."""
        return "".join(_seen(char) for char in text.replace(self.boundary, ""))


def _seen(char: str) -> str:
    """Return a character as a reader sees it: any blank as a blank, nothing for what is unseen."""
    if char.isprintable() or char == "\n":
        return char
    return " " if char.isspace() else ""


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("engiagent.agents", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # a prompt is no page; what stands in it is never run
        keep_trailing_newline=False,
    )


@cache
def _pages(names: tuple[str, ...]) -> str:
    values = document_values()
    return "\n".join(_environment().get_template(name).render(values) for name in names)


def _file(file: DataFile) -> dict[str, Any]:
    """Return what a model needs to know of a data file."""
    times = ""
    if file.axis is not None:
        step = "" if file.step is None else f" every {file.step}"
        times = f", {_cell(file.times[0])} to {_cell(file.times[-1])}{step}"
    columns = list(file.columns.values())
    shown = [_column(column) for column in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        shown.append(f"and {len(columns) - MOST_COLUMNS} more columns")
    return {"name": _cell(file.name), "rows": file.rows, "times": times, "columns": shown}


def _column(column: Column) -> str:
    unit = f" [{_cell(column.unit_text)}]" if column.unit_text else ""
    shown = len(column) if len(column) <= SHORT_FILE else FIRST_ROWS
    cells = ", ".join(_cell(value) for value in column.values[:shown])
    more = ", …" if len(column) > shown else ""
    return f"{_cell(column.name)}{unit}: {cells}{more}"


def _cell(value: Any) -> str:
    """Return a name, a unit or a value as a short piece of one line, quoted where it is no word."""
    text = " ".join(str(value).split())
    text = text if len(text) <= MOST_CELL else text[: MOST_CELL - 1] + "…"
    plain = all(char.isalnum() or char in " _.:+-/%*^()°²³€$…" for char in text)
    return text if plain else json.dumps(text, ensure_ascii=True)
