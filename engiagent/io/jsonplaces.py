"""Where the values of a JSON text stand: from a JSON path to a line and a column."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

Step = str | int

_BLANK: Final = re.compile(r"[ \t\n\r]*")
# A list or an object without anything nested in it and without a text: a series of numbers.
_PLAIN_LIST: Final = re.compile(r'\[[^\[\]{}"]*\]')
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|.)"
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
        _scan(self.text, _blank(self.text, 1 if self.text.startswith("\ufeff") else 0), (), found)
        return found

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def nearest(self, path: Sequence[Step]) -> tuple[Step, ...]:
        """Return the longest beginning of a path that is in the text."""
        steps = tuple(path)
        while steps and steps not in self.spans:
            steps = steps[:-1]
        return steps

    def region(self, path: Sequence[Step], column: int | None = None) -> Region:
        """Return where a value stands, or where the nearest value around it begins.

        ``column`` counts from 1 in the decoded text of a string and picks one character of it.
        """
        steps = self.nearest(path)
        start, end = self.spans[steps]
        if len(steps) < len(tuple(path)):
            end = start + 1
        elif column is not None and self.text[start] == '"':
            start = _inside_string(self.text, start, end, column)
            end = start + 1
        return self.between(start, end)

    def between(self, start: int, end: int) -> Region:
        """Return the region of a half-open span of characters."""
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

    Examples
    --------
    >>> path_steps("constraints[3].expression")
    ('constraints', 3, 'expression')
    """
    return tuple(_steps(path))


def _steps(path: str) -> Iterator[Step]:
    for match in _STEP.finditer(path):
        yield match[1] if match[1] is not None else int(match[2])


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _string_end(text: str, at: int) -> int:
    match = _STRING.match(text, at)
    return match.end() if match else len(text)


def _scan(
    text: str, at: int, path: tuple[Step, ...], found: dict[tuple[Step, ...], tuple[int, int]]
) -> int:
    """Note the span of the value that begins at ``at`` and of all inside it; return its end."""
    char = text[at]
    if char == '"':
        end = _string_end(text, at)
    elif char == "{":
        end = _scan_object(text, at + 1, path, found)
    elif char == "[":
        plain = _PLAIN_LIST.match(text, at)
        end = plain.end() if plain else _scan_list(text, at + 1, path, found)
    else:
        match = _SCALAR.match(text, at)
        end = match.end() if match else at + 1
    found[path] = (at, end)
    return end


def _scan_object(
    text: str, at: int, path: tuple[Step, ...], found: dict[tuple[Step, ...], tuple[int, int]]
) -> int:
    at = _blank(text, at)
    while text[at] != "}":
        end = _string_end(text, at)
        key = json.loads(text[at:end])
        at = _blank(text, _blank(text, end) + 1)  # over the colon
        at = _blank(text, _scan(text, at, (*path, key), found))
        if text[at] == ",":
            at = _blank(text, at + 1)
    return at + 1


def _scan_list(
    text: str, at: int, path: tuple[Step, ...], found: dict[tuple[Step, ...], tuple[int, int]]
) -> int:
    at, position = _blank(text, at), 0
    while text[at] != "]":
        at = _blank(text, _scan(text, at, (*path, position), found))
        position += 1
        if text[at] == ",":
            at = _blank(text, at + 1)
    return at + 1


def _inside_string(text: str, start: int, end: int, column: int) -> int:
    """Return where the character ``column`` of a decoded string stands, at most its closing mark.

    A character may be written as an escape of two, six or twelve characters.
    """
    at = start + 1
    for _ in range(column - 1):
        if at >= end - 1:
            break
        match = _ESCAPE.match(text, at)
        at = match.end() if match else at + 1
    return min(at, end - 1)
