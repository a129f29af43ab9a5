"""Tools that solve power flows of feeders, and look at what is in them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.plant.source import FormError
from engiagent.plant.values import Quantity, pieces
from engiagent.text.datafile import load_data_file
from engiagent.tools.grid.balanced import solve_balanced
from engiagent.tools.grid.feeders import FEEDERS, Bands, Feeder, Flow, opened
from engiagent.tools.grid.network import Network, power_flow
from engiagent.tools.grid.transmission import CASES
from engiagent.tools.modelling import plain
from engiagent.tools.places import below, write_rows
from engiagent.tools.registry import Json, Outcome, State, shape, tool
from engiagent.tools.site.arguments import entries, stated
from engiagent.units.unit import UnitError, convert, parse_unit
from engiagent.units.words import Conventions

GROUP: Final = "grid"
PACK: Final = "grid"
_WORDS: Final[Mapping[str, Json]] = {
    "node": shape("node: text; magnitude_pu angle_deg: number"),
    "power": shape("active_kw reactive_kvar: number"),
    "violation": shape("kind place: text; value limit: number; unit: text"),
    "branch": shape(
        "name from to: text; current_a: number; loading: number or null; losses_kw: number"
    ),
    "level": shape("voltage_kv: number; buses: count"),
}


@dataclass(frozen=True)
class Situation:
    """What is drawn and fed in at one time."""

    factor: float = 1.0  # of all loads
    loads: Mapping[str, complex] | None = None  # those that have a power of their own. [kVA]
    units: Mapping[str, complex] | None = None  # by node or bus. [kVA]
    share: float = 1.0  # of what the units have


def numbers(given: Sequence[str] | None, what: str, unit: str = "kW") -> dict[str, float]:
    """Return NAME=NUMBER entries in a unit; InputError for what is none, or no such quantity."""
    found = {}
    for name, text in entries(given).items():
        try:
            match pieces(text, Conventions()):
                case [Quantity(number, own)]:
                    factor = 1.0 if own is None else convert(1.0, own, parse_unit(unit))
                    found[name] = number * factor
                    continue
        except (FormError, UnitError):
            pass
        raise InputError(f"{what} of {name} is no number", found=text, expected=f"in {unit}")
    return found


# --- situations ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Profiles:
    """Factors by stamp, of loads and units."""

    stamps: tuple[str, ...]
    factors: Mapping[str, np.ndarray]  # by column

    def at(self, stamp: str, feeder: Feeder, start: Situation) -> Situation:
        """Return a situation with the factors of a stamp."""
        row = self.row(stamp)
        own = {name: values[row] for name, values in self.factors.items()}
        base, share = own.pop("load", 1.0), own.pop("units", 1.0)
        totals: dict[str, complex] = {}
        for load in (*feeder.loads, *feeder.generators):
            totals[load.name] = totals.get(load.name, 0) + load.power
            own.setdefault(load.name, 1.0 if load.fixed else base)
        if unknown := [name for name in own if name not in totals]:
            raise InputError(
                f"the column {unknown[0]!r} is no load of {feeder.name}",
                expected=f"load, units, or one of {', '.join(list(totals)[:8])} …",
            )
        changed = {name: power * own[name] for name, power in totals.items()}
        return replace(start, loads=changed, share=share)

    def row(self, stamp: str) -> int:
        """Return the row of a stamp, of which the time of the day or a beginning suffices."""
        wanted = stamp.strip().replace(" ", "T")
        found = [k for k, s in enumerate(self.stamps) if s.startswith(wanted) or wanted in s[11:16]]
        if not found:
            expected = f"from {self.stamps[0]} to {self.stamps[-1]}"
            raise InputError("the profiles have no such stamp", found=stamp, expected=expected)
        return found[0]


def profiles_of(feeder: Feeder, root: Path, file: str | None) -> Profiles:
    """Return the profiles of a file, or OpenDSS's daily shape of loads where none is named."""
    if file is None:
        feeder.dss.LoadShape.Name("default")
        hours = [f"0001-01-01T{hour:02d}:00" for hour in range(24)]
        return Profiles(tuple(hours), {"load": np.array(feeder.dss.LoadShape.PMult())})
    path = below(root, file)
    data = load_data_file(root, file, Conventions(), None)
    if data.axis is None:
        raise InputError("no column of time", path.name, expected="time stamps as 2026-01-31T00:00")
    known = {data.time_column, *(c.name for c in data.series)}
    odd = [
        c.header for name, c in data.columns.items() if name not in known and c.name not in known
    ]
    if odd:
        raise InputError(f"the column {odd[0]!r} has no numbers", path.name, expected="factors")
    seconds = np.asarray(data.axis.instants, dtype="datetime64[s]")
    stamps = tuple(str(stamp)[:16] for stamp in seconds)
    return Profiles(stamps, {c.header.lower(): c.numbers() for c in data.series})


