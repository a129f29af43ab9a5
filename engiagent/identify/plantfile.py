"""What was identified as a plant file: zones with their sources, put into a template or alone."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from engiagent.environment.signals import duration
from engiagent.errors import InputError
from engiagent.identify.identifying import SCHEMA, Identified, inputs_of
from engiagent.identify.kalman import filtered, mean_wind
from engiagent.identify.machines import PERFORMANCE, MachineMap
from engiagent.identify.measurements import LEAKS, Instants, read_days
from engiagent.identify.residual import Learnt
from engiagent.identify.structures import GAIN, OUTSIDE, ROOM, Floats, resistance_name
from engiagent.io.files import open_inside
from engiagent.io.jsontext import dumps_canonical
from engiagent.io.plainyaml import load_tree

PLANT, RECORD = "plant.yaml", "identified.json"
RESIDUAL: Final = "residual.json"
_NAMED: Final = re.compile(r"[\w./-]+\.(?:csv|xlsx|parquet|nc)(?=#)")
_UNITS: Final = {"ambient": "degC", "solar": "kW/m2"}
_DAYS: Final = 2


def stretch(found: Identified) -> tuple[int, int]:
    """Return the last periods with all inputs: those held back, or as many as two days have."""
    whole = found.measurements.record.whole
    end = int(np.flatnonzero(whole)[-1]) + 1
    gaps = np.flatnonzero(~whole[:end])
    first = int(gaps[-1]) + 1 if gaps.size else 0
    length = round(_DAYS * 24 / found.measurements.record.hours)
    wanted = found.begin if found.begin < end - 1 else max(end - length, 0)
    return max(first, wanted), end


def inputs_csv(found: Identified) -> str:
    """Return what the plant needs of the measurements: temperature outside, sun and gains."""
    data, rows = found.measurements, slice(*stretch(found))
    series = dict(zip(data.inputs, data.record.inputs[rows].T, strict=True))
    return _table(data.begins[rows], data.zone, series)


def _table(begins: Instants, zone: str | None, series: Mapping[str, Floats]) -> str:
    """Return what a plant takes of series as a table."""
    shown = {name: values for name, values in series.items() if name not in ("heat", *LEAKS)}
    head = ",".join(["time", *(f"{name} [{_UNITS.get(name, 'kW')}]" for name in shown)])
    rows = (
        ",".join([_stamp(int(begin), zone), *(f"{x:.6g}" for x in values)])
        for begin, *values in zip(begins, *shown.values(), strict=True)
    )
    return "\n".join([head, *rows]) + "\n"


def _stamp(seconds: int, zone: str | None) -> str:
    stamp = datetime.fromtimestamp(seconds, ZoneInfo(zone) if zone else UTC)
    return stamp.isoformat() if zone else stamp.replace(tzinfo=None).isoformat()


def other_days(
    folder: Path, path: Path, columns: Mapping[str, str], zone: str | None
) -> tuple[dict[str, str | bytes], dict[str, Any]]:
    """Return the files of an identified plant for other days, and its record with notes.

    ``path`` has their weather, ``columns`` its columns that have other names than in the record;
    further files come from beside it, or else from ``folder``, which has an identified building.
    """
    about = json.loads(open_inside(folder, RECORD))
    if about.get("schema") != SCHEMA or not about["identified"]:
        raise InputError(
            "no model to apply", str(folder), expected="that of an identified building"
        )
    known = {r: n.partition("#")[2].rpartition(" [")[0] for r, n in about["columns"].items()}
    roles = [role for role in ("ambient", "solar", "gains") if role in known]
    known = {role: columns.get(role, known[role].strip('"')) for role in roles}
    text = open_inside(folder, PLANT).decode()
    horizon = (document := load_tree(text, PLANT)).setdefault("horizon", {})
    begins, zone, series = read_days(path, known, about["step_hours"], zone or horizon.get("zone"))
    files: dict[str, str | bytes] = {RECORD: dumps_canonical(about)}
    inputs = about.get("inputs", inputs_of(ROOM))
    notes = ["temperatures at the start are those of the plant file"]
    if (about["residual"] or {}).get("kept"):
        files[RESIDUAL] = open_inside(folder, RESIDUAL)
        learnt = Learnt(**json.loads(files[RESIDUAL])["function"])
        causes = np.column_stack([series[role] for role in learnt.inputs])
        series["residual"], is_on = learnt.heat(begins, causes, zone)
        notes.append(f"the residual is on in {is_on.sum()} of {len(begins)} periods")
    step = duration(horizon.get("step"), "the step of the horizon")
    most = len(begins) * about["step_hours"] * 3600 / step
    stated = float(horizon.pop("periods", 0) or 86400 * float(horizon.pop("days", 0)) / step)
    horizon.pop("end", None)
    horizon |= {"start": _stamp(int(begins[0]), zone)[:16]}
    horizon |= {"periods": int(min(stated or most, most))}
    for name in set(files_of(text)) - {inputs}:
        beside = path.parent if (path.parent / name).is_file() else folder
        files[name] = open_inside(beside, name)
    files |= {inputs: _table(begins, zone, series), PLANT: _written(document)}
    return files, {**about, "notes": notes}


def files_of(template: str) -> list[str]:
    """Return the data files that a plant file names."""
    return sorted(set(_NAMED.findall(template)))


def plant_text(found: Identified, template: str | None = None, file: str = "") -> str:
    """Return a plant file with the zones that were identified.

    In a template the zones of the same names get what was identified; what else is stated there
    stays. Without one there is a heater of the largest heat that was measured, the least of which
    is wanted, within the temperatures that were measured.

    Raises InputError when a parameter cannot be known, or the template is no plant file.
    """
    from ruamel.yaml.comments import CommentedMap  # here and below, as plant files are written

    if found.unknown:
        raise InputError(
            "there is no model to write", found.measurements.file, found=", ".join(found.unknown)
        )
    document, parts = _template(_skeleton(found) if template is None else template, file)
    for node, slots in _zones(found):
        zone = parts.setdefault(node, CommentedMap())
        if zone.setdefault("model", "thermal_zone") != "thermal_zone":
            expected = "thermal_zone, or another name"
            raise InputError(f"the component {node}", file, found=zone["model"], expected=expected)
        for slot, (value, note) in slots.items():
            if note or slot not in zone:
                zone[slot] = value
                if note and not zone.fa.flow_style():
                    zone.yaml_add_eol_comment(note, slot)
        heat = found.part(found.fit.model.structure.heated) == node
        served = [p for p in parts.values() if p.get("zone") == node or node in p.get("zones", ())]
        if heat and not served and template is not None and "heating_power_max" not in zone:
            expected = f"zone: {node} in a heater, an emitter or another unit"
            raise InputError(f"nothing heats the zone {node}", file, expected=expected)
    data, record = found.measurements, found.fit.record
    days = len(record.measured) * record.hours / 24
    source = (
        f"Identified from {data.file} (sha256 {data.sha256[:12]}), {days:.4g} days in steps of "
        f"{60 * record.hours:g} min, as {found.name};\n"
        f"sigma = {found.fit.sigma_one_step:.3g} K one step ahead. Intervals: 95 %."
    )
    return _written(document, source)


def machine_text(found: MachineMap, data: str, template: str | None = None, file: str = "") -> str:
    """Return a plant file, or the part of one, with a machine in the place of what it stated.

    Raises InputError when the template has none of its model, or several.
    """
    component = found.component()
    model = component["model"]
    document, parts = _template(template or f"components: {{{model}: {{model: {model}}}}}\n", file)
    alike = [part for part in parts.values() if part.get("model") == model]
    if len(alike) != 1:
        expected = f"one component of the model {model}"
        raise InputError("no place for the machine", file, found=f"{len(alike)}", expected=expected)
    for slot in PERFORMANCE:
        alike[0].pop(slot, None)
    alike[0].update(component)
    error = f"{found.used} periods, error {100 * found.error:.2g} %"
    return _written(document, f"{model} identified from {data}: {error}")


def _template(text: str, file: str) -> tuple[Any, dict[str, Any]]:
    """Return a plant file and its components."""
    document = load_tree(text, file)
    parts = document.get("components") if isinstance(document, Mapping) else None
    if not isinstance(parts, dict):
        raise InputError("there are no components", file, expected="components: {name: {…}}")
    return document, parts


def _written(document: Any, comment: str = "") -> str:
    from ruamel.yaml import YAML

    if comment:
        document.yaml_set_start_comment(comment)
    yaml, out = YAML(), StringIO()
    yaml.width = 100
    yaml.dump(document, out)
    return out.getvalue()


def _zones(found: Identified) -> Iterator[tuple[str, dict[str, tuple[Any, str]]]]:
    """Yield each node with its slots: the value, and what is known of it where it was found."""
    structure, data = found.fit.model.structure, found.measurements
    begin, _ = stretch(found)
    state = filtered(found.fit.model, found.fit.theta[None], data.record.part(0, begin + 1)).state
    for k, node in enumerate(structure.nodes):
        slots: dict[str, tuple[Any, str]] = {}
        slots["capacitance"] = _shown(found, f"{node}.capacitance")
        walls, notes = {}, []
        leaks = [(ROOM, OUTSIDE)] * (found.fit.model.leak is not None)
        for one, other in dict.fromkeys((*structure.links, *leaks)):
            name = resistance_name(one, other)
            if name == f"{node}.resistance":
                is_leaking = leaks and node == ROOM
                slots["resistance"] = _leaking(found) if is_leaking else _shown(found, name)
                slots["ambient_temperature"] = (f"{found.inputs}#ambient", "")
            elif name.startswith(f"{node}.neighbours."):
                walls[found.part(name.rpartition(".")[2])], note = _shown(found, name)
                notes.append(note)
        if walls:
            slots["neighbours"] = (walls, "; ".join(notes))
        if node == ROOM and (gains := _gains(found)):
            slots["gains"] = (gains, "")
        slots["initial_temperature"] = (f"{state[-1, 0, k]:.2f} degC", "")
        yield found.part(node), slots


def _shown(found: Identified, name: str) -> tuple[str, str]:
    known = found[name]
    return f"{known.value:.4g} {known.unit}", f"{known.low:.4g} to {known.high:.4g} {known.unit}"


def _leaking(found: Identified) -> tuple[str, str]:
    """Return the room's resistance at the mean of what lets air in; a plant has no series of it."""
    driver = next(d for d in found.measurements.drivers if d.is_leak)
    known, mean = found[f"{ROOM}.{driver.name}"], mean_wind(found.fit.model, found.fit.record)
    wall = 1 / found.fit.values.get(resistance_name(ROOM, OUTSIDE), np.inf)
    note = f"of it {known.name} {known.low:.4g} to {known.high:.4g} {known.unit}"
    note += f" at the mean of the {driver.series}, {mean:.3g}"
    return f"{1 / (wall + known.value * mean):.4g} K/kW", note


