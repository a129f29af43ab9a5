r"""Between which energies a plugged-in vehicle may move, and still leave as it must.

.. math::
   \bar E_n = \min\left(E_a + \sum_{a \le m < n} a_m h \eta_c P_c^{max},\; E^{max}\right), \qquad
   \underline E_n = \max\left(E_a - \sum_{a \le m < n} \frac{a_m h P_d^{max}}{\eta_d},\; E^{min},\;
   E_r - \sum_{n \le m < d} a_m h \eta_c P_c^{max}\right)

with arrival :math:`a` and :math:`E_a`, departure :math:`d` and :math:`E_r`.

Source: C. Goebel and H.-A. Jacobsen, IEEE Trans. Power Syst. 31 (2016) 1607–1618, for the
aggregation of energy and power paths.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.models.ev import EvFleet, Sessions
from engiagent.models.parameters import within
from engiagent.models.ranges import Floats


@dataclass(frozen=True, kw_only=True)
class EvFlexibility:
    """Bounds of every vehicle at the N+1 instants; NaN while it is away.

    Attributes
    ----------
    lowest, highest
        Energy, shape (N+1, vehicles). Where the lowest is above the highest the required energy
        cannot be reached. [kWh]
    charge_max, discharge_max
        Power at the plug, shape (N, vehicles); 0 while it is away. [kW]
    """

    lowest: Floats
    highest: Floats
    charge_max: Floats
    discharge_max: Floats


def flexibility(fleet: EvFleet, sessions: Sessions, count: int, step_hours: float) -> EvFlexibility:
    """Return the bounds between which every vehicle may move.

    A session that departs after the horizon must only be able to reach its required energy later,
    with full power from the end of the horizon on.

    Parameters
    ----------
    fleet, sessions
        The vehicles and when they are plugged in.
    count, step_hours
        The horizon. [-], [h]

    Raises
    ------
    ParameterError
        When two sessions of a vehicle share a period.

    Examples
    --------
    >>> fleet = EvFleet(energy_capacity=[50.0], charge_power_max=10.0)
    >>> session = Sessions(vehicle=[0], arrival=[0.0], departure=[3.0], arrival_energy=[20.0],
    ...                    required_energy=[35.0])
    >>> bounds = flexibility(fleet, session, 3, 1.0)
    >>> bounds.lowest[:, 0].tolist(), bounds.highest[:, 0].tolist()
    ([20.0, 20.0, 25.0, 35.0], [20.0, 30.0, 40.0, 50.0])
    """
    within(step_hours, "the step", "h", low=0.0, above=True)
    part = sessions.availability(count, fleet.vehicles, step_hours)
    most_in, most_out = (
        part * np.asarray(limit) for limit in (fleet.charge_power_max, fleet.discharge_power_max)
    )
    nothing = np.zeros_like(part)
    rise = _path(step_hours * fleet.stored(most_in, nothing))
    fall = _path(-step_hours * fleet.stored(nothing, most_out))
    owner, begin, end = fleet.periods_of(sessions, count, step_hours)
    row, car = np.nonzero(owner >= 0)
    session = owner[row, car]
    start, stop = np.clip(begin, 0, count)[session], np.clip(end, 0, count)[session]
    arrived = np.asarray(sessions.arrival_energy)[session]
    full = np.asarray(fleet.energy_capacity, dtype=np.float64)[car]
    least = np.minimum((np.asarray(fleet.minimum_energy) + np.zeros(fleet.vehicles))[car], arrived)
    gained = rise[row + 1, car] - rise[start, car]
    given = fall[row + 1, car] - fall[start, car]
    to_come = (
        rise[stop, car] - rise[row + 1, car] + _later(fleet, sessions, count * step_hours)[session]
    )
    wanted = np.asarray(sessions.required_energy)[session] - to_come
    highest, lowest = (np.full((count + 1, fleet.vehicles), np.nan) for _ in range(2))
    highest[row + 1, car] = np.minimum(arrived + gained, np.maximum(full, arrived))
    lowest[row + 1, car] = np.maximum(np.maximum(arrived - given, least), wanted)
    # The instant of arrival last: where a session follows at once, its own energy counts.
    known = (begin < count) & (end > 0)
    place = (np.clip(begin, 0, count)[known], np.asarray(sessions.vehicle)[known])
    highest[place] = lowest[place] = np.asarray(sessions.arrival_energy)[known]
    return EvFlexibility(lowest=lowest, highest=highest, charge_max=most_in, discharge_max=most_out)


def _path(gain: Floats) -> Floats:
    return np.concatenate((np.zeros_like(gain[:1]), np.cumsum(gain, axis=0)))


def _later(fleet: EvFleet, sessions: Sessions, horizon: float) -> Floats:
    """Return what full power stores after the horizon, of each session. [kWh]."""
    speed = np.asarray(fleet.charge_power_max) * np.asarray(fleet.charge_efficiency)
    power = np.broadcast_to(speed, (fleet.vehicles,))[np.asarray(sessions.vehicle)]
    return np.asarray(power * np.maximum(np.asarray(sessions.departure) - horizon, 0.0))
