"""Electrical units as modules: grid, meter, feeder, load, batteries, vehicles, generators.

Limits of power and energy are reported as violations and not enforced. Parameters that are arrays
make one module of several units.
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.battery import Battery, BatteryScheme
from engiagent.models.battery_losses import ConverterLoss
from engiagent.models.chp import ExtractionChp, PartLoadChp
from engiagent.models.ev import EvFleet
from engiagent.models.genset import Genset, GensetState
from engiagent.models.grids.feeder import Feeder
from engiagent.models.pv import PvArray
from engiagent.models.ranges import Floats, units
from engiagent.models.systems.module import (
    Contents,
    Module,
    Outcome,
    Port,
    State,
    Values,
    above,
    action,
    balance,
    disturbance,
    observation,
)
from engiagent.models.wind import WindTurbine

LONG_HOURS = 1e6  # after which no minimum time binds any more


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
            entered={"energy": float(parts["import"])},
            left={"energy": float(parts["export"])},
            violations={
                "import": above(parts["import"], import_power_max),
                "export": above(parts["export"], export_power_max),
            },
        )

    plan = (
        action("import", domain="electrical", way="gives"),
        action("export", domain="electrical", way="takes"),
    )
    seen = (
        balance("exchange", "electrical", "gives"),
        observation("import", "kW", "electrical"),
        observation("export", "kW", "electrical"),
    )
    return Module(ports=plan if planned else seen, step=step)


def meter() -> Module:
    """Return a house connection: balances the bus inside and hands the rest on to one outside."""
    ports = (
        balance("exchange", "electrical", "gives"),
        observation("import", "kW", "electrical", way="takes"),
        observation("export", "kW", "electrical", way="gives"),
    )
    return Module(ports=ports, step=lambda state, inputs, hours: Outcome(outputs=_exchange(inputs)))


def _exchange(inputs: Values) -> Values:
    exchange = inputs["exchange"]
    return {"import": np.maximum(exchange, 0.0), "export": np.maximum(-exchange, 0.0)}


def feeder(parameters: Feeder) -> Module:
    """Return a feeder that supplies one bus of the system at each of its own.

    ``<bus>.supply`` balances that bus, below 0 where it feeds in; ``<bus>.reactive`` is a
    disturbance; what the source delivers enters.
    """
    names, branches = parameters.bus_names, [branch.name for branch in parameters.branches]
    ports = (
        *(balance(f"{name}.supply", "electrical", "gives") for name in names),
        *(disturbance(f"{n}.reactive", "kvar", "electrical", default=0.0) for n in names),
        *(observation(f"{name}.voltage", "p.u.", "electrical") for name in names),
        *(observation(f"{name}.loading", "1", "electrical") for name in branches),
        observation("losses", "kW", "electrical"),
        observation("import", "kW", "electrical"),
    )

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        active, reactive = (
            np.array([float(inputs[f"{name}.{part}"]) for name in names])
            for part in ("supply", "reactive")
        )
        flow = parameters.flow(active, reactive).require_converged()
        losses = flow.losses.sum() + flow.shunts.sum()
        loading = dict(zip(branches, flow.loading[0], strict=True))
        return Outcome(
            outputs={
                **{f"{name}.voltage": v for name, v in zip(names, flow.voltage[0], strict=True)},
                **{f"{name}.loading": v for name, v in loading.items()},
                "losses": losses,
                "import": flow.import_active[0],
            },
            entered={"energy": float(flow.import_active[0])},
            left={"energy": float(losses)},
            violations={f"{name}.overload": above(v, 1.0) for name, v in loading.items()},
        )

    return Module(ports=ports, step=step)


def load() -> Module:
    """Return a demand: ``power`` is a disturbance and leaves."""
    return Module(
        ports=(disturbance("power", "kW", "electrical", way="takes"),),
        step=lambda state, inputs, hours: Outcome(left={"energy": float(inputs["power"])}),
    )


def battery(
    parameters: Battery, scheme: BatteryScheme = "exact", *, loss: ConverterLoss | None = None
) -> Module:
    """Return a battery: ``charge`` and ``discharge`` at its terminals are actions.

    The ``loss`` of a converter, which has one direction at a time, comes out of the store.
    """

    def prepare(step_hours: float) -> Module:
        # Refuses a step that is too long for the linear loss.
        parameters.coefficients(np.array([step_hours]), scheme)
        return module

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        unit = parameters
        charge, discharge, energy = inputs["charge"], inputs["discharge"], state["energy"]
        decay, gain = unit.coefficients(np.array([step_hours]), scheme)
        net = unit.charge_efficiency * charge - discharge / unit.discharge_efficiency
        conversion = _conversion(unit.charge_efficiency, unit.discharge_efficiency, inputs)
        if loss is not None:
            lost = loss.loss(np.abs(charge - discharge))
            net, conversion = net - lost, conversion + lost
        after = decay[0] * energy + gain[0] * net
        # The loss is the rate times the integral of the energy over the period.
        standing = unit.self_discharge * gain[0] * energy
        if scheme == "exact":
            standing = standing + (step_hours - gain[0]) * net
        return Outcome(
            state={"energy": after},
            left={"energy": float(conversion + standing / step_hours)},
            violations={
                "charge": above(charge, unit.charge_power_max),
                "discharge": above(discharge, unit.discharge_power_max),
                "negative_power": above(-np.minimum(charge, discharge)),
                "full": above(after, unit.upper_energy),
                "empty": above(unit.minimum_energy, after),
            },
        )

    module = Module(
        ports=_store(()),
        states=(State("energy", "kWh", parameters.initial_energy),),
        step=step,
        stored=_energy,
        prepare=prepare,
    )
    return module


def ev_fleet(fleet: EvFleet, initial_energy: npt.ArrayLike | None = None) -> Module:
    """Return vehicles: ``charge`` and ``discharge`` at the plugs are actions.

    ``distance`` is what each vehicle drives in the period, ``plugged`` the part of the period in
    which it is connected. Powers beyond that part are violations.
    """
    shape = (fleet.vehicles,)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        charge, discharge, plugged = inputs["charge"], inputs["discharge"], inputs["plugged"]
        after = fleet.step(state["energy"], charge, discharge, step_hours, inputs["distance"])
        lost = _conversion(fleet.charge_efficiency, fleet.discharge_efficiency, inputs)
        driven = np.asarray(fleet.consumption) * inputs["distance"] / step_hours
        return Outcome(
            state={"energy": after},
            left={"energy": float((lost + driven).sum())},
            violations={
                "charge": above(charge, plugged * np.asarray(fleet.charge_power_max)),
                "discharge": above(discharge, plugged * np.asarray(fleet.discharge_power_max)),
                "both": np.minimum(charge, discharge),
                "full": above(after, fleet.energy_capacity),
                "empty": above(fleet.minimum_energy, after),
            },
        )

    return Module(
        ports=(
            *_store(shape),
            disturbance("distance", "km", "information", default=0.0, shape=shape),
            disturbance("plugged", "1", "information", default=1.0, shape=shape),
        ),
        states=(State("energy", "kWh", initial_energy, shape),),
        step=step,
        stored=_energy,
    )


def _store(shape: tuple[int, ...]) -> tuple[Port, ...]:
    return (
        action("charge", domain="electrical", way="takes", shape=shape),
        action("discharge", domain="electrical", way="gives", shape=shape),
        observation("energy", "kWh", "electrical", instant=True, shape=shape),
    )


def _energy(state: Values) -> Contents:
    return {"energy": float(state["energy"].sum())}


def _conversion(charge: npt.ArrayLike, discharge: npt.ArrayLike, inputs: Values) -> Floats:
    """Return what turns to heat by the efficiencies both ways. [kW]."""
    lost = (1.0 - np.asarray(charge)) * inputs["charge"]
    return np.asarray(lost + (1.0 / np.asarray(discharge) - 1.0) * inputs["discharge"])


def pv(array: PvArray) -> Module:
    """Return photovoltaic arrays; ``curtailed`` is an action, the weather disturbances of all."""
    shape = units(array)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = array.output(inputs["irradiance"], inputs["air_temperature"], inputs["wind_speed"])
        power = done.ac_power - inputs["curtailed"]
        return Outcome(
            outputs={
                "power": power,
                "night_power": done.night_power,
                "available": done.ac_power,
                "cell_temperature": np.broadcast_to(done.cell_temperature, power.shape),
            },
            entered={"energy": float(power.sum())},
            left={"energy": float(done.night_power.sum())},
            violations=_curtailed(inputs["curtailed"], done.ac_power),
        )

    return Module(
        ports=(
            disturbance("irradiance", "W/m²", "information"),
            disturbance("air_temperature", "degC", "information"),
            disturbance("wind_speed", "m/s", "information", default=1.0),
            *_source(shape),
            observation("night_power", "kW", "electrical", way="takes", shape=shape),
            observation("cell_temperature", "degC", "thermal", shape=shape),
        ),
        step=step,
    )


def wind(turbine: WindTurbine) -> Module:
    """Return a wind turbine; whether a storm has stopped it is its state."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        runs, available = turbine.step(state["running"] > 0.5, inputs["speed"], inputs["density"])
        power = available - inputs["curtailed"]
        return Outcome(
            state={"running": np.asarray(runs, dtype=np.float64)},
            outputs={"power": power, "available": available},
            entered={"energy": float(power)},
            violations=_curtailed(inputs["curtailed"], available),
        )

    return Module(
        ports=(
            disturbance("speed", "m/s", "information"),
            disturbance("density", "kg/m³", "information", default=turbine.reference_density),
            *_source(()),
        ),
        states=(State("running", "1", 1.0),),
        step=step,
    )


