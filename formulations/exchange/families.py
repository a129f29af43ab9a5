"""Families of names: ``x[3]``, ``flow(a,b)`` and ``c_1_2`` are members of x, flow and c.

What makes a family is its spelling alone; whether its rows are alike is for others to see.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

Labels = tuple[str, ...]
Root = tuple[object, int]
"""What stands for a domain: one of the indices that run over it."""

MAX_SCALARS: Final = 40
"""How many names without an index may stand alone before they become one family."""

MAX_FAMILIES: Final = 80
MAX_INDICES: Final = 6
POOL: Final = "column"

_BRACKETED = re.compile(r"(?P<base>[^()\[\]{}]+)[(\[{](?P<inside>.*)[)\]}](?P<rest>~\d+)?")
_NUMBERED = re.compile(r"(?P<base>.*?[^\d_#.\s])[_#.\s]?(?P<digits>\d+(?:_\d+)*)")
_PLAIN = re.compile(r"0|[1-9]\d{0,8}")


@dataclass(frozen=True)
class Family:
    """Members of one name: their numbers in the file and the labels of each, distinct."""

    base: str
    members: tuple[int, ...]
    labels: tuple[Labels, ...]

    @property
    def arity(self) -> int:
        """How many indices a member has; 0 for a name that stands alone."""
        return len(self.labels[0])

    @cached_property
    def number_of(self) -> dict[Labels, int]:
        """The number in the file of every member."""
        return dict(zip(self.labels, self.members, strict=True))


def split_name(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the family and the labels that a name spells.

    >>> split_name("x[3]"), split_name("flow(a,b)"), split_name("c_1_2"), split_name("total")
    (('x', ('3',)), ('flow', ('a', 'b')), ('c', ('1', '2')), ('total', ()))
    """
    match = _BRACKETED.fullmatch(name)
    if match is not None and match["inside"].strip():
        inside = match["inside"] + (match["rest"] or "")
        parts = inside.split(",")
        if len(parts) == 1 and re.fullmatch(r"\d+(_\d+)+", inside):
            parts = inside.split("_")
        return match["base"], tuple(part.strip().strip("'\"") for part in parts)
    match = _NUMBERED.fullmatch(name) if len(name) <= 255 else None
    if match is not None:
        return match["base"].rstrip("_#."), tuple(match["digits"].split("_"))
    return name, ()


def families(names: Sequence[str], kinds: Sequence[object]) -> list[Family]:
    """Return the families among names, in the order of their first members.

    Parameters
    ----------
    kinds
        What the members of a family must have in common besides their name, one for each name.
    """
    groups: dict[tuple[str, int, object], list[tuple[int, Labels]]] = {}
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        base, labels = split_name(name)
        groups.setdefault((base, len(labels), kind), []).append((number, labels))
    found: list[Family] = []
    alone: list[int] = []
    for (base, arity, _), members in groups.items():
        numbers = tuple(number for number, _ in members)
        spelled = tuple(labels for _, labels in members)
        indexed = 1 <= arity <= MAX_INDICES
        if len(members) == 1 or not indexed or len(set(spelled)) < len(spelled):
            alone += numbers
        else:
            found.append(Family(base, numbers, spelled))
    found.sort(key=lambda family: -len(family.members))
    alone += [number for family in found[MAX_FAMILIES:] for number in family.members]
    found = found[:MAX_FAMILIES]
    singles = [Family(names[number], (number,), ((),)) for number in sorted(alone)]
    if len(singles) > MAX_SCALARS:
        singles = _pooled(singles, names, kinds)
    return sorted([*found, *singles], key=lambda family: family.members[0])


def _pooled(singles: list[Family], names: Sequence[str], kinds: Sequence[object]) -> list[Family]:
    """Return names without an index as families whose labels are the names themselves."""
    groups: dict[object, list[int]] = {}
    for family in singles:
        groups.setdefault(kinds[family.members[0]], []).append(family.members[0])
    return [
        Family(POOL, tuple(numbers), tuple((names[k],) for k in numbers))
        for numbers in groups.values()
    ]


class Domains:
    """Which indices run over the same labels: those that share any.

    An index is a family (any hashable key) and a position. Each domain has its labels in order:
    whole numbers by size, others as they first stand in the largest index, the rest behind.
    """

    def __init__(self, indices: dict[Root, list[str]]) -> None:
        self._root: dict[Root, Root] = {}
        owner: dict[str, Root] = {}
        for key in sorted(indices, key=lambda k: -len(indices[k])):
            self._root.setdefault(key, key)
            for label in indices[key]:
                before = owner.setdefault(label, key)
                self._join(before, key)
        members: dict[Root, dict[str, None]] = {}
        for key in sorted(indices, key=lambda k: -len(set(indices[k]))):
            members.setdefault(self.find(key), {}).update(dict.fromkeys(indices[key]))
        self.labels = {root: _ordered(list(labels)) for root, labels in members.items()}
        self.place = {
            root: {label: k for k, label in enumerate(labels)}
            for root, labels in self.labels.items()
        }

    def find(self, key: Root) -> Root:
        """Return what stands for the domain of an index."""
        root = key
        while self._root[root] != root:
            root = self._root[root]
        while self._root[key] != root:
            self._root[key], key = root, self._root[key]
        return root

    def _join(self, first: Root, second: Root) -> None:
        a, b = self.find(first), self.find(second)
        if a != b:
            self._root[b] = a


def _ordered(labels: list[str]) -> list[str]:
    if all(_PLAIN.fullmatch(label) for label in labels):
        return sorted(labels, key=int)
    if len({len(label) for label in labels}) == 1 and all(label[0].isdigit() for label in labels):
        return sorted(labels)  # dates and numbers with leading zeros
    return labels


def whole(labels: Sequence[str]) -> bool:
    """Whether all labels are whole numbers as people write them."""
    return all(_PLAIN.fullmatch(label) for label in labels)
