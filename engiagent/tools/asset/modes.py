"""Tools on failure modes: what can fail, what shows it, and what it does to a plan's component.

The table ``modes.csv`` is curated; each line names its source.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import Final

from engiagent.errors import InputError
from engiagent.plant.source import nearest
from engiagent.tools.asset.history import PACK, register
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Argument, Json, Outcome, State, shape, tool
from engiagent.tools.site.arguments import stated

GROUP: Final = "asset"
SOURCES: Final = {
    "RP-1043": "Comstock and Braun, Development of analysis tools for the evaluation of fault "
    "detection and diagnostics in chillers, ASHRAE RP-1043, 1999",
    "APAR": "Schein et al., A rule-based fault detection method for air handling units, Energy and "
    "Buildings 38 (2006)",
    "ISO 17359": "ISO 17359:2018, Condition monitoring and diagnostics of machines, annexes",
    "ASHRAE towers": "ASHRAE Handbook, HVAC Systems and Equipment, chapter on cooling towers",
    "Madani 2014": "Madani and Roccatello, A comprehensive study on the important faults in heat "
    "pump system during the warranty period, Int. J. of Refrigeration 48 (2014)",
    "Birkl 2017": "Birkl et al., Degradation diagnostics for lithium ion cells, Journal of Power "
    "Sources 341 (2017)",
    "IEC 61724": "IEC 61724-1:2021, Photovoltaic system performance, monitoring",
    "IEC 62446": "IEC 62446-1:2016, Photovoltaic systems, documentation and maintenance",
}
_REGISTER: Final = Argument(
    "sensors", {"type": "string", "minLength": 1}, "A register, to say what of it is there."
)


@cache
def lines() -> tuple[dict[str, str], ...]:
    """Return the lines of the table: a mode, one quantity that shows it, and how."""
    text = files("engiagent.tools.asset").joinpath("modes.csv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@tool(
    "read",
    *stated("kind", "modes", pack=PACK),
    returns=shape("count: count; modes: list of object; sources: by name text"),
)
def fmsr_modes(state: State, given: Json) -> Outcome:
    """List failure modes by kind of asset, or those that a measured quantity shows."""
    asked = given.get("measures")
    names = sorted({line["measures"] for line in lines()})
    if asked is not None and asked not in names:
        raise InputError(f"no mode is shown by {asked!r}", expected=nearest(asked, names))
    found: dict[tuple[str, str], Json] = {}
    for line in lines():
        if given.get("kind", line["kind"]) != line["kind"]:
            continue
        mode = found.setdefault(
            (line["kind"], line["mode"]),
            {"kind": line["kind"], "mode": line["mode"], "shown_by": [], "action": line["action"]}
            | {"slots": line["slot"].split(";") if line["slot"] else [], "source": line["source"]},
        )
        mode["shown_by"].append({"measures": line["measures"], "symptom": line["symptom"]})
    modes = [m for m in found.values() if asked in (None, *(s["measures"] for s in m["shown_by"]))]
    sources = {m["source"]: SOURCES[m["source"]] for m in modes}
    return Outcome(plain({"count": len(modes), "modes": modes, "sources": sources}))


@tool(
    "read",
    *stated("mode", "kind", pack=PACK),
    _REGISTER,
    returns=shape(
        "mode: text; shown_by: list of object; not_measured: list of text; sources: by name text"
    ),
    outside=True,
)
def fmsr_sensors(state: State, given: Json) -> Outcome:
    """List what shows a failure mode; with a register, which sensors measure it and what is absent.

    A sensor is found by what the register says that it measures.
    """
    own = [line for line in lines() if line["mode"] == given["mode"]]
    if not own:
        names = sorted({str(line["mode"]) for line in lines()})
        raise InputError(f"no mode {given['mode']!r}", expected=nearest(given["mode"], names))
    own = [line for line in own if given.get("kind", line["kind"]) == line["kind"]]
    known = register(state.root, given["sensors"]) if "sensors" in given else {}
    shown = []
    for line in own:
        sensors = [
            sensor.name
            for sensor in known.values()
            if sensor.kind == line["kind"] and sensor.measures == line["measures"]
        ]
        about = {name: line[name] for name in ("kind", "measures", "symptom", "source")}
        shown.append({**about, "sensors": sensors})
    absent = sorted({str(s["measures"]) for s in shown if not s["sensors"]}) if known else []
    sources = {line["source"]: SOURCES[line["source"]] for line in own}
    content = {"mode": given["mode"], "shown_by": shown, "not_measured": absent}
    return Outcome(plain({**content, "sources": sources}))
