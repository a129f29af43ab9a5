"""Electric vehicles with sessions at a plug."""

from collections.abc import Sequence

import numpy as np

from engiagent.models.ev import EvFleet, Sessions
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    car, sessions, over = vehicle(plant, unit), stays(plant, unit), plant.periods(unit)
    hours = plant.hours(over)
    if not np.allclose(hours, hours[0], rtol=1e-12, atol=0.0):
        raise EvaluationError(f"{unit.name} needs steps of one length")
    step = float(hours[0])
    into = plant.flow(unit, "charge")[:, None]
    given = plant.claimed(unit, "discharge")
    out = np.zeros_like(into) if given is None else np.maximum(given, 0.0)[:, None]
    path = car.simulate(sessions, into, out, step)
    energy = path.energy[:, 0]
    name, claimed = plant.state(unit, "state_of_charge")
    full = plant.need(unit, "energy_capacity")
    plugged = np.isfinite(energy)
    held = _held(energy)
    if claimed is not None:
        # Away from the plug nobody says what it holds: there the plan's own content stands.
        held = np.where(plugged, held, claimed)
    low = np.where(plugged, plant.need(unit, "minimum_energy"), -np.inf)
    state = Trajectory(
        tuple(plant.names(unit, "state_of_charge")),
        name,
        "kWh",
        held,
        held,
        claimed,
        None,
        full,
        plant.instants(over),
        low,
        np.where(plugged, full, np.inf),
    )
    results = () if given is not None else (plant.result(unit, "discharge", out[:, 0], "the plan"),)
    return Run((state,), results, _limits(plant, unit, (car, sessions), (into, out, step)))


def _limits(
    plant: Plant,
    unit: Dynamics,
    model: tuple[EvFleet, Sessions],
    powers: tuple[Floats, Floats, float],
) -> tuple[Excess, ...]:
    car, sessions = model
    excess, over = car.excess(sessions, *powers), plant.periods(unit)
    rating, full = plant.need(unit, "charge_power_max"), plant.need(unit, "energy_capacity")
    _, _, end = car.periods_of(sessions, over.size, powers[2])
    lacking = np.zeros(over.size + 1)
    np.maximum.at(lacking, np.clip(end, 0, over.size), excess.shortfall)
    # A plan that owns to what lacks is held to that.
    admitted = plant.claimed(unit, "shortfall")
    if admitted is not None:
        lacking[1:] -= np.maximum(admitted, 0.0)
    plug = "beyond what its plug gives, and nothing while it is away,"
    return (
        Excess(
            f"limit:{unit.name}.charge",
            f"{unit.name}.charge",
            excess.charge[:, 0],
            "kW",
            rating,
            over,
            plug,
        ),
        Excess(
            f"limit:{unit.name}.discharge",
            f"{unit.name}.discharge",
            excess.discharge[:, 0],
            "kW",
            rating,
            over,
            plug,
        ),
        Excess(
            f"both:{unit.name}",
            f"{unit.name} in one direction at a time",
            excess.both[:, 0],
            "kW",
            rating,
            over,
            "it charges and discharges at once",
            TOLERANCES["both_directions"] * rating,
        ),
        Excess(
            f"departure:{unit.name}",
            f"content of {unit.name} on departure",
            lacking,
            "kWh",
            full,
            plant.instants(over),
            "less than it needs",
        ),
    )


def _held(energy: Floats) -> Floats:
    """Return the content with that of the last plug where it is away, first that of the first."""
    plugged = np.isfinite(energy)
    if not plugged.any():
        return np.zeros_like(energy)
    place = np.maximum.accumulate(np.where(plugged, np.arange(len(energy)), -1))
    return np.asarray(energy[np.where(place < 0, int(np.argmax(plugged)), place)])


def vehicle(plant: Plant, unit: Dynamics) -> EvFleet:
    """Return the model of one vehicle."""
    return EvFleet(
        energy_capacity=[plant.need(unit, "energy_capacity")],
        charge_power_max=plant.need(unit, "charge_power_max"),
        discharge_power_max=plant.need(unit, "discharge_power_max"),
        charge_efficiency=plant.need(unit, "charge_efficiency"),
        discharge_efficiency=plant.need(unit, "discharge_efficiency"),
        minimum_energy=plant.need(unit, "minimum_energy"),
    )


def stays(plant: Plant, unit: Dynamics) -> Sessions:
    """Return when a vehicle is plugged in."""
    found = {}
    for slot in ("arrival", "departure", "arrival_energy"):
        values = plant.table(unit, slot)
        if values is None:
            raise EvaluationError(f"{unit.name} has no {slot}")
        found[slot] = np.asarray(values)
    required = plant.table(unit, "required_energy")
    return Sessions(
        vehicle=np.zeros(len(found["arrival"])),
        required_energy=0.0 if required is None else np.asarray(required),
        **found,
    )


ENTRIES = {
    "ev": Entry(
        "ev",
        "electric vehicle with sessions at a plug",
        SLOTS["ev"],
        _execute,
        limits=(("charge", "charge_power_max"),),
        connections={"bus": "electric"},
        supplies={"bus": "discharge"},
        demands={"bus": "charge"},
        answered=("discharge",),
    )
}
