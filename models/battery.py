r"""Batteries: charge and discharge of a store, the losses of its converter, and how it ages.

A battery as a store with two efficiencies and an exponential standing loss.

.. math:: \frac{dE}{dt} = -k E + \eta_c P_c - \frac{P_d}{\eta_d}

With powers held over a step :math:`h` the exact solution is

.. math:: E_{n+1} = e^{-k h} E_n + \frac{1 - e^{-k h}}{k} \left(\eta_c P_c - P_d / \eta_d\right).

The loss is exponential in time, so that steps of 5, 15 and 60 minutes agree; a loss that is linear
per step (scheme ``euler``) makes the answer depend on the step.

Source: first-order linear store, solved by variation of constants; see e.g. K. J. Astrom and
B. Wittenmark, Computer-Controlled Systems, section 2.3 (zero-order hold).

Losses of a converter by power: quadratic or piecewise linear.

A converter that carries the power :math:`P \ge 0` at its terminals loses

.. math:: L(P) = p_0 + p_1 P + p_2 \frac{P^2}{P_r} \quad (P > 0), \qquad L(0) = p_s,

with the no-load loss :math:`p_0`, the rated power :math:`P_r` and the standby power :math:`p_s`. A
battery that charges stores :math:`P - L(P)`; one that discharges gives up :math:`P + L(P)`.

Source: H. Schmidt and D. U. Sauer, "Wechselrichter-Wirkungsgrade", Sonnenenergie 4 (1996) 43–47,
for the quadratic loss; a piecewise loss joins measured points.

Ageing of a battery: cycles by rainflow and Miner, the calendar by root time.

Cycles of depth :math:`D_i` (fraction of the capacity) and number :math:`n_i` (1 or 1/2) add up to

.. math:: L = \sum_i \frac{n_i}{N(D_i)}, \qquad N(D) = N_1 D^{-k},

where :math:`N(D)` cycles of that depth use up the life (Palmgren–Miner, Woehler curve). The end of
life is a loss of capacity :math:`q_{eol}`, so that the cycles cost :math:`q_{eol} L`. A battery
loses :math:`q = k_0 \sqrt{t}` by the calendar.

Sources: ASTM E1049-85 for the counting (library rainflow); M. A. Miner, J. Appl. Mech. 12 (1945)
A159 for the sum; K. Smith et al., "Life prediction model for grid-connected Li-ion battery energy
storage system", American Control Conference 2017, doi:10.23919/ACC.2017.7963578, for the calendar.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from rainflow import extract_cycles

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    increasing,
    not_negative,
    positive,
    series,
    share,
    steps,
    within,
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


@dataclass(frozen=True, kw_only=True)
class QuadraticLoss:
    """Loss as a quadratic of the power.

    Attributes
    ----------
    rated_power
        Power at which the quadratic term is as large as its coefficient says. Above 0. [kW]
    no_load
        Loss of the running converter without power. At least 0. [kW]
    proportional, quadratic
        Coefficients :math:`p_1, p_2`; up to the rated power more must arrive than is lost,
        so that :math:`p_1 + 2 p_2 < 1`. At least 0. [-]
    standby
        Loss at exactly no power; the no-load loss when None. At least 0. [kW]

    Examples
    --------
    >>> loss = QuadraticLoss(rated_power=50.0, no_load=0.25, proportional=0.01, quadratic=0.02)
    >>> loss.loss([0.0, 25.0, 50.0]).tolist()
    [0.25, 0.75, 1.75]
    """

    rated_power: float
    no_load: float = 0.0
    proportional: float = 0.0
    quadratic: float = 0.0
    standby: float | None = None

    def __post_init__(self) -> None:
        positive(self.rated_power, "the rated power", "kW")
        not_negative(self.no_load, "the no-load loss", "kW")
        p1 = not_negative(self.proportional, "the proportional loss", "-")
        p2 = not_negative(self.quadratic, "the quadratic loss", "-")
        within(p1 + 2.0 * p2, "the marginal loss at the rated power", "-", high=1.0, below=True)
        not_negative(self.standby or 0.0, "the standby power", "kW")

    def loss(self, power: npt.ArrayLike) -> Floats:
        """Return the loss at a terminal power of either direction. [kW]."""
        at = not_negative(power, "the power", "kW")
        running = self.no_load + self.proportional * at + self.quadratic * at**2 / self.rated_power
        return np.where(at > 0, running, self.no_load if self.standby is None else self.standby)


@dataclass(frozen=True, kw_only=True)
class PiecewiseLoss:
    """Loss as straight lines between measured points; the last line goes on above them.

    Examples
    --------
    >>> loss = PiecewiseLoss(power=(0.0, 10.0, 20.0), losses=(0.1, 0.5, 1.5))
    >>> loss.loss([5.0, 15.0, 30.0]).round(9).tolist()
    [0.3, 1.0, 2.5]
    """

    power: tuple[float, ...]  # rising powers from 0 on, at least two. [kW]
    # losses at these powers, not falling, rising by less than the power. At least 0. [kW]
    losses: tuple[float, ...]
    # loss at exactly no power; the first point when None. At least 0. [kW]
    standby: float | None = None

    def __post_init__(self) -> None:
        points = increasing(self.power, "the powers of the losses")
        lost = not_negative(self.losses, "a loss", "kW")
        if points[0] != 0.0 or lost.shape != points.shape:
            raise ParameterError(
                f"the losses have {len(points)} powers from {points[0]:g} kW and {lost.size} "
                "losses; give powers from 0 on and one loss for each"
            )
        slope = np.diff(lost) / np.diff(points)
        within(slope, "the rise of the loss with power", "-", low=0.0, high=1.0, below=True)
        not_negative(self.standby or 0.0, "the standby power", "kW")

    def loss(self, power: npt.ArrayLike) -> Floats:
        """Return the loss at a terminal power of either direction. [kW]."""
        at = not_negative(power, "the power", "kW")
        points, lost = np.array(self.power), np.array(self.losses)
        slope = (lost[-1] - lost[-2]) / (points[-1] - points[-2])
        running = np.interp(at, points, lost) + slope * np.maximum(at - points[-1], 0.0)
        return np.where(at > 0, running, lost[0] if self.standby is None else self.standby)


ConverterLoss = QuadraticLoss | PiecewiseLoss


def rainflow(values: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return range, mean and number of each cycle, shape (cycles, 3), and where it ends.

    Examples
    --------
    >>> cycles, ends = rainflow(np.array([0.0, 1.0, 1.0, 0.0]))
    >>> cycles.tolist(), ends.tolist()
    ([[1.0, 0.5, 0.5], [1.0, 0.5, 0.5]], [1, 3])
    """
    # The library turns at the end of a plateau, and counts nothing in a series of two.
    kept = np.flatnonzero(np.concatenate(([True], np.diff(values) != 0.0)))
    found = np.array([*extract_cycles([*values[kept], values[-1]])]).reshape(-1, 5)
    return found[:, :3], kept[np.minimum(found[:, 4].astype(np.int64), len(kept) - 1)]


