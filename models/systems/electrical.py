"""Electrical units as modules: battery, load, generator, grid connection, meter, feeder."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engiagent.models.battery import Battery, BatteryScheme
from engiagent.models.conversion import GeneratorProfile, Grid, Load
from engiagent.models.grids.feeder import Feeder
from engiagent.models.systems.module import Module, Outcome, above
from engiagent.models.systems.ports import (
    Port,
    State,
    Values,
    action,
    balance,
    disturbance,
    observation,
    output,
)
from engiagent.models.systems.schedule import Schedule


@dataclass(frozen=True)
class BatteryModule(Module):
    """A battery: ``charge`` and ``discharge`` at its terminals are actions, ``energy`` its state.

    Limits of power and energy are reported as violations and not enforced.
    """

    battery: Battery
    scheme: BatteryScheme = "exact"

    @property
    def ports(self) -> tuple[Port, ...]:
        """Two flows and the energy at the start of the period."""
        return (
            action("charge", domain="electrical", way="takes"),
            action("discharge", domain="electrical", way="gives"),
            observation("energy", "kWh", "electrical", instant=True),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The energy."""
        return (State(name="energy", unit="kWh", initial=self.battery.initial_energy),)

    def initialize(self, step_hours: float) -> "BatteryModule":
        """Refuse a step that is too long for the linear loss."""
        self.battery.coefficients(np.array([step_hours]), self.scheme)
        return self

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the energy after the period and what turned to heat in it."""
        unit = self.battery
        charge, discharge, energy = inputs["charge"], inputs["discharge"], state["energy"]
        decay, gain = unit.coefficients(np.array([step_hours]), self.scheme)
        net = unit.charge_efficiency * charge - discharge / unit.discharge_efficiency
        after = decay[0] * energy + gain[0] * net
        conversion = (1 - unit.charge_efficiency) * charge
        conversion = conversion + (1 / unit.discharge_efficiency - 1) * discharge
        # The loss is the rate times the integral of the energy over the period.
        standing = unit.self_discharge * gain[0] * energy
        if self.scheme == "exact":
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

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the energy. [kWh]."""
        return {"energy": float(state["energy"])}


@dataclass(frozen=True)
class LoadModule(Module):
    """A demand; without a load of its own, ``power`` is a disturbance."""

    load: Load | None = None

    @property
    def ports(self) -> tuple[Port, ...]:
        """One flow."""
        if self.load is None:
            return (disturbance("power", "kW", "electrical", way="takes"),)
        return (output("power", "electrical", way="takes"),)

    @property
    def states(self) -> tuple[State, ...]:
        """The number of the period."""
        return () if self.load is None else self._schedule.states

    @property
    def _schedule(self) -> Schedule:
        return Schedule({"power": 0.0 if self.load is None else self.load.power})

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the power of the period; all of it leaves."""
        if self.load is None:
            return Outcome(left={"energy": float(inputs["power"])})
        values = self._schedule.at(state)
        return Outcome(
            state=self._schedule.next(state),
            outputs=values,
            left={"energy": float(values["power"])},
        )


@dataclass(frozen=True)
class GeneratorModule(Module):
    """A source driven by weather; ``curtailed`` is an action, 0 when nobody decides on it."""

    generator: GeneratorProfile

    @property
    def ports(self) -> tuple[Port, ...]:
        """What is available, curtailed and delivered."""
        return (
            action("curtailed", default=0.0),
            observation("available", "kW", "electrical"),
            output("power", "electrical", way="gives"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The number of the period."""
        return self._schedule.states

    @property
    def _schedule(self) -> Schedule:
        return Schedule({"available": self.generator.available_power})

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the delivered power; all of it enters."""
        available = self._schedule.at(state)["available"]
        curtailed = inputs["curtailed"]
        power = available - curtailed
        allowed = available if self.generator.curtailable else np.zeros(())
        return Outcome(
            state=self._schedule.next(state),
            outputs={"available": available, "power": power},
            entered={"energy": float(power)},
            violations={
                "curtailed": above(curtailed, allowed),
                "negative_curtailed": above(-curtailed),
            },
        )


@dataclass(frozen=True)
class GridModule(Module):
    """A connection to the grid.

    By default it balances its bus. With ``planned`` its ``import`` and ``export`` are actions, so
    that the residual of the bus shows what a plan got wrong.
    """

    grid: Grid = field(default_factory=Grid)
    planned: bool = False

    @property
    def ports(self) -> tuple[Port, ...]:
        """The exchange, positive when power comes from the grid, and its two parts."""
        if self.planned:
            return (
                action("import", domain="electrical", way="gives"),
                action("export", domain="electrical", way="takes"),
            )
        return (
            balance("exchange", "electrical", way="gives"),
            observation("import", "kW", "electrical"),
            observation("export", "kW", "electrical"),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return import and export; they enter and leave."""
        if self.planned:
            parts = {"import": inputs["import"], "export": inputs["export"]}
        else:
            exchange = inputs["exchange"]
            parts = {"import": np.maximum(exchange, 0.0), "export": np.maximum(-exchange, 0.0)}
        return Outcome(
            outputs={} if self.planned else parts,
            entered={"energy": float(parts["import"])},
            left={"energy": float(parts["export"])},
            violations={
                "import": above(parts["import"], self.grid.import_power_max),
                "export": above(parts["export"], self.grid.export_power_max),
            },
        )


