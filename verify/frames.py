"""Index grids as flat rows, and what names mean on them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.grammar import Binder, Node
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.verify.values import Ints, Value

MAX_PAIRS: Final = 400_000_000
CHUNK: Final = 4_000_000

Bools = npt.NDArray[np.bool_]


class EvaluationError(EngiagentError):
    """An expression cannot be evaluated: an unknown name, a wrong index, a unit that clashes."""


class MissingQuantity(EvaluationError):  # noqa: N818 - it is a condition to report, not a mistake
    """An expression needs a quantity that the schedule does not have."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} is not in the schedule and cannot be recomputed")


@dataclass(frozen=True, eq=False)
class Symbol:
    """What a name stands for."""

    name: str
    dims: tuple[IndexSet, ...]  # the sets it is indexed by
    # numbers over the whole grid of ``dims``, flattened in their order; None for labels
    value: Value | None = None
    # labels over the grid, for a parameter whose values are no numbers
    labels: npt.NDArray[np.object_] | None = None
    # for a parameter whose values are elements of a set: the set and their positions
    elements: tuple[IndexSet, Ints] | None = None
    defined: Bools | None = None  # where a sparse variable exists; None when everywhere
    # values before the first period, latest first, for a variable that declares them
    before: Value | None = None


@dataclass(frozen=True, eq=False)
class Environment:
    """Sets and symbols; ``resolve`` finds a name that is computed only when somebody asks."""

    sets: Mapping[str, IndexSet]
    symbols: Mapping[str, Symbol]
    resolve: Callable[[str], Symbol | None] = field(default=lambda name: None)

    def symbol(self, name: str) -> Symbol:
        """Return what ``name`` stands for."""
        found = self.symbols.get(name) or self.resolve(name)
        if found is None:
            if "." in name:
                raise MissingQuantity(name)
            raise EvaluationError(f"unknown name {name!r}")
        return found

    def set(self, name: str) -> IndexSet:
        """Return the set of that name; EvaluationError when there is none."""
        if name not in self.sets:
            raise EvaluationError(f"unknown set {name!r}; known are {', '.join(self.sets)}")
        return self.sets[name]


@dataclass(frozen=True, eq=False)
class Elements:
    """One element of a set per row; positions may lie outside until somebody uses them.

    ``start`` is known where the positions are ``start, start + 1, …``.
    """

    set: IndexSet
    positions: Ints
    start: int | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """Rows, each of which binds every index name to an element."""

    size: int
    names: Mapping[str, Elements] = field(default_factory=dict)

    def take(self, rows: Ints) -> "Frame":
        """Return the frame of some of the rows."""
        names = {n: Elements(e.set, e.positions[rows]) for n, e in self.names.items()}
        return Frame(len(rows), names)

    def labels(self, row: int) -> dict[str, str]:
        """Return the labels of one row, by index name."""
        return {n: label_of(e.set, int(e.positions[row])) for n, e in self.names.items()}


def label_of(index_set: IndexSet, position: int) -> str:
    """Return one label; a year of quarter hours need not be spelt out for it."""
    root = index_set.root
    if root.axis is not None and root.kind in ("time", "instants") and root.given_labels is None:
        place = position if root is index_set else int(index_set.in_root[position])
        return root.axis.label(place)
    label = index_set.labels[position]
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


Condition = Callable[[Node, Frame], Bools]


def expand(
    frame: Frame,
    binders: tuple[Binder, ...],
    sets: Callable[[str], IndexSet],
    where: Node | None,
    condition: Condition,
) -> tuple[Frame, Ints]:
    """Return the frame of all combinations that pass ``where``, and the row each came from."""
    members = [sets(binder.set) for binder in binders]
    count = math.prod(m.size for m in members)
    if frame.size * float(count) > MAX_PAIRS:
        raise EvaluationError(f"an index grid of {frame.size} x {count} rows is too large")
    for name in (name for binder in binders for name in binder.names):
        if name in frame.names:
            raise EvaluationError(f"the index {name!r} is used twice")
    if frame.size == 1 and not frame.names and where is None:
        return Frame(count, _bind_all(binders, members)), np.broadcast_to(np.int64(0), (count,))
    pieces = []
    for start in range(0, max(frame.size, 1), max(CHUNK // max(count, 1), 1)):
        stop = min(start + max(CHUNK // max(count, 1), 1), frame.size)
        outer = np.repeat(np.arange(start, stop), count)
        inner = np.tile(np.arange(count), stop - start)
        part = frame.take(outer)
        part = Frame(part.size, {**part.names, **_bind(binders, members, inner)})
        if where is not None:
            kept = np.flatnonzero(condition(where, part))
            part, outer = part.take(kept), outer[kept]
        pieces.append((part, outer))
    if len(pieces) == 1:
        return pieces[0]
    names = {
        name: Elements(e.set, np.concatenate([p.names[name].positions for p, _ in pieces]))
        for name, e in pieces[0][0].names.items()
    }
    rows = np.concatenate([outer for _, outer in pieces])
    return Frame(len(rows), names), rows


def _bind(binders: tuple[Binder, ...], members: list[IndexSet], flat: Ints) -> dict[str, Elements]:
    names: dict[str, Elements] = {}
    for binder, member in zip(reversed(binders), reversed(members), strict=True):
        flat, here = np.divmod(flat, max(member.size, 1))
        if len(binder.names) == 1:
            names[binder.names[0]] = Elements(member, here)
            continue
        root = member.root
        if len(binder.names) != len(root.factors):
            raise EvaluationError(
                f"{member.name} has elements of {len(root.factors) or 1} parts, "
                f"not {len(binder.names)}"
            )
        in_root = member.in_root[here]
        for name, factor, column in zip(binder.names, root.factors, root.columns, strict=True):
            names[name] = Elements(factor, column[in_root])
    return names


def _bind_all(binders: tuple[Binder, ...], members: list[IndexSet]) -> dict[str, Elements]:
    count = math.prod(member.size for member in members)
    if len(binders) == 1 and len(binders[0].names) == 1 and count:
        return {binders[0].names[0]: Elements(members[0], counted(count), 0)}
    return _bind(binders, members, np.arange(count))


@lru_cache(maxsize=2)
def counted(count: int) -> Ints:
    """Return ``0, 1, …``; the periods and the instants of a problem are asked for all the time."""
    numbers = np.arange(count)
    numbers.flags.writeable = False
    return numbers


def whole_grid(dims: tuple[IndexSet, ...], binders: tuple[Binder, ...]) -> Frame:
    """Return the frame of a full grid, in the flattened order of :class:`Symbol`."""
    return Frame(math.prod(dim.size for dim in dims), _bind_all(binders, list(dims)))
