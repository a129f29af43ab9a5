"""Where a plant is stated: the block in a text or the file beside it, its nodes, their places."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.text.frontmatter import Node
from engiagent.text.problem import PLANT_FILE, Problem, decode_text

_FENCE: Final = re.compile(
    r"^(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)[`~]*[ \t]*$", re.M | re.S
)
_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
INFO: Final = "yaml engiagent"
_QUOTED: Final = 10_000


@dataclass
class FormError(Exception):
    """What is wrong with a value, at which of its characters, and what was expected.

    ``node`` is where, None for the value that is being read; ``found`` is what stands there.
    """

    message: str
    at: int = 0
    expected: str | None = None
    node: Node | None = None
    found: str | None = None


class PlantError(InputError):
    """All that is wrong in a plant block, one line each; file and line are those of the first."""

    def __init__(self, errors: Iterable[InputError]) -> None:
        different = {str(error): error for error in errors}.values()  # of buildings alike
        self.errors = tuple(sorted(different, key=lambda e: (e.line or 0, e.column or 0)))
        first = self.errors[0]
        super().__init__(
            first.message, first.file, first.line, first.column, first.found, first.expected
        )

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


@dataclass
class Source:
    """A plant block with its place, and what was found wrong in it.

    ``in_text`` says whether its file is the problem's text, so that offsets are spans of the text.
    ``included`` are files that a cluster takes in, by where each begins in ``yaml``.
    """

    problem: Problem
    file: str
    yaml: str
    offset: int
    first_line: int
    in_text: bool
    errors: list[InputError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    included: dict[int, str] = field(default_factory=dict)

    @property
    def own(self) -> str:
        """The block itself, without what it includes."""
        return self.yaml[: min(self.included, default=len(self.yaml) + 1) - 1]

    def file_of(self, node: Node) -> str:
        """Return the file in which a node stands."""
        begins = [begin for begin in self.included if begin <= node.start]
        return self.included[max(begins)] if begins else self.file

    def fault(
        self,
        node: Node,
        message: str,
        expected: str | None = None,
        *,
        at: int = 0,
        found: str | None = None,
    ) -> None:
        """Record an error at a node, ``at`` characters into its text."""
        if found is None and isinstance(node.value, str):
            found = repr(node.value[:80])
        self.errors.append(self.error(node, message, expected, at=at, found=found))

    def error(
        self,
        node: Node,
        message: str,
        expected: str | None = None,
        *,
        at: int = 0,
        found: str | None = None,
    ) -> InputError:
        """Return an error at a node, ``at`` characters into its text."""
        place = self.file_of(node), node.line, self.column(node, at)
        return InputError(message, *place, found, expected)

    @contextmanager
    def recording(self, node: Node, name: str = "") -> Iterator[None]:
        """Record what is wrong with the value of a node, or in a data file that it names."""
        try:
            yield
        except FormError as fault:
            said = f"{name}: {fault.message}" if name else fault.message
            place = fault.node or node
            self.fault(place, said, fault.expected, at=fault.at, found=fault.found)
        except InputError as error:
            if str(error) not in map(str, self.errors):
                self.errors.append(error)

    def column(self, node: Node, at: int) -> int:
        """Return the column of a character of a scalar; quotes come before it."""
        raw = self.yaml[node.start : node.end]
        return node.column + (at + (raw[:1] in "\"'") if at and "\n" not in raw else 0)

    def entries(
        self, node: Node | None, what: str, known: Collection[str] = ()
    ) -> Mapping[Any, Node]:
        """Return the pairs of a mapping; anything else is an error and gives none.

        Where keys are ``known`` any other one is an error too.
        """
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            self.fault(node, f"{what} is no mapping", "lines of 'name: value'")
            return {}
        for key in node.value if known else ():
            if key not in known:
                self.fault(key.node, f"unknown key in {what}", nearest(key, known))
        return node.value

    def text(self, node: Node | None, what: str) -> str | None:
        """Return a scalar's text; None without one, which is an error unless it is absent."""
        if node is None:
            return None
        if not node.is_text or not node.value.strip():
            found = "nothing" if node.is_text else "a list or a mapping"
            self.fault(node, f"{what} is no text", "one value", found=found)
            return None
        return str(node.value).strip()

    def aside(self, reference: Mapping[str, Any], reason: str) -> list[dict[str, Any]]:
        """Return a place of the text that states nothing of the plan, none where it is no text."""
        place = {key: reference[key] for key in ("span", "quote") if key in reference}
        return [place | {"reason": reason}] if self.in_text and place else []

    def reference(self, node: Node) -> dict[str, Any]:
        """Return the source reference of a node: its span, or its line in the file."""
        quote = self.yaml[node.start : node.end].rstrip()
        file = self.file_of(node)
        if self.in_text and file == self.file:
            begin = self.offset + node.start
            return {"kind": "text", "span": [begin, begin + len(quote)], "quote": quote}
        return {"kind": "file", "file": file, "row": node.line, "quote": quote}

    def silent(self) -> list[dict[str, Any]]:
        """Return what of the text states nothing: the prose beside the block, and its comments."""
        prose = "prose beside the plant block, which states the problem"
        begin, end = self.problem.body_start, len(self.problem.text)
        spans = [(begin, end, prose)]
        if self.in_text:
            after = self.offset + len(self.own)
            spans = [(begin, self.offset, prose), (after, end, prose)]
            spans += [
                (self.offset + m.start(), self.offset + m.end(), "a comment")
                for m in _COMMENT.finditer(self.own)
            ]
        parts = [
            (at, min(at + _QUOTED, b), why) for a, b, why in spans for at in range(a, b, _QUOTED)
        ]
        text, found = self.problem.text, []
        for begin, end, why in parts:
            if quote := text[begin:end].strip():
                at = text.index(quote, begin)
                found.append({"span": [at, at + len(quote)], "quote": quote, "reason": why})
        return found


def find_source(problem: Problem) -> Source | None:
    """Return the plant block of a problem: in its text, else in ``plant.yaml`` beside it."""
    text, file = problem.text, problem.path.name
    if problem.path.suffix.lower() in (".yaml", ".yml"):
        return Source(problem, file, text, 0, 1, True)
    blocks = [m for m in _FENCE.finditer(text) if m["info"].split() == INFO.split()]
    if len(blocks) > 1:
        line = text.count("\n", 0, blocks[1].start()) + 1
        raise InputError("a second plant block", file, line, 1, expected="one block in a problem")
    if blocks:
        start = blocks[0].start("body")
        line = text.count("\n", 0, start) + 1
        return Source(problem, file, blocks[0]["body"], start, line, True)
    if problem.path.name == "problem.md" and (problem.folder / PLANT_FILE).is_file():
        beside = decode_text(open_inside(problem.folder, PLANT_FILE), PLANT_FILE)
        return Source(problem, PLANT_FILE, beside, 0, 1, False)
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what was expected of a name: the nearest one, else all of them."""
    names = list(known)
    content = ("state_of_charge", "energy")  # of a store, by its model one or the other
    close = [n for n in content if name in content and n in names]
    alike = [n for n in names if n.endswith(name[name.rfind("_") :])]  # for x_max one with _max
    close = close or difflib.get_close_matches(name, alike, 1, 0.5)
    close = close or difflib.get_close_matches(name, names, 1, 0.6)
    if not close:  # the beginning or the end of a longer name
        close = [n for n in names if n.startswith(name) or n.endswith(name)][:1]
    return f"{close[0]!r}" if close else f"one of {', '.join(names) or 'none'}"
