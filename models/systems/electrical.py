"""Electrical units as modules: grid, loads, battery, generators, vehicle."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from engiagent.models.battery import Battery, ConverterLoss
from engiagent.models.engines import Genset
from engiagent.models.ev import Sessions, Vehicle
from engiagent.models.systems.system import (
    Domain,
    Module,
    Outcome,
    State,
    Values,
    action,
    balance,
    clipped,
    disturbance,
    observation,
)

UNLIMITED = 1e12
"""A power [kW] beyond all that there is."""
LOSS_ROUNDS = 60
"""Of an iteration that ends after few: a watt more loses little of a watt more."""


def grid(domain: Domain = "electrical", *, cold: bool = False) -> Module:
    """Return a connection to the grid, which balances its bus by ``exchange``; also of ``cold``."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        taken, given = max(inputs["exchange"], 0.0), max(-inputs["exchange"], 0.0)
        entered, left = (given, taken) if cold else (taken, given)
        return Outcome(outputs={"import": taken, "export": given}, entered=entered, left=left)

    ports = (
        balance("exchange", "kW", domain, way="takes" if cold else "gives"),
        observation("import", "kW", domain),
        observation("export", "kW", domain),
    )
    return Module(ports=ports, step=step)


def load(domain: Domain = "electrical", *, cold: bool = False) -> Module:
    """Return a demand: ``power`` is a disturbance and leaves; of ``cold`` it enters as heat."""
    return Module(
        ports=(disturbance("power", "kW", domain, way="gives" if cold else "takes"),),
        step=lambda state, inputs, hours: Outcome(
            entered=inputs["power"] if cold else 0.0, left=0.0 if cold else inputs["power"]
        ),
    )


def flexible_load(ahead: float = math.inf, delayed: float = math.inf) -> Module:
    """Return a demand that gives way: ``up`` and ``down`` change its power, within their limits.

    What is done ahead of its time, or after it where that is below 0, is ``shifted_energy``, up to
    energies ``ahead`` and ``delayed`` [kWh].
    """

    def possible(state: Values, inputs: Values, hours: float) -> Values:
        shifted = state["shifted_energy"]
        down = clipped(inputs["down"], min(inputs["down_max"], inputs["demand"]))
        room = max(ahead - shifted, 0.0) / hours + down
        up = clipped(inputs["up"], min(inputs["up_max"], room))
        return {"up": up, "down": min(down, max(delayed + shifted, 0.0) / hours + up)}

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        net = inputs["up"] - inputs["down"]
        power = inputs["demand"] + net
        shifted = state["shifted_energy"] + hours * net
        return Outcome(state={"shifted_energy": shifted}, outputs={"power": power}, left=power)

    return Module(
        ports=(
            *(disturbance(name) for name in ("demand", "up_max", "down_max")),
            *(action(way, default=0.0) for way in ("up", "down")),
            observation("power", way="takes"),
        ),
        states=(State("shifted_energy", "kWh", 0.0),),
        step=step,
        possible=possible,
    )


def job(power: float, duration: float, window: tuple[float, float], runs: int) -> Module:
    """Return a job that takes a ``power`` for some hours, as often as there are ``runs``.

    It begins as soon as ``begin`` is 1 within the ``window`` [h] that it is done in, one at a time.
    """

    def possible(state: Values, inputs: Values, hours: float) -> Values:
        may = state["runs"] > 0.5 and state["remaining"] < 1e-9 and inputs["begin"] >= 0.5
        early, late = window[0] - 1e-9, window[1] - duration + 1e-9
        return {"begin": float(may and early <= state["clock"] <= late)}

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        due = state["remaining"] + inputs["begin"] * duration
        used = power * min(due, hours) / hours
        clock, left = state["clock"] + hours, state["runs"] - inputs["begin"]
        after = {"clock": clock, "remaining": max(due - hours, 0.0), "runs": left}
        return Outcome(state=after, outputs={"power": used}, left=used)

    start = {"clock": 0.0, "remaining": 0.0, "runs": float(runs)}
    return Module(
        ports=(action("begin", "1", default=1.0), observation("power", way="takes")),
        states=tuple(State(name, "1" if name == "runs" else "h", v) for name, v in start.items()),
        step=step,
        possible=possible,
    )


