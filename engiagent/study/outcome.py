"""What a sweep, a front or a sensitivity study found: rows, the same whenever it is run again."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent import __version__
from engiagent.formulations.program import Program
from engiagent.io.files import open_inside, sha256_bytes, write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.run.inputs import data_files
from engiagent.study.live import Live

SCHEMA: Final = "engiagent-study-result/1"
Json = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The rows of a study.

    Attributes
    ----------
    kind
        ``sweep``, ``pareto`` or ``sensitivity``.
    asked
        What was asked, with the hashes of what was read.
    program
        For names and units of its objective.
    rows
        One object for each point: ``point``, ``at`` (what was varied), ``status``, ``objective``,
        ``values`` and more.
    notes
        What a reader of the table has to know.
    """

    kind: str
    asked: Mapping[str, Any]
    program: Program
    rows: tuple[Json, ...]
    notes: tuple[str, ...] = ()

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
        objective = f"objective [{self.unit}]"
        flat = []
        for row in self.rows:
            units = row.get("units") or {}
            cells: Json = {"point": row["point"], **row["at"], "status": row["status"]}
            cells[objective] = row.get("objective")
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

    def to_csv(self) -> str:
        """Return :meth:`table` as CSV."""
        rows = self.table()
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the rows as CSV and JSON, named by the kind of study, and return the paths."""
        texts = {f"{self.kind}.csv": self.to_csv(), f"{self.kind}.json": self.to_json()}
        for name, text in texts.items():
            write_atomic(folder / name, text)
        return tuple(folder / name for name in texts)


def outcome_row(point: int, at: Mapping[str, float | str], found: Json) -> Json:
    """Return a row: what was varied, then what was found."""
    return {"point": point, "at": dict(at), **found}


def asked_of(kind: str, live: Live, request: Json) -> Json:
    """Return what decides on a study's result: inputs by their hashes, request, limits."""
    setting = live.setting
    options = setting.options
    folder = setting.folder or Path()
    return {
        "kind": kind,
        "version": __version__,
        "blueprint": live.blueprint.sha256,
        "data": {
            name: sha256_bytes(open_inside(folder, name))
            for name in dict.fromkeys(data_files(live.blueprint))
        },
        "request": request,
        "certify": setting.certify,
        "limits": {
            "backend": options.backend,
            "gap": options.gap,
            "time_limit": options.time_limit,
            "memory_limit_mb": options.memory_limit_mb,
            "seed": options.seed,
            "speed": options.speed,
        },
    }
