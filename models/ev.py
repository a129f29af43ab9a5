r"""A fleet of electric vehicles: plugged-in sessions, charging both ways.

Within a session, with powers at the plug held over a period of length :math:`h`,

.. math:: E_{n+1} = E_n + h \left(\eta_c P_{c,n} - P_{d,n} / \eta_d\right), \qquad
          0 \le P_{c,n} \le a_n P_c^{max}, \quad 0 \le P_{d,n} \le a_n P_d^{max},

where :math:`a_n` is the part of the period in which the vehicle is plugged in. It arrives with a
given energy and must leave with at least another.

Source: energy balance; J. Garcia-Villalobos et al., Renew. Sustain. Energy Rev. 38 (2014) 717–731,
for sessions and charging strategies.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, numbers, over_time, within

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sessions:
    """When vehicles are plugged in; every array has one entry for each session, in any order."""

    vehicle: npt.ArrayLike  # number of the vehicle, from 0 on
    # arrival, departure: hours since the start of the horizon; departures after arrivals, and
    # sessions of one vehicle apart. [h]
    arrival: npt.ArrayLike
    departure: npt.ArrayLike
    # energy in the battery on arrival, or at the start of the horizon for a vehicle that is plugged
    # in already. At least 0. [kWh]
    arrival_energy: npt.ArrayLike
    # energy that it must hold at least on departure; 0 for no wish. At least 0. [kWh]
    required_energy: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        arrival = numbers(self.arrival, "an arrival")
        if arrival.ndim != 1:
            raise ParameterError(
                f"arrivals have the shape {arrival.shape}; give one for each session"
            )
        whole = numbers(self.vehicle, "the number of a vehicle")
        if not ((whole == np.round(whole)) & (whole >= 0)).all():
            raise ParameterError("the number of a vehicle is not a whole number from 0 on")
        values = {"vehicle": whole.astype(np.int64), "arrival": arrival}
        values["departure"] = numbers(self.departure, "a departure")
        values["arrival_energy"] = within(
            self.arrival_energy, "the energy on arrival", "kWh", low=0.0
        )
        values["required_energy"] = within(
            self.required_energy, "the required energy", "kWh", low=0.0
        )
        for name, array in values.items():
            if array.shape not in (arrival.shape, ()):
                raise ParameterError(
                    f"{name} has the shape {array.shape} and the arrivals {arrival.shape}; give "
                    "one for each session"
                )
            object.__setattr__(self, name, np.broadcast_to(array, arrival.shape))
        self._apart()

    def _apart(self) -> None:
        vehicle, arrival, departure = self._arrays()
        late = departure <= arrival
        if late.any():
            place = int(np.argmax(late))
            raise ParameterError(
                f"session {place} departs at {departure[place]:g} h, not after its arrival at "
                f"{arrival[place]:g} h; give a later departure"
            )
        order = np.lexsort((arrival, vehicle))
        same = np.diff(vehicle[order]) == 0
        overlaps = same & (arrival[order][1:] < departure[order][:-1])
        if overlaps.any():
            first, second = order[int(np.argmax(overlaps)) :][:2]
            raise ParameterError(
                f"sessions {first} and {second} of vehicle {vehicle[first]} overlap; give sessions "
                "apart"
            )

    def _arrays(self) -> tuple[Ints, Floats, Floats]:
        return np.asarray(self.vehicle), np.asarray(self.arrival), np.asarray(self.departure)

    def availability(self, count: int, vehicles: int, step_hours: float) -> Floats:
        """Return the plugged-in part of each period, shape (count, vehicles). 0 to 1."""
        vehicle, arrival, departure = self._arrays()
        if len(vehicle) and vehicle.max() >= vehicles:
            raise ParameterError(
                f"a session names vehicle {vehicle.max()} and the fleet has {vehicles}, from 0 on"
            )
        # The plugged-in time up to an instant is a sum of ramps that start and end with sessions;
        # a ramp from t adds its first part to its period and whole steps to those that follow.
        rate = np.zeros((count + 2, vehicles))
        for moment, sign in ((arrival, 1.0), (departure, -1.0)):
            at = np.clip(moment / step_hours, 0.0, count)
            period = np.floor(at).astype(np.int64)
            part = at - period
            np.add.at(rate, (period, vehicle), sign * (1.0 - part))
            np.add.at(rate, (period + 1, vehicle), sign * part)
        share = np.cumsum(rate, axis=0)[:count]
        # Sums of parts miss 0 and 1 by rounding.
        return np.clip(
            np.where(np.abs(share - np.round(share)) < 1e-12, np.round(share), share), 0.0, 1.0
        )


@dataclass(frozen=True, kw_only=True)
class EvPath:
    """What charging did."""

    # at the N+1 instants, shape (N+1, vehicles); NaN while a vehicle is away. At the first instant
    # of a session it is the energy on arrival. [kWh]
    energy: Floats
    departure_energy: Floats  # of each session; NaN for one that departs after the horizon. [kWh]


@dataclass(frozen=True, kw_only=True)
class EvExcess:
    """By how much charging leaves the limits; 0 where it keeps them."""

    # charge, discharge: power above the plugged-in part of its limit, shape (N, vehicles). [kW]
    charge: Floats
    discharge: Floats
    both: Floats  # power that is charged and discharged at once, shape (N, vehicles). [kW]
    # below, above: energy below and above the usable range, shape (N+1, vehicles). [kWh]
    below: Floats
    above: Floats
    shortfall: Floats  # energy that lacks on departure, of each session. [kWh]


@dataclass(frozen=True, kw_only=True)
class EvFleet:
    """Vehicles; every parameter is one number or shape (vehicles,).

    Examples
    --------
    >>> fleet = EvFleet(energy_capacity=[50.0], charge_power_max=11.0, charge_efficiency=0.9)
    >>> session = Sessions(vehicle=[0], arrival=[1.0], departure=[3.5], arrival_energy=[20.0],
    ...                    required_energy=[38.0])
    >>> path = fleet.simulate(session, [[0.0], [10.0], [10.0], [0.0]], 0.0, 1.0)
    >>> path.energy[:, 0].tolist(), path.departure_energy.tolist()
    ([nan, 20.0, 29.0, 38.0, 38.0], [38.0])
    """

    energy_capacity: npt.ArrayLike  # usable energy, shape (vehicles,). Above 0. [kWh]
    # charge_power_max, discharge_power_max: at the plug; the latter 0 for vehicles that only
    # charge. At least 0. [kW]
    charge_power_max: npt.ArrayLike
    discharge_power_max: npt.ArrayLike = 0.0
    # charge_efficiency, discharge_efficiency: above 0, at most 1. [-]
    charge_efficiency: npt.ArrayLike = 1.0
    discharge_efficiency: npt.ArrayLike = 1.0
    # below which a vehicle is not discharged. At least 0. [kWh]
    minimum_energy: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        full = within(self.energy_capacity, "the energy capacity", "kWh", low=0.0, above=True)
        if full.ndim != 1:
            raise ParameterError(
                f"the energy capacity has the shape {full.shape}; give one for each vehicle"
            )
        others = (
            within(self.charge_power_max, "the charge power limit", "kW", low=0.0),
            within(self.discharge_power_max, "the discharge power limit", "kW", low=0.0),
            within(
                self.charge_efficiency, "the charge efficiency", "-", low=0.0, high=1.0, above=True
            ),
            within(
                self.discharge_efficiency,
                "the discharge efficiency",
                "-",
                low=0.0,
                high=1.0,
                above=True,
            ),
            within(self.minimum_energy, "the minimum energy", "kWh", low=0.0),
        )
        for array in others:
            if array.shape not in ((), full.shape):
                raise ParameterError(
                    f"a parameter has the shape {array.shape}; give one number or one for each of "
                    f"{len(full)} vehicles"
                )
        if not (others[4] <= full).all():
            raise ParameterError("a minimum energy is above the capacity; give less")

    @property
    def vehicles(self) -> int:
        """Number of vehicles."""
        return len(np.asarray(self.energy_capacity))

    def simulate(
        self, sessions: Sessions, charge: npt.ArrayLike, discharge: npt.ArrayLike, step_hours: float
    ) -> EvPath:
        """Return the energy of every vehicle; limits are not enforced, see :meth:`excess`.

        A session that begins within a period counts from that period on: powers are means of whole
        periods, and the vehicle takes all of the energy of its first and last one.

        ``sessions``: when vehicles are plugged in; those that lie outside the horizon are left out
        of it. ``charge``, ``discharge``: mean powers at the plug, shape (N, vehicles); one of them
        may be 0. At least 0. [kW] ``step_hours``: length of every period. [h]
        """
        into, out, hours = self._powers(charge, discharge, step_hours)
        count = len(into)
        gained = hours * self.stored(into, out)
        total = np.concatenate((np.zeros((1, self.vehicles)), np.cumsum(gained, axis=0)))
        owner, begin, end = self.periods_of(sessions, count, hours)
        vehicle = np.asarray(sessions.vehicle)
        # Energy of a session: on arrival, and what was gained since; by instant and vehicle.
        base = np.asarray(sessions.arrival_energy) - total[np.clip(begin, 0, count), vehicle]
        inside = owner >= 0
        energy = np.full((count + 1, self.vehicles), np.nan)
        known = np.where(inside, base[owner] if len(base) else 0.0, np.nan)
        energy[1:] = known + total[1:]
        first = np.where(inside & ~_same_as_before(owner), known + total[:-1], np.nan)
        energy[:-1] = np.where(np.isnan(first), energy[:-1], first)
        left = np.where(
            (end <= count) & (end > 0), base + total[np.clip(end, 0, count), vehicle], np.nan
        )
        return EvPath(energy=energy, departure_energy=np.asarray(left, dtype=np.float64))

    def excess(
        self, sessions: Sessions, charge: npt.ArrayLike, discharge: npt.ArrayLike, step_hours: float
    ) -> EvExcess:
        """Return by how much charging leaves the limits; arguments as in :meth:`simulate`."""
        into, out, hours = self._powers(charge, discharge, step_hours)
        part = sessions.availability(len(into), self.vehicles, hours)
        path = self.simulate(sessions, into, out, hours)
        full = np.asarray(self.energy_capacity, dtype=np.float64)
        lacking = np.asarray(sessions.required_energy) - path.departure_energy
        return EvExcess(
            charge=np.maximum(into - part * np.asarray(self.charge_power_max), 0.0),
            discharge=np.maximum(out - part * np.asarray(self.discharge_power_max), 0.0),
            both=np.minimum(into, out),
            below=np.fmax(np.asarray(self.minimum_energy) - path.energy, 0.0),
            above=np.fmax(path.energy - full, 0.0),
            shortfall=np.fmax(lacking, 0.0),
        )

    def stored(self, into: Floats, out: Floats) -> Floats:
        """Return the power that the batteries take in, below 0 for what they give up. [kW]."""
        return np.asarray(
            np.asarray(self.charge_efficiency) * into - out / np.asarray(self.discharge_efficiency)
        )

    def _powers(
        self, charge: npt.ArrayLike, discharge: npt.ArrayLike, step_hours: float
    ) -> tuple[Floats, Floats, float]:
        hours = float(within(step_hours, "the step", "h", low=0.0, above=True))
        rows = [np.shape(power)[0] for power in (charge, discharge) if np.ndim(power) == 2]
        if not rows:
            raise ParameterError(
                "neither charge nor discharge has the shape (N, vehicles); give one of them so"
            )
        shape = (rows[0], self.vehicles)
        into, out = (
            over_time(within(power, f"the {name} power", "kW", low=0.0), shape, f"the {name} power")
            for name, power in (("charge", charge), ("discharge", discharge))
        )
        return into, out, hours

    def periods_of(
        self, sessions: Sessions, count: int, step_hours: float
    ) -> tuple[Ints, Ints, Ints]:
        """Return the session of each period and the periods of each session.

        Returns owner, number of the session, -1 for none, shape (count, vehicles); begin, end,
        first period and the one after the last, shape (sessions,); they may lie outside the
        horizon.
        """
        vehicle = np.asarray(sessions.vehicle)
        if len(vehicle) and vehicle.max() >= self.vehicles:
            raise ParameterError(
                f"a session names vehicle {vehicle.max()} and the fleet has {self.vehicles}, from "
                "0 on"
            )
        # A time that is a whole number of steps may miss it by rounding.
        begin = np.floor(np.asarray(sessions.arrival) / step_hours + 1e-9).astype(np.int64)
        end = np.ceil(np.asarray(sessions.departure) / step_hours - 1e-9).astype(np.int64)
        change = np.zeros((count + 1, self.vehicles), dtype=np.int64)
        inside = (begin < count) & (end > 0)
        number = np.arange(1, len(vehicle) + 1)
        np.add.at(change, (np.clip(begin, 0, count)[inside], vehicle[inside]), number[inside])
        np.add.at(change, (np.clip(end, 0, count)[inside], vehicle[inside]), -number[inside])
        order = np.lexsort((begin, vehicle))
        shared = (np.diff(vehicle[order]) == 0) & (begin[order][1:] < end[order][:-1])
        if shared.any():
            first, second = order[int(np.argmax(shared)) :][:2]
            raise ParameterError(
                f"sessions {first} and {second} of vehicle {vehicle[first]} share a period of "
                f"{step_hours:g} h; give shorter periods"
            )
        return np.cumsum(change, axis=0)[:count] - 1, begin, end


def _same_as_before(owner: Ints) -> npt.NDArray[np.bool_]:
    return np.concatenate((np.zeros_like(owner[:1], dtype=bool), owner[1:] == owner[:-1]))