def demand_response() -> Module:
    """Return what an ``import`` less an ``export`` is below a baseline in events."""

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        below = inputs["baseline"] - inputs["import"] + inputs["export"]
        most = max(inputs["event"] * inputs["reduction_max"], 0.0)
        return Outcome(outputs={"reduction": clipped(below, most)})

    given = ("import", "export", "baseline", "reduction_max", "event")
    return Module(ports=(*map(disturbance, given), observation("reduction")), step=step)


def generating_set(
    model: Genset, rate: Callable[[float], Any], count: int, value: float, before: Sequence[float]
) -> Module:
    """Return sets alike, of whose ``load`` is asked and of which ``commit`` run.

    Below 0 that is as few as are enough, and none for less than the least power of one. ``rate``:
    fuel of one in an hour by its power [kW]. ``value``: heating value, 0 where it is unknown. [kWh]
    ``before``: how many ran and with which power, below 0 where that limits nothing. [kW]
    """
    rated, least = model.rated_power, model.minimum_load * model.rated_power

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        asked, was = inputs["load"], state["power"]
        on = min(math.ceil(asked / rated - 1e-6), count)
        on -= asked < on * least - 1e-6 * rated
        on = on if inputs["commit"] < 0 else round(min(inputs["commit"], count))
        start, stop = max(on - state["running"], 0.0), max(state["running"] - on, 0.0)
        given = min(max(asked, on * least), on * rated)
        if was >= 0:  # the ramps hold where a set runs in both periods
            given = min(given, was + count * model.ramp_up * hours + rated * start)
            given = max(given, was - count * model.ramp_down * hours - rated * stop)
        fuel = (on * float(rate(given / on)) if on else 0.0) + model.start_fuel * start / hours
        burnt = max(value * fuel, given)
        outputs = {"on": float(on), "power": given, "fuel": fuel, "burnt": burnt}
        outputs["emissions"] = inputs["emission_factor"] * fuel
        after = {"running": float(on), "power": given}
        return Outcome(state=after, outputs=outputs, left=burnt - given)

    return Module(
        ports=(
            action("load"),
            action("commit", "1", default=-1.0),
            disturbance("emission_factor", "1", default=0.0),
            *(observation(name, "1") for name in ("on", "fuel", "emissions")),
            observation("power", "kW", "electrical", way="gives"),
            observation("burnt", "kW", "fuel", way="takes"),
        ),
        states=(State("running", "1", before[0]), State("power", "kW", before[1])),
        step=step,
        possible=lambda state, inputs, hours: {"load": clipped(inputs["load"])},
    )


def battery(
    unit: Battery,
    *,
    loss: ConverterLoss | None = None,
    domain: Domain = "electrical",
    cold: bool = False,
    standing: bool = False,
) -> Module:
    """Return a battery: ``charge`` and ``discharge`` at its terminals are actions.

    The ``loss`` of a converter, which has one direction at a time, comes out of the store. In the
    thermal domain it is a store of heat, or of ``cold``: what fills it is then heat that it gives.
    Of the capacity the share ``faded`` is gone; what is stored above the rest leaves as heat.
    With ``standing`` there is a disturbance that it loses, whatever its content.
    """

    @cache
    def rates(hours: float) -> tuple[float, float]:
        decay, gain = unit.coefficients(np.array([hours]))
        return float(decay[0]), float(gain[0])

    @cache
    def aged(faded: float) -> Battery:
        most = (1.0 - faded) * unit.energy_capacity
        limits = min(unit.minimum_energy, most), min(unit.upper_energy, most)
        return replace(unit, minimum_energy=limits[0], maximum_energy=limits[1]) if faded else unit

    def lost(into: float, out: float) -> float:
        return 0.0 if loss is None else float(loss.loss(abs(into - out)))

    def possible(state: Values, inputs: Values, hours: float) -> Values:
        decay, gain = rates(hours)
        wanted, now = (inputs["charge"], inputs["discharge"]), aged(inputs["faded"])
        content = decay * state["energy"] - gain * inputs.get("standing", 0.0)
        if loss is None:
            into, out = now.possible(*wanted, content, gain)
            return {"charge": into, "discharge": out}
        into, out = wanted
        for _ in range(LOSS_ROUNDS):  # the loss is that of the powers which it leaves room for
            before = into, out
            into, out = now.possible(*wanted, content, gain, lost(into, out))
            if max(abs(into - before[0]), abs(out - before[1])) < 1e-12:
                break
        # What stands in an empty battery comes from its terminals.
        return {"charge": max(into, lost(into, out) + out - content / gain), "discharge": out}

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        charge, discharge, energy = inputs["charge"], inputs["discharge"], state["energy"]
        (decay, gain), gone = rates(hours), lost(charge, discharge)
        net = unit.charge_efficiency * charge - discharge / unit.discharge_efficiency - gone
        net -= inputs.get("standing", 0.0)
        # The standing loss is the rate times the integral of the energy over the period.
        decayed = unit.self_discharge * gain * energy + (hours - gain) * net
        after = decay * energy + gain * net
        above = max(after - aged(faded).upper_energy, 0.0) if (faded := inputs["faded"]) else 0.0
        away = charge - discharge - net + (decayed + above) / hours
        return Outcome(
            state={"energy": after - above},
            outputs={} if loss is None else {"loss": gone},
            entered=away if cold else 0.0,
            left=0.0 if cold else away,
        )

    sign = -1.0 if cold else 1.0
    return Module(
        ports=(
            action("charge", "kW", domain, way="gives" if cold else "takes"),
            action("discharge", "kW", domain, way="takes" if cold else "gives"),
            disturbance("faded", "1", default=0.0),
            observation("energy", "kWh", domain, instant=True),
            *(() if loss is None else (observation("loss", "kW", domain),)),
            *((disturbance("standing"),) if standing else ()),
        ),
        states=(State("energy", "kWh", unit.initial_energy),),
        step=step,
        stored=lambda state: sign * state["energy"],
        possible=possible,
    )


