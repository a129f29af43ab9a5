"""Where the values of a JSON text stand: from a JSON path to a line and a column."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

Step = str | int

_STRING: Final = r'"(?:[^"\\]|\\.)*+"'
# A list without anything nested in it and without a text is one token: a series of numbers.
_TOKEN: Final = re.compile(
    rf"[\s:\ufeff]*(?:(?P<key>{_STRING}(?=\s*:))|(?P<comma>,)|(?P<close>[}}\]])"
    rf'|(?P<value>\[[^\[\]{{}}"]*\]|{_STRING}|[^\s,:\[\]{{}}]+)|(?P<open>[{{\[]))',
    re.DOTALL,
)
_CHARACTER: Final = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[0-9a-fA-F]{4}|.)|[^\\]", re.DOTALL
)
_STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True)
class Region:
    """A stretch of a text; lines and columns count from 1, the end column lies behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class JsonPlaces:
    """The places of all values of a JSON text that was read without an error.

    Values inside lists of plain numbers are not told apart; they stand where their list does.
    """

    text: str

    @cached_property
    def spans(self) -> dict[tuple[Step, ...], tuple[int, int]]:
        """The half-open character span of every value, by its path."""
        found: dict[tuple[Step, ...], tuple[int, int]] = {}
        path: list[Step] = []
        begun: list[int] = []
        for match in _TOKEN.finditer(self.text):
            kind = str(match.lastgroup)
            start, end = match.span(kind)
            if kind == "key":
                path[-1] = json.loads(match[kind])
            elif kind == "comma" and isinstance(path[-1], int):
                path[-1] += 1
            elif kind == "open":
                path.append(0 if match[kind] == "[" else "")
                begun.append(start)
            elif kind == "close":
                path.pop()
                found[tuple(path)] = (begun.pop(), end)
            elif kind == "value":
                found[tuple(path)] = (start, end)
        return found

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def region(self, path: Sequence[Step], column: int | None = None) -> Region:
        """Return where a value stands, or where the nearest value around it begins.

        ``column`` counts from 1 in the decoded text of a string and picks one character of it.
        """
        steps = tuple(path)
        while steps and steps not in self.spans:
            steps = steps[:-1]
        start, end = self.spans[steps]
        if len(steps) < len(tuple(path)):
            end = start + 1
        elif column is not None and self.text[start] == '"':
            inside = [m.start() for m in _CHARACTER.finditer(self.text, start + 1, end - 1)]
            start = inside[column - 1] if column <= len(inside) else end - 1
            end = start + 1
        return Region(*self._place(start), *self._place(end))

    def line_text(self, line: int) -> str:
        """Return a line, counted from 1, without its end."""
        starts = self._line_starts
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end]

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1


def path_steps(path: str) -> tuple[Step, ...]:
    """Return the steps of a path such as ``core_model_elements.constraints[3].expression``.

    >>> path_steps("constraints[3].expression")
    ('constraints', 3, 'expression')
    """
    return tuple(match[1] or int(match[2]) for match in _STEP.finditer(path))
