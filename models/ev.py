r"""An electric vehicle: plugged-in sessions, charging both ways.

Within a session, with powers at the plug held over a period of length :math:`h`,

.. math:: E_{n+1} = E_n + h \left(\eta_c P_{c,n} - P_{d,n} / \eta_d\right), \qquad
          0 \le P_{c,n} \le a_n P_c^{max}, \quad 0 \le P_{d,n} \le a_n P_d^{max},

where :math:`a_n` is the part of the period in which the vehicle is plugged in. It arrives with a
given energy and must leave with at least another.

Source: energy balance; J. Garcia-Villalobos et al., Renew. Sustain. Energy Rev. 38 (2014) 717–731,
for sessions and charging strategies.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    not_negative,
    numbers,
    positive,
    series,
)

Ints = npt.NDArray[np.int64]


class Sessions:
    """When a vehicle is plugged in; every array has one entry for each session, in any order.

    ``arrival``, ``departure``: hours since the start of the horizon; departures after arrivals,
    and sessions apart. [h] ``arrival_energy``: in the battery on arrival, or at the start of the
    horizon for a vehicle that is plugged in already. At least 0. [kWh] ``required_energy``: that
    it must hold at least on departure; 0 for no wish. At least 0. [kWh]
    """

    def __init__(
        self,
        arrival: npt.ArrayLike,
        departure: npt.ArrayLike,
        arrival_energy: npt.ArrayLike,
        required_energy: npt.ArrayLike = 0.0,
    ) -> None:
        self.arrival = np.atleast_1d(numbers(arrival, "an arrival"))
        count = len(self.arrival)
        self.departure = series(departure, count, "the departure")
        brought = not_negative(arrival_energy, "the energy on arrival", "kWh")
        self.arrival_energy = series(brought, count, "the energy on arrival")
        wanted = not_negative(required_energy, "the required energy", "kWh")
        self.required_energy = series(wanted, count, "the required energy")
        late = self.departure <= self.arrival
        if late.any():
            place = int(np.argmax(late))
            raise ParameterError(
                f"session {place} departs at {self.departure[place]:g} h, not after its arrival at "
                f"{self.arrival[place]:g} h; give a later departure"
            )
        self._refuse_overlap(self.arrival, self.departure, "overlap; give sessions apart")

    def _refuse_overlap(self, begin: npt.NDArray[Any], end: npt.NDArray[Any], words: str) -> None:
        order = np.argsort(begin)
        shared = begin[order][1:] < end[order][:-1]
        if shared.any():
            first, second = order[int(np.argmax(shared)) :][:2]
            raise ParameterError(f"sessions {first} and {second} {words}")

    def availability(self, count: int, step_hours: float) -> Floats:
        """Return the plugged-in part of each period, shape (count,). 0 to 1."""
        edges = step_hours * np.arange(count + 1)
        begins = np.maximum(self.arrival[:, None], edges[:-1])
        ends = np.minimum(self.departure[:, None], edges[1:])
        part = np.maximum(ends - begins, 0.0).sum(axis=0) / step_hours
        # Sums of parts miss 0 and 1 by rounding.
        whole = np.round(part)
        return np.asarray(np.clip(np.where(abs(part - whole) < 1e-12, whole, part), 0.0, 1.0))

    def periods(self, count: int, step_hours: float) -> tuple[Ints, Ints, Ints]:
        """Return the session of each period, and the first and the end period of each session.

        ``owner`` has the shape (count,) and is -1 where the vehicle is away; ``begin`` and ``end``
        (one after the last) may lie outside the horizon.
        """
        # A time that is a whole number of steps may miss it by rounding.
        begin = np.floor(self.arrival / step_hours + 1e-9).astype(np.int64)
        end = np.ceil(self.departure / step_hours - 1e-9).astype(np.int64)
        self._refuse_overlap(
            begin, end, f"share a period of {step_hours:g} h; give shorter periods"
        )
        owner = np.full(count, -1, dtype=np.int64)
        for session, (first, last) in enumerate(zip(begin, end, strict=True)):
            owner[max(first, 0) : max(last, 0)] = session
        return owner, begin, end


@dataclass(frozen=True, kw_only=True)
class EvPath:
    """What charging did."""

    # at the N+1 instants; NaN while the vehicle is away. At the first instant of a session it is
    # the energy on arrival. [kWh]
    energy: Floats
    departure_energy: Floats  # of each session; NaN for one that departs after the horizon. [kWh]


@dataclass(frozen=True, kw_only=True)
class EvExcess:
    """By how much charging leaves the limits; 0 where it keeps them."""

    # charge, discharge: power above the plugged-in part of its limit, shape (N,). [kW]
    charge: Floats
    discharge: Floats
    both: Floats  # power that is charged and discharged at once, shape (N,). [kW]
    shortfall: Floats  # energy that lacks on departure, of each session. [kWh]


@dataclass(frozen=True, kw_only=True)
class Vehicle:
    """A vehicle at its plug.

    Examples
    --------
    >>> car = Vehicle(energy_capacity=50.0, charge_power_max=11.0, charge_efficiency=0.9)
    >>> stay = Sessions([1.0], [3.5], [20.0], [38.0])
    >>> path = car.simulate(stay, [0.0, 10.0, 10.0, 0.0], 0.0, 1.0)
    >>> path.energy.tolist(), path.departure_energy.tolist()
    ([nan, 20.0, 29.0, 38.0, 38.0], [38.0])
    """

    energy_capacity: float  # usable energy. Above 0. [kWh]
    # charge_power_max, discharge_power_max: at the plug; the latter 0 for a vehicle that only
    # charges. At least 0. [kW]
    charge_power_max: float
    discharge_power_max: float = 0.0
    # charge_efficiency, discharge_efficiency: above 0, at most 1. [-]
    charge_efficiency: float = 1.0
    discharge_efficiency: float = 1.0
    minimum_energy: float = 0.0  # below which it is not discharged. At least 0. [kWh]

    def __post_init__(self) -> None:
        positive(self.energy_capacity, "the energy capacity", "kWh")
        not_negative(self.charge_power_max, "the charge power limit", "kW")
        not_negative(self.discharge_power_max, "the discharge power limit", "kW")
        fraction(self.charge_efficiency, "the charge efficiency")
        fraction(self.discharge_efficiency, "the discharge efficiency")
        not_negative(self.minimum_energy, "the minimum energy", "kWh")
        if self.minimum_energy > self.energy_capacity:
            raise ParameterError("the minimum energy is above the capacity; give less")

    def simulate(
        self, sessions: Sessions, charge: npt.ArrayLike, discharge: npt.ArrayLike, step_hours: float
    ) -> EvPath:
        """Return the energy; limits are not enforced, see :meth:`excess`.

        A session that begins within a period counts from that period on: powers are means of whole
        periods, and the vehicle takes all of the energy of its first and last one. ``charge``,
        ``discharge``: mean powers at the plug, shape (N,) or one number. At least 0. [kW]
        """
        into, out = self._powers(charge, discharge)
        _, begin, end = sessions.periods(len(into), step_hours)
        net = self.charge_efficiency * into - out / self.discharge_efficiency
        energy = np.full(len(into) + 1, np.nan)
        left = np.full(len(begin), np.nan)
        for session in np.argsort(begin):
            first, last = max(int(begin[session]), 0), min(int(end[session]), len(into))
            if first < last:
                path = step_hours * np.concatenate(([0.0], np.cumsum(net[first:last])))
                path += sessions.arrival_energy[session]
                energy[first : last + 1] = path
                if end[session] <= len(into):
                    left[session] = path[-1]
        return EvPath(energy=energy, departure_energy=left)

    def excess(
        self, sessions: Sessions, charge: npt.ArrayLike, discharge: npt.ArrayLike, step_hours: float
    ) -> EvExcess:
        """Return by how much charging leaves the limits; arguments as in :meth:`simulate`."""
        into, out = self._powers(charge, discharge)
        part = sessions.availability(len(into), step_hours)
        left = self.simulate(sessions, into, out, step_hours).departure_energy
        return EvExcess(
            charge=np.maximum(into - part * self.charge_power_max, 0.0),
            discharge=np.maximum(out - part * self.discharge_power_max, 0.0),
            both=np.minimum(into, out),
            shortfall=np.fmax(sessions.required_energy - left, 0.0),
        )

    def _powers(self, charge: npt.ArrayLike, discharge: npt.ArrayLike) -> tuple[Floats, Floats]:
        into = np.atleast_1d(not_negative(charge, "the charge power", "kW"))
        out = not_negative(discharge, "the discharge power", "kW")
        return into, series(out, len(into), "the discharge power")
