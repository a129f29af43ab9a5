"""Electrical units as modules: grid, meter, load, battery, generator.

Limits of power and energy are reported as violations and not enforced.
"""

import numpy as np

from engiagent.models.battery import Battery
from engiagent.models.battery_losses import ConverterLoss
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
        content = decay * float(state["energy"])
        into, out = (max(float(inputs[way]), 0.0) for way in ("charge", "discharge"))
        lost = float(loss.loss(abs(into - out))) if loss is not None else 0.0
        room = (unit.upper_energy - content) / gain + lost
        stock = (content - unit.minimum_energy) / gain - lost
        into = min(into, unit.charge_power_max, max(room, 0.0) / unit.charge_efficiency)
        out = min(out, unit.discharge_power_max, max(stock, 0.0) * unit.discharge_efficiency)
        return {"charge": into, "discharge": out}  # type: ignore[dict-item]

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
        return {"curtailed": curtailed}  # type: ignore[dict-item]

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
