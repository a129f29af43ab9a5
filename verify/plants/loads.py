"""Where a site ends: grids, demands, demands that give way, radiators."""

import numpy as np

from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.unit import Unit, size
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

SERVES = {"heat_bus": "heat", "cooling_bus": "cooling"}


def _grid(unit: Unit) -> Run:
    """Keep what the plan draws; what that emits is recomputed."""
    if not unit.given("emission_factor"):
        return Run()
    emitted = unit.series("emission_factor") * unit.decision("import")
    return Run(results=(unit.result("emissions", emitted, "its import"),))


def _emitter(unit: Unit) -> Run:
    """Keep what the plan gives to the zone; it is at least 0 and at most the limit."""
    words = [word for bus, word in SERVES.items() if bus in unit.connections] or [*SERVES.values()]
    found = {word: series for word in words if (series := unit.claimed(word)) is not None}
    if not found:
        raise MissingQuantity(f"{unit.name}.{words[0]}")
    most = unit.slot("power_max")
    excesses = (e for word, series in found.items() for e in unit.between(word, series, most))
    return Run(excesses=tuple(excesses))


def _curtailable(unit: Unit) -> Run:
    wanted, unmet = unit.series("power"), unit.decision("unmet")
    scale = size(wanted)
    share = unit.series("curtailable_share")
    words = "above what may be left unserved"
    excesses = [*unit.between("unmet", unmet, share * wanted, scale, words)]
    most = unit.single("unmet_energy_max")
    if most is not None:
        total = float((unmet * unit.hours).sum())
        name, beyond = f"energy of {unit.name}.unmet", np.array([total - most])
        words, part = "above its limit", ".unmet"
        over = unit.fault("energy", name, beyond, "kWh", total, words, over=None, part=part)
        excesses.append(over)
    served = unit.result("power", wanted - unmet, "the demand and what is left unserved")
    return Run((), (served,), tuple(excesses))


def _shiftable(unit: Unit) -> Run:
    wanted = unit.series("power")
    up, down = unit.decision("shift_up"), unit.decision("shift_down")
    hours, scale = unit.hours, size(wanted)
    ahead = np.concatenate(([0.0], np.cumsum((up - down) * hours)))
    low, high = (unit.single(f"{way}_energy_max") for way in ("delayed", "ahead"))
    scale_of = float(np.max(np.abs(ahead), initial=1.0))
    state = unit.trajectory(
        "shifted_energy", ahead, scale_of, lower=None if low is None else -low, upper=high
    )
    drop = np.minimum(unit.series("shift_down_max"), wanted)
    excesses = [
        *unit.between("shift_up", up, unit.series("shift_up_max"), scale),
        *unit.between("shift_down", down, drop, scale),
    ]
    energy, name = float((np.abs(wanted) * hours).sum()), f"demand of {unit.name}"
    left, words = np.abs(ahead[-1:]), "not all served by the end, off"
    excesses.append(unit.fault("served", name, left, "kWh", energy, words, over=None))
    excesses += _in_time(unit, up * hours, down * hours)
    served = unit.result("power", wanted + up - down, "the demand and its shifts")
    return Run((state,), (served,), tuple(excesses))


def _in_time(unit: Unit, rises: Floats, falls: Floats) -> list[Excess]:
    """Return by how much falls are not made up for within the hours around them. [kWh]."""
    within = unit.single("shift_hours")
    if within is None:
        return []
    ends = np.cumsum(unit.hours)
    starts = np.concatenate(([0.0], ends[:-1]))
    total = np.concatenate(([0.0], np.cumsum(rises)))
    until = total[np.searchsorted(ends, ends + within + 1e-9, side="right")]
    since = total[-1] - total[np.searchsorted(starts, starts - within - 1e-9, side="left")]
    scale, name = float(total[-1]), f"shifts of {unit.name}"
    return [
        unit.fault(kind, name, amount, "kWh", scale, words)
        for kind, amount, words in (
            ("late", np.cumsum(falls) - until, "falls made up for too late, short"),
            (
                "early",
                np.cumsum(falls[::-1])[::-1] - since,
                "rises too long before their falls, short",
            ),
        )
    ]


def _job(unit: Unit) -> Run:
    over, hours = unit.periods, unit.hours
    length = unit.need("duration") / float(hours[0])
    count = round(length)
    if not np.allclose(hours, hours[0]) or abs(length - count) > 1e-6:
        raise EvaluationError(f"{unit.name} does not take whole periods of one length")
    told = unit.decision("begin")
    begin = np.round(told)
    total = np.concatenate(([0.0], np.cumsum(begin)))
    place = np.arange(over.size)
    running = total[1:] - total[np.maximum(place + 1 - count, 0)]
    end = unit.single("latest")
    start = np.concatenate(([0.0], np.cumsum(hours)))[:-1]
    late = float(hours.sum()) if end is None else end
    outside = (start < unit.need("earliest") - 1e-9) | (start + unit.need("duration") > late + 1e-9)
    runs, whole = unit.need("runs"), TOLERANCES["integrality"]
    idle, off = np.where(outside, begin, 0.0), np.abs(total[-1:] - runs)
    name, window, words = f"runs of {unit.name}", f"window of {unit.name}", "not as many as have to"
    excesses = (
        unit.excess("whole", "begin", np.abs(told - begin), 1.0, "neither 0 nor 1, off", whole),
        unit.fault("window", window, idle, "1", 1.0, "begun outside it", whole),
        unit.fault("done", name, off, "1", runs, f"{words} be, off", whole, over=None),
        unit.fault("overlap", name, running - 1.0, "1", 1.0, "several at once, too many", whole),
    )
    power = unit.result("power", unit.need("power") * running, "its beginnings")
    return Run((), (power,), excesses)


ENTRIES = {
    "grid": Entry(
        _grid,
        limits=(("import", "import_power_max"), ("export", "export_power_max")),
        supplies={"bus": "import"},
        demands={"bus": "export"},
        only_with={"emissions": ("emission_factor",)},
    ),
    "load": Entry(demands={"bus": "power"}),
    "emitter": Entry(_emitter, demands=SERVES, serves=SERVES),
    "curtailable_load": Entry(_curtailable, demands={"bus": "power"}),
    "shiftable_load": Entry(_shiftable, demands={"bus": "power"}),
    "job": Entry(_job, demands={"bus": "power"}),
    "demand_response": Entry(),
}
