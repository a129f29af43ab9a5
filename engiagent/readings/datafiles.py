"""The shape of data files: what of one may differ while a reading of it still holds."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from engiagent.readings.alignment import unlike_units
from engiagent.text import Problem
from engiagent.text.datafile import Column, DataFile
from engiagent.units.unit import Unit, parse_unit

Json = dict[str, Any]
Shapes = Mapping[str, Json]
"""The shapes of data files by name."""


def shapes_of(problem: Problem) -> Shapes:
    """Return the shape of every data file by name: rows, stamps, columns and their ranges."""
    return {name: _shape(file) for name, file in problem.data.items()}


def _shape(file: DataFile) -> Json:
    axis = file.axis
    return {
        "sha256": file.sha256,
        "rows": file.rows,
        "first": None if axis is None else file.times[0].strftime("%Y-%m-%dT%H:%M"),
        "step_seconds": None if axis is None else axis.step_seconds,
        "zone": file.zone,
        "columns": [_column(c, name == file.time_column) for name, c in file.columns.items()],
    }


def _column(column: Column, is_time: bool) -> Json:
    unit = None if column.unit is None else str(column.unit)
    found: Json = {"name": column.name, "header": column.header, "unit": unit}
    if is_time:
        return found | {"kind": "time"}
    if isinstance(column.values, tuple):
        digest = hashlib.sha256("\n".join(column.values).encode()).hexdigest()
        return found | {"kind": "text", "digest": digest}
    low, high = float(column.values.min()), float(column.values.max())
    return found | {"kind": "number", "low": low, "high": high}


def unlike(name: str, old: Json, new: Json) -> str:
    """Return why a data file is not another one of the same shape; empty if it is.

    Units may differ within their dimension, and the number of rows and the first stamp at all:
    what they mean for the horizon is for the reading to say.
    """
    if old["sha256"] == new["sha256"]:
        return ""
    if (old["step_seconds"], old["zone"]) != (new["step_seconds"], new["zone"]):
        return f"{name}: the step or the zone of its time stamps differs"
    if len(old["columns"]) != len(new["columns"]):
        return f"{name} has {len(new['columns'])} columns, it had {len(old['columns'])}"
    for a, b in zip(old["columns"], new["columns"], strict=True):
        why = _unlike_column(a, b)
        if why:
            return f"{name}, column {b['header']}: {why}"
    return ""


def _unlike_column(old: Json, new: Json) -> str:
    before, after = _unit(old), _unit(new)
    if (old["name"], old["kind"]) != (new["name"], new["kind"]) or (
        before is None and old["header"] != new["header"]
    ):
        return f"it was {old['header']} of kind {old['kind']}"
    if why := unlike_units(before, after):
        return why
    if old["kind"] == "text" and old["digest"] != new["digest"]:
        return "its texts differ, which no number of the reading carries"
    if old["kind"] != "number" or (after is not None and after.is_point):
        return ""
    ends = (old["low"], old["high"]), (new["low"], new["high"])
    signs = "have a sign that none of the old ones had"
    return f"values from {ends[1][0]:g} to {ends[1][1]:g} {signs}" if sign_lost(*ends) else ""


def sign_lost(old: Sequence[float], new: Sequence[float]) -> bool:
    """Whether values reach 0, or beyond it, where the old ones did not.

    What a reading leaves out may rest on a sign, as that no price is negative.
    """
    below = (min(old) >= 0 > min(new)) or (min(old) > 0 >= min(new))
    return below or (max(old) <= 0 < max(new)) or (max(old) < 0 <= max(new))


def _unit(column: Json) -> Unit | None:
    return None if column["unit"] is None else parse_unit(str(column["unit"]))
