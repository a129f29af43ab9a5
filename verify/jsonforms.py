"""Schedules in JSON, and in memory as mappings: columns, records, split tables, nested units."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.jsonplaces import JsonPlaces, Step
from engiagent.io.jsontext import loads_strict
from engiagent.units.headers import split_header
from engiagent.verify.foreign import Reading
from engiagent.verify.reading import TIME_NAMES, Column, Content, Times, with_axis
from engiagent.verify.series import Floats
from engiagent.verify.stampcolumns import Stamps, number_stamps, text_stamps
from engiagent.verify.vocabulary import declared_unit

Path = tuple[Step, ...]

ROWS: Final = ("records", "rows", "data", "schedule", "values", "time_series", "timeseries")
CLAIMED: Final = ("objective",)
MAX_COLUMNS: Final = 10_000


def read_json(data: bytes, file: str, reading: Reading) -> Content:
    """Return the content of a JSON text.

    Raises
    ------
    InputError
        With line and column.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text", file) from None
    return _Tree(file, reading, text).content(loads_strict(text, file))


def read_tree(value: Any, file: str, reading: Reading) -> Content:
    """Return the content of a mapping of arrays."""
    return _Tree(file, reading, None).content(value)


class _Tree:
    """One schedule; knows where its values stand."""

    def __init__(self, file: str, reading: Reading, text: str | None) -> None:
        self.file, self.reading, self.text = file, reading, text
        self.columns: dict[str, Column] = {}
        self.claims: dict[str, Any] = {}
        self.faults: dict[str, InputError] = {}
        self.notes: list[str] = []
        self.times: Times = None

    def content(self, value: Any) -> Content:
        """Return what the value of a text, or of memory, holds."""
        if isinstance(value, list):
            self.records(value, ())
        elif isinstance(value, Mapping):
            self.top(value)
        else:
            raise InputError(
                "a schedule is an object of columns", self.file, found=type(value).__name__
            )
        columns = with_axis(self.columns, self.times)
        return Content(columns, self.claims, self.faults, tuple(self.notes))

    def error(
        self, path: Path, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error that points at a value."""
        shown = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path).lstrip(".")
        line = column = None
        if self.text is not None:
            places = JsonPlaces(self.text)
            region = places.region(places.nearest(path))
            line, column = region.line, region.column
        return InputError(
            f"{shown}: {message}" if shown else message, self.file, line, column, found, expected
        )

    # -- forms ----------------------------------------------------------------------------------

    def top(self, value: Mapping[str, Any]) -> None:
        self.claims = {str(k): v for k, v in value.items() if isinstance(v, str) or k in CLAIMED}
        titles = value.get("columns")
        if isinstance(titles, Mapping):
            self.group(titles, "", ("columns",))
            return
        if _plain_list(titles) and _plain_list(value.get("data")):
            self.split(value)
            return
        rows = next((k for k in ROWS if _records(value.get(k))), None)
        if rows is not None:
            self.records(value[rows], (rows,))
            value = {k: v for k, v in value.items() if k != rows}
        self.group({k: v for k, v in value.items() if k not in self.claims}, "", ())

    def split(self, value: Mapping[str, Any]) -> None:
        """Read ``{"columns": [...], "index": [...], "data": [[...], ...]}``."""
        titles, rows = value["columns"], value["data"]
        for k, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != len(titles):
                found = str(len(row)) if isinstance(row, list) else type(row).__name__
                raise self.error(("data", k), "a row of another length", found, str(len(titles)))
        self.table([str(title) for title in titles], rows, ("data",))
        index = value.get("index")
        if isinstance(index, list) and self.times is None:
            self.time(index, ("index",))

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[Any]], at: Path) -> None:
        twice = next((t for t in titles if titles.count(t) > 1), None)
        if twice is not None or len(titles) > MAX_COLUMNS:
            raise self.error(at, "two columns of one name" if twice else "too many columns", twice)
        for k, title in enumerate(titles):
            self.leaf(title, [row[k] for row in rows], at)

    def records(self, rows: Sequence[Any], at: Path) -> None:
        """Read ``[{"time": …, "charge": …}, …]``; every record has the same keys."""
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            raise self.error(at, "a schedule is an object of columns or a list of records")
        titles = list(map(str, rows[0]))
        for k, row in enumerate(rows):
            for title in (*titles, *row):
                if (title in titles) != (title in row):
                    raise self.error(
                        (*at, k),
                        f"the record has no {title}"
                        if title in titles
                        else f"{title} is not in the first record",
                    )
        self.table(titles, [[row[title] for title in titles] for row in rows], at)

    def group(self, value: Mapping[str, Any], prefix: str, at: Path) -> None:
        for key, item in value.items():
            name, path = f"{prefix}{key}", (*at, str(key))
            if isinstance(item, Mapping):
                inner = item.get("values", item.get("data"))
                if inner is not None and not isinstance(inner, Mapping):
                    unit, quantity = item.get("unit", item.get("units")), item.get("quantity")
                    self.leaf(name, inner, path, unit, quantity)
                elif item and all(_number(v) for v in item.values()) and _stamped(item):
                    self.labelled(name, item, path)
                else:
                    self.group(item, f"{name}.", path)
            elif _records(item):
                raise self.error(
                    path,
                    "records stand in a list of their own",
                    expected=f"under one of {', '.join(ROWS)}",
                )
            else:
                self.leaf(name, item, path)

    def labelled(self, name: str, item: Mapping[str, Any], path: Path) -> None:
        """Read numbers by time stamp."""
        stamps = self.stamps(list(map(str, item)), path)
        data = self.numbers(list(item.values()), path)
        bare, unit, guessed = _unit(name)
        found = Column(data, unit, guessed=guessed, file=self.file)
        self.put(bare, with_axis({"": found}, stamps)[""], path)

    def leaf(
        self, title: str, item: Any, path: Path, unit: Any = None, quantity: Any = None
    ) -> None:
        """Take one series, the time stamps or a single number."""
        last = title.rpartition(".")[2].strip().lower()
        sized = hasattr(item, "__len__") and not isinstance(item, str)
        # The starts of a unit, ``genset.start``, are no times.
        named = "." in title and declared_unit(title) is not None
        if last in TIME_NAMES and not named and sized and len(item) and self.time(item, path):
            return
        if isinstance(item, str) or item is None:
            self.faults[title] = self.error(path, "no number", repr(item)[:80])
            return
        name, own, guess = _unit(title)
        column = Column(
            np.zeros(0),
            str(unit) if unit is not None else own,
            str(quantity) if quantity else None,
            guessed=guess and unit is None,
            file=self.file,
        )
        try:
            data = self.numbers(item, path)
        except InputError as error:
            self.faults[name] = error
            return
        self.put(name, replace(column, data=data), path)

    def put(self, name: str, column: Column, path: Path) -> None:
        if name in self.columns:
            raise self.error(path, "two columns of one name", name)
        if len(self.columns) >= MAX_COLUMNS:
            raise self.error(path, f"more than {MAX_COLUMNS} columns")
        self.columns[name] = column

    # -- values ---------------------------------------------------------------------------------

    def numbers(self, item: Any, path: Path) -> Floats:
        """Return an array of finite numbers; None may stand at the end of a list only."""
        if isinstance(item, list):
            while item and item[-1] is None:
                item = item[:-1]
            for k, value in enumerate(item):
                if value is None:
                    raise self.error((*path, k), "a value is missing")
                if isinstance(value, str | bool):
                    raise self.error((*path, k), "no number", repr(value)[:80], "as 12.5")
        if isinstance(item, bool):
            raise self.error(path, "no number", repr(item))
        try:
            array = np.asarray(item, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise self.error(path, "holds something that is no number") from None
        finite = np.isfinite(array)
        if not finite.all():
            places = [tuple(int(i) for i in place) for place in np.argwhere(~finite)[:1]]
            raise self.error(
                (*path, *places[0]), "a value that is not finite", str(array[~finite][0])
            )
        return array

    def stamps(self, texts: list[str], path: Path) -> Stamps | None:
        return text_stamps(
            texts,
            lambda row, message: self.error((*path, row), message, repr(texts[row])[:40]),
            self.reading.dates,
        )

    def time(self, item: Any, path: Path) -> bool:
        """Take time stamps, or labels that are no dates; say whether they were that."""
        values = list(item)
        if isinstance(values[0], str):
            missing = next((k for k, v in enumerate(values) if not isinstance(v, str)), None)
            if missing is not None:
                raise self.error((*path, missing), "a time stamp is missing")
            self.times = self.stamps(values, path) or tuple(values)
            return True
        array = self.numbers(item, path)
        if array.ndim != 1:
            return False
        found = number_stamps(array, lambda row, message: self.error((*path, row), message))
        if found is not None:
            self.times = found[0]
            self.notes.append(f"{path[-1]} is read as {found[1]}")
            return True
        steps = np.diff(array)
        if steps.size and path[-1] != "hour":
            wrong = np.flatnonzero((np.abs(steps - steps[0]) > 1e-6) | (steps <= 0))
            if wrong.size:
                row = int(wrong[0]) + 1
                raise self.error(
                    (*path, row), "periods repeat, go back or leave one out", f"{array[row]:g}"
                )
        return True


def _unit(title: str) -> tuple[str, str | None, bool]:
    """Return a title's name, its unit, and whether that was only guessed from its ending."""
    header = split_header(title)
    unit = str(header.unit) if header.unit is not None else header.unit_text or None
    return header.name, unit, unit is not None and header.span is None


def _plain_list(value: Any) -> bool:
    return isinstance(value, list)


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _stamped(item: Mapping[str, Any]) -> bool:
    """Whether the keys of an object are time stamps."""
    first = str(next(iter(item)))
    return (first[:4].isdigit() and ("-" in first or "/" in first)) or (
        first[:2].isdigit() and ("." in first and ":" in first)
    )
