"""Electrical units as modules: grid, load, battery, generator, vehicle."""

from dataclasses import replace
from functools import cache

import numpy as np

from engiagent.models.battery import Battery, ConverterLoss
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


def grid(domain: Domain = "electrical") -> Module:
    """Return a connection to the grid, which balances its bus by ``exchange``."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        taken, given = max(inputs["exchange"], 0.0), max(-inputs["exchange"], 0.0)
        return Outcome(outputs={"import": taken, "export": given}, entered=taken, left=given)

    ports = (
        balance("exchange", "kW", domain, way="gives"),
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


def battery(
    unit: Battery,
    *,
    loss: ConverterLoss | None = None,
    domain: Domain = "electrical",
    cold: bool = False,
) -> Module:
    """Return a battery: ``charge`` and ``discharge`` at its terminals are actions.

    The ``loss`` of a converter, which has one direction at a time, comes out of the store. In the
    thermal domain it is a store of heat, or of ``cold``: what fills it is then heat that it gives.
    Of the capacity the share ``faded`` is gone; what is stored above the rest leaves as heat.
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
        content = decay * state["energy"]
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
        # The standing loss is the rate times the integral of the energy over the period.
        standing = unit.self_discharge * gain * energy + (hours - gain) * net
        after = decay * energy + gain * net
        above = max(after - aged(faded).upper_energy, 0.0) if (faded := inputs["faded"]) else 0.0
        away = charge - discharge - net + (standing + above) / hours
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
