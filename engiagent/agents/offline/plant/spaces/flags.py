"""Columns of 0 and 1 that say when something is the case: 'whether it is staffed (1) or not'."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from engiagent.agents.offline.draft import Draft, Value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.plant.language.reading import plain_text

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_WHETHER: Final = re.compile(
    r"(?:and )?whether (?P<what>(?:[a-z'-]+ ){1,9}?)\( ?<number#(?P<yes>\d+)> ?\) or"
    r" (?:not|[a-z]+) \( ?<number#(?P<no>\d+)> ?\)"
)


def take_flags(
    problem: "Problem", draft: Draft, columns: Sequence[Column]
) -> tuple[dict[str, Value], list[Column]]:
    """Return the columns that say yes and no, by their names, and the other columns.

    The text has to say that 1 is yes and 0 is no.
    """
    found: dict[str, Value] = {}
    rest: list[Column] = []
    for column in columns:
        name = plain_text(column.name)
        place = _said(draft, name) if not column.unit and re.fullmatch(r"[a-z]+", name) else None
        if place is None or not _binary(problem, column) or name in found:
            rest.append(column)
            continue
        n, match = place
        line = draft.lines[n]
        draft.take(n, list(line.covered(*match.span())))
        for token in (line.tokens[int(match["yes"])], line.tokens[int(match["no"])]):
            draft.unused.append({"span": list(token.span), "quote": token.text,
                                 "reason": "says what the column holds"})  # fmt: skip
        found[name] = Value("1", column.source, numbers=column.numbers, data=column.data)
    return found, rest


def _said(draft: Draft, name: str) -> tuple[int, re.Match[str]] | None:
    """Return where the text says that 1 in a column is yes and 0 is no."""
    for n, line in enumerate(draft.lines):
        for match in _WHETHER.finditer(line.line):
            amounts = [line.tokens[int(match[k])].amount for k in ("yes", "no")]
            values = [a.value for a in amounts if a is not None]
            if name in match["what"].split() and values == [1.0, 0.0]:
                return n, match
    return None


def _binary(problem: "Problem", column: Column) -> bool:
    if column.data is not None:
        file, head = column.data.split("#", 1)
        values = np.asarray(problem.data[file].column(head).numbers(), dtype=float)
    else:
        values = np.asarray(column.numbers or (), dtype=float)
    return values.size > 0 and bool(np.all((values == 0) | (values == 1)))