def source() -> Module:
    """Return a generator whose ``available`` power is a disturbance, 0 or more."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        power = inputs["profile"] - inputs["curtailed"]
        return Outcome(
            outputs={"power": power, "available": inputs["profile"]},
            entered={"energy": float(power)},
            violations=_curtailed(inputs["curtailed"], inputs["profile"]),
        )

    return Module(ports=(disturbance("profile", "kW", "information"), *_source(())), step=step)


def _source(shape: tuple[int, ...]) -> tuple[Port, ...]:
    return (
        action("curtailed", default=0.0, shape=shape),
        observation("power", "kW", "electrical", way="gives", shape=shape),
        observation("available", "kW", "electrical", shape=shape),
    )


def _curtailed(curtailed: npt.ArrayLike, available: npt.ArrayLike) -> Values:
    return {
        "curtailed": above(curtailed, available),
        "negative_curtailed": above(-np.asarray(curtailed)),
    }


def genset(parameters: Genset) -> Module:
    """Return a generating set: ``power`` and ``running`` (0 or 1) are actions.

    A set that stands burns nothing; power that a plan draws from it all the same is a violation,
    and shows as an imbalance of the module.
    """
    shape = units(parameters)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        before = GensetState(
            running=state["was_running"] > 0.5, power=state["last_power"], hours=state["hours"]
        )
        power, running = inputs["power"], inputs["running"]
        after, path = parameters.step(before, power, running, step_hours)
        beyond = parameters.excess(power[None], running[None], step_hours, before)
        heat = path.fuel[0] * np.asarray(parameters.heating_value) / step_hours
        return Outcome(
            state={
                "was_running": running,
                "last_power": power,
                "hours": np.asarray(after.hours, dtype=np.float64),
            },
            outputs={
                "fuel": path.fuel[0] / step_hours,
                "emissions": path.emissions[0] / step_hours,
                "start": path.starts[0].astype(np.float64),
            },
            entered={"energy": float(heat.sum())},
            left={"energy": float(np.where(running > 0.5, heat - power, 0.0).sum())},
            violations={name: values[0] for name, values in vars(beyond).items()},
        )

    return Module(
        ports=(
            action("power", domain="electrical", way="gives", shape=shape),
            action("running", "1", shape=shape),
            observation("fuel", "unit/h", "fuel", shape=shape),
            observation("emissions", "kg/h", "information", shape=shape),
            observation("start", "1", "information", shape=shape),
        ),
        # Whether it ran in the period before, at what power, and since when it runs or stands.
        states=(
            State("was_running", "1", 0.0, shape),
            State("last_power", "kW", 0.0, shape),
            State("hours", "h", LONG_HOURS, shape),
        ),
        step=step,
    )


def part_load_chp(chp: PartLoadChp) -> Module:
    """Return an engine with heat recovery: ``power`` is an action and fixes the ``heat``."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        power = inputs["power"]
        done = chp.output(power)
        return Outcome(
            outputs={"heat": done.heat, "fuel": done.fuel},
            entered={"energy": float(done.fuel)},
            left={"energy": float(done.loss)},
            violations={
                "above_rated": above(power, chp.rated_power),
                "below_minimum": np.where(power == 0.0, 0.0, above(chp.minimum_power, power)),
            },
        )

    return Module(
        ports=(
            action("power", domain="electrical", way="gives"),
            observation("heat", "kW", "thermal", way="gives"),
            observation("fuel", "kW", "fuel"),
        ),
        step=step,
    )


def extraction_chp(chp: ExtractionChp) -> Module:
    """Return an extraction turbine: ``power`` and ``heat`` are actions, the fuel follows.

    It stands, and burns nothing, where both are 0.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        power, heat = inputs["power"], inputs["heat"]
        done = chp.output(power, heat)
        runs = float((power > 0.0) | (heat > 0.0))
        beyond = chp.excess(power, heat).max() if runs else 0.0
        return Outcome(
            outputs={"fuel": np.asarray(done.fuel * runs)},
            entered={"energy": float(done.fuel * runs)},
            left={"energy": float(done.loss * runs)},
            violations={"region": np.asarray(beyond, dtype=np.float64)},
        )

    return Module(
        ports=(
            action("power", domain="electrical", way="gives"),
            action("heat", domain="thermal", way="gives"),
            observation("fuel", "kW", "fuel"),
        ),
        step=step,
    )