def source() -> Module:
    """Return a generator, as by sun or wind: what of its ``profile`` is within its ``limit``."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        power = min(inputs["profile"], clipped(inputs["limit"]))
        return Outcome(outputs={"power": power}, entered=power)

    return Module(
        ports=(
            disturbance("profile"),
            action("limit", default=UNLIMITED),
            observation("power", "kW", "electrical", way="gives"),
        ),
        step=step,
    )


def vehicle(car: Vehicle, sessions: Sessions) -> Module:
    """Return a vehicle with sessions at a plug: ``charge`` and ``discharge`` are actions.

    It brings the energy of its arrival and takes away what it leaves with; away it holds nothing
    that counts. A session that begins or ends within a period has its share of the power.
    """
    arrival, departure = sessions.arrival, sessions.departure

    def session(clock: float, hours: float) -> int | None:
        found = np.flatnonzero((departure > clock + 1e-9) & (arrival < clock + hours - 1e-9))
        return int(found[0]) if len(found) else None

    def content(state: Values, at: int | None) -> float:
        """Return what it holds as the period begins, or as it arrives in it."""
        arrives = at is not None and not state["plugged"]
        return float(sessions.arrival_energy[at]) if arrives else state["energy"]

    def possible(state: Values, inputs: Values, hours: float) -> Values:
        clock = state["clock"]
        at = session(clock, hours)
        if at is None:
            return {"charge": 0.0, "discharge": 0.0}
        begin, end = max(arrival[at], clock), min(departure[at], clock + hours)
        part, energy = float(end - begin) / hours, content(state, at)
        room = max(car.energy_capacity - energy, 0.0) / hours / car.charge_efficiency
        stock = max(energy - car.minimum_energy, 0.0) / hours * car.discharge_efficiency
        return {
            "charge": clipped(inputs["charge"], min(part * car.charge_power_max, room)),
            "discharge": clipped(inputs["discharge"], min(part * car.discharge_power_max, stock)),
        }

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        clock = state["clock"]
        at = session(clock, hours)
        energy, charge, discharge = content(state, at), inputs["charge"], inputs["discharge"]
        net = car.charge_efficiency * charge - discharge / car.discharge_efficiency
        filled = energy + hours * net
        stays = at is not None and departure[at] > clock + hours + 1e-9
        return Outcome(
            state={
                "clock": clock + hours,
                "energy": filled if stays else 0.0,
                "plugged": float(stays),
            },
            entered=(energy - state["energy"]) / hours,
            left=charge - discharge - net + (0.0 if stays else filled) / hours,
        )

    return Module(
        ports=(
            action("charge", "kW", "electrical", way="takes", default=0.0),
            action("discharge", "kW", "electrical", way="gives", default=0.0),
            observation("energy", "kWh", "electrical", instant=True),
            observation("plugged", "1", "electrical", instant=True),
        ),
        states=(State("clock", "h", 0.0), State("energy", "kWh", 0.0), State("plugged", "1", 0.0)),
        step=step,
        stored=lambda state: state["energy"],
        possible=possible,
    )
