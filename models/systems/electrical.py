"""Electrical units as modules: grid, meter, load, battery, generator.

Limits of power and energy are reported as violations and not enforced.
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.battery import Battery
from engiagent.models.battery_losses import ConverterLoss
from engiagent.models.ev import EvFleet, Sessions
from engiagent.models.systems.module import (
    Domain,
    Module,
    Outcome,
    State,
    Values,
    above,
    action,
    balance,
    disturbance,
    observation,
)

UNLIMITED = 1e12
"""A power [kW] beyond all that there is."""

LOSS_ROUNDS = 60
"""Of an iteration that ends after few: a watt more loses little of a watt more."""


def grid(
    import_power_max: float = np.inf,
    export_power_max: float = np.inf,
    *,
    planned: bool = False,
    domain: Domain = "electrical",
) -> Module:
    """Return a connection to the grid, which balances its bus by ``exchange``.

    With ``planned`` its ``import`` and ``export`` are actions, so that the residual of the bus
    shows what a plan got wrong.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        parts = inputs if planned else _exchange(inputs)
        return Outcome(
            outputs={} if planned else parts,
            entered=float(parts["import"]),
            left=float(parts["export"]),
            violations={
                "import": above(parts["import"], import_power_max),
                "export": above(parts["export"], export_power_max),
            },
        )

    plan = (
        action("import", "kW", domain, way="gives"),
        action("export", "kW", domain, way="takes"),
    )
    seen = (
        balance("exchange", "kW", domain, way="gives"),
        observation("import", "kW", domain),
        observation("export", "kW", domain),
    )
    return Module(ports=plan if planned else seen, step=step)


def meter() -> Module:
    """Return a house connection: balances the bus inside and hands the rest on to one outside."""
    ports = (
        balance("exchange", "kW", "electrical", way="gives"),
        observation("import", "kW", "electrical", way="takes"),
        observation("export", "kW", "electrical", way="gives"),
    )
    return Module(ports=ports, step=lambda state, inputs, hours: Outcome(outputs=_exchange(inputs)))


def _exchange(inputs: Values) -> Values:
    exchange = inputs["exchange"]
    return {"import": above(exchange, 0.0), "export": above(-exchange, 0.0)}


