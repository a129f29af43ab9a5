r"""From a configuration to a plant file with its data and its rules of control.

A folder gets ``plant.yaml``, ``series.csv`` with what disturbances drive, the data files that are
named, and ``control.yaml``: what ``engiagent simulate``, ``run`` and ``control`` take. Profiles
over the day are, with the hour :math:`h` in the middle of a period,

.. math::
    \vartheta = \bar\vartheta + A \cos(2\pi (h - h_\mathrm{hot}) / 24), \qquad
    G = G_\mathrm{max} \max\Bigl\{0,
    \sin\frac{\pi (h - h_\mathrm{rise})}{h_\mathrm{set} - h_\mathrm{rise}}\Bigr\}
"""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.timeaxis import parse_step
from engiagent.environment.controllers import by_rules, joined, ruled
from engiagent.environment.environment import Environment
from engiagent.environment.interface import Controller, driving
from engiagent.errors import InputError
from engiagent.io.files import open_inside, packaged_yaml, write_atomic
from engiagent.io.plainyaml import dump_yaml
from engiagent.io.schemawords import Json
from engiagent.io.weather import read_weather, series_over
from engiagent.plant.source import FormError, PlantError
from engiagent.plant.values import Column, pieces
from engiagent.slots import COMPONENTS
from engiagent.tools.places import inside
from engiagent.tools.site.arguments import THERMAL, refuse_lacking
from engiagent.tools.site.document import named_slots
from engiagent.units.words import Conventions

PLANT: Final = "plant.yaml"
SERIES: Final = "series.csv"
CONTROL: Final = "control.yaml"
DRIVEN: Final[Mapping[tuple[str, str], str]] = {
    **{(zone, "ambient_temperature"): "temperature" for zone in THERMAL},
    ("pv", "irradiance"): "irradiance",
    ("pv", "air_temperature"): "temperature",
    ("heat_pump", "source_temperature"): "temperature",
}
"""By model and slot what the weather gives where the slot is not filled."""
GAINS: Final = {"thermal_zone": "gains", "zone_5r1c": "internal_gains"}
_UNITS: Final = {"temperature": "degC", "irradiance": "W/m2"}
_FROM_FILE: Final = {
    "temperature": "dry_bulb_temperature",
    "irradiance": "global_horizontal_radiation",
}
MACHINES: Final = ("heater", "heat_pump", "boiler", "cooler", "chiller", "emitter")