@dataclass(frozen=True)
class MeterModule(Module):
    """A house connection: balances the bus of the house and hands the rest on to a bus outside."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """The exchange inside; import and export outside."""
        return (
            balance("exchange", "electrical", way="gives"),
            output("import", "electrical", way="takes"),
            output("export", "electrical", way="gives"),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return import and export; nothing is lost."""
        exchange = inputs["exchange"]
        return Outcome(
            outputs={"import": np.maximum(exchange, 0.0), "export": np.maximum(-exchange, 0.0)}
        )


@dataclass(frozen=True)
class FeederModule(Module):
    """A feeder that supplies one bus of the system at each of its own.

    ``<bus>.supply`` balances that bus, below 0 where it feeds in; ``<bus>.reactive`` is a
    disturbance; what the source delivers enters.
    """

    feeder: Feeder

    @property
    def ports(self) -> tuple[Port, ...]:
        """Supply, reactive demand and voltage of each bus; loading, losses and import."""
        names = self.feeder.bus_names
        return (
            *(balance(f"{name}.supply", "electrical", way="gives") for name in names),
            *(disturbance(f"{n}.reactive", "kvar", "electrical", default=0.0) for n in names),
            *(observation(f"{name}.voltage", "p.u.", "electrical") for name in names),
            *(observation(f"{b.name}.loading", "1", "electrical") for b in self.feeder.branches),
            observation("losses", "kW", "electrical"),
            observation("import", "kW", "electrical"),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the power flow of the period."""
        names = self.feeder.bus_names
        active = np.array([float(inputs[f"{name}.supply"]) for name in names])
        reactive = np.array([float(inputs[f"{name}.reactive"]) for name in names])
        flow = self.feeder.flow(active, reactive).require_converged()
        losses = flow.losses.sum() + flow.shunts.sum()
        branches = self.feeder.branches
        return Outcome(
            outputs={
                **{f"{name}.voltage": v for name, v in zip(names, flow.voltage[0], strict=True)},
                **{
                    f"{branch.name}.loading": v
                    for branch, v in zip(branches, flow.loading[0], strict=True)
                },
                "losses": losses,
                "import": flow.import_active[0],
            },
            entered={"energy": float(flow.import_active[0])},
            left={"energy": float(losses)},
            violations={
                f"{branch.name}.overload": above(v, 1.0)
                for branch, v in zip(branches, flow.loading[0], strict=True)
            },
        )