def apply(feeder: Feeder, situation: Situation) -> Flow:
    """Put a feeder into a situation and solve it."""
    feeder.draw(situation.loads or {})
    feeder.inject({n: p * situation.share for n, p in (situation.units or {}).items()})
    return feeder.solve(situation.factor)


@contextmanager
def situated(state: State, given: Json, plain: bool = False) -> Iterator[tuple[Feeder, Situation]]:
    """Open the feeder of a call, with the situation that it states; see :func:`opened`."""
    controlled = given.get("regulators") == "controlled"
    commands = given.get("set", ())
    with opened(given["case"], state.root, controlled, plain, commands) as feeder:
        listed = numbers(given.get("units"), "units")
        units = {feeder.known(name): complex(power) for name, power in listed.items()}
        situation = Situation(given.get("load", 1.0), None, units)
        if "profiles" in given or "stamp" in given:
            profiles = profiles_of(feeder, state.root, given.get("profiles"))
            if "stamp" not in given and len(profiles.stamps) > 1:
                expected = f"stamp, from {profiles.stamps[0]} to {profiles.stamps[-1]}"
                raise InputError("profiles have many stamps", found="none", expected=expected)
            situation = profiles.at(given.get("stamp", profiles.stamps[0]), feeder, situation)
        yield feeder, situation


# --- what is seen --------------------------------------------------------------------------------


def voltages_content(voltages: Mapping[str, complex]) -> list[Json]:
    """Return voltages as a caller sees them."""
    return [
        {"node": node, "magnitude_pu": round(abs(v), 8)}
        | {"angle_deg": round(float(np.angle(v, deg=True)), 6)}
        for node, v in voltages.items()
    ]


# --- tools ---------------------------------------------------------------------------------------


@tool("read", returns=shape("feeders transmission formats: list of text"))
def grid_cases(state: State, given: Json) -> Outcome:
    """List the test feeders and transmission cases that are there, and the files that are read."""
    formats = ["OpenDSS .dss", "pandapower .json", "MATPOWER .m"]
    return Outcome(
        plain({"feeders": list(FEEDERS), "transmission": list(CASES), "formats": formats})
    )


@tool(
    "read",
    *stated("feeder", pack=PACK),
    returns=shape(
        "case: text; elements: by name count; buses nodes: count; load: power; "
        "voltages_kv: list of level",
        _WORDS,
    ),
)
def grid_counts(state: State, given: Json) -> Outcome:
    """Count the elements of a feeder by class, its buses by nominal line voltage, and its load."""
    with situated(state, given) as (feeder, _):
        levels = Counter(round(base * np.sqrt(3) / 1e3, 4) for base in feeder.bases.values())
        total = sum(load.power for load in feeder.loads)
        listed = [{"voltage_kv": k, "buses": n} for k, n in sorted(levels.items(), reverse=True)]
        counts = Counter(name.partition(".")[0] for name in feeder.elements())
        content = {
            **{"case": feeder.name, "elements": dict(sorted(counts.items()))},
            **{"buses": len(feeder.bases), "nodes": len(feeder.nodes)},
            **{"load": _power(total), "voltages_kv": listed},
        }
    return Outcome(plain(content))


def _power(power: complex) -> Json:
    return {"active_kw": power.real, "reactive_kvar": power.imag}


@tool(
    "write",
    *stated("feeder", "state", "elements", pack=PACK),
    returns=shape("case: text; count: count; elements: list of object"),
    repeatable=False,
)
def grid_elements(state: State, given: Json) -> Outcome:
    """List buses, nodes, lines, transformers, loads or capacitors, by voltage; into a file too."""
    with situated(state, given) as (feeder, situation):
        flow = apply(feeder, situation)
        rows = list(_elements(feeder, flow, given))
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        head = list(rows[0]) if rows else ["name"]
        artefacts = (write_rows(state.root, given["file"], head, (list(r.values()) for r in rows)),)
    content = {"case": given["case"], "count": len(rows), "elements": rows}
    return Outcome(plain(content), {}, artefacts)


