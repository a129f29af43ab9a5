"""Series of a feeder as arrays, with errors that name the bus and the period."""

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.network import Complexes
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
