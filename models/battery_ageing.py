r"""Ageing of a battery: cycles by rainflow and Miner, the calendar by Arrhenius and root time.

Cycles of depth :math:`D_i` (fraction of the capacity) and number :math:`n_i` (1 or 1/2) add up to

.. math:: L = \sum_i \frac{n_i}{N(D_i)}, \qquad N(D) = N_1 D^{-k},

where :math:`N(D)` cycles of that depth use up the life (Palmgren–Miner; Woehler curve or a table).
The end of life is a loss of capacity :math:`q_{eol}`, so that the cycles cost
:math:`q_{cyc} = q_{eol} L`.

A battery that rests loses :math:`q = k \sqrt{t}`. Under changing temperature :math:`T` [K] and
state of charge :math:`s` the loss follows :math:`dq/dt = k^2 / (2 q)`, hence

.. math::
   q_{cal}^2 = \int k(T, s)^2 dt, \qquad
   k = k_0 \exp\left[-B \left(\frac1T - \frac1{T_0}\right)\right]
           \exp\left[C \left(\frac{s}{T} - \frac{s_0}{T_0}\right)\right].

Sources: ASTM E1049-85 for the counting (library rainflow); M. A. Miner, J. Appl. Mech. 12 (1945)
A159 for the sum; K. Smith et al., "Life prediction model for grid-connected Li-ion battery energy
storage system", American Control Conference 2017, doi:10.23919/ACC.2017.7963578, for the calendar.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rainflow import extract_cycles

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    compatible,
    hours_of_steps,
    numbers,
    over_time,
    within,
)

KELVIN = 273.15


@dataclass(frozen=True, kw_only=True)
class WoehlerCurve:
    r"""Cycles to the end of life by depth: :math:`N(D) = N_1 D^{-k}`.

    Attributes
    ----------
    cycles_at_full_depth
        :math:`N_1`, cycles of depth 1 to the end of life. Above 0. [-]
    exponent
        :math:`k`. At least 0; about 1 to 2 for lithium-ion, 0 when depth does not matter. [-]

    Examples
    --------
    >>> WoehlerCurve(cycles_at_full_depth=3000.0, exponent=1.5).cycles_to_end([1.0, 0.25]).tolist()
    [3000.0, 24000.0]
    """

    cycles_at_full_depth: float
    exponent: float = 1.0

    def __post_init__(self) -> None:
        within(self.cycles_at_full_depth, "the number of full cycles", "-", low=0.0, above=True)
        within(self.exponent, "the exponent of the Woehler curve", "-", low=0.0)

    def cycles_to_end(self, depth: npt.ArrayLike) -> Floats:
        """Return the cycles to the end of life; infinite at depth 0."""
        array = within(depth, "the depth of a cycle", "-", low=0.0)
        with np.errstate(divide="ignore"):
            life = self.cycles_at_full_depth * array ** (-self.exponent)
        return np.where(array > 0, life, np.inf)


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


@dataclass(frozen=True, kw_only=True)
class CalendarAgeing:
    """Loss of a resting battery with the root of time, by temperature and state of charge.

    Attributes
    ----------
    rate
        Loss of the first day at the reference, :math:`k_0`. At least 0. [1/day^0.5]
    activation_temperature
        :math:`B`, activation energy over the gas constant. At least 0. [K]
    charge_stress
        :math:`C`, how a high state of charge hastens it; 0 for not at all. At least 0. [K]
    reference_temperature
        :math:`T_0`. Above -273.15. [degC]
    reference_charge
        :math:`s_0`, state of charge at the reference. 0 to 1. [-]

    Examples
    --------
    >>> round(float(CalendarAgeing(rate=0.001).loss([0.5] * 100, 22.85, 24.0)[-1]), 6)
    0.01
    """

    rate: float
    activation_temperature: float = 0.0
    charge_stress: float = 0.0
    reference_temperature: float = 22.85
    reference_charge: float = 1.0

    def __post_init__(self) -> None:
        within(self.rate, "the calendar rate", "1/day^0.5", low=0.0)
        within(self.activation_temperature, "the activation temperature", "K", low=0.0)
        within(self.charge_stress, "the stress of charge", "K", low=0.0)
        within(
            self.reference_temperature, "the reference temperature", "degC", low=-KELVIN, above=True
        )
        within(self.reference_charge, "the reference charge", "-", low=0.0, high=1.0)

    def stress(self, state_of_charge: npt.ArrayLike, temperature: npt.ArrayLike) -> Floats:
        """Return :math:`k(T, s)` for arrays that broadcast. [1/day^0.5].

        Parameters
        ----------
        state_of_charge
            Fraction of the capacity. 0 to 1. [-]
        temperature
            Temperature of the cells. [degC]
        """
        charge = within(state_of_charge, "the state of charge", "-", low=0.0, high=1.0)
        kelvin = KELVIN + within(
            temperature, "the cell temperature", "degC", low=-KELVIN, above=True
        )
        compatible(state_of_charge=charge, temperature=kelvin)
        reference = KELVIN + self.reference_temperature
        return np.asarray(
            self.rate
            * np.exp(-self.activation_temperature * (1.0 / kelvin - 1.0 / reference))
            * np.exp(self.charge_stress * (charge / kelvin - self.reference_charge / reference))
        )

    def loss(
        self,
        state_of_charge: npt.ArrayLike,
        temperature: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        initial: float = 0.0,
    ) -> Floats:
        """Return the lost fraction of the capacity at the N+1 instants. [-].

        ``state_of_charge``: mean of each period, shape (N,) or (N, units). [-] ``temperature``:
        temperature of the cells, one number or shape as above. [degC] ``step_hours``: length of
        each period. [h] ``initial``: loss at the first instant. [-]
        """
        charge = numbers(state_of_charge, "the state of charge")
        rate = self.stress(charge, over_time(temperature, charge.shape, "the cell temperature"))
        days = hours_of_steps(step_hours, charge.shape) / 24.0
        start = np.full((1, *charge.shape[1:]), float(within(initial, "the loss", "-", low=0.0)))
        return np.asarray(np.sqrt(np.cumsum(np.concatenate((start**2, rate**2 * days)), axis=0)))


@dataclass(frozen=True, kw_only=True)
class Ageing:
    """What a horizon cost the battery."""

    cycles: Floats  # depth, mean and number (1 or 1/2) of each cycle, shape (cycles, 3). [-]
    # cycle_loss, calendar_loss: lost fraction of the capacity at the N+1 instants by cycles and by
    # the calendar; a cycle counts when it closes, a half cycle at its second turning point. [-]
    cycle_loss: Floats
    calendar_loss: Floats
    capacity: Floats  # fraction of the capacity that is left at the N+1 instants. [-]


@dataclass(frozen=True, kw_only=True)
class BatteryAgeing:
    """Cycle and calendar ageing of one battery.

    Examples
    --------
    >>> ageing = BatteryAgeing(cycle_life=WoehlerCurve(cycles_at_full_depth=4000.0))
    >>> report = ageing.assess([0.0, 1.0] * 200 + [0.0], 25.0, 12.0)
    >>> round(float(report.capacity[-1]), 6)
    0.99
    """

    # cycles to the end of life by depth; None when cycles do not age
    cycle_life: WoehlerCurve | None = None
    calendar: CalendarAgeing | None = None  # calendar ageing; None when time does not age
    # lost fraction of the capacity at the end of life. Above 0, at most 1. [-]
    end_of_life_loss: float = 0.2

    def __post_init__(self) -> None:
        within(
            self.end_of_life_loss, "the loss at the end of life", "-", low=0.0, high=1.0, above=True
        )

    def assess(
        self, state_of_charge: npt.ArrayLike, temperature: npt.ArrayLike, step_hours: npt.ArrayLike
    ) -> Ageing:
        """Return what a horizon costs a new battery.

        ``state_of_charge``: fraction of the capacity at the N+1 instants, shape (N+1,). 0 to 1.
        [-]. ``temperature``: mean temperature of the cells, one number or shape (N,). [degC]
        ``step_hours``: length of each period, one number or shape (N,). [h]
        """
        charge = within(state_of_charge, "the state of charge", "-", low=0.0, high=1.0)
        if charge.ndim != 1 or len(charge) < 2:
            raise ParameterError(
                f"the state of charge has the shape {charge.shape}; give one for each instant"
            )
        hours = hours_of_steps(step_hours, (len(charge) - 1,))
        cycles, ends = rainflow(charge)
        used = np.zeros(len(charge))
        if self.cycle_life is not None:
            np.add.at(used, ends, cycles[:, 2] / self.cycle_life.cycles_to_end(cycles[:, 0]))
        cyclic = self.end_of_life_loss * np.cumsum(used)
        calendar = np.zeros(len(charge))
        if self.calendar is not None:
            middle = 0.5 * (charge[1:] + charge[:-1])
            calendar = self.calendar.loss(middle, temperature, hours)
        return Ageing(
            cycles=cycles,
            cycle_loss=cyclic,
            calendar_loss=calendar,
            capacity=1.0 - cyclic - calendar,
        )
