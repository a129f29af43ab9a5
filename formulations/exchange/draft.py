"""A blueprint in the making: sets, parameters and constraints under names that are unique."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from engiagent.blueprint.grammar import FUNCTIONS, REDUCTIONS
from engiagent.formulations.exchange.families import BAD, Domain
from engiagent.formulations.exchange.model import number
from engiagent.formulations.exchange.names import unused
from engiagent.formulations.values import Floats, Ints

Json = dict[str, Any]

MAX_LETTERS: Final = 24
MAX_PIECES: Final = 40
MAX_TEXT: Final = 3000
_LETTERS: Final = tuple("ijklmnpqrsuvwxyz")


def identifier(text: str, longest: int = 60) -> str:
    """Return a text as a name of the language."""
    name = BAD.sub("_", text).strip("_")[:longest]
    if not name or not name[0].isalpha():
        name = f"n_{name}".rstrip("_")
    reserved = iskeyword(name) or name in FUNCTIONS or name in REDUCTIONS
    return f"{name}_" if reserved else name


@dataclass(frozen=True, eq=False)
class Index:
    """The elements over which a variable, a parameter or a constraint runs.

    ``sets`` has one name for each part of an element, or one of a set of tuples, ``parts`` the sets
    of the single parts; ``places`` (n, parts) says where those of each element stand in
    ``domains``, ``letters`` how they are called, ``line`` where in the file it begins.
    """

    sets: tuple[str, ...]
    parts: tuple[str, ...]
    domains: tuple[Domain, ...]
    places: Ints
    letters: tuple[str, ...]
    line: int

    @property
    def is_tuples(self) -> bool:
        """Whether the elements are listed tuples."""
        return len(self.parts) > 1 and len(self.sets) == 1

    def binders(self) -> list[str]:
        """Return the binders, as ``i in N``."""
        if self.is_tuples:
            return [f"({', '.join(self.letters)}) in {self.sets[0]}"]
        return [f"{name} in {group}" for name, group in zip(self.letters, self.sets, strict=True)]

    def elements(self) -> list[list[tuple[str | int, ...]]]:
        """Return the elements of each set, as tuples of labels."""
        columns = zip(self.domains, self.places.T.tolist(), strict=True)
        labels = [[domain.labels[k] for k in column] for domain, column in columns]
        if self.is_tuples:
            return [list(zip(*labels, strict=True))]
        return [[(label,) for label in dict.fromkeys(column)] for column in labels]


class Draft:
    """What has been declared so far; ``names`` are taken from the start."""

    def __init__(self, file: str, names: Iterable[str]) -> None:
        self.file = file
        self.taken = set(names)
        more = (f"{x}{k}" for k in range(1, 10) for x in _LETTERS)
        self.letters = tuple(x for x in (*_LETTERS, *more) if x not in self.taken)[:MAX_LETTERS]
        self.taken |= set(self.letters)
        self.sets: dict[object, Json] = {}
        self.parameters: list[Json] = []
        self.expressions: list[Json] = []
        self.constraints: dict[str, Json] = {}

    def name(self, wanted: str) -> str:
        """Return a name that nothing has yet."""
        chosen = unused(identifier(wanted), self.taken, "_")
        self.taken.add(chosen)
        return chosen

    def source(self, line: int) -> Json:
        """Return where in the file something stands."""
        return {"kind": "file", "file": self.file, "row": line}

    # -- sets -----------------------------------------------------------------------------------

    def _set(self, key: object, wanted: str, content: Json) -> str:
        if key not in self.sets:
            self.sets[key] = {"name": self.name(wanted), **content}
        return str(self.sets[key]["name"])

    def domain_set(self, domain: Domain, wanted: str = "") -> str:
        """Return the name of the set of a whole domain."""
        labels = domain.labels
        usual = "N" if isinstance(labels[0], int) else "L"
        content: Json = {"kind": "labels", "elements": labels}
        if domain.is_range:
            content = {"kind": "range", "start": labels[0], "stop": labels[-1]}
        return self._set(domain, wanted or usual, content)

    def _part(self, domain: Domain, places: Ints, wanted: str) -> str:
        parent = self.domain_set(domain)
        if len(places) == len(domain.labels):
            return parent
        elements = [domain.labels[k] for k in places.tolist()]
        content = {"kind": "subset", "of": parent, "elements": elements}
        return self._set((domain, places.tobytes()), f"{parent}_{wanted}", content)

    def index(
        self, domains: Sequence[Domain], places: Ints, wanted: str, line: int, first: int = 0
    ) -> Index:
        """Return the index over distinct, sorted elements; ``first`` is its first letter."""
        distinct = [np.unique(column) for column in places.T]
        pairs = zip(domains, distinct, strict=True)
        parts = tuple(self._part(domain, part, wanted) for domain, part in pairs)
        letters = self.letters[first : first + len(parts)]
        grid = Index(parts, parts, tuple(domains), places, letters, line)
        if math.prod(map(len, distinct)) == len(places):
            return grid
        listed = replace(grid, sets=("",))
        elements = [list(element) for element in listed.elements()[0]]
        content = {"kind": "tuples", "of": list(parts), "elements": elements}
        return replace(grid, sets=(self._set((parts, places.tobytes()), f"A_{wanted}", content),))

    # -- parameters -----------------------------------------------------------------------------

    def table(self, wanted: str, over: Sequence[Index], values: Sequence[Any]) -> str:
        """Declare a parameter by values in the order of its elements; return its element."""
        name = self.name(wanted)
        elements = [part for index in over for part in index.elements()]
        entry: Json = {"name": name, "index": [s for index in over for s in index.sets]}
        source = self.source(over[0].line)
        entry |= {"value": _nested(list(values), elements), "source_reference": source}
        self.parameters.append(entry)
        return indexed(name, [letter for index in over for letter in index.letters])

    def factor(self, wanted: str, over: Sequence[Index], values: Floats) -> str:
        """Return an expression for values over some indices: a number when all are the same."""
        if np.all(values == values[0]):
            return number(float(values[0]))
        return self.table(wanted, over, values.tolist())

    # -- expressions ----------------------------------------------------------------------------

    def total(self, pieces: Sequence[str], wanted: str, index: Index) -> str:
        """Return a sum of pieces; one too long for an expression is cut into named parts."""
        text = joined(pieces)
        if len(pieces) <= MAX_PIECES and len(text) <= MAX_TEXT:
            return text
        parts: list[list[str]] = [[]]
        for piece in pieces:
            full = len(parts[-1]) == MAX_PIECES or len(joined([*parts[-1], piece])) > MAX_TEXT
            if parts[-1] and full:
                parts.append([])
            parts[-1].append(piece)
        references = []
        for count, part in enumerate(parts, 1):
            name = self.name(f"{wanted}_part_{count}")
            over = {"index": index.binders()} if index.parts else {}
            self.expressions.append({"name": name, **over, "expression": joined(part)})
            references.append(indexed(name, index.letters))
        return self.total(references, wanted, index)

    def add(self, wanted: str, name: str, index: Index, expression: str) -> None:
        """Add a constraint under an id that no other has."""
        chosen = unused(identifier(wanted, 100), self.constraints, "_")
        over = {"forall": index.binders()} if index.parts else {}
        entry = {"constraint_id": chosen, "name": name, **over, "expression": expression}
        self.constraints[chosen] = entry | {"source_reference": self.source(index.line)}


def indexed(name: str, inside: Sequence[str]) -> str:
    """Return a name with its index.

    >>> indexed("x", ["i", "3"]), indexed("total", [])
    ('x[i, 3]', 'total')
    """
    return f"{name}[{', '.join(inside)}]" if inside else name


def scaled(value: float | str, text: str) -> str:
    """Return a factor and what it multiplies.

    >>> scaled(1.0, "x"), scaled(-1.0, "x"), scaled(2.5, "x"), scaled("a[i]", "x[i]")
    ('x', '-x', '2.5*x', 'a[i]*x[i]')
    """
    factor = value if isinstance(value, str) else number(value)
    if factor in ("1", "-1"):
        return f"{factor[:-1]}{text}"
    return f"{factor}*{text}"


def joined(pieces: Iterable[str]) -> str:
    """Return a sum, with a minus in place of plus minus."""
    text = "".join(f" - {p[1:]}" if p.startswith("-") else f" + {p}" for p in pieces)
    return f"-{text[3:]}" if text.startswith(" -") else text[3:] or "0"


def _nested(values: list[Any], elements: Sequence[Sequence[tuple[str | int, ...]]]) -> Any:
    """Return values as a blueprint nests them: a list for the last set, objects for the others."""
    if len(elements) == 1:
        return values
    result: Json = {}
    size = len(values) // len(elements[0])
    for k, labels in enumerate(elements[0]):
        target = result
        for label in labels[:-1]:
            target = target.setdefault(str(label), {})
        target[str(labels[-1])] = _nested(values[k * size : (k + 1) * size], elements[1:])
    return result
