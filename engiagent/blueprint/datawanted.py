"""What a parameter wants of a data file, and how its elements are called in messages."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import parse_stamp
from engiagent.blueprint.values import Array
from engiagent.io.tabular import TableColumn
from engiagent.units.currencies import unit_of_column
from engiagent.units.unit import Unit, UnitError, conversion

MAX_VALUES: Final = 50_000_000


@dataclass(frozen=True)
class Wanted:
    """What a parameter wants of a file.

    Attributes
    ----------
    unit
        The unit of the values; None for labels.
    overridden
        Whether the file's own unit is to be ignored.
    """

    sets: tuple[IndexSet, ...]
    unit: Unit | None
    overridden: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the sets."""
        return tuple(s.size for s in self.sets)

    @property
    def parts(self) -> tuple[IndexSet, ...]:
        """The sets, each tuple set replaced by the sets of its parts."""
        return tuple(part for s in self.sets for part in s.root.factors or (s,))

    def empty(self) -> Array:
        """Return an array to fill."""
        if np.prod(self.shape, dtype=np.float64) > MAX_VALUES:
            raise ValueError(f"the sets have more than {MAX_VALUES} combinations")
        return np.empty(self.shape, dtype=object if self.unit is None else np.float64)

    def taken(self, column: TableColumn) -> Array:
        """Return the cells of a column, converted.

        Raises
        ------
        UnitError
            When the column is in a unit that does not fit, with file and column.
        """
        if self.unit is None:
            return np.array(column.texts(), dtype=object)
        if column.is_text and column.texts() and parse_stamp(column.texts()[0]) is not None:
            raise ValueError(
                f"{column.file}: column {column.header!r} holds time stamps; a parameter of "
                'time stamps needs "type": "element of T", T a time set or its instants'
            )
        values: Array = column.numbers()
        if self.overridden or not column.unit_text:
            return values
        where = f"{column.file}: column {column.header!r}"
        factor, shift = converted_by(column.unit_text, self.unit, where)
        return values if (factor, shift) == (1.0, 0.0) else values * factor + shift


def converted_by(text: str, unit: Unit, where: str) -> tuple[float, float]:
    """Return factor and shift from a file's unit into a parameter's.

    Cents without a currency, or a bare sign, are those of the currency in the parameter's unit.

    Raises
    ------
    UnitError
        Where the two measure different things, with the place ``where``.
    """
    try:
        return conversion(unit_of_column(text, unit), unit)
    except UnitError as error:
        raise UnitError(f"{where} is in {text}, the parameter in {unit}: {error}") from None


def listed(index_set: IndexSet) -> str:
    """Return the first few elements of a set as what was expected."""
    shown = ", ".join(map(label_text, index_set.labels[:4]))
    return f"one of {shown}{', …' if index_set.size > 4 else ''}" if shown else "nothing"


def label_text(label: object) -> str:
    """Return an element as text."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def element_text(flat: int, sets: tuple[IndexSet, ...]) -> str:
    """Return the element at a flat position in the grid of some sets as text."""
    places = np.unravel_index(flat, tuple(s.size for s in sets))
    return ", ".join(label_text(s.labels[int(k)]) for s, k in zip(sets, places, strict=True))
