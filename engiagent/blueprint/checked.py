"""Variables and constraints after checking, each with its grid of rows.

Whoever turns a blueprint into something else (matrices, a script, a report of findings) starts
from here and meets every rule of the language already applied.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import ConstraintDef, VariableDef
from engiagent.blueprint.evaluate import Evaluator
from engiagent.blueprint.grammar import Binder, Call, Compare, ExpressionError, Ref
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import UNKNOWN, Place, Value
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
    # bounds in ``unit``, shape (size,), infinite where there is none; not to be written to
    lower: Floats
    upper: Floats
    history: Floats  # values before the first period, latest first, in ``unit``
    unit: Unit

    @property
    def size(self) -> int:
        """How many elements the variable has."""
        return self.grid.size

    def elements(self, ref: Ref, place: Place) -> Ints:
        """Return element numbers for places, early ones as 0."""
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
            text = f"{ref.name} does not exist at [{shown}]"
            hint = "its 'where' or its set leaves that out; filter here alike"
            raise ExpressionError(text, ref.span[0] + 1, hint, "EB004")
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
    """Return one decision variable with its elements and bounds."""
    definition = elaboration.core.decision_variables[position]
    path = f"{PATH}.decision_variables[{position}]"
    with located(path, definition.name):
        binders = elaboration.binders(definition.index)
    with located(f"{path}.where", definition.name):
        grid, places = elaboration.grid_with_positions(binders, definition.where)
    sets = tuple(elaboration.index_set(b.set) for b in binders)
    positions = lookup = None
    if definition.where is not None:
        positions = places
        lookup = np.full(int(np.prod([s.size for s in sets], dtype=np.int64)), -1, dtype=np.int64)
        lookup[positions] = np.arange(len(positions))
    unit = parse_unit(definition.unit or "1")

    def bound(side: str, default: float) -> Floats:
        """Return one bound of every element; a binary stays within 0 and 1 whatever is given."""
        given = getattr(definition, side)
        value: Value = default if given is None else given
        if isinstance(given, str):
            with located(f"{path}.{side}", definition.name):
                value = elaboration.numbers(given, binders, unit, grid)
                if not np.all(np.isfinite(value)):
                    raise ExpressionError("the bound is not a finite number", 1, None, "EB016")
        if definition.type == "binary":
            value = np.maximum(value, 0.0) if side == "lower" else np.minimum(value, 1.0)
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (grid.size,))

    low, high = bound("lower", -np.inf), bound("upper", np.inf)
    with located(f"{path}.initial", definition.name):
        history = _history(elaboration, definition, sets, unit)
    return Variable(definition, sets, grid, positions, lookup, low, high, history, unit)


def _history(
    elaboration: Elaboration, definition: VariableDef, sets: tuple[IndexSet, ...], unit: Unit
) -> Floats:
    """Return the values of a variable before the first period, latest first."""
    given = definition.initial
    if given is None:
        return np.zeros(0)
    if not any(is_timed(s) and s.root is s for s in sets):
        raise ValueError("values before the first period need an index along a time set")
    values = []
    for item in given if isinstance(given, tuple) else (given,):
        if not isinstance(item, int | float | str):
            raise ValueError(f"found {item!r}; expected a number or a list, latest first")
        number = elaboration.numbers(item, unit=unit)[0] if isinstance(item, str) else item
        values.append(float(number))
    return np.array(values)


def checked_constraint(elaboration: Elaboration, position: int) -> Constraint:
    """Return one constraint, checked, with its rows."""
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
    chosen = positions if definition.where is not None else None
    return Constraint(definition, path, binders, sets, grid, chosen, typed, notes)


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
