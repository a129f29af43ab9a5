"""What a study found: rows, the same whenever it is run again."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from engiagent import __version__
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.program import Program
from engiagent.io.files import open_inside, sha256_bytes, write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.io.shows import Shows
from engiagent.run.inputs import data_files
from engiagent.study.checkpoint import Checkpoint
from engiagent.study.live import Json, Live, Setting

if TYPE_CHECKING:
    import pandas as pd

    from engiagent.notebook.figures import Figure

SCHEMA: Final = "engiagent-study/2"
CERTIFIED_ALONE: Final = (
    "each plan is certified against the blueprint with its point's numbers, which count as given"
)
Row = tuple[Json, Json]
"""What was varied, and the record of the solve."""


@dataclass(frozen=True, repr=False)
class Study(Shows):
    """The points of a study."""

    kind: str  # ``cases``, ``sweep``, ``pareto`` or ``sensitivity``
    asked: Mapping[str, Any]  # what was asked, with the hashes of what was read
    program: Program  # for names and units of its objective
    # one object for each point: ``point``, ``at`` (what was varied), ``status``, ``objective``,
    # ``values`` by label with ``units``, ``series`` for values with an index, and more
    rows: tuple[Json, ...]
    notes: tuple[str, ...] = ()  # what a reader of the table has to know

    @property
    def title(self) -> str:
        """What was studied."""
        return f"{self.kind} of {self.program.objective_name}"

    @property
    def unit(self) -> str:
        """The unit of the objective."""
        return self.program.objective_unit

    def to_json(self) -> str:
        """Return everything as JSON."""
        return dumps_canonical(
            {
                "schema": SCHEMA,
                "kind": self.kind,
                "engiagent": __version__,
                "asked": dict(self.asked),
                "objective": {
                    "name": self.program.objective_name,
                    "unit": self.unit,
                    "sense": self.program.sense,
                },
                "notes": list(self.notes),
                "rows": list(self.rows),
            }
        )

    def table(self) -> list[Json]:
        """Return flat rows, a number a cell."""
        flat = []
        for row in self.rows:
            units = row.get("units") or {}
            cells: Json = {"point": row["point"], **_cells(row["at"]), "status": row["status"]}
            cells[f"objective [{row.get('objective_unit', self.unit)}]"] = row.get("objective")
            for name, value in (row.get("goals") or {}).items():
                cells[f"{name} [{row['goal_units'][name]}]"] = value
            for name in ("efficient", "bound", "gap", "verdict"):
                if name in row:
                    cells[name] = row[name]
            for label, value in (row.get("values") or {}).items():
                cells[f"{label} [{units.get(label, '1')}]"] = value
            cells["reason"] = row.get("reason", "")
            flat.append(cells)
        return flat

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a row for every point: what was varied, the status, and what was found."""
        import pandas as pd

        return pd.DataFrame(self.table())

    def plot(self) -> "Figure":
        """Draw the study."""
        from engiagent.notebook.figures import of_study

        return of_study(self)

    def values(self) -> list[Json]:
        """Return a row for each number of each point, those of a series by their index too."""
        return list(self._values())

    def _values(self) -> Iterator[Json]:
        for row in self.rows:
            start = {"point": row["point"], **_cells(row["at"])}
            for name, value in (row.get("values") or {}).items():
                yield {**start, "name": name, "index": "", "value": value} | {
                    "unit": row["units"][name]
                }
            for item in row.get("series") or ():
                yield {**start, **item, "index": ", ".join(item["index"].values())}

    def to_csv(self) -> str:
        """Return :meth:`table` as CSV."""
        return _csv(self.table())

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the table, all values, and everything as JSON; return the paths."""
        texts = {
            f"{self.kind}.csv": self.to_csv(),
            "values.csv": _csv(self.values()),
            f"{self.kind}.json": self.to_json(),
        }
        for name, text in texts.items():
            write_atomic(folder / name, text)
        return tuple(folder / name for name in texts)


def _cells(at: Mapping[str, Any]) -> Json:
    """Return what was varied as a table has it: values by label become JSON."""
    return {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in at.items()}


def _csv(rows: Sequence[Json]) -> str:
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True)
class Begun:
    """A study under way."""

    live: Live
    # solves what the checkpoint does not have yet, and gives all rows in order
    rows: Callable[[Checkpoint], Iterable[Row]]
    total: int  # how many solves there are
    notes: Sequence[str] = ()
    read: Sequence[Blueprint] = ()  # further blueprints whose data files decide on the result


class Asked(Protocol):
    """What is asked of a study: cases, a sweep, a front or a sensitivity."""

    @property
    def kind(self) -> str:
        """``cases``, ``sweep``, ``pareto`` or ``sensitivity``."""

    def to_json(self) -> Json:
        """Return what is asked as JSON has it; a folder that holds another request is refused."""

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Compile what is needed; nothing is solved yet."""


def run_study(asked: Asked, blueprint: Blueprint, setting: Setting | None = None) -> Study:
    """Solve a programme as often as a study asks, and return what was found, in order.

    ``asked``: :class:`~engiagent.study.cases.Cases`, :class:`~engiagent.study.sweep.Sweep`,
    :class:`~engiagent.study.pareto.Pareto` or :class:`~engiagent.study.sensitivity.Sensitivity`.
    Raises EngiagentError when the blueprint is wrong, a name leads nowhere, or the folder holds
    another study or cannot be written to.
    """
    setting = setting or Setting()
    begun = asked.begin(blueprint, setting)
    head = _asked_of(asked, begun)
    with Checkpoint(
        setting.out, head, force=setting.force, on_point=setting.on_point, total=begun.total
    ) as stored:
        found = [
            {"point": k, "at": at, **record} for k, (at, record) in enumerate(begun.rows(stored))
        ]
    certified = (CERTIFIED_ALONE,) if setting.certify else ()
    notes = (*begun.notes, *_absent(found), *certified)
    return Study(asked.kind, head, begun.live.program, tuple(found), notes)


def _absent(rows: Sequence[Json]) -> Iterator[str]:
    """Yield what a case does not have of what is asked for."""
    absent = {row["at"].get("case"): row["absent"] for row in rows if row.get("absent")}
    for case, names in absent.items():
        yield f"{case or 'the programme'}: there is no {', '.join(names)}"


def _asked_of(asked: Asked, begun: Begun) -> Json:
    """Return what decides on a study's result: inputs by their hashes, request, limits."""
    live = begun.live
    setting, options = live.setting, live.setting.options
    folder = setting.folder or Path()
    named = (name for b in (live.blueprint, *begun.read) for name in data_files(b))
    limits = ("backend", "gap", "time_limit", "memory_limit_mb", "seed", "speed")
    return {
        "kind": asked.kind,
        "version": __version__,
        "blueprint": live.blueprint.sha256,
        "data": {name: sha256_bytes(open_inside(folder, name)) for name in dict.fromkeys(named)},
        "request": {**asked.to_json(), "show": list(setting.show)},
        "certify": setting.certify,
        "limits": {name: getattr(options, name) for name in limits},
    }
