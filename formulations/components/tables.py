"""Slots that hold several numbers: tables to interpolate in, coefficients of curves."""

from dataclasses import dataclass
from itertools import pairwise

from engiagent.blueprint.elements import ParameterDef, SetDef
from engiagent.formulations.components.known import bracketed
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
    given = {slot: _column(reader, slot) for slot in slots}
    inline = {slot: column for slot, column in given.items() if isinstance(column, tuple)}
    known = [column for column in given.values() if isinstance(column, ParameterDef)]
    both = " and ".join(slots)
    if inline and known:
        expected = "all in brackets, or all parameters over one set"
        raise reader.wrong(f"{both} are of two kinds", expected=expected)
    xs = reader.values(slots[0])
    if any(b <= a for a, b in pairwise(xs)):
        raise reader.wrong(f"{slots[0]} does not rise", found=", ".join(f"{x:g}" for x in xs))
    if known:
        sets = {column.index[0].rpartition(" in ")[2] for column in known}
        if len(sets) > 1:
            raise reader.wrong(f"{both} are over two sets", ", ".join(sorted(sets)), "one")
        return Tables(sets.pop(), tuple(column.name for column in known))
    counts = {slot: len(column) for slot, column in inline.items()}
    count = counts[slots[0]]
    if len({*counts.values()}) > 1:
        found = ", ".join(f"{slot}: {size}" for slot, size in counts.items())
        raise reader.wrong("columns of one table differ in length", found=found)
    if count < fewest:
        found = str(reader.component.parameters[slots[0]])
        raise reader.wrong(
            f"{slots[0]} is no table", found, f"at least {fewest} numbers in brackets"
        )
    over = f"{reader.name}_{group}_points"
    reader.added.append(SetDef(name=over, kind="range", start=0, stop=count - 1))
    for slot in slots:
        values = reader.values(slot)
        if len(values) != count:
            found = str(reader.component.parameters[slot])
            raise reader.wrong(f"{slot} holds more than numbers", found=found)
        column = ParameterDef(
            name=f"{reader.name}_{slot}_table",
            index=(over,),
            value=values,
            unit=reader.slots[slot].unit,
            description=f"{reader.slots[slot].meaning or slot} of {reader.name}",
            source_reference=reader.source(slot),
        )
        reader.added.append(column)
    return Tables(over, tuple(f"{reader.name}_{slot}_table" for slot in slots))


def _column(reader: Reader, slot: str) -> tuple[str, ...] | ParameterDef:
    value = reader.component.parameters.get(slot)
    if value is None:
        expected = "numbers in brackets, or a parameter over one set"
        raise reader.wrong(f"the parameter {slot} is not given", expected=expected)
    items = bracketed(value) if isinstance(value, str) else (str(value),)
    if items is not None:
        return items
    parameter = reader.around.parameter(value) if isinstance(value, str) else None
    if parameter is None or len(parameter.index) != 1:
        expected = "numbers in brackets, as (0, 50, 100), or a parameter over one set"
        raise reader.wrong(f"{slot} is no table", str(value), expected)
    return parameter


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
        expected = f"{count} coefficients in brackets, the constant first"
        raise reader.wrong(f"{slot} is no curve", str(value), expected)
    return tuple(f"({item})" for item in items)
