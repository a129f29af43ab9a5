"""Tools on failure modes: what can fail, what shows it, and what it does to a plan's component.

The table ``modes.csv`` is curated; each line names its source, one of ``sources.csv``.
"""

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from engiagent.errors import InputError
from engiagent.plant.source import nearest
from engiagent.tools.asset.history import asset_tool, register
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Json, Outcome, State


@cache
def lines(file: str = "modes.csv") -> tuple[dict[str, str], ...]:
    """Return the lines of a table of the pack; of modes: a mode, what shows it, and how."""
    text = files("engiagent.tools.asset").joinpath(file).read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _sources(shown: Iterable[Mapping[str, str]]) -> dict[str, str]:
    used = {line["source"] for line in shown}
    return {s["source"]: s["title"] for s in lines("sources.csv") if s["source"] in used}


@asset_tool(
    "kind modes", "count: count; modes: list of object; sources: by name text", outside=False
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
    return Outcome(plain({"count": len(modes), "modes": modes, "sources": _sources(modes)}))


@asset_tool(
    "mode kind compared",
    "mode: text; shown_by: list of object; not_measured: list of text; sources: by name text",
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
    shown: list[Json] = [
        {name: line[name] for name in ("kind", "measures", "symptom", "source")} for line in own
    ]
    for line in shown:
        pair = (line["kind"], line["measures"])
        line["sensors"] = [s.name for s in known.values() if (s.kind, s.measures) == pair]
    absent = sorted({line["measures"] for line in shown if not line["sensors"]}) if known else []
    content = {"mode": given["mode"], "shown_by": shown, "not_measured": absent}
    return Outcome(plain({**content, "sources": _sources(own)}))
