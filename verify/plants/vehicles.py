"""Electric vehicles with sessions at a plug."""

import numpy as np

from engiagent.models.ev import Sessions, Vehicle
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.unit import Unit
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats


def _execute(unit: Unit) -> Run:
    car, sessions = vehicle(unit), stays(unit)
    hours = unit.hours
    if not np.allclose(hours, hours[0], rtol=1e-12, atol=0.0):
        raise EvaluationError(f"{unit.name} needs steps of one length")
    step = float(hours[0])
    into = unit.flow("charge")
    given = unit.claimed("discharge")
    out = np.zeros_like(into) if given is None else np.maximum(given, 0.0)
    path = car.simulate(sessions, into, out, step)
    energy = path.energy
    _, claimed = unit.state("state_of_charge")
    full = unit.need("energy_capacity")
    plugged = np.isfinite(energy)
    held = _held(energy)
    if claimed is not None:
        # Away from the plug nobody says what it holds: there the plan's own content stands.
        held = np.where(plugged, held, claimed)
    low = np.where(plugged, unit.need("minimum_energy"), -np.inf)
    state = unit.trajectory(
        "state_of_charge", held, full, lower=low, upper=np.where(plugged, full, np.inf)
    )
    results = () if given is not None else (unit.result("discharge", out, "the plan"),)
    return Run((state,), results, _limits(unit, (car, sessions), (into, out, step)))


def _limits(
    unit: Unit, model: tuple[Vehicle, Sessions], powers: tuple[Floats, Floats, float]
) -> tuple[Excess, ...]:
    car, sessions = model
    excess, over = car.excess(sessions, *powers), unit.periods
    rating, full = unit.need("charge_power_max"), unit.need("energy_capacity")
    _, _, end = sessions.periods(over.size, powers[2])
    lacking = np.zeros(over.size + 1)
    np.maximum.at(lacking, np.clip(end, 0, over.size), excess.shortfall)
    # A plan that owns to what lacks is held to that.
    admitted = unit.claimed("shortfall")
    if admitted is not None:
        lacking[1:] -= np.maximum(admitted, 0.0)
    plug = "beyond what its plug gives, and nothing while it is away,"
    return (
        unit.excess("limit", "charge", excess.charge, rating, plug),
        unit.excess("limit", "discharge", excess.discharge, rating, plug),
        unit.fault(
            "both",
            f"{unit.name} in one direction at a time",
            excess.both,
            "kW",
            rating,
            "it charges and discharges at once",
            TOLERANCES["both_directions"] * rating,
        ),
        unit.fault(
            "departure",
            f"content of {unit.name} on departure",
            lacking,
            "kWh",
            full,
            "less than it needs",
            over=unit.instants,
        ),
    )


def _held(energy: Floats) -> Floats:
    """Return the content with that of the last plug where it is away, first that of the first."""
    plugged = np.isfinite(energy)
    if not plugged.any():
        return np.zeros_like(energy)
    place = np.maximum.accumulate(np.where(plugged, np.arange(len(energy)), -1))
    return np.asarray(energy[np.where(place < 0, int(np.argmax(plugged)), place)])


def vehicle(unit: Unit) -> Vehicle:
    """Return the model of one vehicle."""
    return Vehicle(
        **unit.numbers(
            "energy_capacity",
            "charge_power_max",
            "discharge_power_max",
            "charge_efficiency",
            "discharge_efficiency",
            "minimum_energy",
        )
    )


def stays(unit: Unit) -> Sessions:
    """Return when a vehicle is plugged in."""
    found = {}
    for slot in ("arrival", "departure", "arrival_energy"):
        values = unit.table(slot)
        if values is None:
            raise EvaluationError(f"{unit.name} has no {slot}")
        found[slot] = np.asarray(values)
    required = unit.table("required_energy")
    return Sessions(required_energy=0.0 if required is None else np.asarray(required), **found)


ENTRIES = {
    "ev": Entry(
        _execute,
        limits=(("charge", "charge_power_max"),),
        supplies={"bus": "discharge"},
        demands={"bus": "charge"},
        answered=("discharge",),
    )
}