def _elements(feeder: Feeder, flow: Flow, given: Json) -> Iterator[Json]:
    kind = given["kind"]

    def wanted(bus: str) -> bool:
        level = feeder.bases[bus] * np.sqrt(3) / 1e3
        return "voltage" not in given or abs(level - given["voltage"]) < 0.01 * level

    if kind in ("bus", "node"):
        for name in feeder.bases if kind == "bus" else feeder.nodes:
            own = feeder.nodes_of(name) if kind == "bus" else [name]
            sizes = [abs(flow.voltages[node]) for node in own]
            if not wanted(name.partition(".")[0]) or not _between(sizes, given):
                continue
            worst = max(sizes, key=lambda size: abs(size - 1))
            level = feeder.base(name) * np.sqrt(3) / 1e3
            yield {"name": name, "magnitude_pu": worst, "voltage_kv": level}
        return
    if asked := given.keys() & {"below", "above"}:
        raise InputError(f"{sorted(asked)[0]} is of voltages", found=kind, expected="bus or node")
    element = feeder.dss.CktElement
    for name in feeder.elements():
        if name.partition(".")[0] != kind:
            continue
        terminals = feeder.terminals() if kind != "regcontrol" else []
        buses = list(dict.fromkeys(n.partition(".")[0] for n in terminals if n != "0"))
        if not buses or any(wanted(bus) for bus in buses):
            powers = np.array(element.Powers() if buses else []).view(complex)
            yield {"name": name, "buses": " ".join(buses), "phases": element.NumPhases()} | _power(
                complex(powers[: element.NumConductors()].sum())  # into its first terminal
            )


def _between(sizes: Sequence[float], given: Json) -> bool:
    """Return whether a voltage is below or above what a call asks for, where it asks."""
    if "below" not in given and "above" not in given:
        return True
    low, high = given.get("below", -np.inf), given.get("above", np.inf)
    return bool(min(sizes) < low or max(sizes) > high)


@tool(
    "read",
    *stated("feeder", "state", "power flow", pack=PACK),
    returns=shape(
        "case: text; voltages: list of node; lowest highest: object; source losses: power or null; "
        "taps: by name number; engine: text; difference_pu: number or null",
        _WORDS,
    ),
)
def grid_power_flow(state: State, given: Json) -> Outcome:
    """Solve the unbalanced three-phase power flow of a feeder in one state.

    With another engine than OpenDSS, difference_pu is the largest difference from OpenDSS.
    """
    engine = given.get("engine", "opendss")
    with situated(state, given, plain=engine != "opendss") as (feeder, situation):
        flow = apply(feeder, situation)
        sizes = {node: abs(v) for node, v in flow.voltages.items() if node not in feeder.dark}
        ends = {"lowest": min(sizes, key=sizes.__getitem__)}
        ends["highest"] = max(sizes, key=sizes.__getitem__)
        content: Json = {
            **{"case": feeder.name, "voltages": voltages_content(flow.voltages)},
            **{k: {"node": node, "magnitude_pu": sizes[node]} for k, node in ends.items()},
            **{"source": _power(flow.source), "losses": _power(flow.losses)},
            **{"taps": dict(flow.taps), "engine": engine, "difference_pu": None},
        }
        if engine != "opendss":
            own = second_voltages(engine, feeder, situation)
            content["voltages"] = voltages_content(own)
            content["difference_pu"] = max(abs(own[n] - flow.voltages[n]) for n in own)
    return Outcome(plain(content))


def second_voltages(engine: str, feeder: Feeder, situation: Situation) -> dict[str, complex]:
    """Return the voltages by another engine, of a feeder that OpenDSS has just solved."""
    feeder.supplied()
    shared = feeder.shared(situation.units or {})
    units = {node: power * situation.share for node, power in shared.items()}
    loads = feeder.drawn(situation.factor)
    if engine == "power-grid-model":
        return solve_balanced(feeder, loads, units)
    return power_flow(Network.of(feeder), loads, units)