def lost_share(
    charge: npt.ArrayLike,
    hours: npt.ArrayLike,
    *,
    cycles_at_full_depth: float | None = None,
    cycle_exponent: float = 1.0,
    calendar_rate: float | None = None,
    end_of_life_loss: float = 0.2,
) -> Floats:
    """Return the share of its capacity that a new battery has lost at each instant. [-].

    A cycle counts when it closes, a half cycle at its second turning point.

    Parameters
    ----------
    charge
        State of charge at the N+1 instants, as a share of the capacity. 0 to 1. [-]
    hours
        Length of the N periods. [h]
    cycles_at_full_depth, cycle_exponent
        :math:`N_1`, above 0, and :math:`k`, at least 0; None when cycles do not age. [-]
    calendar_rate
        :math:`k_0`, the loss of the first day; None when time does not age. At least 0. [1/day^0.5]
    end_of_life_loss
        :math:`q_{eol}`. Above 0, at most 1. [-]

    Examples
    --------
    >>> lost = lost_share([0.0, 1.0] * 200 + [0.0], 12.0, cycles_at_full_depth=4000.0)
    >>> round(float(lost[-1]), 6)
    0.01
    """
    level = share(charge, "the state of charge")
    if level.ndim != 1 or len(level) < 2:
        raise ParameterError(
            f"the state of charge has the shape {level.shape}; give one for each instant"
        )
    length = steps(hours, len(level) - 1)
    most = float(fraction(end_of_life_loss, "the loss at the end of life"))
    used, calendar = np.zeros(len(level)), np.zeros(len(level))
    if cycles_at_full_depth is not None:
        life = positive(cycles_at_full_depth, "the number of full cycles", "-")
        exponent = not_negative(cycle_exponent, "the exponent of the Woehler curve", "-")
        cycles, ends = rainflow(level)
        np.add.at(used, ends, cycles[:, 2] * cycles[:, 0] ** exponent / life)
    if calendar_rate is not None:
        rate = not_negative(calendar_rate, "the calendar rate", "1/day^0.5")
        calendar = rate * np.sqrt(np.concatenate(([0.0], np.cumsum(length))) / 24.0)
    return np.asarray(most * np.cumsum(used) + calendar)
