"""Electrical units as modules: grid, meter, load, battery, generator.

Limits of power and energy are reported as violations and not enforced.
"""

import numpy as np

from engiagent.models.battery import Battery
from engiagent.models.battery_losses import ConverterLoss
from engiagent.models.systems.module import (
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


def grid(
    import_power_max: float = np.inf, export_power_max: float = np.inf, *, planned: bool = False
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
        action("import", "kW", "electrical", way="gives"),
        action("export", "kW", "electrical", way="takes"),
    )
    seen = (
        balance("exchange", "kW", "electrical", way="gives"),
        observation("import", "kW", "electrical"),
        observation("export", "kW", "electrical"),
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
    return {"import": np.maximum(exchange, 0.0), "export": np.maximum(-exchange, 0.0)}


def load() -> Module:
    """Return a demand: ``power`` is a disturbance and leaves."""
    return Module(
        ports=(disturbance("power", "kW", "electrical", way="takes"),),
        step=lambda state, inputs, hours: Outcome(left=float(inputs["power"])),
    )


def battery(unit: Battery, *, loss: ConverterLoss | None = None) -> Module:
    """Return a battery: ``charge`` and ``discharge`` at its terminals are actions.

    The ``loss`` of a converter, which has one direction at a time, comes out of the store.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        charge, discharge, energy = inputs["charge"], inputs["discharge"], state["energy"]
        decay, gain = unit.coefficients(np.array([step_hours]))
        lost = 0.0 if loss is None else loss.loss(np.abs(charge - discharge))
        net = unit.charge_efficiency * charge - discharge / unit.discharge_efficiency - lost
        after = decay[0] * energy + gain[0] * net
        # The standing loss is the rate times the integral of the energy over the period.
        standing = unit.self_discharge * gain[0] * energy + (step_hours - gain[0]) * net
        return Outcome(
            state={"energy": after},
            left=float(charge - discharge - net + standing / step_hours),
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
            action("charge", "kW", "electrical", way="takes"),
            action("discharge", "kW", "electrical", way="gives"),
            observation("energy", "kWh", "electrical", instant=True),
        ),
        states=(State("energy", "kWh", unit.initial_energy),),
        step=step,
        stored=lambda state: float(state["energy"]),
    )


def source() -> Module:
    """Return a generator, as by sun or wind, whose ``profile`` of power is a disturbance.

    ``curtailed`` of it is an action.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        available, curtailed = inputs["profile"], inputs["curtailed"]
        power = available - curtailed
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
            observation("power", "kW", "electrical", way="gives"),
            observation("available", "kW", "electrical"),
        ),
        step=step,
    )
