"""Choices among the rows of a table, without a time axis."""

import re
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.claims.card import Domain, domain, with_units
from engiagent.agents.offline.claims.choice_model import build
from engiagent.agents.offline.claims.naming import tabled_finder
from engiagent.agents.offline.claims.study import Opened, understand
from engiagent.agents.offline.engine import Understanding
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.language.naming import plain_label

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_MONEY: Final = frozenset({"money", "timed_money"})
_CHOOSES: Final = re.compile(
    r"(?<![a-z])(?:cho(?:ose|sen|ice)|select|pick|buy|bought|budget|carr(?:y|ied) out|which|whole"
    r"|in full|all or nothing|mutually|exclude)"
)
_NOUN: Final = re.compile(r"[A-Za-z]{3,}")


def understand_choice(problem: "Problem") -> Understanding | None:
    """Read a problem of choosing among rows; None where the text is on something else."""
    opened = Opened(problem)
    lines = [line.line for line in opened.draft.lines if not line.sentence.is_heading]
    chooses = any(_CHOOSES.search(line) for line in lines)
    if not chooses or opened.columns or opened.axis is not None or problem.data:
        return None
    tables = [table for table in problem.tables if _NOUN.fullmatch(table.names[0].strip())]
    items = [t for t in tables if any(kind_of(_unit(t, c)) in _MONEY for c in _columns(t))]
    if len(items) != 1 or len(tables) != len(problem.tables) or len(tables) > 2:
        return None
    options = [t for t in tables if t is not items[0]]
    card = _card(domain("choice"), items[0], options)
    names = {"item": _labels(items[0], card.units["item"])}
    if options:
        names["option"] = _labels(options[0], card.units["option"])
    _numbers_of_names(opened, tables)
    return understand(opened, card, names, build, timeless=True)


def _numbers_of_names(opened: Opened, tables: list[Any]) -> None:
    """Account for numbers that are part of what a row is called, as in 'Module 330 W'."""
    for quantity in opened.problem.quantities:
        spans = [row[0].span for table in tables for row in table.rows]
        if any(a <= quantity.span[0] and quantity.span[1] <= b for a, b in spans):
            entry = {"span": list(quantity.span), "quote": quantity.text,
                     "reason": "part of what the row is called"}  # fmt: skip
            opened.draft.unused.append(entry)


def _columns(table: Any) -> range:
    return range(1, len(table.names))


def _unit(table: Any, column: int) -> str:
    unit = table.units[column]
    return "" if unit is None else str(unit.text)


def _card(card: Domain, items: Any, options: list[Any]) -> Domain:
    """Return the card with what the first columns of the tables call their rows."""
    head = items.names[0].strip().lower()
    units = dict(card.units)
    units["item"] = f"{_plural(head)}|{units['item']}"
    for table in options:
        word = table.names[0].strip().lower()
        units["option"] = f"{_plural(word)}|{units['option']}"
    return with_units(card, units)


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word}|{word[:-1]}ies"
    return f"{word}(?:s|es)?"


def _labels(table: Any, nouns: str) -> dict[str, re.Pattern[str]]:
    labels = [row[0].text.strip() for row in table.rows]
    return {identifier(t): tabled_finder(plain_label(t), nouns) for t in labels}
