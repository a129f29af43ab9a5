"""Batteries: efficiency constant or by power, self-discharge, ageing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import Battery
from engiagent.models.battery_ageing import BatteryAgeing, CalendarAgeing, WoehlerCurve
from engiagent.models.battery_losses import ConverterLoss, PiecewiseLoss, QuadraticLoss
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import known, row, storage_rows
from engiagent.verify.plants.run import Excess, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.starts import first
from engiagent.verify.requirements import Dynamics
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

LOSSES = ("no_load_loss", "proportional_loss", "quadratic_loss", "loss")
AGEING = ("cycles_at_full_depth", "calendar_rate")


def store(plant: Plant, unit: Dynamics) -> Battery:
    """Return the model of a store; its power limits are the largest of their series."""
    return Battery(
        energy_capacity=plant.need(unit, "energy_capacity"),
        charge_power_max=plant.largest(unit, "charge_power_max"),
        discharge_power_max=plant.largest(unit, "discharge_power_max"),
        charge_efficiency=plant.need(unit, "charge_efficiency"),
        discharge_efficiency=plant.need(unit, "discharge_efficiency"),
        minimum_energy=plant.need(unit, "minimum_energy"),
        maximum_energy=plant.single(unit, "maximum_energy"),
        self_discharge=plant.need(unit, "self_discharge"),
    )


def energy_of(plant: Plant, unit: Dynamics, battery: Battery, word: str) -> Trajectory:
    """Return the content of a store with constant efficiencies."""
    charge, discharge = plant.decision(unit, "charge"), plant.decision(unit, "discharge")
    return _content(plant, unit, battery, word, (charge, discharge))


def _content(
    plant: Plant, unit: Dynamics, battery: Battery, word: str, powers: tuple[Floats, Floats]
) -> Trajectory:
    """Return the content under powers into and out of a store [kW]."""
    periods = plant.periods(unit)
    hours = plant.hours(periods)
    name, claimed = plant.state(unit, word)
    start = first(plant, unit, "initial_energy", claimed)
    scheme: Literal["exact", "euler"] = "euler" if unit.scheme == "euler" else "exact"
    declared = battery.simulate(*powers, hours, start, scheme)
    exact = declared
    if scheme != "exact":
        exact = battery.simulate(*powers, hours, start, "exact")
    defect = None
    if claimed is not None:
        decay, gain = battery.coefficients(hours, scheme)
        net = battery.charge_efficiency * powers[0] - powers[1] / battery.discharge_efficiency
        defect = np.concatenate(
            (claimed[:1] - start, claimed[1:] - decay * claimed[:-1] - gain * net)
        )
    return Trajectory(
        tuple(plant.names(unit, word)),
        name,
        "kWh",
        declared,
        exact,
        claimed,
        defect,
        battery.energy_capacity,
        plant.instants(periods),
        battery.minimum_energy,
        battery.upper_energy,
    )


def one_direction(plant: Plant, unit: Dynamics) -> Excess:
    """Return by how much a store charges and discharges at once."""
    charge, discharge = plant.decision(unit, "charge"), plant.decision(unit, "discharge")
    limits = [plant.largest(unit, f"{way}_power_max") for way in ("charge", "discharge")]
    ratings = [limit for limit in limits if np.isfinite(limit)]
    rating = max(ratings or [charge.max(initial=0.0), discharge.max(initial=0.0)])
    return Excess(
        f"both:{unit.name}",
        f"{unit.name} in one direction at a time",
        np.minimum(charge, discharge),
        "kW",
        float(rating),
        plant.periods(unit),
        "it charges and discharges at once",
        TOLERANCES["both_directions"] * float(rating),
    )


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    if not any(slot in unit.parameters for slot in LOSSES):
        battery = store(plant, unit)
        energy = energy_of(plant, unit, battery, "state_of_charge")
        run = Run((energy,), (), (one_direction(plant, unit),))
    else:
        run = _with_losses(plant, unit)
    return _aged(plant, unit, run) if any(slot in unit.parameters for slot in AGEING) else run


def converter(plant: Plant, unit: Dynamics) -> ConverterLoss:
    """Return the losses by power, which stand for the efficiencies."""
    limits = [plant.largest(unit, f"{way}_power_max") for way in ("charge", "discharge")]
    powers, losses = plant.table(unit, "loss_power"), plant.table(unit, "loss")
    standby = plant.single(unit, "standby_loss")
    if losses is not None:
        if powers is None:
            raise EvaluationError(f"{unit.name} has losses and no loss_power to which they belong")
        return PiecewiseLoss(power=powers, losses=losses, standby=standby)
    rated = plant.single(unit, "rated_power")
    return QuadraticLoss(
        rated_power=max(limits) if rated is None else rated,
        no_load=plant.single(unit, "no_load_loss") or 0.0,
        proportional=plant.single(unit, "proportional_loss") or 0.0,
        quadratic=plant.single(unit, "quadratic_loss") or 0.0,
        standby=standby,
    )


def _with_losses(plant: Plant, unit: Dynamics) -> Run:
    loss = converter(plant, unit)
    # What a solver leaves of a power of 0 does not switch the converter on.
    into, out = (
        np.where(power > TOLERANCES["floor_kW"], power, 0.0)
        for power in (plant.decision(unit, "charge"), plant.decision(unit, "discharge"))
    )
    # One converter has one direction: powers both ways pass it as their difference.
    lost = loss.loss(np.abs(into - out))
    lossless = replace(store(plant, unit), charge_efficiency=1.0, discharge_efficiency=1.0)
    energy = _content(plant, unit, lossless, "state_of_charge", (into, out + lost))
    # What stands is lost too, but from the content: the converter's loss is that of its power.
    result = plant.result(unit, "loss", lost, "its power")
    return Run((energy,), (result,), (one_direction(plant, unit),))


def _aged(plant: Plant, unit: Dynamics, run: Run) -> Run:
    """Add the lost share of the capacity, by the cycles and the time of the executed plan."""
    cycles, rate = (plant.single(unit, slot) for slot in AGEING)
    ageing = BatteryAgeing(
        cycle_life=None
        if cycles is None
        else WoehlerCurve(cycles_at_full_depth=cycles, exponent=plant.need(unit, "cycle_exponent")),
        calendar=None if rate is None else CalendarAgeing(rate=rate),
        end_of_life_loss=plant.need(unit, "end_of_life_loss"),
    )
    energy = run.trajectories[0]
    full, hours = plant.need(unit, "energy_capacity"), plant.hours(plant.periods(unit))
    share = np.clip(energy.declared / full, 0.0, 1.0)
    lost = 1.0 - ageing.assess(share, CalendarAgeing.reference_temperature, hours).capacity
    name, claimed = plant.state(unit, "capacity_loss")
    most = plant.single(unit, "capacity_loss_max")
    state = Trajectory(
        tuple(plant.names(unit, "capacity_loss")),
        name,
        "1",
        lost,
        lost,
        claimed,
        None,
        float(lost.max()),
        energy.instants,
        upper=np.inf if most is None else most,
    )
    return Run((energy, state), run.results, run.excesses)


def _rows(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    charge, discharge = (known(plant, unit, word) for word in ("charge", "discharge"))
    if charge is not None and discharge is not None:
        text = f"min({charge}[t], {discharge}[t]) <= 0[kW]"
        yield row(f"{unit.name} one way", text, plant.periods(unit).name)
    if not any(slot in unit.parameters for slot in LOSSES):
        yield from storage_rows(plant, unit, store(plant, unit), "state_of_charge")


ENTRIES = {
    "battery": Entry(
        "battery",
        "store of electric energy",
        SLOTS["battery"],
        _execute,
        limits=(("charge", "charge_power_max"), ("discharge", "discharge_power_max")),
        connections={"bus": "the electric bus"},
        supplies={"bus": "discharge"},
        demands={"bus": "charge"},
        only_with={"loss": LOSSES, "capacity_loss": AGEING},
        rows=_rows,
    )
}
