"""A blueprint in the making: sets, parameters and constraints under names that are unique."""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from engiagent.blueprint.grammar import FUNCTIONS, REDUCTIONS
from engiagent.formulations.exchange.families import BAD, Domain
from engiagent.formulations.exchange.model import number
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


def unused(wanted: str, taken: Container[str]) -> str:
    """Return a name that is not taken, as much like the one that is wanted as can be."""
    chosen, count = wanted, 2
    while chosen in taken:
        chosen, count = f"{wanted}_{count}", count + 1
    return chosen


@dataclass(frozen=True, eq=False)
class Index:
    """The elements over which a variable, a parameter or a constraint runs.

    Attributes
    ----------
    sets
        Names of the sets: one for each part of an element, or one set of tuples.
    parts
        Names of the sets of the single parts.
    domains, places
        The domains of the parts, and where those of each element stand in them, (n, parts).
    """

    sets: tuple[str, ...]
    parts: tuple[str, ...]
    domains: tuple[Domain, ...]
    places: Ints

    @property
    def is_tuples(self) -> bool:
        """Whether the elements are listed tuples."""
        return len(self.parts) > 1 and len(self.sets) == 1

    def binders(self, names: Sequence[str]) -> list[str]:
        """Return the binders with a name for each part."""
        if self.is_tuples:
            return [f"({', '.join(names)}) in {self.sets[0]}"]
        return [f"{name} in {group}" for name, group in zip(names, self.sets, strict=True)]

    def elements(self) -> list[list[tuple[str | int, ...]]]:
        """Return the elements of each set, as tuples of labels."""
        if self.is_tuples:
            columns = zip(self.domains, self.places.T.tolist(), strict=True)
            return [list(zip(*([d.labels[k] for k in c] for d, c in columns), strict=True))]
        columns = zip(self.domains, self.places.T, strict=True)
        return [[(d.labels[k],) for k in np.unique(c).tolist()] for d, c in columns]


class Draft:
    """What has been declared so far; ``names`` are taken from the start."""

    def __init__(self, file: str, names: Iterable[str]) -> None:
        self.file = file
        self.taken = set(names)
        more = (f"{x}{k}" for k in range(1, 10) for x in _LETTERS)
        self.letters = tuple(x for x in (*_LETTERS, *more) if x not in self.taken)[:MAX_LETTERS]
        self.taken |= set(self.letters)
        self.sets: list[Json] = []
        self.parameters: list[Json] = []
        self.expressions: list[Json] = []
        self.constraints: dict[str, Json] = {}
        self._set_names: dict[object, str] = {}

    def name(self, wanted: str) -> str:
        """Return a name that nothing has yet."""
        chosen = unused(identifier(wanted), self.taken)
        self.taken.add(chosen)
        return chosen

    def source(self, line: int) -> Json:
        """Return where in the file something stands."""
        return {"kind": "file", "file": self.file, "row": line}

    # -- sets -----------------------------------------------------------------------------------

    def _set(self, key: object, wanted: str, content: Callable[[], Json]) -> str:
        if key not in self._set_names:
            name = self._set_names[key] = self.name(wanted)
            self.sets.append({"name": name, **content()})
        return self._set_names[key]

    def domain_set(self, domain: Domain, wanted: str = "") -> str:
        """Return the name of the set of a whole domain."""
        labels = domain.labels
        usual = "N" if isinstance(labels[0], int) else "T" if _are_times(labels) else "L"
        content: Json = {"kind": "labels", "elements": labels}
        if domain.is_range:
            content = {"kind": "range", "start": labels[0], "stop": labels[-1]}
        return self._set(domain, wanted or usual, lambda: content)

    def _part(self, domain: Domain, places: Ints, wanted: str) -> str:
        parent, labels = self.domain_set(domain), domain.labels
        if len(places) == len(labels):
            return parent
        content = {"kind": "subset", "of": parent, "elements": [labels[k] for k in places.tolist()]}
        return self._set((domain, places.tobytes()), f"{parent}_{wanted}", lambda: content)

    def index(self, domains: Sequence[Domain], places: Ints, wanted: str) -> Index:
        """Return the index over distinct, sorted elements: a grid where they fill one."""
        distinct = [np.unique(column) for column in places.T]
        pairs = zip(domains, distinct, strict=True)
        parts = tuple(self._part(domain, part, wanted) for domain, part in pairs)
        sets, size = parts, 1
        for part in distinct:
            size *= len(part)
        if size != len(places):
            listed = Index(("",), parts, tuple(domains), places)

            def content() -> Json:
                elements = [list(element) for element in listed.elements()[0]]
                return {"kind": "tuples", "of": list(parts), "elements": elements}

            sets = (self._set((parts, places.tobytes()), f"A_{wanted}", content),)
        return Index(sets, parts, tuple(domains), places)

    # -- parameters -----------------------------------------------------------------------------

    def table(
        self,
        wanted: str,
        indices: Sequence[Index],
        values: Sequence[Any],
        line: int,
        element_of: str = "",
    ) -> str:
        """Declare a parameter over some indices, by values in the order of their elements."""
        name = self.name(wanted)
        elements = [part for index in indices for part in index.elements()]
        entry: Json = {"name": name, "index": [s for index in indices for s in index.sets]}
        if element_of:
            entry["type"] = f"element of {element_of}"
        entry |= {"value": _nested(list(values), elements), "source_reference": self.source(line)}
        self.parameters.append(entry)
        return name

    def factor(
        self, wanted: str, index: Index, names: Sequence[str], values: Floats, line: int
    ) -> str:
        """Return an expression for values over one index: a number when all are the same."""
        if np.all(values == values[0]):
            return number(float(values[0]))
        return f"{self.table(wanted, [index], values.tolist(), line)}[{', '.join(names)}]"

    # -- expressions ----------------------------------------------------------------------------

    def total(
        self, pieces: Sequence[str], wanted: str, binders: Sequence[str], names: Sequence[str]
    ) -> str:
        """Return a sum of pieces; one too long for an expression is cut into named parts."""
        text = joined(pieces)
        if len(pieces) <= MAX_PIECES and len(text) <= MAX_TEXT:
            return text
        references: list[str] = []
        while pieces:
            count = min(len(pieces), MAX_PIECES)
            while count > 1 and len(joined(pieces[:count])) > MAX_TEXT:
                count -= 1
            name = self.name(f"{wanted}_part_{len(references) + 1}")
            over = {"index": list(binders)} if binders else {}
            self.expressions.append({"name": name, **over, "expression": joined(pieces[:count])})
            references.append(f"{name}[{', '.join(names)}]" if names else name)
            pieces = pieces[count:]
        return self.total(references, wanted, binders, names)

    def add(
        self, wanted: str, name: str, binders: Sequence[str], expression: str, line: int
    ) -> None:
        """Add a constraint under an id that no other has."""
        chosen = unused(identifier(wanted, 100), self.constraints)
        over = {"forall": list(binders)} if binders else {}
        entry = {"constraint_id": chosen, "name": name, **over, "expression": expression}
        self.constraints[chosen] = entry | {"source_reference": self.source(line)}


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


def _are_times(labels: Sequence[object]) -> bool:
    return all(isinstance(x, str) and re.match(r"\d{4}[-_]\d\d[-_]\d\d", x) for x in labels)