def _gains(found: Identified) -> str:
    """Return the heat from drivers as an expression over columns."""
    terms = []
    for driver in found.measurements.drivers:
        if not driver.is_leak:
            size = "" if driver.is_known else f" * {found[f'room.{driver.name}'].value:.4g} m2"
            terms.append(f"{found.inputs}#{driver.series}{size}")
    if found.fit.model.has_gain:
        terms.append(f"{found[GAIN].value:.4g} kW")
    return " + ".join(terms).replace("+ -", "- ")


def _skeleton(found: Identified) -> str:
    """Return a plant file in which only what was measured stands."""
    data, heated = found.measurements, found.part(found.fit.model.structure.heated)
    begin, end = stretch(found)
    start = _stamp(int(data.begins[begin]), data.zone)[:16]
    rows = data.record.whole & np.isfinite(data.record.measured)
    heat, warmth = data.record.inputs[rows, 1], found.fit.record.measured
    low, high = math.floor(np.nanmin(warmth) * 2) / 2, math.ceil(np.nanmax(warmth) * 2) / 2
    units, goals = [], []
    for name, most in (("heater", heat.max()), ("cooler", -heat.min())):
        if most > 0:
            units.append(
                f"  {name}:\n    model: {name}\n    zone: {heated}\n    bus: none\n"
                f"    electric_power_max: {most:.4g} kW  # the largest that was measured\n"
            )
            goals.append(f"{name}.electric_power[t]")
    zone = f", zone: {data.zone}" if data.zone else ""
    return (
        f"title: Building of {data.file}\n"
        f"horizon: {{start: '{start}', step: {60 * data.record.hours:g} min, "
        f"periods: {end - begin}{zone}}}\n"
        f"components:\n{''.join(units)}"
        "requirements:  # the range of what was measured; put the comfort that is wanted\n"
        f"  low: {found.zone}.temperature[t] >= {low:g} degC\n"
        f"  high: {found.zone}.temperature[t] <= {high:g} degC\n"
        f'goal: {{minimize: "sum(({" + ".join(goals)})*dt(t) for t in T)", unit: kWh}}\n'
    )