@tool(
    "read",
    *stated("feeder", "state", "series", "bands", "rating", pack=PACK),
    returns=shape(
        "case: text; stamps: list of text; "
        "lowest_pu highest_pu active_kw reactive_kvar losses_kw: list of number; "
        "loading: list of number or null; violations: list of count; "
        "energy_kwh losses_kwh: number or null"
    ),
)
def grid_time_series(state: State, given: Json) -> Outcome:
    """Solve the power flow at every stamp of the profiles: extremes, source, losses, violations."""
    if "stamp" in given:
        raise InputError("a series has no single stamp", found="stamp", expected="first and last")
    with situated(state, {k: v for k, v in given.items() if k != "profiles"}) as (feeder, start):
        bands = bands_of(feeder, given)
        profiles = profiles_of(feeder, state.root, given.get("profiles"))
        first = profiles.row(given["first"]) if "first" in given else 0
        last = profiles.row(given["last"]) if "last" in given else len(profiles.stamps)
        stamps = profiles.stamps[first : last + 1]
        if not stamps:
            raise InputError("the last stamp is before the first", found=given["last"])
        own = "profiles" in given  # else hours of no day
        shown = [stamp if own else stamp[11:] for stamp in stamps]
        content: dict[str, Any] = {"case": feeder.name, "stamps": shown}
        rows = []
        for stamp in stamps:
            state.watch.tell(f"power flow at {stamp}")
            flow = apply(feeder, profiles.at(stamp, feeder, start))
            sizes = [abs(v) for n, v in flow.voltages.items() if n not in feeder.dark]
            wrong = flow.violations(bands, given.get("loading"))
            loading = max(flow.loading.values(), default=None)
            power = (flow.source.real, flow.source.imag, flow.losses.real)
            rows.append((min(sizes), max(sizes), *power, loading, len(wrong)))
    names = ("lowest_pu", "highest_pu", "active_kw", "reactive_kvar", "losses_kw")
    columns = enumerate((*names, "loading", "violations"))
    content |= {name: [row[k] for row in rows] for k, name in columns}
    hours = _hours(stamps)
    content["energy_kwh"] = None if hours is None else sum(r[2] for r in rows) * hours
    content["losses_kwh"] = None if hours is None else sum(r[4] for r in rows) * hours
    return Outcome(plain(content))


def _hours(stamps: Sequence[str]) -> float | None:
    """Return the length of a step where all are of one. [h]."""
    if len(stamps) < 2:
        return None
    steps = np.diff(np.array(stamps, dtype="datetime64[m]")) / np.timedelta64(60, "m")
    return float(steps[0]) if np.allclose(steps, steps[0]) else None


@tool(
    "read",
    *stated("feeder", "state", "bands", "own bands", "rating", pack=PACK),
    returns=shape("case: text; count: count; violations: list of violation", _WORDS),
)
def grid_violations(state: State, given: Json) -> Outcome:
    """List the nodes out of their voltage band and the branches above their rating, worst first."""
    with situated(state, given) as (feeder, situation):
        bands = bands_of(feeder, given)
        found = apply(feeder, situation).violations(bands, given.get("loading"))
    return Outcome(plain({"case": given["case"], "count": len(found), "violations": found}))


def bands_of(feeder: Feeder, given: Json) -> Bands:
    """Return the bands of a call; InputError for a wrong one."""
    low, high, own = given.get("low", 0.95), given.get("high", 1.05), {}
    for name, text in entries(given.get("own_bands")).items():
        match = re.fullmatch(r"([\d.]+)\s*\.\.\s*([\d.]+)", text)
        if match is None:
            said = f"the band of {name} cannot be read"
            raise InputError(said, found=text, expected="0.95..1.02")
        own[feeder.known(name)] = (float(match[1]), float(match[2]))
    for name, (least, most) in {"the feeder": (low, high), **own}.items():
        if least >= most:
            said = f"the voltage band of {name} is empty"
            raise InputError(said, found=f"{least:g}..{most:g}", expected="a lower end below it")
    return Bands(low, high, own)


@tool(
    "read",
    *stated("feeder", "state", pack=PACK),
    returns=shape(
        "case: text; losses_kw share_of_source: number; branches: list of branch", _WORDS
    ),
)
def grid_losses(state: State, given: Json) -> Outcome:
    """Return the losses of a feeder and its branches, with currents and loadings, largest first."""
    with situated(state, given) as (feeder, situation):
        flow = apply(feeder, situation)
        rows: list[Json] = [
            {"name": branch.name, "from": branch.ends[0], "to": branch.ends[1]}
            | {"current_a": flow.amperes[branch.name], "loading": flow.loading.get(branch.name)}
            | {"losses_kw": flow.lost[branch.name]}
            for branch in feeder.branches
        ]
        rows.sort(key=lambda row: -row["losses_kw"])
        content = {
            **{"case": feeder.name, "losses_kw": flow.losses.real},
            "share_of_source": flow.losses.real / flow.source.real if flow.source.real else 0.0,
            "branches": rows,
        }
    return Outcome(plain(content))
