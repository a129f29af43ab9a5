"""Batteries: efficiency constant or by power, self-discharge, ageing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models.battery import (
    Battery,
    ConverterLoss,
    PiecewiseLoss,
    QuadraticLoss,
    lost_share,
)
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import chosen, known, row, written
from engiagent.verify.plants.run import Excess, Run, Trajectory
from engiagent.verify.plants.unit import Unit
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

SIZED = frozenset(
    {
        "energy_capacity",
        "maximum_energy",
        "minimum_energy",
        "initial_energy",
        "charge_power_max",
        "discharge_power_max",
    }
)
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


def energy_of(unit: Unit, battery: Battery, word: str) -> Trajectory:
    """Return the content of a store with constant efficiencies."""
    charge, discharge = unit.decision("charge"), unit.decision("discharge")
    return _content(unit, battery, word, (charge, discharge))


def _content(unit: Unit, battery: Battery, word: str, powers: tuple[Floats, Floats]) -> Trajectory:
    """Return the content under powers into and out of a store [kW]."""
    hours, (_, claimed) = unit.hours, unit.state(word)
    start = unit.start("initial_energy", claimed)
    scheme: Literal["exact", "euler"] = "euler" if unit.scheme == "euler" else "exact"
    declared = battery.simulate(*powers, hours, start, scheme)
    exact = declared
    if scheme != "exact":
        exact = battery.simulate(*powers, hours, start, "exact")
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


def one_direction(unit: Unit) -> Excess:
    """Return by how much a store charges and discharges at once."""
    charge, discharge = unit.decision("charge"), unit.decision("discharge")
    limits = [unit.largest(f"{way}_power_max") for way in ("charge", "discharge")]
    ratings = [limit for limit in limits if np.isfinite(limit)]
    rating = max(ratings or [charge.max(initial=0.0), discharge.max(initial=0.0)])
    return unit.fault(
        "both",
        f"{unit.name} in one direction at a time",
        np.minimum(charge, discharge),
        "kW",
        float(rating),
        "it charges and discharges at once",
        TOLERANCES["both_directions"] * float(rating),
    )


def _execute(unit: Unit) -> Run:
    if not unit.given(*LOSSES):
        battery = store(unit)
        energy = energy_of(unit, battery, "state_of_charge")
        run = Run((energy,), (), (one_direction(unit),))
    else:
        run = _with_losses(unit)
    return _aged(unit, run) if unit.given(*AGEING) else run


def converter(unit: Unit) -> ConverterLoss:
    """Return the losses by power, which stand for the efficiencies."""
    limits = [unit.largest(f"{way}_power_max") for way in ("charge", "discharge")]
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
    energy = _content(unit, lossless, "state_of_charge", (into, out + lost))
    # What stands is lost too, but from the content: the converter's loss is that of its power.
    result = unit.result("loss", lost, "its power")
    return Run((energy,), (result,), (one_direction(unit),))


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


def _rows(unit: Unit) -> Iterator[ConstraintDef]:
    charge, discharge = (known(unit, word) for word in ("charge", "discharge"))
    if charge is not None and discharge is not None:
        text = f"min({charge}[t], {discharge}[t]) <= 0[kW]"
        yield row(f"{unit.name} one way", text, unit.periods.name)
    if not unit.given(*LOSSES):
        yield from storage_rows(unit, store(unit), "state_of_charge")


ENTRIES = {
    "battery": Entry(
        _execute,
        limits=(("charge", "charge_power_max"), ("discharge", "discharge_power_max")),
        supplies={"bus": "discharge"},
        demands={"bus": "charge"},
        only_with={"loss": LOSSES, "capacity_loss": AGEING},
        rows=_rows,
        sized=SIZED,
    )
}
