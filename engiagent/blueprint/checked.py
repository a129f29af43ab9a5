"""Variables and constraints after checking, each with its grid of rows.

Whoever turns a blueprint into something else (matrices, a script, a report of findings) starts
from here and meets every rule of the language already applied.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.document import ConstraintDef, VariableDef
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.evaluate import Evaluator
from engiagent.blueprint.grammar import Binary, Binder, Call, Compare, ExpressionError, Reduce, Ref
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Place, Rows, Value
from engiagent.blueprint.sets import IndexSet, is_timed
from engiagent.blueprint.symbols import Typed
from engiagent.units.unit import Unit, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Variable:
    """A decision variable with its elements and bounds."""

    definition: VariableDef
    sets: tuple[IndexSet, ...]
    grid: Grid
    # flat positions of its elements in the full grid of ``sets``; None when the grid is full
    positions: Ints | None
    # for a filtered variable: element number by flat position, -1 where there is none
    lookup: Ints | None
    # lower, upper: bounds in ``unit``, shape (size,), infinite where there is none; not to be
    # written to
    lower: Floats
    upper: Floats
    history: Floats  # values before the first period, latest first, in ``unit``
    unit: Unit

    @property
    def size(self) -> int:
        """How many elements the variable has."""
        return self.grid.size

    def elements(self, ref: Ref, place: Place) -> Ints:
        """Return element numbers for places, early ones as 0.

        Raises ExpressionError when the filter of the variable leaves an element out that is named
        here.
        """
        flat = place.flat
        if self.lookup is None:
            return flat
        numbers = self.lookup[flat]
        absent = numbers < 0
        if place.early is not None:
            absent &= place.early == 0
        if absent.any():
            position = int(flat[np.flatnonzero(absent)[0]])
            labels = np.unravel_index(position, tuple(s.size for s in self.sets))
            shown = ", ".join(str(s.labels[int(k)]) for s, k in zip(self.sets, labels, strict=True))
            raise ExpressionError(
                f"{ref.name} does not exist at [{shown}]",
                ref.span[0] + 1,
                "its 'where' or its set leaves that out; filter here alike",
                "EB004",
            )
        return np.maximum(numbers, 0)


@dataclass(frozen=True, eq=False)
class Constraint:
    """A constraint with its checked relation and its rows.

    ``notes`` are the announcements of the type checker: a column and a text each.
    """

    definition: ConstraintDef
    path: str
    binders: tuple[Binder, ...]
    sets: tuple[IndexSet, ...]
    grid: Grid
    positions: Ints | None
    typed: Typed
    notes: tuple[tuple[int, str], ...]

    @property
    def relation(self) -> Compare | Call:
        """The checked tree: a comparison, or one of the logical functions."""
        assert isinstance(self.typed.node, Compare | Call)
        return self.typed.node


def checked_variable(elaboration: Elaboration, position: int) -> Variable:
    """Return one decision variable with its elements and bounds.

    Raises BlueprintError when an index, a bound or the filter is wrong.
    """
    definition = elaboration.core.decision_variables[position]
    path = f"{PATH}.decision_variables[{position}]"
    with located(path, definition.name):
        binders = elaboration.binders(definition.index)
    with located(f"{path}.where", definition.name):
        grid, positions = elaboration.grid_with_positions(binders, definition.where)
    sets = tuple(elaboration.index_set(b.set) for b in binders)
    full = int(np.prod([s.size for s in sets], dtype=np.int64)) if sets else 1
    lookup = None
    if definition.where is not None:
        lookup = np.full(full, -1, dtype=np.int64)
        lookup[positions] = np.arange(len(positions))
    unit = parse_unit(definition.unit or "1")
    bound = _Bounds(elaboration, definition, binders, grid, unit, path)
    return Variable(
        definition,
        sets,
        grid,
        positions if lookup is not None else None,
        lookup,
        bound.values("lower", -np.inf),
        bound.values("upper", np.inf),
        bound.history(),
        unit,
    )


@dataclass(frozen=True)
class _Bounds:
    """The bounds of a variable, numbers or expressions over its binders."""

    elaboration: Elaboration
    definition: VariableDef
    binders: tuple[Binder, ...]
    grid: Grid
    unit: Unit
    path: str

    def values(self, side: str, default: float) -> Floats:
        """Return one bound of every element; a binary stays within 0 and 1 whatever is given."""
        given = getattr(self.definition, side)
        value: Value = default if given is None else given
        if isinstance(given, str):
            with located(f"{self.path}.{side}", self.definition.name):
                value = self.elaboration.numbers(given, self.binders, self.unit, self.grid)
                if not np.all(np.isfinite(value)):
                    raise ExpressionError("the bound is not a finite number", 1, None, "EB016")
        if self.definition.type == "binary":
            value = np.maximum(value, 0.0) if side == "lower" else np.minimum(value, 1.0)
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (self.grid.size,))

    def history(self) -> Floats:
        given = self.definition.initial
        if given is None:
            return np.zeros(0)
        with located(f"{self.path}.initial", self.definition.name):
            sets = (self.elaboration.index_set(b.set) for b in self.binders)
            if not any(is_timed(s) and s.root is s for s in sets):
                raise ValueError("values before the first period need an index along a time set")
        items = given if isinstance(given, tuple) else (given,)
        values = []
        for item in items:
            with located(f"{self.path}.initial", self.definition.name):
                if not isinstance(item, int | float | str):
                    raise ValueError(f"found {item!r}; expected a number or a list, latest first")
                if isinstance(item, str):
                    item = self.elaboration.numbers(item, unit=self.unit)[0]
            values.append(float(item))
        return np.array(values)


def checked_constraint(elaboration: Elaboration, position: int) -> Constraint:
    """Return one constraint, checked, with its rows.

    Raises BlueprintError when a binder, the filter or the expression is wrong.
    """
    definition = elaboration.core.constraints[position]
    path = f"{PATH}.constraints[{position}]"
    label = definition.name or definition.constraint_id
    with located(f"{path}.forall", label):
        binders = elaboration.binders(definition.forall)
    with located(f"{path}.expression", label):
        typed, notes = elaboration.relation(definition.expression, binders)
    with located(f"{path}.where", label):
        grid, positions = elaboration.grid_with_positions(binders, definition.where)
    sets = tuple(elaboration.index_set(b.set) for b in binders)
    kept = positions if definition.where is not None else None
    return Constraint(definition, path, binders, sets, grid, kept, typed, notes)


def checked_variables(elaboration: Elaboration) -> Iterator[Variable]:
    """Yield every decision variable; see :func:`checked_variable`."""
    for position in range(len(elaboration.core.decision_variables)):
        yield checked_variable(elaboration, position)


class ModelEvaluator(Evaluator):
    """An evaluator that knows where references to decision variables point."""

    def __init__(self, elaboration: Elaboration, variables: dict[str, Variable]) -> None:
        super().__init__(elaboration.index_set, elaboration.table, elaboration.named)
        self.variables = variables

    def is_variable(self, name: str) -> bool:
        """Whether a name is a decision variable."""
        return name in self.variables

    def sets_of(self, name: str) -> tuple[IndexSet, ...]:
        """Return the sets by which a variable, parameter or named expression is indexed."""
        return self.variables[name].sets if name in self.variables else super().sets_of(name)

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return :meth:`value_of` the elements that a reference names, or their history."""
        variable = self.variables[ref.name]
        place = self.place(ref, variable.sets, grid, history=len(variable.history))
        self.refuse_outside(ref, place, grid)
        elements = variable.elements(ref, place)
        if place.early is None:
            return self.value_of(variable, elements)
        early = place.early > 0
        return self._split(
            early,
            Grid(grid.size, {}),
            lambda part: variable.history[place.early[early] - 1],  # type: ignore[index]
            lambda part: self.value_of(variable, elements[~early]),
        )

    def value_of(self, variable: Variable, elements: Ints) -> Value:
        """Return what elements of a variable are worth: unknown, when only indices count."""
        return UNKNOWN

    def extreme(self, node: Call, parts: list[Value], size: int) -> Value:
        """Return the extreme of several values, unknown when one of them is."""
        return (
            UNKNOWN
            if any(part is UNKNOWN for part in parts)
            else super().extreme(node, parts, size)
        )

    def elementary(self, node: Call, value: Value) -> Value:
        """Return a function of a value, unknown of an unknown one."""
        return UNKNOWN if value is UNKNOWN else super().elementary(node, value)

    def power(self, node: Binary, base: Value, exponent: Any) -> Value:
        """Return a power, unknown of an unknown base."""
        return UNKNOWN if base is UNKNOWN else super().power(node, base, exponent)

    def piecewise(self, node: Call, at: Value, xs: Any, ys: Any, size: int) -> Value:
        """Interpolate, or leave unknown what lies at an unknown place."""
        return UNKNOWN if at is UNKNOWN else super().piecewise(node, at, xs, ys, size)

    def group_extreme(self, node: Reduce, value: Value, outer: Rows, size: int) -> Value:
        """Return the extremes of groups, unknown when the values are."""
        return UNKNOWN if value is UNKNOWN else super().group_extreme(node, value, outer, size)


class Unknown:
    """The value of something that depends on variables; whatever is made of it is unknown too."""

    __array_ufunc__ = None  # so that array + Unknown asks Unknown

    def _same(self, *_: object) -> "Unknown":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __neg__ = scatter = group_sum = _same


UNKNOWN = Unknown()
