"""Demands that give way: curtailed, shifted, run as whole jobs, paid for in events."""

from collections.abc import Sequence

import numpy as np

from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats


def _execute_curtailable(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    wanted, unmet, over = (
        plant.series(unit, "power"),
        plant.decision(unit, "unmet"),
        plant.periods(unit),
    )
    name, scale = f"{unit.name}.unmet", float(np.max(np.abs(wanted), initial=0.0))
    share = plant.series(unit, "curtailable_share")
    excesses = [
        Excess(f"sign:{name}", name, -unmet, "kW", scale, over, "negative"),
        Excess(
            f"limit:{name}",
            name,
            unmet - share * wanted,
            "kW",
            scale,
            over,
            "above what may be left unserved",
        ),
    ]
    most = plant.single(unit, "unmet_energy_max")
    if most is not None:
        energy = np.array([float((unmet * plant.hours(over)).sum())])
        excesses.append(
            Excess(
                f"energy:{name}",
                f"energy of {name}",
                energy - most,
                "kWh",
                float(energy[0]),
                None,
                "above its limit",
            )
        )
    served = plant.result(unit, "power", wanted - unmet, "the demand and what is left unserved")
    return Run((), (served,), tuple(excesses))


def _execute_shiftable(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    wanted, over = plant.series(unit, "power"), plant.periods(unit)
    up, down = plant.decision(unit, "shift_up"), plant.decision(unit, "shift_down")
    hours, scale = plant.hours(over), float(np.max(np.abs(wanted), initial=0.0))
    ahead = np.concatenate(([0.0], np.cumsum((up - down) * hours)))
    name, claimed = plant.state(unit, "shifted_energy")
    low, high = (plant.single(unit, f"{way}_energy_max") for way in ("delayed", "ahead"))
    size = float(np.max(np.abs(ahead), initial=1.0))
    state = Trajectory(
        tuple(plant.names(unit, "shifted_energy")),
        name,
        "kWh",
        ahead,
        ahead,
        claimed,
        None,
        size,
        plant.instants(over),
        -np.inf if low is None else -low,
        np.inf if high is None else high,
    )
    drop = np.minimum(plant.series(unit, "shift_down_max"), wanted)
    excesses = [
        Excess(
            f"{kind}:{unit.name}.{word}", f"{unit.name}.{word}", amount, "kW", scale, over, words
        )
        for word, series, most in (
            ("shift_up", up, plant.series(unit, "shift_up_max")),
            ("shift_down", down, drop),
        )
        for kind, amount, words in (
            ("sign", -series, "negative"),
            ("limit", series - most, "above its limit"),
        )
    ]
    excesses.append(
        Excess(
            f"served:{unit.name}",
            f"demand of {unit.name}",
            np.abs(ahead[-1:]),
            "kWh",
            float((np.abs(wanted) * hours).sum()),
            None,
            "not all served by the end, off",
        )
    )
    excesses += _in_time(plant, unit, up * hours, down * hours)
    served = plant.result(unit, "power", wanted + up - down, "the demand and its shifts")
    return Run((state,), (served,), tuple(excesses))


def _in_time(plant: Plant, unit: Dynamics, rises: Floats, falls: Floats) -> list[Excess]:
    """Return by how much falls are not made up for within the hours around them. [kWh]."""
    within = plant.single(unit, "shift_hours")
    if within is None:
        return []
    over = plant.periods(unit)
    ends = np.cumsum(plant.hours(over))
    starts = np.concatenate(([0.0], ends[:-1]))
    total = np.concatenate(([0.0], np.cumsum(rises)))
    until = total[np.searchsorted(ends, ends + within + 1e-9, side="right")]
    since = total[-1] - total[np.searchsorted(starts, starts - within - 1e-9, side="left")]
    scale, name = float(total[-1]), f"shifts of {unit.name}"
    return [
        Excess(
            f"late:{unit.name}",
            name,
            np.cumsum(falls) - until,
            "kWh",
            scale,
            over,
            "falls made up for too late, short",
        ),
        Excess(
            f"early:{unit.name}",
            name,
            np.cumsum(falls[::-1])[::-1] - since,
            "kWh",
            scale,
            over,
            "rises too long before their falls, short",
        ),
    ]


def _execute_job(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    over, hours = plant.periods(unit), plant.hours(plant.periods(unit))
    length = plant.need(unit, "duration") / float(hours[0])
    count = round(length)
    if not np.allclose(hours, hours[0]) or abs(length - count) > 1e-6:
        raise EvaluationError(f"{unit.name} does not take whole periods of one length")
    told = plant.decision(unit, "begin")
    begin = np.round(told)
    total = np.concatenate(([0.0], np.cumsum(begin)))
    place = np.arange(over.size)
    running = total[1:] - total[np.maximum(place + 1 - count, 0)]
    end = plant.single(unit, "latest")
    start = np.concatenate(([0.0], np.cumsum(hours)))[:-1]
    late = float(hours.sum()) if end is None else end
    outside = (start < plant.need(unit, "earliest") - 1e-9) | (
        start + plant.need(unit, "duration") > late + 1e-9
    )
    runs, name = plant.need(unit, "runs"), f"{unit.name}.begin"
    whole = TOLERANCES["integrality"]
    excesses = (
        Excess(
            f"whole:{name}",
            name,
            np.abs(told - begin),
            "1",
            1.0,
            over,
            "neither 0 nor 1, off",
            whole,
        ),
        Excess(
            f"window:{unit.name}",
            f"window of {unit.name}",
            np.where(outside, begin, 0.0),
            "1",
            1.0,
            over,
            "begun outside it",
            whole,
        ),
        Excess(
            f"done:{unit.name}",
            f"runs of {unit.name}",
            np.abs(total[-1:] - runs),
            "1",
            runs,
            None,
            "not as many as have to be, off",
            whole,
        ),
        Excess(
            f"overlap:{unit.name}",
            f"runs of {unit.name}",
            running - 1.0,
            "1",
            1.0,
            over,
            "several at once, too many",
            whole,
        ),
    )
    power = plant.result(unit, "power", plant.need(unit, "power") * running, "its beginnings")
    return Run((), (power,), excesses)


BUS = {"bus": "the bus that meets it"}

ENTRIES = {
    "curtailable_load": Entry(
        "curtailable_load",
        "demand of which a part may be left unserved",
        SLOTS["curtailable_load"],
        _execute_curtailable,
        connections=BUS,
        demands={"bus": "power"},
    ),
    "shiftable_load": Entry(
        "shiftable_load",
        "demand that may be served earlier or later",
        SLOTS["shiftable_load"],
        _execute_shiftable,
        connections=BUS,
        demands={"bus": "power"},
    ),
    "job": Entry(
        "job",
        "job that runs as a whole within a window",
        SLOTS["job"],
        _execute_job,
        connections=BUS,
        demands={"bus": "power"},
    ),
    "demand_response": Entry(
        "demand_response",
        "reductions that are paid for in events; a contract, which has no physics of its own",
        SLOTS["demand_response"],
        connections={"grid": "whose import is reduced"},
    ),
}