def load(domain: Domain = "electrical", *, cold: bool = False) -> Module:
    """Return a demand: ``power`` is a disturbance and leaves; of ``cold`` it enters as heat."""
    if cold:
        return Module(
            ports=(disturbance("power", "kW", domain, way="gives"),),
            step=lambda state, inputs, hours: Outcome(entered=float(inputs["power"])),
        )
    return Module(
        ports=(disturbance("power", "kW", domain, way="takes"),),
        step=lambda state, inputs, hours: Outcome(left=float(inputs["power"])),
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
    """
    sign = -1.0 if cold else 1.0
    lossy = loss is not None
    known: dict[float, tuple[float, float]] = {}

    def rates(hours: float) -> tuple[float, float]:
        if hours not in known:
            decay, gain = unit.coefficients(np.array([hours]))
            known[hours] = float(decay[0]), float(gain[0])
        return known[hours]

    def possible(state: Values, inputs: Values, hours: float) -> Values:
        decay, gain = rates(hours)
        wanted = float(inputs["charge"]), float(inputs["discharge"])
        content = decay * float(state["energy"])
        if loss is None:
            into, out = unit.possible(*wanted, content, gain)
            return {"charge": into, "discharge": out}
        into, out = wanted
        for _ in range(LOSS_ROUNDS):  # the loss is that of the powers which it leaves room for
            before, lost = (into, out), float(loss.loss(abs(into - out)))
            into, out = unit.possible(*wanted, content, gain, lost)
            if max(abs(into - before[0]), abs(out - before[1])) < 1e-12:
                break
        # What stands in an empty battery comes from its terminals.
        into = max(into, float(loss.loss(abs(into - out))) + out - content / gain)
        return {"charge": into, "discharge": out}

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        charge, discharge, energy = inputs["charge"], inputs["discharge"], state["energy"]
        decay, gain = rates(step_hours)
        lost = 0.0 if loss is None else loss.loss(np.abs(charge - discharge))
        net = unit.charge_efficiency * charge - discharge / unit.discharge_efficiency - lost
        after = decay * energy + gain * net
        # The standing loss is the rate times the integral of the energy over the period.
        standing = unit.self_discharge * gain * energy + (step_hours - gain) * net
        gone = float(charge - discharge - net + standing / step_hours)
        return Outcome(
            state={"energy": after},
            outputs={"loss": np.asarray(lost)} if lossy else {},
            entered=gone if cold else 0.0,
            left=0.0 if cold else gone,
            violations={
                "charge": above(charge, unit.charge_power_max),
                "discharge": above(discharge, unit.discharge_power_max),
                "negative_power": above(-np.minimum(charge, discharge)),
                "full": above(after, unit.upper_energy),
                "empty": above(unit.minimum_energy, after),
            },
        )

    return Module(
        ports=(
            action("charge", "kW", domain, way="gives" if cold else "takes"),
            action("discharge", "kW", domain, way="takes" if cold else "gives"),
            observation("energy", "kWh", domain, instant=True),
            *((observation("loss", "kW", domain),) if lossy else ()),
        ),
        states=(State("energy", "kWh", unit.initial_energy),),
        step=step,
        stored=lambda state: sign * float(state["energy"]),
        possible=possible,
    )


def source(*, limited: bool = False) -> Module:
    """Return a generator, as by sun or wind, whose ``profile`` of power is a disturbance.

    ``curtailed`` of it is an action, and so is its ``limit`` where it is ``limited``.
    """

    def possible(state: Values, inputs: Values, step_hours: float) -> Values:
        available = float(inputs["profile"])
        curtailed = min(max(float(inputs["curtailed"]), 0.0), max(available, 0.0))
        limit = {"limit": max(float(inputs["limit"]), 0.0)} if limited else {}
        return {"curtailed": curtailed, **limit}

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        available, curtailed = inputs["profile"], inputs["curtailed"]
        power = available - curtailed
        if limited:
            power = min(power, inputs["limit"])
        return Outcome(
            outputs={"power": power, "available": available},
            entered=float(power),
            violations={
                "curtailed": above(curtailed, available),
                "negative_curtailed": above(-curtailed),
            },
        )

    return Module(
        ports=(
            disturbance("profile"),
            action("curtailed", default=0.0),
            *((action("limit", default=UNLIMITED),) if limited else ()),
            observation("power", "kW", "electrical", way="gives"),
            observation("available", "kW", "electrical"),
        ),
        step=step,
        possible=possible,
    )


def vehicle(fleet: EvFleet, sessions: Sessions) -> Module:
    """Return one vehicle with sessions at a plug: ``charge`` and ``discharge`` are actions.

    It brings the energy of its arrival and takes away what it leaves with; away it holds nothing
    that counts. A session that begins or ends within a period has its share of the power.
    """
    times = [np.asarray(v) for v in (sessions.arrival, sessions.departure)]
    brought, wanted = np.asarray(sessions.arrival_energy), np.asarray(sessions.required_energy)
    full, least = _one(fleet.energy_capacity), _one(fleet.minimum_energy)
    powers = [_one(fleet.charge_power_max), _one(fleet.discharge_power_max)]
    into_store, out_of_store = _one(fleet.charge_efficiency), _one(fleet.discharge_efficiency)

    def session(clock: float, hours: float) -> int | None:
        found = np.flatnonzero((times[1] > clock + 1e-9) & (times[0] < clock + hours - 1e-9))
        return int(found[0]) if len(found) else None

    def content(state: Values, at: int | None) -> float:
        """Return what it holds as the period begins, or as it arrives in it."""
        if at is None or state["plugged"]:
            return float(state["energy"])
        return float(brought[at])

    def possible(state: Values, inputs: Values, hours: float) -> Values:
        clock = float(state["clock"])
        at = session(clock, hours)
        if at is None:
            return {"charge": 0.0, "discharge": 0.0}
        begin, end = max(times[0][at], clock), min(times[1][at], clock + hours)
        share, energy = float(end - begin) / hours, content(state, at)
        room = max(full - energy, 0.0) / hours / into_store
        stock = max(energy - least, 0.0) / hours * out_of_store
        return {
            "charge": min(max(float(inputs["charge"]), 0.0), share * powers[0], room),
            "discharge": min(max(float(inputs["discharge"]), 0.0), share * powers[1], stock),
        }

    def step(state: Values, inputs: Values, hours: float) -> Outcome:
        clock = float(state["clock"])
        at = session(clock, hours)
        before = float(state["energy"])
        energy = content(state, at)
        charge, discharge = float(inputs["charge"]), float(inputs["discharge"])
        net = into_store * charge - discharge / out_of_store
        filled = energy + hours * net
        after, plugged, gone, short = filled, 1.0, 0.0, 0.0
        if at is None or times[1][at] <= clock + hours + 1e-9:
            short = 0.0 if at is None else max(float(wanted[at]) - filled, 0.0)
            after, plugged, gone = 0.0, 0.0, filled
        return Outcome(
            state={"clock": clock + hours, "energy": after, "plugged": plugged},
            entered=(energy - before) / hours,
            left=charge - discharge - net + gone / hours,
            violations={
                "away": charge + discharge if at is None else 0.0,
                "full": above(filled, full),
                "shortfall": short,
            },
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
        stored=lambda state: float(state["energy"]),
        possible=possible,
    )


def _one(value: npt.ArrayLike) -> float:
    return float(np.asarray(value).reshape(-1)[0])
