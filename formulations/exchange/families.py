"""Families of names: ``x[3]``, ``flow(a,b)`` and ``c_1_2`` are members of x, flow and c.

What makes a family is its spelling alone; whether its rows are alike is for others to see. Labels
are places in domains from here on: indices that share any label run over the same domain.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from engiagent.formulations.exchange.names import unused
from engiagent.formulations.values import Ints

Labels = tuple[str, ...]

MAX_FAMILIES: Final = 80
MAX_INDICES: Final = 6
BAD: Final = re.compile(r"[^A-Za-z0-9]+")

_BRACKETED = re.compile(r"(?P<base>[^()\[\]{}]+)[(\[{](?P<inside>.*)[)\]}](?P<rest>~\d+)?_?")
_NUMBERED = re.compile(r"(?P<base>.*?[^\d_#.\s])[_#.\s]?(?P<digits>\d+(?:_\d+)*)")
_PLAIN = re.compile(r"0|[1-9]\d{0,8}")
_PLAIN_LABEL = re.compile(r"[ !#-\[\]-~]+")


class Domain:
    """Labels in their order, as a blueprint has them."""

    def __init__(self, labels: Sequence[str]) -> None:
        whole = all(_PLAIN.fullmatch(label) for label in labels)
        self.labels: list[str | int] = [int(x) for x in labels] if whole else _safe(labels)

    @cached_property
    def is_range(self) -> bool:
        """Whether the labels are whole numbers without a gap."""
        first, last = self.labels[0], self.labels[-1]
        numbers = isinstance(first, int) and isinstance(last, int)
        return numbers and int(last) - int(first) + 1 == len(self.labels)

    def literal(self, place: int) -> str:
        """Return a label as an index of an expression."""
        label = self.labels[place]
        return str(label) if isinstance(label, int) else f'"{label}"'


@dataclass(frozen=True, eq=False)
class Family:
    """Members of one name in the order of their labels.

    ``members`` are their numbers in the file, ``places`` (m, arity) says where the labels of each
    stand in ``domains``, of which a name that stands alone has none.
    """

    base: str
    members: Ints
    domains: tuple[Domain, ...]
    places: Ints

    @classmethod
    def single(cls, base: str, member: int) -> "Family":
        """Return a name that stands alone."""
        return cls(base, np.array([member]), (), np.zeros((1, 0), dtype=np.int64))


def split_name(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the family and the labels that a name spells.

    >>> split_name("x[3]"), split_name("flow(a,b)"), split_name("c_1_2"), split_name("total")
    (('x', ('3',)), ('flow', ('a', 'b')), ('c', ('1', '2')), ('total', ()))
    >>> split_name("c_u_cap(3)_")  # as Pyomo writes them
    ('c_u_cap', ('3',))
    """
    match = _BRACKETED.fullmatch(name)
    if match is not None and match["inside"].strip():
        inside = match["inside"] + (match["rest"] or "").rstrip("_")
        parts = inside.split(",")
        if len(parts) == 1 and re.fullmatch(r"\d+(_\d+)+", inside):
            parts = inside.split("_")
        return match["base"], tuple(part.strip().strip("'\"") for part in parts)
    match = _NUMBERED.fullmatch(name) if len(name) <= 255 else None
    if match is not None:
        return match["base"].rstrip("_#."), tuple(match["digits"].split("_"))
    return name, ()


def families(
    columns: Sequence[str], kinds: Sequence[object], rows: Sequence[str]
) -> tuple[list[Family], list[Family]]:
    """Return the families of columns, each of one of ``kinds``, and of rows, in their order."""
    spelled = [_spelled(columns, kinds), _spelled(rows, [None] * len(rows))]
    found = _placed([group for groups in spelled for group in groups])
    return found[: len(spelled[0])], found[len(spelled[0]) :]


_Group = tuple[str, list[tuple[int, Labels]]]
"""A name with the numbers of its members and the labels of each."""


def _spelled(names: Sequence[str], kinds: Sequence[object]) -> list[_Group]:
    groups: dict[tuple[str, int, object], list[tuple[int, Labels]]] = {}
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        base, labels = split_name(name)
        groups.setdefault((base, len(labels), kind), []).append((number, labels))
    found: list[_Group] = []
    alone: list[int] = []
    for (base, arity, _), members in sorted(groups.items(), key=lambda group: -len(group[1])):
        distinct = len({labels for _, labels in members}) == len(members) > 1
        if distinct and 1 <= arity <= MAX_INDICES and len(found) < MAX_FAMILIES:
            found.append((base, members))
        else:
            alone += [number for number, _ in members]
    found += [(names[number], [(number, ())]) for number in alone]
    return sorted(found, key=lambda group: group[1][0][0])


def _placed(groups: Sequence[_Group]) -> list[Family]:
    """Return groups of names as families over domains."""
    labels_of = [[labels for _, labels in group] for _, group in groups]
    indices = [dict.fromkeys(part) for group in labels_of for part in zip(*group, strict=True)]
    merged: list[dict[str, None]] = []
    for labels in sorted(indices, key=len, reverse=True):
        touched = [other for other in merged if not other.keys().isdisjoint(labels)]
        merged = [other for other in merged if all(other is not part for part in touched)]
        merged.append({label: None for part in (*touched, labels) for label in part})
    domain: dict[str, Domain] = {}
    place: dict[str, int] = {}
    for labels in merged:
        ordered = _ordered(list(labels))
        domain |= dict.fromkeys(ordered, Domain(ordered))
        place |= {label: k for k, label in enumerate(ordered)}
    found = []
    for base, group in groups:
        domains = tuple(domain[label] for label in group[0][1])
        places = np.array([[place[x] for x in labels] for _, labels in group], dtype=np.int64)
        places = places.reshape(len(group), len(domains))
        sort = np.lexsort(places.T[::-1]) if domains else np.zeros(1, dtype=np.int64)
        numbers = np.array([number for number, _ in group])
        found.append(Family(base, numbers[sort], domains, places[sort]))
    return found


def _ordered(labels: list[str]) -> list[str]:
    """Return whole numbers by size, and others in the order of the largest index."""
    if all(_PLAIN.fullmatch(label) for label in labels):
        return sorted(labels, key=int)
    if len({len(label) for label in labels}) == 1 and all(label[0].isdigit() for label in labels):
        return sorted(labels)  # dates and numbers with leading zeros
    return labels


def _safe(labels: Iterable[str]) -> list[str | int]:
    """Return labels that can stand in quotes in an expression, unique as the given ones are."""
    result: dict[str | int, None] = {}
    for label in labels:
        plain = label if _PLAIN_LABEL.fullmatch(label) else BAD.sub("_", label) or "_"
        result[unused(plain, result)] = None
    return list(result)
