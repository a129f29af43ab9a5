"""Stores of electricity, heat and cold by their energy, and vehicles at a plug."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.models.battery import (
    Battery,
    ConverterLoss,
    PiecewiseLoss,
    QuadraticLoss,
    lost_share,
)
from engiagent.models.ev import Sessions, Vehicle
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Excess, Run, Trajectory
from engiagent.verify.plants.unit import Unit, chosen, known, row, written
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

ENERGIES = ("energy_capacity", "maximum_energy", "minimum_energy", "initial_energy")
SIZED = frozenset((*ENERGIES, "charge_power_max", "discharge_power_max"))
WAYS = ("charge", "discharge")
LOSSES = ("no_load_loss", "proportional_loss", "quadratic_loss", "loss")
AGEING = ("cycles_at_full_depth", "calendar_rate")


def store(unit: Unit) -> Battery:
    """Return the model of a store; its power limits are the largest of their series."""
    return Battery(
        energy_capacity=unit.need("energy_capacity"),
        charge_power_max=unit.largest("charge_power_max"),
        discharge_power_max=unit.largest("discharge_power_max"),
        **unit.numbers("charge_efficiency", "discharge_efficiency", "minimum_energy"),
        maximum_energy=unit.single("maximum_energy"),
        self_discharge=unit.need("self_discharge"),
    )


def energy_of(
    unit: Unit, battery: Battery, word: str, powers: tuple[Floats, Floats] | None = None
) -> Trajectory:
    """Return the content of a store under powers into and out of it, the plan's own by default."""
    powers = powers or (unit.decision("charge"), unit.decision("discharge"))
    hours, (_, claimed) = unit.hours, unit.state(word)
    start = unit.start("initial_energy", claimed)
    scheme: Literal["exact", "euler"] = "euler" if unit.scheme == "euler" else "exact"
    declared, exact = (battery.simulate(*powers, hours, start, by) for by in (scheme, "exact"))
    decay, gain = battery.coefficients(hours, scheme)
    net = battery.charge_efficiency * powers[0] - powers[1] / battery.discharge_efficiency
    return unit.trajectory(
        word,
        declared,
        battery.energy_capacity,
        exact=exact,
        after=lambda before: decay * before + gain * net,
        lower=battery.minimum_energy,
        upper=battery.upper_energy,
    )


def _one_direction(unit: Unit, both: Floats, rating: float) -> Excess:
    words, allowed = "it charges and discharges at once", TOLERANCES["both_directions"] * rating
    name = f"{unit.name} in one direction at a time"
    return unit.fault("both", name, both, "kW", rating, words, allowed)


def _both_ways(unit: Unit) -> Excess:
    charge, discharge = unit.decision("charge"), unit.decision("discharge")
    limits = [unit.largest(f"{way}_power_max") for way in WAYS]
    ratings = [limit for limit in limits if np.isfinite(limit)]
    rating = max(ratings or [charge.max(initial=0.0), discharge.max(initial=0.0)])
    return _one_direction(unit, np.minimum(charge, discharge), float(rating))


def _battery(unit: Unit) -> Run:
    if not unit.given(*LOSSES):
        energy = energy_of(unit, store(unit), "state_of_charge")
        run = Run((energy,), (), (_both_ways(unit),))
    else:
        run = _with_losses(unit)
    return _aged(unit, run) if unit.given(*AGEING) else run


def converter(unit: Unit) -> ConverterLoss:
    """Return the losses by power, which stand for the efficiencies."""
    limits = [unit.largest(f"{way}_power_max") for way in WAYS]
    powers, losses = unit.table("loss_power"), unit.table("loss")
    standby = unit.single("standby_loss")
    if losses is not None:
        if powers is None:
            raise EvaluationError(f"{unit.name} has losses and no loss_power to which they belong")
        return PiecewiseLoss(power=powers, losses=losses, standby=standby)
    rated = unit.single("rated_power")
    return QuadraticLoss(
        rated_power=max(limits) if rated is None else rated,
        no_load=unit.single("no_load_loss") or 0.0,
        proportional=unit.single("proportional_loss") or 0.0,
        quadratic=unit.single("quadratic_loss") or 0.0,
        standby=standby,
    )


def _with_losses(unit: Unit) -> Run:
    loss = converter(unit)
    # What a solver leaves of a power of 0 does not switch the converter on.
    into, out = (
        np.where(power > TOLERANCES["floor_kW"], power, 0.0)
        for power in (unit.decision("charge"), unit.decision("discharge"))
    )
    # One converter has one direction: powers both ways pass it as their difference.
    lost = loss.loss(np.abs(into - out))
    lossless = replace(store(unit), charge_efficiency=1.0, discharge_efficiency=1.0)
    energy = energy_of(unit, lossless, "state_of_charge", (into, out + lost))
    # What stands is lost too, but from the content: the converter's loss is that of its power.
    result = unit.result("loss", lost, "its power")
    return Run((energy,), (result,), (_both_ways(unit),))


