"""Sets, parameters and names of a blueprint in the making."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from keyword import iskeyword
from typing import Any, Final

from engiagent.blueprint.grammar import FUNCTIONS, REDUCTIONS
from engiagent.formulations.exchange.families import Domains, Labels, Root, whole
from engiagent.formulations.exchange.model import number

Json = dict[str, Any]

MAX_LETTERS: Final = 24
_LETTERS: Final = tuple("ijklmnpqrsuvwxyz")
_BAD = re.compile(r"[^A-Za-z0-9]+")
_PLAIN_LABEL = re.compile(r"[ !#-\[\]-~]+")


def identifier(text: str, longest: int = 60) -> str:
    """Return a text as a name of the language."""
    name = _BAD.sub("_", text).strip("_")[:longest]
    if not name or not name[0].isalpha():
        name = f"n_{name}".rstrip("_")
    reserved = iskeyword(name) or name in FUNCTIONS or name in REDUCTIONS
    return f"{name}_" if reserved else name


@dataclass(frozen=True)
class Index:
    """The elements over which a variable, a parameter or a constraint runs.

    Attributes
    ----------
    roots
        The domain of each part of an element.
    sets
        Names of the sets: one for each part, or one set of tuples.
    elements
        The elements in the order of the sets.
    parts
        Names of the sets of the single parts.
    """

    roots: tuple[Root, ...]
    sets: tuple[str, ...]
    elements: tuple[Labels, ...]
    parts: tuple[str, ...]

    @property
    def is_tuples(self) -> bool:
        """Whether the elements are listed tuples."""
        return len(self.roots) > 1 and len(self.sets) == 1

    def binders(self, names: Sequence[str]) -> list[str]:
        """Return the binders with a name for each part."""
        if self.is_tuples:
            return [f"({', '.join(names)}) in {self.sets[0]}"]
        return [f"{name} in {group}" for name, group in zip(names, self.sets, strict=True)]


class Parts:
    """The sets and parameters declared so far, under names that are unique."""

    def __init__(self, domains: Domains, file: str, names: Iterable[str]) -> None:
        self.domains = domains
        self.file = file
        self.taken: set[str] = set(names)
        more = (f"{x}{k}" for k in range(1, 10) for x in _LETTERS)
        self.letters = tuple(x for x in (*_LETTERS, *more) if x not in self.taken)[:MAX_LETTERS]
        self.taken |= set(self.letters)
        self.sets: list[Json] = []
        self.parameters: list[Json] = []
        self._roots: dict[Root, str] = {}
        self._subsets: dict[object, str] = {}
        self._literals: dict[Root, dict[str, str | int]] = {}

    def name(self, wanted: str) -> str:
        """Return a name that nothing has yet."""
        base = identifier(wanted)
        chosen, count = base, 2
        while chosen in self.taken:
            chosen, count = f"{base}_{count}", count + 1
        self.taken.add(chosen)
        return chosen

    def source(self, line: int) -> Json:
        """Return where in the file something stands."""
        return {"kind": "file", "file": self.file, "row": line}

    # -- sets -----------------------------------------------------------------------------------

    def literals(self, root: Root) -> dict[str, str | int]:
        """Return the labels of a domain as the blueprint has them."""
        if root not in self._literals:
            labels = self.domains.labels[root]
            if whole(labels):
                self._literals[root] = {label: int(label) for label in labels}
            else:
                self._literals[root] = _safe_labels(labels)
        return self._literals[root]

    def literal(self, root: Root, label: str) -> str:
        """Return a label as an index of an expression."""
        value = self.literals(root)[label]
        return str(value) if isinstance(value, int) else f'"{value}"'

    def root_set(self, root: Root) -> str:
        """Return the name of the set of a whole domain."""
        if root not in self._roots:
            values = list(self.literals(root).values())
            wanted = "N" if isinstance(values[0], int) else "L"
            name = self.name("T" if _looks_like_time(values) else wanted)
            self._roots[root] = name
            first, last = values[0], values[-1]
            if isinstance(first, int) and isinstance(last, int) and last - first + 1 == len(values):
                self.sets.append({"name": name, "kind": "range", "start": first, "stop": last})
            else:
                self.sets.append({"name": name, "kind": "labels", "elements": values})
        return self._roots[root]

    def set_of(self, root: Root, labels: Iterable[str], wanted: str) -> str:
        """Return the name of the set of some labels of a domain."""
        place = self.domains.place[root]
        ordered = tuple(sorted(set(labels), key=place.__getitem__))
        parent = self.root_set(root)
        if len(ordered) == len(place):
            return parent
        key = (root, ordered)
        if key not in self._subsets:
            name = self._subsets[key] = self.name(f"{parent}_{wanted}")
            literals = self.literals(root)
            elements = [literals[label] for label in ordered]
            self.sets.append({"name": name, "kind": "subset", "of": parent, "elements": elements})
        return self._subsets[key]

    def index(self, roots: Sequence[Root], labels: Sequence[Labels], wanted: str) -> Index:
        """Return the index over distinct elements: a grid where they fill one, else tuples."""
        places = [self.domains.place[root] for root in roots]
        distinct = [
            sorted({x[q] for x in labels}, key=place.__getitem__) for q, place in enumerate(places)
        ]
        columns = zip(roots, distinct, strict=True)
        parts = tuple(self.set_of(root, column, wanted) for root, column in columns)
        size = 1
        for column in distinct:
            size *= len(column)
        if size == len(labels):
            return Index(tuple(roots), parts, tuple(product(*distinct)), parts)
        ordered = tuple(
            sorted(labels, key=lambda x: [p[label] for p, label in zip(places, x, strict=True)])
        )
        key = (parts, ordered)
        if key not in self._subsets:
            name = self._subsets[key] = self.name(f"A_{wanted}")
            tables = [self.literals(root) for root in roots]
            elements = [[t[x] for t, x in zip(tables, element, strict=True)] for element in ordered]
            self.sets.append(
                {"name": name, "kind": "tuples", "of": list(parts), "elements": elements}
            )
        return Index(tuple(roots), (self._subsets[key],), ordered, parts)

    # -- parameters -----------------------------------------------------------------------------

    def parameter(
        self, wanted: str, indices: Sequence[Index], values: Mapping[Labels, Any], line: int
    ) -> str:
        """Declare a table over some indices, keyed by their labels one behind the other."""
        name = self.name(wanted)
        roots = [root for index in indices for root in index.roots]
        tables = [self.literals(root) for root in roots]
        entry: Json = {"name": name, "index": [group for index in indices for group in index.sets]}
        if len(roots) == 1:
            entry["value"] = [values[element] for element in indices[0].elements]
        else:
            keys = [()]
            for index in indices:
                keys = [(*key, *element) for key in keys for element in index.elements]  # type: ignore[misc]
            entry["value"] = _nested(keys, values, tables)
        entry["source_reference"] = self.source(line)
        self.parameters.append(entry)
        return name

    def values(
        self,
        wanted: str,
        index: Index,
        names: Sequence[str],
        values: Mapping[Labels, float],
        line: int,
    ) -> str:
        """Return an expression for values over one index: a number when all are the same."""
        distinct = set(values.values())
        if len(distinct) == 1:
            return number(distinct.pop())
        name = self.parameter(wanted, [index], values, line)
        return f"{name}[{', '.join(names)}]"


def _nested(keys: list[Any], values: Mapping[Labels, Any], tables: list[dict[str, Any]]) -> Json:
    result: Json = {}
    for key in keys:
        target = result
        for table, label in zip(tables[:-1], key[:-1], strict=True):
            target = target.setdefault(str(table[label]), {})
        target[str(tables[-1][key[-1]])] = values[key]
    return result


def _safe_labels(labels: Iterable[str]) -> dict[str, str | int]:
    """Return labels that can stand in quotes in an expression, unique as the given ones are."""
    result: dict[str, str | int] = {}
    used: set[str] = set()
    for label in labels:
        plain = label if _PLAIN_LABEL.fullmatch(label) else _BAD.sub("_", label) or "_"
        chosen, count = plain, 2
        while chosen in used:
            chosen, count = f"{plain}~{count}", count + 1
        used.add(chosen)
        result[label] = chosen
    return result


def _looks_like_time(values: Sequence[object]) -> bool:
    return all(isinstance(v, str) and re.match(r"\d{4}[-_]\d\d[-_]\d\d", v) for v in values)