class Plant:
    """A configuration in one of its environments, on the way to a plant file.

    ``root``: the session's folder, in which its data files lie. InputError without an environment.
    """

    def __init__(self, document: Json, root: Path) -> None:
        self.document, self.root = document, root
        chosen = document["selected"].get("environment")
        if chosen is None:
            raise InputError("no environment is selected", expected="a call of environment_add")
        self.environment: Json = document["environments"][chosen]
        self.hours = parse_step(self.environment["step"])[0] / 3600.0
        self.periods = round(float(self.environment["days"]) * 24.0 / self.hours)
        first = datetime.fromisoformat(self.environment["start"])
        self.stamps = [first + timedelta(hours=k * self.hours) for k in range(self.periods)]
        own = np.array([t.hour + t.minute / 60.0 for t in self.stamps]) + self.hours / 2.0
        self.middles = own % 24.0
        self.columns: dict[str, Any] = {}
        self.weather = self._named("weather")
        cluster = self.environment.get("cluster")
        wanted = list(document["clusters"]) if cluster is None else [cluster]
        self.clusters = {n: e for n, e in document["clusters"].items() if n in wanted}
        components = document["components"].items()
        self.components = {n: e for n, e in components if self._cluster(e) in (None, *wanted)}

    def _named(self, kind: str) -> Json | None:
        name = self.environment.get(kind)
        return None if name is None else self.document["disturbances"][name]

    def _cluster(self, entry: Json) -> str | None:
        """Return the cluster of a component's first building."""
        own = entry.get("buildings")
        return str(self.document["buildings"][own[0]]["cluster"]) if own else None

    def stated(self) -> Json:
        """Return the plant file as plain values.

        InputError for a component without a slot that it has to have, and data that cannot be read.
        """
        components = {name: self._grid(name, entry) for name, entry in self.clusters.items()}
        components |= {name: self._component(name, e) for name, e in self.components.items()}
        document, environment = self.document, self.environment
        requirements = {**self._comfort(), **document.get("requirements", {})}
        names = ("start", "step", "zone", "weight", "representative")
        shown = {key: environment[key] for key in names if key in environment}
        return {
            **{key: document[key] for key in ("title", "currency")},
            "horizon": {**shown, "periods": self.periods},
            "components": components,
            **({"requirements": requirements} if requirements else {}),
            "goal": document.get("goal", {"minimize": "cost"}),
            **{key: document[key] for key in ("baseline", "cases") if key in document},
        }

    def _grid(self, name: str, entry: Json) -> Json:
        found = {"model": "grid", "bus": name, **named_slots({**entry, "model": "grid"})}
        price = self._named("price")
        for way in ("import_price", "export_price") if price else ():
            found.setdefault(way, self._price(price or {}, way))
            if found[way] is None:
                del found[way]
        return found

    def _component(self, name: str, entry: Json) -> Json:
        model = entry["model"]
        found = named_slots(entry)
        if "bus" in COMPONENTS[model].connections and self._cluster(entry) is not None:
            found.setdefault("bus", self._cluster(entry))
        for (owner, slot), what in DRIVEN.items():
            if owner == model and self.weather is not None and not _stands_in(entry, slot):
                found.setdefault(slot, self._weather(what))
        if model in GAINS and self._named("occupancy") is not None:
            gains = self._occupancy(name)
            before = found.get(GAINS[model])
            found[GAINS[model]] = f"{before} + {gains}" if before else gains
        refuse_lacking(model, name, found, ())
        return found

    def _comfort(self) -> Json:
        """Return the requirements that limits of comfort are."""
        found = {}
        for name, entry in self.components.items():
            low, high = entry.get("comfort_min"), entry.get("comfort_max")
            if entry["model"] == "thermal_zone" and (low or high):
                ends = (f"{low} <= " if low else "", f" <= {high}" if high else "")
                must = f"{ends[0]}{name}.temperature[t]{ends[1]}"
                found[f"comfort_{name}"] = {"for": "t in T", "must": must}
        return found

    # -- series -----------------------------------------------------------------------------------

    def _series(self, name: str, unit: str, values: Any) -> str:
        self.columns[f"{name} [{unit}]"] = np.broadcast_to(values, self.periods)
        return f"{SERIES}#{name}"

    def _weather(self, what: str) -> str:
        entry = self.weather or {}
        if entry["form"] == "file":
            return self._from_file(entry, what)
        if entry["form"] == "constant":
            values = entry["temperature" if what == "temperature" else "irradiance_max"]
        elif what == "temperature":
            turn = np.cos(2.0 * np.pi * (self.middles - entry["hottest_hour"]) / 24.0)
            values = entry["temperature"] + entry["amplitude"] * turn
        else:
            length = entry["sunset"] - entry["sunrise"]
            inside = (self.middles - entry["sunrise"]) / length
            values = np.where(abs(inside - 0.5) < 0.5, np.sin(np.pi * inside), 0.0)
            values = entry["irradiance_max"] * values
        return self._series(f"weather_{what}", _UNITS[what], values)

    def _from_file(self, entry: Json, what: str) -> str:
        """Return a column of a table, or of a weather file along the periods."""
        column = entry.get(f"{what}_column")
        if not str(entry["file"]).lower().endswith(".epw"):
            if column is None:
                said = f"the weather does not say which column is the {what}"
                raise InputError(said, entry["file"], expected=f"{what}_column")
            return f'{entry["file"]}#"{column}"'
        found = read_weather(inside(self.root, entry["file"]))
        name = column or _FROM_FILE[what]
        values = series_over(found, name, self.stamps[0], self.hours, self.periods)
        return self._series(f"weather_{what}", found.units[name], values)

    def _price(self, entry: Json, way: str) -> str | None:
        exported = way == "export_price"
        if exported or entry["form"] == "flat":
            stated = entry.get(way)
            return None if stated is None else f"{stated} {self.document['currency']}/kWh"
        if entry["form"] == "file":
            return f'{entry["file"]}#"{entry["column"]}"'
        low, high = entry["import_price"], entry["high_price"]
        is_high = _between(self.middles, entry["high_from"], entry["high_until"])
        unit = f"{self.document['currency']}/kWh"
        return self._series(way, unit, np.where(is_high, high, low))

    def _occupancy(self, zone: str) -> str:
        """Return the heat of the people in a zone: all of a building's by equal shares."""
        entry = self._named("occupancy") or {}
        if entry["form"] == "file":
            return f'{entry["file"]}#"{entry["column"]}"'
        own = self.components[zone].get("buildings", ())[:1]
        zones = (e for e in self.components.values() if e["model"] in GAINS)
        sharing = [e for e in zones if e.get("buildings", ())[:1] == own]
        present = _between(self.middles, entry["present_from"], entry["present_until"])
        workday = np.array([t.weekday() < 5 for t in self.stamps])
        present = present & (workday if entry["workdays_only"] else True)
        heat = entry["people"] * entry["heat_per_person"] / 1000.0 / len(sharing)
        return self._series(f"occupancy_{zone}", "kW", np.where(present, heat, 0.0))

    # -- files ------------------------------------------------------------------------------------

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write the plant file with its data into a folder; return the names of its files.

        InputError as of :meth:`stated`, and for a data file that is absent.
        """
        stated = self.stated()
        data = {name: open_inside(self.root, name) for name in sorted(_files(stated))}
        texts: dict[str, str | bytes] = {**data, PLANT: dump_yaml(stated)}
        if self.columns:
            texts[SERIES] = self._table()
        for name, content in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / name, content)
        return tuple(texts)

    def _table(self) -> str:
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["time", *self.columns])
        for k, stamp in enumerate(self.stamps):
            rows.writerow([stamp.isoformat(), *(f"{v[k]:.10g}" for v in self.columns.values())])
        return text.getvalue()

    # -- control ----------------------------------------------------------------------------------

    def controllers(self, kind: str) -> dict[str, Json]:
        """Return the controllers of a kind that have a system in the environment."""
        return {
            name: entry
            for name, entry in self.document["controllers"].items()
            if entry["kind"] == kind and set(entry["systems"]) & set(self.components)
        }

    def rules(self, site: Environment) -> Json:
        """Return by input the rules of all controllers, as a file of rules states them."""
        found: Json = {}
        for entry in self.controllers("thermostat").values():
            for system in entry["systems"]:
                found |= _thermostat(entry, self._served(system), site)
        for entry in self.controllers("schedule").values():
            for system in entry["systems"]:
                found |= dict(_schedule(entry, system, site))
        return found

    def controller(self, site: Environment) -> Controller | None:
        """Return what sets inputs; None where nothing does."""
        own = {s for e in self.controllers("self_consumption").values() for s in e["systems"]}
        parts = [_of_systems(ruled("self-consumption", site), own)] if own else []
        rules = self.rules(site)
        parts += [by_rules(rules, site.signals, CONTROL)] if rules else []
        return joined(*parts) if parts else None

    def _served(self, system: str) -> dict[str, str]:
        """Return by component what a system serves: its zone, or the emitters on its bus."""
        own = self.components[system]
        if own["model"] in THERMAL:
            return {system: system}
        if "zone" in own:
            return {system: own["zone"]}
        buses = {own[bus] for bus in ("heat_bus", "cooling_bus") if bus in own}
        found = {
            name: entry["zone"]
            for name, entry in self.components.items()
            if "zone" in entry and buses & {entry.get("heat_bus"), entry.get("cooling_bus")}
        }
        if not found:
            said = f"{system} serves no zone that a thermostat could read"
            raise InputError(said, expected="zone: of the system, or emitters on its bus")
        return found


def _of_systems(controller: Controller, systems: set[str]) -> Controller:
    """Return a controller that sets inputs of some systems alone."""
    whole = driving(controller).step
    return lambda now: {n: v for n, v in whole(now).items() if n.partition(".")[0] in systems}


def write_plant(plant: Plant, folder: Path) -> Environment:
    """Write plant file, data and rules of control into a folder; return the plant as it runs.

    InputError for whatever is wrong in the configuration.
    """
    plant.write(folder)
    try:
        site = Environment.load(folder / PLANT)
    except PlantError as error:
        for fault in error.errors:  # the file is of this module, its lines say nothing to users
            fault.file = fault.line = fault.column = None
        raise
    rules = plant.rules(site)
    if rules:
        write_atomic(folder / CONTROL, dump_yaml(rules))
    plant.controller(site)
    return site


def _thermostat(entry: Json, served: Mapping[str, str], site: Environment) -> Json:
    """Return the rules of a thermostat: both ends of its dead band around the setpoint."""
    found: Json = {}
    for system, zone in served.items():
        inputs = (f"{system}.{word}" for word in ("electric_power", "heat", "cooling"))
        names = [name for name in inputs if _acts(site, name)][:1] or _own_power(site, system)
        for name in names:
            cools = name.endswith((".cooling", "cooling")) or _cools(site, system)
            way = "cooling" if cools else "heating"
            setpoint = entry.get(f"{way}_setpoint")
            if setpoint is None:
                raise InputError(f"{system} is controlled without a {way}_setpoint", expected="one")
            most = site.signals[name].upper
            if not np.isfinite(most):
                said = f"{name} has no largest power"
                raise InputError(said, expected="its limit among the slots")
            half = entry["deadband"] / 2.0
            found[name] = {
                "thermostat": _temperature(site, zone),
                "between": [f"{setpoint - half:g} degC", f"{setpoint + half:g} degC"],
                "on": most,
                "cooling": "yes" if cools else "no",
                "shift": _shifts(entry, way),
            }
    return found


def _acts(site: Environment, name: str) -> bool:
    return name in site.signals and site.signals[name].role == "action"


def _own_power(site: Environment, zone: str) -> list[str]:
    """Return what heats or cools a zone without units of its own."""
    ways = (f"zone.{zone}.{way}" for way in ("heating", "cooling"))
    found = [n for n in (*ways, f"{zone}.heating", f"{zone}.cooling") if _acts(site, n)]
    if not found:
        said = f"{zone} has no input that a thermostat sets"
        raise InputError(said, expected="a system with one")
    return found


def _cools(site: Environment, system: str) -> bool:
    unit = next(u for u in site.built.units if u.name == system)
    return unit.model in ("cooler", "chiller") or "cooling_bus" in unit.connections


def _temperature(site: Environment, zone: str) -> str:
    ends = (f"zone.{zone}.temperature", "zone.temperature", f"{zone}.air.mean_temperature")
    return next(name for name in ends if name in site.signals)


def _shifts(entry: Json, way: str) -> Json:
    """Return by the time of the day how far setpoints are moved; pre-cooling before setback."""
    sign = -1.0 if way == "cooling" else 1.0
    word = "pre" + way
    events: list[tuple[float, float, float]] = []
    if entry.get(word):
        events.append((entry[f"{word}_start"], entry[f"{word}_hours"], sign * entry[word]))
    if entry.get("setback"):
        events.append((entry["setback_start"], entry["setback_hours"], -sign * entry["setback"]))
    edges = {0.0} | {(at + more) % 24.0 for at, length, _ in events for more in (0.0, length)}
    moved = {
        edge: [kelvin for at, length, kelvin in events if (edge - at) % 24.0 < length - 1e-9]
        for edge in sorted(edges)
    }
    return {_clock(edge): f"{own[0] if own else 0.0:g} K" for edge, own in moved.items()}


def _schedule(entry: Json, system: str, site: Environment) -> Iterator[tuple[str, Json]]:
    """Yield the daily rules of charge and discharge, or of the power of a machine."""
    for way in ("charge", "discharge", "power"):
        if entry.get(f"{way}_hours") is None:
            continue
        name = f"{system}.{way}"
        if not _acts(site, name):
            raise InputError(f"{system} has no input {way!r}", expected="a system that has it")
        most = site.signals[name].upper
        level = entry.get(f"{way}_level", most)
        if not np.isfinite(level):
            raise InputError(f"{name} has no largest power", expected=f"{way}_level")
        start, length = entry[f"{way}_start"], entry[f"{way}_hours"]
        edges = {0.0, start, (start + length) % 24.0}
        daily = {
            _clock(e): f"{level if (e - start) % 24.0 < length - 1e-9 else 0.0:g} kW"
            for e in sorted(edges)
        }
        yield name, {"daily": daily}


def _clock(hour: float) -> str:
    minutes = round(hour * 60.0)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _between(hours: Any, start: float, stop: float) -> Any:
    """Return which hours lie in a part of the day, over midnight too."""
    inside = (hours >= start, hours < stop)
    return inside[0] & inside[1] if start < stop else inside[0] | inside[1]


def _stands_in(entry: Json, slot: str) -> bool:
    """Whether a slot that the weather could drive is not wanted, by what else is filled."""
    if slot == "ambient_temperature":
        return entry["model"] == "thermal_zone" and "resistance" not in entry
    return slot == "source_temperature" and "cop" in entry


def _files(tree: Any) -> set[str]:
    """Return the data files that a plant file names, but for the series that are made for it."""
    if isinstance(tree, Mapping):
        return {name for value in tree.values() for name in _files(value)}
    if isinstance(tree, list):
        return {name for value in tree for name in _files(value)}
    if not isinstance(tree, str) or "#" not in tree:
        return set()
    try:
        found = pieces(tree, Conventions())
    except FormError:
        return set()  # said where the plant file is read
    return {p.file for p in found if isinstance(p, Column) and p.file != SERIES}


def reference() -> Json:
    """Return the reference test building; docs/tools.md says what it is."""
    found: Json = packaged_yaml("engiagent.tools.site", "reference.yaml")
    return found