def _aged(unit: Unit, run: Run) -> Run:
    """Add the lost share of the capacity, by the cycles and the time of the executed plan."""
    energy = run.trajectories[0]
    slots = (*AGEING, "cycle_exponent", "end_of_life_loss")
    given = {slot: value for slot in slots if (value := unit.single(slot)) is not None}
    content = np.clip(energy.declared / unit.need("energy_capacity"), 0.0, 1.0)
    lost = lost_share(content, unit.hours, **given)
    most = unit.single("capacity_loss_max")
    state = unit.trajectory("capacity_loss", lost, float(lost.max()), upper=most)
    return Run((energy, state), run.results, run.excesses)


def storage_rows(unit: Unit, battery: Battery, word: str) -> Iterator[ConstraintDef]:
    """Yield dynamics, start and limits of a store of energy whose content is called ``word``."""
    over = unit.periods
    instants = unit.instants
    names = [known(unit, series) for series in ("charge", "discharge", word)]
    if instants is None or None in names:
        return
    charge, discharge, state = names
    hours = unit.hours
    if not (hours == hours[0]).all():
        return
    decay, gain = battery.coefficients(hours[:1], "euler" if unit.scheme == "euler" else "exact")
    flow = (
        f"{battery.charge_efficiency!r}*{charge}[t] - {discharge}[t]"
        f"/{battery.discharge_efficiency!r}"
    )
    yield row(
        f"{unit.name} dynamics",
        f"{state}[t+1] == {float(decay[0])!r}*{state}[t] + {float(gain[0])!r}[h]*({flow})",
        over.name,
    )
    given = unit.slot("initial_energy")
    if given is not None:
        start = _limit(unit, "initial_energy", float(given[0]))
        yield row(f"{unit.name} start", f"{state}[first({instants.name})] == {start}", None)
    top = "maximum_energy" if unit.given("maximum_energy") else "energy_capacity"
    low = _limit(unit, "minimum_energy", battery.minimum_energy)
    high = _limit(unit, top, battery.upper_energy)
    yield ConstraintDef(
        constraint_id=f"{unit.name} energy",
        expression=f"{low} <= {state}[i] <= {high}",
        forall=(f"i in {instants.name}",),
    )


def _limit(unit: Unit, slot: str, value: float) -> str:
    """Return a content [kWh] as it stands in a row: as it is written where the plan chooses it."""
    text = written(unit, slot) if slot in chosen(unit) else None
    return f"{value!r}[kWh]" if text is None else text


def _battery_rows(unit: Unit) -> Iterator[ConstraintDef]:
    charge, discharge = (known(unit, word) for word in ("charge", "discharge"))
    if charge is not None and discharge is not None:
        text = f"min({charge}[t], {discharge}[t]) <= 0[kW]"
        yield row(f"{unit.name} one way", text, unit.periods.name)
    if not unit.given(*LOSSES):
        yield from storage_rows(unit, store(unit), "state_of_charge")


LIMITS = tuple((way, f"{way}_power_max") for way in WAYS)
SUPPLIES = {"heat_bus": "discharge", "cooling_bus": "discharge"}
DEMANDS = {"heat_bus": "charge", "cooling_bus": "charge"}


def _vehicle(unit: Unit) -> Run:
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
    return Run((state,), results, _vehicle_limits(unit, (car, sessions), (into, out, step)))


def _vehicle_limits(
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
    name, words = f"content of {unit.name} on departure", "less than it needs"
    return (
        unit.excess("limit", "charge", excess.charge, rating, plug),
        unit.excess("limit", "discharge", excess.discharge, rating, plug),
        _one_direction(unit, excess.both, rating),
        unit.fault("departure", name, lacking, "kWh", full, words, over=unit.instants),
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
        **unit.numbers("energy_capacity", "minimum_energy", "charge_power_max"),
        **unit.numbers("discharge_power_max", "charge_efficiency", "discharge_efficiency"),
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


GIVEN, TAKEN = {"bus": "discharge"}, {"bus": "charge"}
ENTRIES = {
    "battery": Entry(
        _battery,
        limits=LIMITS,
        supplies=GIVEN,
        demands=TAKEN,
        only_with={"loss": LOSSES, "capacity_loss": AGEING},
        rows=_battery_rows,
        sized=SIZED,
    ),
    "thermal_store": Entry(
        lambda unit: Run((energy_of(unit, store(unit), "energy"),)),
        limits=LIMITS,
        supplies=SUPPLIES,
        demands=DEMANDS,
        rows=lambda unit: storage_rows(unit, store(unit), "energy"),
        sized=SIZED,
    ),
    "ev": Entry(
        _vehicle, limits=LIMITS[:1], supplies=GIVEN, demands=TAKEN, answered=("discharge",)
    ),
}
