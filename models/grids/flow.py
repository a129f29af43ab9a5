"""What a feeder is given and what it carries when solved, by the circuit equations.

All methods of solution return voltages only. Currents, losses, the import and the mismatch of
every bus are computed here from these voltages, so that no method can hide its own error.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.network import Complexes, Network
from engiagent.models.ranges import Floats, ParameterError


def by_bus(buses: tuple[str, ...], values: npt.ArrayLike, what: str) -> Floats:
    """Return values as an array of shape (time, buses); one row may come without its axis."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != len(buses):
        raise ParameterError(
            f"{what} has the shape {np.shape(values)}; give (time, {len(buses)}), one column for "
            f"each of the buses {', '.join(buses[:6])}" + (" …" if len(buses) > 6 else "")
        )
    finite = np.isfinite(array)
    if not finite.all():
        period, bus = np.argwhere(~finite)[0]
        raise ParameterError(
            f"{what} is {array[period, bus]} at {buses[bus]} in period {period}; give finite "
            "numbers"
        )
    return array


def demand_of(
    buses: tuple[str, ...], p_kw: npt.ArrayLike, q_kvar: npt.ArrayLike | None
) -> Complexes:
    """Return the complex demand, shape (time, buses). [MVA]."""
    active = by_bus(buses, p_kw, "the active power")
    reactive = np.zeros_like(active)
    if q_kvar is not None:
        reactive = by_bus(buses, q_kvar, "the reactive power")
    if reactive.shape != active.shape:
        raise ParameterError(
            f"the active power has the shape {active.shape}, the reactive power {reactive.shape}; "
            "give both for the same periods"
        )
    return (active + 1j * reactive).astype(np.complex128) / 1000.0


def held_voltage(values: npt.ArrayLike, length: int) -> Floats:
    """Return the voltage of the source, shape (length,). [p.u.]."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (1,), (length,)):
        raise ParameterError(
            f"the source voltage has the shape {array.shape}; give one number or {length}"
        )
    if not ((array >= 0.5) & (array <= 1.5)).all():
        raise ParameterError(
            f"the source voltage is {array.min()} to {array.max()} p.u.; give a ratio to the "
            "nominal voltage between 0.5 and 1.5, as 1.02"
        )
    return np.broadcast_to(array, (length,)).copy()


# A solution whose powers miss those asked for by more than this is none. [kVA per kVA]
MISMATCH = 1e-6


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Series of a solved feeder; buses and branches in the feeder's order.

    Where ``converged`` is False all other series are NaN: there is no solution to report.
    """

    converged: npt.NDArray[np.bool_]  # shape (time,)
    iterations: npt.NDArray[np.int64]  # of the method, shape (time,)
    voltage: Floats  # magnitude, shape (time, buses). [p.u.]
    angle: Floats  # against the source, shape (time, buses). [rad]
    # current_from, current_to: magnitudes at both ends, shape (time, branches). [A]
    current_from: Floats
    current_to: Floats
    # power_from, power_to: complex power into the branch at both ends, shape (time, branches). [kW
    # + j kvar]
    power_from: Complexes
    power_to: Complexes
    # larger of both currents over its rating, 0 without one, shape (time, branches). [-]
    loading: Floats
    losses: Floats  # heat of each branch, shape (time, branches). [kW]
    shunts: Floats  # active power drawn by the shunts, shape (time, buses). [kW]
    # import_active, import_reactive: what the source delivers, below 0 when it takes back, shape
    # (time,). [kW], [kvar]
    import_active: Floats
    import_reactive: Floats
    mismatch: Floats  # largest error of the power of a bus, shape (time,). [kVA]

    def require_converged(self) -> "Flow":
        """Return the flow itself when every period has a solution."""
        if not self.converged.all():
            missing = np.flatnonzero(~self.converged)
            raise ParameterError(
                f"the power flow has no solution in {missing.size} of {self.converged.size} "
                f"periods, first in period {missing[0]}; the demand is more than the feeder can "
                "carry, or close to it"
            )
        return self


def mismatch(network: Network, power: Complexes, voltage: Complexes) -> Complexes:
    """Return the power that each bus lacks, shape (time, buses). [p.u.].

    Zero everywhere but at the source, where it is the import.
    """
    into, out = network.currents(voltage)
    drawn = voltage * np.conj(network.shunt * voltage) + power
    for k, (begin, end) in enumerate(zip(network.begin, network.end, strict=True)):
        drawn[:, begin] += voltage[:, begin] * np.conj(into[:, k])
        drawn[:, end] += voltage[:, end] * np.conj(out[:, k])
    return drawn


def evaluate(
    network: Network, power: Complexes, voltage: Complexes, iterations: npt.NDArray[np.int64]
) -> Flow:
    """Return all series of the voltages; periods with NaN or too large a mismatch are no solution.

    ``power``: net demand of the buses, shape (time, buses). [p.u.] ``voltage``: shape (time,
    buses), NaN in periods that a method gave up. [p.u.]
    """
    left = mismatch(network, power, voltage)
    elsewhere = np.arange(len(network.nominal)) != network.source
    error = np.abs(left[:, elsewhere]).max(axis=1, initial=0.0)
    scale = np.maximum(np.abs(power).sum(axis=1), 1e-3)
    converged = error <= MISMATCH * scale  # False for NaN
    voltage = np.where(converged[:, None], voltage, complex(np.nan, np.nan))
    into, out = network.currents(voltage)
    power_from = voltage[:, network.begin] * np.conj(into)
    power_to = voltage[:, network.end] * np.conj(out)
    ampere_from = np.abs(into) * network.base_current[network.begin]
    ampere_to = np.abs(out) * network.base_current[network.end]
    imported: Complexes = np.where(converged, left[:, network.source], complex(np.nan, np.nan))
    return Flow(
        converged=converged,
        iterations=iterations,
        voltage=np.abs(voltage),
        angle=np.angle(voltage),
        current_from=ampere_from,
        current_to=ampere_to,
        power_from=1000.0 * power_from,
        power_to=1000.0 * power_to,
        loading=np.maximum(
            ampere_from / network.ampacity[:, 0], ampere_to / network.ampacity[:, 1]
        ),
        losses=1000.0 * (power_from.real + power_to.real),
        shunts=1000.0 * network.shunt.real * np.abs(voltage) ** 2,
        import_active=1000.0 * imported.real,
        import_reactive=1000.0 * imported.imag,
        mismatch=np.where(converged, 1000.0 * error, np.nan),
    )
