r"""A battery as a store with two efficiencies and an exponential standing loss.

.. math:: \frac{dE}{dt} = -k E + \eta_c P_c - \frac{P_d}{\eta_d}

With powers held over a step :math:`h` the exact solution is

.. math:: E_{n+1} = e^{-k h} E_n + \frac{1 - e^{-k h}}{k} \left(\eta_c P_c - P_d / \eta_d\right).

The loss is exponential in time, so that steps of 5, 15 and 60 minutes agree; a loss that is linear
per step (scheme ``euler``) makes the answer depend on the step.

Source: first-order linear store, solved by variation of constants; see e.g. K. J. Astrom and
B. Wittenmark, Computer-Controlled Systems, section 2.3 (zero-order hold).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    not_negative,
    positive,
    series,
    steps,
)
from engiagent.models.recursion import linear_recursion

BatteryScheme = Literal["exact", "euler"]


@dataclass(frozen=True, kw_only=True)
class Battery:
    """A stationary battery seen from its terminals.

    Examples
    --------
    >>> battery = Battery(energy_capacity=100.0, charge_efficiency=0.9)
    >>> battery.simulate([10.0, 0.0], [0.0, 4.5], 1.0, initial_energy=20.0).tolist()
    [20.0, 29.0, 24.5]
    """

    energy_capacity: float  # usable energy when full. Above 0. [kWh]
    # charge_power_max, discharge_power_max: power limits at the terminals. At least 0; infinite
    # when there is none. [kW]
    charge_power_max: float = float("inf")
    discharge_power_max: float = float("inf")
    # charge_efficiency, discharge_efficiency: fractions above 0 and at most 1. [-]
    charge_efficiency: float = 1.0
    discharge_efficiency: float = 1.0
    initial_energy: float | None = None  # energy at the first instant. [kWh]
    # minimum_energy, maximum_energy: limits of the energy; the maximum is the capacity when None.
    # [kWh]
    minimum_energy: float = 0.0
    maximum_energy: float | None = None
    self_discharge: float = 0.0  # rate of the standing loss. At least 0. [1/h]

    def __post_init__(self) -> None:
        positive(self.energy_capacity, "the energy capacity", "kWh")
        not_negative(self.charge_power_max, "the charge power limit", "kW", finite=False)
        not_negative(self.discharge_power_max, "the discharge power limit", "kW", finite=False)
        fraction(self.charge_efficiency, "the charge efficiency")
        fraction(self.discharge_efficiency, "the discharge efficiency")
        not_negative(self.minimum_energy, "the minimum energy", "kWh")
        not_negative(self.self_discharge, "the self-discharge", "1/h")
        if not self.minimum_energy <= self.upper_energy <= self.energy_capacity:
            raise ParameterError(
                f"the energy limits {self.minimum_energy} to {self.upper_energy} kWh do not lie in "
                f"0 to {self.energy_capacity} kWh; give minimum <= maximum <= capacity"
            )

    def possible(
        self, charge: float, discharge: float, content: float, gain: float, loss: float = 0.0
    ) -> tuple[float, float]:
        """Return the powers nearest to those wanted that power limits and content allow. [kW].

        ``content`` is what stands at the end of a period without any power [kWh], ``gain`` what a
        power in the store adds to it by then [h], ``loss`` what a converter loses of it [kW].
        """
        room = max((self.upper_energy - content) / gain + loss, 0.0)
        stock = max((content - self.minimum_energy) / gain - loss, 0.0)
        return (
            min(max(charge, 0.0), self.charge_power_max, room / self.charge_efficiency),
            min(max(discharge, 0.0), self.discharge_power_max, stock * self.discharge_efficiency),
        )

    @property
    def upper_energy(self) -> float:
        """The upper limit of the energy. [kWh]."""
        return self.energy_capacity if self.maximum_energy is None else self.maximum_energy

    def simulate(
        self,
        charge: npt.ArrayLike,
        discharge: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        initial_energy: float | None = None,
        scheme: BatteryScheme = "exact",
    ) -> Floats:
        """Return the energy at the N+1 instants; limits are not enforced. [kWh].

        ``charge``, ``discharge``: mean terminal powers of the N periods, shape (N,). [kW]
        ``step_hours``: length of each period, one number or shape (N,). [h] ``initial_energy``:
        energy at the first instant; :attr:`initial_energy` when None. [kWh] ``scheme``: ``exact``
        for the zero-order-hold solution, ``euler`` for a loss linear in each step.
        """
        length = np.asarray(charge).size
        into = series(charge, length, "the charge power")
        out = series(discharge, length, "the discharge power")
        hours = steps(step_hours, length)
        start = self.initial_energy if initial_energy is None else initial_energy
        if start is None:
            raise ParameterError("the initial energy is missing; give initial_energy in kWh")
        net = self.charge_efficiency * into - out / self.discharge_efficiency
        decay, gain = self.coefficients(hours, scheme)
        return linear_recursion(decay, gain * net, float(start))

    def coefficients(
        self, step_hours: Floats, scheme: BatteryScheme = "exact"
    ) -> tuple[Floats, Floats]:
        """Return ``(a, b)`` of ``E[n+1] = a E[n] + b (eta_c P_c - P_d / eta_d)``. [-], [h]."""
        rate = self.self_discharge
        if scheme == "euler":
            decay = 1.0 - rate * step_hours
            if not (decay >= 0).all():
                raise ParameterError(
                    f"a linear loss of {rate} 1/h over {step_hours.max()} h exceeds the content; "
                    "use the exact scheme or a shorter step"
                )
            return decay, step_hours
        if scheme != "exact":
            raise ParameterError(f"the scheme is {scheme!r}; a battery knows 'exact' and 'euler'")
        if rate == 0.0:
            return np.ones_like(step_hours), step_hours
        return np.exp(-rate * step_hours), -np.expm1(-rate * step_hours) / rate
