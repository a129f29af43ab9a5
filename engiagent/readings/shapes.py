"""The shape of a problem's data files: what has to stay when a stored reading is used again."""

import hashlib
from collections.abc import Mapping
from typing import Any

from engiagent.text import Problem
from engiagent.text.datafile import Column, DataFile
from engiagent.units.unit import Unit, parse_unit

Json = dict[str, Any]


def shapes_of(problem: Problem) -> dict[str, Json]:
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


def unlike(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
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


def _unlike_column(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    if (a["name"], a["kind"]) != (b["name"], b["kind"]):
        return f"it was {a['header']} of kind {a['kind']}"
    one, two = _unit(a), _unit(b)
    if (one is None) != (two is None) or (a["header"] != b["header"] and one is None):
        return f"the header was {a['header']}"
    if one is not None and two is not None:
        if one.dimension != two.dimension or one.is_point != two.is_point:
            return f"the unit {two} measures something else than {one}"
        if one.is_point:
            return ""
    if a["kind"] == "text" and a["digest"] != b["digest"]:
        return "its texts differ, which no number of the reading carries"
    if a["kind"] == "number" and sign_lost((a["low"], a["high"]), (b["low"], b["high"])):
        return (
            f"values from {b['low']:g} to {b['high']:g} have a sign that none of the old ones had"
        )
    return ""


def sign_lost(old: tuple[float, float], new: tuple[float, float]) -> bool:
    """Whether a range reaches 0, or beyond it, where the old one did not.

    What a reading leaves out may rest on a sign, as that no price is negative.
    """
    below = (old[0] >= 0 > new[0]) or (old[0] > 0 >= new[0])
    return below or (old[1] <= 0 < new[1]) or (old[1] < 0 <= new[1])


def _unit(column: Mapping[str, Any]) -> Unit | None:
    return None if column["unit"] is None else parse_unit(str(column["unit"]))
