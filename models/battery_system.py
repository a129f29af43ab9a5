r"""A battery behind a converter: losses by power, a lumped temperature, derating, power limits.

With the loss :math:`L` of :mod:`engiagent.models.battery_losses` and the self-discharge :math:`k`,

.. math:: \frac{dE}{dt} = -k E + P_c - P_d - L(|P_d - P_c|), \qquad
          C \frac{dT}{dt} = U (T_a - T) + \varphi \left(L + k E\right),

both solved exactly for powers held over a step, with the standing loss of the step as a mean.
The one converter has one direction: charge and discharge in one period pass it as their difference.

Cold locks a part of the charge: with the factor :math:`f(T)` the usable energy ends at
:math:`E_{max} - f (E_{max} - E_{min})` below. Locked energy is not lost.

Source: energy balance of the lumped cell; S. DiOrio et al., "Technoeconomic modeling of battery
energy storage in SAM", NREL/TP-6A20-64641 (2015), section 3, for losses, temperature and derating.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.battery_losses import ConverterLoss
from engiagent.models.parameters import (
    compatible,
    hours_of_steps,
    increasing,
    numbers,
    over_time,
    within,
)
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.recursion import linear_recursion


@dataclass(frozen=True, kw_only=True)
class Derating:
    """A factor by temperature or state of charge; beyond the points the nearest holds.

    Attributes
    ----------
    at
        Rising points, at least one. [degC] or [-]
    factor
        Factors at these points. 0 to 1. [-]

    Examples
    --------
    >>> Derating(at=(-10.0, 20.0), factor=(0.4, 1.0)).of([-20.0, 5.0, 40.0]).tolist()
    [0.4, 0.7, 1.0]
    """

    at: tuple[float, ...] = (0.0,)
    factor: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        increasing(self.at, "the points of a derating", least=1)
        factor = within(self.factor, "a derating factor", "-", low=0.0, high=1.0)
        if len(factor) != len(self.at):
            raise ParameterError(
                f"a derating has {len(self.at)} points and {len(factor)} factors; give one for each"
            )

    def of(self, value: npt.ArrayLike) -> Floats:
        """Return the factor at a temperature or state of charge, of the same shape."""
        return np.asarray(
            np.interp(numbers(value, "the point of a derating"), self.at, self.factor)
        )


@dataclass(frozen=True, kw_only=True)
class BatteryState:
    """Energy [kWh] and temperature of the cells [degC], one number or shape (units,)."""

    energy: npt.ArrayLike
    temperature: npt.ArrayLike = 20.0


@dataclass(frozen=True, kw_only=True)
class BatteryStep:
    """What a period did.

    Attributes
    ----------
    state
        Energy and temperature at its end.
    loss
        Mean loss in the converter and by self-discharge. [kW]
    heat_to_ambient
        Mean heat that left the cells. [kW]
    """

    state: BatteryState
    loss: Floats
    heat_to_ambient: Floats


@dataclass(frozen=True, kw_only=True)
class BatteryPath:
    """What a horizon did: energy and temperature at N+1 instants, loss and heat of N periods."""

    energy: Floats
    temperature: Floats
    loss: Floats
    heat_to_ambient: Floats


@dataclass(frozen=True, kw_only=True)
class BatterySystem:
    r"""A battery with its converter; numbers or arrays over units.

    Attributes
    ----------
    energy_capacity
        Energy when full. Above 0. [kWh]
    charge_power_max, discharge_power_max
        Limits at the terminals without derating. At least 0. [kW]
    charge_loss, discharge_loss
        Losses by terminal power. Standby is the discharge loss at no power.
    minimum_charge, maximum_charge
        Limits of the energy over the capacity. 0 to 1. [-]
    self_discharge
        Rate of the standing loss. At least 0. [1/h]
    heat_capacity
        :math:`C` of the cells; infinite for a temperature that stays. Above 0. [kWh/K]
    heat_transfer
        :math:`U` from the cells to the ambient. At least 0. [kW/K]
    heat_fraction
        :math:`\varphi`, part of the losses that arises in the cells. 0 to 1. [-]
    capacity_by_temperature
        Usable part of the energy range by cell temperature.
    charge_by_temperature, discharge_by_temperature
        Part of the power limit by cell temperature.
    charge_by_charge, discharge_by_charge
        Part of the power limit by state of charge.

    Examples
    --------
    >>> from engiagent.models.battery_losses import QuadraticLoss
    >>> loss = QuadraticLoss(rated_power=50.0, no_load=0.5, proportional=0.02, standby=0.1)
    >>> system = BatterySystem(energy_capacity=100.0, charge_loss=loss, discharge_loss=loss)
    >>> system.simulate([25.0, 0.0], [0.0, 0.0], 1.0, BatteryState(energy=10.0)).energy.tolist()
    [10.0, 34.0, 33.9]
    """

    energy_capacity: npt.ArrayLike
    charge_loss: ConverterLoss
    discharge_loss: ConverterLoss
    charge_power_max: npt.ArrayLike = float("inf")
    discharge_power_max: npt.ArrayLike = float("inf")
    minimum_charge: npt.ArrayLike = 0.0
    maximum_charge: npt.ArrayLike = 1.0
    self_discharge: npt.ArrayLike = 0.0
    heat_capacity: npt.ArrayLike = float("inf")
    heat_transfer: npt.ArrayLike = 0.0
    heat_fraction: npt.ArrayLike = 1.0
    capacity_by_temperature: Derating = field(default_factory=Derating)
    charge_by_temperature: Derating = field(default_factory=Derating)
    discharge_by_temperature: Derating = field(default_factory=Derating)
    charge_by_charge: Derating = field(default_factory=Derating)
    discharge_by_charge: Derating = field(default_factory=Derating)

    def __post_init__(self) -> None:
        within(self.energy_capacity, "the energy capacity", "kWh", low=0.0, above=True)
        within(self.charge_power_max, "the charge power limit", "kW", low=0.0, finite=False)
        within(self.discharge_power_max, "the discharge power limit", "kW", low=0.0, finite=False)
        low = within(self.minimum_charge, "the minimum charge", "-", low=0.0, high=1.0)
        high = within(self.maximum_charge, "the maximum charge", "-", low=0.0, high=1.0)
        compatible(minimum_charge=low, maximum_charge=high)
        if not np.all(low <= high):
            raise ParameterError(
                f"the minimum charge {low} is above the maximum {high}; give minimum <= maximum"
            )
        within(self.self_discharge, "the self-discharge", "1/h", low=0.0)
        within(self.heat_capacity, "the heat capacity", "kWh/K", low=0.0, above=True, finite=False)
        within(self.heat_transfer, "the heat transfer", "kW/K", low=0.0)
        within(self.heat_fraction, "the fraction of heat in the cells", "-", low=0.0, high=1.0)
        self._units()

    def _units(self, **more: npt.ArrayLike) -> tuple[int, ...]:
        """Return the shape of the units, () or (units,)."""
        return compatible(
            energy_capacity=self.energy_capacity,
            charge_power_max=self.charge_power_max,
            discharge_power_max=self.discharge_power_max,
            minimum_charge=self.minimum_charge,
            maximum_charge=self.maximum_charge,
            self_discharge=self.self_discharge,
            heat_capacity=self.heat_capacity,
            heat_transfer=self.heat_transfer,
            heat_fraction=self.heat_fraction,
            **more,
        )

    def converter_loss(self, charge: npt.ArrayLike, discharge: npt.ArrayLike) -> Floats:
        """Return the loss of the converter for terminal powers of any shape. [kW]."""
        into = within(charge, "the charge power", "kW", low=0.0)
        out = within(discharge, "the discharge power", "kW", low=0.0)
        net = out - into
        charging = self.charge_loss.loss(np.maximum(-net, 0.0))
        discharging = self.discharge_loss.loss(np.maximum(net, 0.0))
        return np.where(net < 0, charging, discharging)

    def simulate(
        self,
        charge: npt.ArrayLike,
        discharge: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        initial: BatteryState,
        ambient: npt.ArrayLike = 20.0,
    ) -> BatteryPath:
        """Return the path of the states; limits are not enforced.

        Parameters
        ----------
        charge, discharge
            Mean terminal powers, shape (N,) or (N, units). At least 0. [kW]
        step_hours
            Length of each period. [h]
        initial
            State at the first instant.
        ambient
            Temperature around the cells, one number or shape as above. [degC]
        """
        if not (np.ndim(charge) or np.ndim(discharge)):
            raise ParameterError("charge and discharge are numbers; give one of them as a series")
        lengths = [len(np.asarray(power)) for power in (charge, discharge) if np.ndim(power)]
        shape = (
            lengths[0],
            *self._units(
                charge=np.empty(np.shape(charge)[1:]),
                discharge=np.empty(np.shape(discharge)[1:]),
                initial_energy=initial.energy,
                initial_temperature=initial.temperature,
            ),
        )
        into = over_time(charge, shape, "the charge power")
        out = over_time(discharge, shape, "the discharge power")
        hours = hours_of_steps(step_hours, shape)
        around = over_time(ambient, shape, "the ambient temperature")
        lost = self.converter_loss(into, out)
        decay, gain = self.coefficients(hours)
        start = numbers(initial.energy, "the initial energy")
        energy = linear_recursion(decay, gain * (into - out - lost), start)
        # What left the store beside the powers is the standing loss, exactly.
        standing = (into - out - lost) - np.diff(energy, axis=0) / hours
        warmth = np.asarray(self.heat_fraction) * (lost + standing)
        temperature, heat = self._temperatures(warmth, around, hours, initial.temperature)
        return BatteryPath(
            energy=energy, temperature=temperature, loss=lost + standing, heat_to_ambient=heat
        )

    def step(
        self,
        state: BatteryState,
        charge: npt.ArrayLike,
        discharge: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        ambient: npt.ArrayLike = 20.0,
    ) -> BatteryStep:
        """Return the state after one period and its losses; arguments as in :meth:`simulate`."""
        into, out = np.asarray(charge, dtype=np.float64), np.asarray(discharge, dtype=np.float64)
        shape = self._units(charge=into, discharge=out, energy=state.energy)
        path = self.simulate(
            np.broadcast_to(into, shape)[None],
            np.broadcast_to(out, shape)[None],
            np.asarray(step_hours),
            state,
            np.broadcast_to(np.asarray(ambient, dtype=np.float64), shape)[None],
        )
        after = BatteryState(energy=path.energy[1], temperature=path.temperature[1])
        return BatteryStep(state=after, loss=path.loss[0], heat_to_ambient=path.heat_to_ambient[0])

    def coefficients(self, step_hours: Floats) -> tuple[Floats, Floats]:
        """Return ``(a, b)`` of ``E[n+1] = a E[n] + b P`` with the power ``P`` of the cells."""
        rate = np.asarray(self.self_discharge, dtype=np.float64) + 0.0 * step_hours
        exponent = rate * step_hours
        safe = np.where(rate > 0, rate, 1.0)
        return np.exp(-exponent), np.where(rate > 0, -np.expm1(-exponent) / safe, step_hours)

    def _temperatures(
        self, warmth: Floats, ambient: Floats, hours: Floats, initial: npt.ArrayLike
    ) -> tuple[Floats, Floats]:
        capacity = np.asarray(self.heat_capacity, dtype=np.float64)
        rate = np.asarray(self.heat_transfer, dtype=np.float64) / capacity + 0.0 * hours
        safe = np.where(rate > 0, rate, 1.0)
        gain = np.where(rate > 0, -np.expm1(-rate * hours) / safe, hours)
        driven = gain * (warmth / capacity + rate * ambient)
        start = numbers(initial, "the initial temperature")
        temperature = linear_recursion(np.exp(-rate * hours), driven, start)
        if np.isinf(capacity).all():
            return temperature, warmth
        stored = np.where(np.isinf(capacity), 0.0, capacity) * np.diff(temperature, axis=0)
        return temperature, warmth - stored / hours

    def energy_range(self, temperature: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the least and the greatest usable energy at a cell temperature. [kWh]."""
        full = np.asarray(self.energy_capacity, dtype=np.float64)
        low, high = full * np.asarray(self.minimum_charge), full * np.asarray(self.maximum_charge)
        usable = self.capacity_by_temperature.of(temperature)
        return np.asarray(high - usable * (high - low)), np.asarray(high + 0.0 * usable)

    def power_limits(self, state: BatteryState) -> tuple[Floats, Floats]:
        """Return the derated limits of charge and discharge at a state. [kW]."""
        level = np.asarray(state.energy) / np.asarray(self.energy_capacity, dtype=np.float64)
        factor_in = self.charge_by_temperature.of(state.temperature) * self.charge_by_charge.of(
            level
        )
        factor_out = self.discharge_by_temperature.of(
            state.temperature
        ) * self.discharge_by_charge.of(level)
        # A factor of 0 also stops a power without a limit, for which 0 times infinity is no number.
        with np.errstate(invalid="ignore"):
            into = np.where(factor_in > 0, np.asarray(self.charge_power_max) * factor_in, 0.0)
            out = np.where(factor_out > 0, np.asarray(self.discharge_power_max) * factor_out, 0.0)
        return into, out
