"""Slots that hold several numbers: tables to interpolate in, coefficients of curves."""

from dataclasses import dataclass
from itertools import pairwise

from engiagent.blueprint.document import ParameterDef, SetDef
from engiagent.formulations.components.known import bracketed, known_values
from engiagent.formulations.components.reader import Reader


@dataclass(frozen=True)
class Tables:
    """Columns of one table."""

    over: str  # the set of the rows
    names: tuple[str, ...]  # the columns, as parameters over that set

    def first(self, column: int) -> str:
        """Return the first entry of a column."""
        return f"{self.names[column]}[first({self.over})]"

    def greatest(self, column: int) -> str:
        """Return the largest entry of a column."""
        return f"max({self.names[column]}[k] for k in {self.over})"


def tables(reader: Reader, group: str, slots: tuple[str, ...], fewest: int = 2) -> Tables:
    """Return the columns of a table, the first of which has to rise.

    Those that are written in brackets are added as parameters over a set of their own.

    Raises InputError when a slot holds no table, the columns do not fit together, or the first does
    not rise.
    """
    given = [_column(reader, slot) for slot in slots]
    inline = [isinstance(column, tuple) for column in given]
    if any(inline) and not all(inline):
        raise reader.wrong(
            f"{' and '.join(slots)} are of two kinds",
            expected="all in brackets, or all parameters over one set",
        )
    _refuse_falling(reader, slots[0])
    if not any(inline):
        sets = {
            column.index[0].rpartition(" in ")[2]
            for column in given
            if isinstance(column, ParameterDef)
        }
        if len(sets) > 1:
            raise reader.wrong(
                f"{' and '.join(slots)} are over two sets", ", ".join(sorted(sets)), "one"
            )
        names = tuple(c.name for c in given if isinstance(c, ParameterDef))
        return Tables(sets.pop(), names)
    counts = {len(column) for column in given if isinstance(column, tuple)}
    if len(counts) > 1:
        found = ", ".join(
            f"{s}: {len(c)}" for s, c in zip(slots, given, strict=True) if isinstance(c, tuple)
        )
        raise reader.wrong("columns of one table differ in length", found=found)
    count = counts.pop()
    if count < fewest:
        raise reader.wrong(
            f"{slots[0]} is no table",
            str(reader.component.parameters[slots[0]]),
            f"at least {fewest} numbers in brackets",
        )
    return _written(reader, group, slots, count)


def _written(reader: Reader, group: str, slots: tuple[str, ...], count: int) -> Tables:
    """Return parameters for columns that are written in brackets."""
    over = f"{reader.name}_{group}_points"
    names = tuple(f"{reader.name}_{slot}_table" for slot in slots)
    parameters = tuple(
        ParameterDef(
            name=name,
            index=(over,),
            value=reader.values(slot),
            unit=reader.slots[slot].unit,
            description=f"{reader.slots[slot].meaning or slot} of {reader.name}",
            source_reference=reader.source(slot),
        )
        for name, slot in zip(names, slots, strict=True)
    )
    for slot, parameter in zip(slots, parameters, strict=True):
        if not isinstance(parameter.value, tuple) or len(parameter.value) != count:
            raise reader.wrong(
                f"{slot} holds more than numbers", found=str(reader.component.parameters[slot])
            )
    points = SetDef(name=over, kind="range", start=0, stop=count - 1)
    reader.added.extend((points, *parameters))
    return Tables(over, names)


def _column(reader: Reader, slot: str) -> tuple[str, ...] | ParameterDef:
    value = reader.component.parameters.get(slot)
    if value is None:
        raise reader.wrong(
            f"the parameter {slot} is not given",
            expected="numbers in brackets, or a parameter over one set",
        )
    items = bracketed(value) if isinstance(value, str) else (str(value),)
    if items is not None:
        return items
    parameter = reader.around.parameter(value) if isinstance(value, str) else None
    if parameter is None or len(parameter.index) != 1:
        raise reader.wrong(
            f"{slot} is no table",
            str(value),
            "numbers in brackets, as (0, 50, 100), or a parameter over one set",
        )
    return parameter


def _refuse_falling(reader: Reader, slot: str) -> None:
    value = reader.component.parameters[slot]
    xs = known_values(value, reader.slots[slot].unit, reader.around.core)
    if any(b <= a for a, b in pairwise(xs)):
        shown = ", ".join(f"{x:g}" for x in xs)
        raise reader.wrong(f"{slot} does not rise", found=shown)


def coefficients(reader: Reader, slot: str, fewest: int, most: int) -> tuple[str, ...]:
    """Return the coefficients of a curve, each ready to be multiplied.

    Raises InputError when they are not numbers in brackets, or too few or too many.
    """
    value = reader.component.parameters[slot]
    items = bracketed(value) if isinstance(value, str) else None
    parameter = reader.around.parameter(value) if isinstance(value, str) else None
    if parameter is not None and isinstance(parameter.value, tuple):
        items = tuple(map(str, parameter.value))
    if items is None or not fewest <= len(items) <= most:
        count = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise reader.wrong(
            f"{slot} is no curve",
            str(value),
            f"{count} coefficients in brackets, the constant first",
        )
    return tuple(f"({item})" for item in items)
