"""What a study found, as a table."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical

if TYPE_CHECKING:
    import pandas

DUALS: Final = (
    "a dual is the change of the objective, in its own sense, for one more unit of the "
    "constraint's right-hand side; with whole numbers in the model they are held fixed"
)
RUN: Final = (
    "case",
    "sweep",
    "sweep_value",
    "sweep_unit",
    "point",
    "status",
    "objective",
    "objective_unit",
    "bound",
    "gap",
    "seconds",
    "reason",
)
LONG: Final = ("case", "sweep", "sweep_value", "point", "kind", "name", "index", "value", "unit")
Kind = Literal["expression", "dual", "goal"]


@dataclass(frozen=True)
class Value:
    """One number of a solution.

    Attributes
    ----------
    kind
        ``expression`` (variables too), ``dual`` or, where there are several goals, ``goal``.
    index
        Labels of its element by the names of their sets; empty for a single number.
    """

    kind: Kind
    name: str
    index: Mapping[str, str]
    value: float
    unit: str

    @property
    def label(self) -> str:
        """Its name with its element, as ``soc[G1, 3]``."""
        name = f"dual({self.name})" if self.kind == "dual" else self.name
        return f"{name}[{', '.join(self.index.values())}]" if self.index else name


@dataclass(frozen=True)
class Point:
    """One solve.

    Attributes
    ----------
    case
        ``base``, or the name of a case; sweeps are of the base.
    sweep, sweep_value, sweep_unit
        The sweep, the value that its parameter takes, and the unit of that.
    point
        On a front between two goals: which point, from 0, where the first goal is best.
    status, reason, objective, objective_unit, bound, gap, seconds
        As a solver's result has them; ``error`` when the model cannot be compiled or solved.
    absent
        What was asked for and does not exist in this case.
    """

    case: str
    sweep: str | None
    sweep_value: Any
    sweep_unit: str | None
    point: int | None
    status: str
    reason: str
    objective: float | None
    objective_unit: str
    bound: float | None
    gap: float | None
    seconds: float
    values: tuple[Value, ...] = ()
    absent: tuple[str, ...] = ()

    def value(self, label: str) -> float:
        """Return a number by its :attr:`Value.label`; KeyError when there is none."""
        for item in self.values:
            if item.label == label:
                return item.value
        raise KeyError(label)


@dataclass(frozen=True)
class Study:
    """All points of a study: the base, every case, and every value of every sweep, in order.

    Attributes
    ----------
    sense
        Whether the base minimises or maximises.
    notes
        What a reader of the table has to know.
    """

    blueprint_sha256: str
    sense: str
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()

    def of(self, name: str) -> tuple[Point, ...]:
        """Return the points of a case or of a sweep."""
        return tuple(p for p in self.points if name == (p.sweep or p.case))

    def summary(self) -> list[dict[str, Any]]:
        """Return one row for each point: the run, and each number that has no index."""
        labels = list(dict.fromkeys(v.label for p in self.points for v in p.values if not v.index))
        units = {v.label: v.unit for p in self.points for v in p.values}
        names = {label: f"{label} [{units[label]}]" for label in labels}
        rows = []
        for point in self.points:
            row: dict[str, Any] = {field: _cell(getattr(point, field)) for field in RUN}
            found = {v.label: v.value for v in point.values}
            rows.append(row | {names[label]: found.get(label) for label in labels})
        return rows

    def values(self) -> list[dict[str, Any]]:
        """Return one row for each number of each point."""
        return list(self._values())

    def _values(self) -> Iterator[dict[str, Any]]:
        for point in self.points:
            run = {field: _cell(getattr(point, field)) for field in LONG[:4]}
            for value in point.values:
                index = ", ".join(value.index.values())
                yield run | {
                    "kind": value.kind,
                    "name": value.name,
                    "index": index,
                    "value": value.value,
                    "unit": value.unit,
                }

    def to_pandas(self) -> "pandas.DataFrame":
        """Return :meth:`summary` as a data frame."""
        import pandas

        return pandas.DataFrame(self.summary())

    def values_to_pandas(self) -> "pandas.DataFrame":
        """Return :meth:`values` as a data frame."""
        import pandas

        return pandas.DataFrame(self.values(), columns=list(LONG))

    def to_json(self) -> str:
        """Return everything as JSON; the same study gives the same text but for the seconds."""
        return dumps_canonical(
            {
                "schema": "engiagent-study/1",
                "blueprint_sha256": self.blueprint_sha256,
                "sense": self.sense,
                "duals": DUALS,
                "notes": list(self.notes),
                "points": [_point(point) for point in self.points],
            }
        )

    def write(self, folder: Path | str) -> tuple[Path, ...]:
        """Write ``study.csv`` (a row for each point), ``values.csv`` and ``study.json``.

        Raises
        ------
        InputError
            When the folder cannot be written to.
        """
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"cannot make the folder: {error.strerror}"
            raise InputError(text, str(folder)) from None
        texts = {
            "study.csv": _csv(self.summary(), RUN),
            "values.csv": _csv(self.values(), LONG),
            "study.json": self.to_json(),
        }
        for name, text in texts.items():
            write_atomic(place / name, text)
        return tuple(place / name for name in texts)


def _cell(value: Any) -> Any:
    """Return what fits a cell of a table: values by label become JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _point(point: Point) -> dict[str, Any]:
    fields = {f: getattr(point, f) for f in RUN}
    values = [
        {"kind": v.kind, "name": v.name, "index": dict(v.index), "value": v.value, "unit": v.unit}
        for v in point.values
    ]
    return fields | {"absent": list(point.absent), "values": values}


def _csv(rows: list[dict[str, Any]], fields: tuple[str, ...]) -> str:
    names = list(dict.fromkeys((*fields, *(name for row in rows for name in row))))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
