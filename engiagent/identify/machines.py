r"""Maps of heat pumps and chillers from power, output and temperatures, as their slots take them.

.. math:: y = f(\theta_1, \theta_2)\, g(r), \quad f \text{ biquadratic}, \quad g(1) = 1

with :math:`y` the coefficient of performance of a heat pump, over source and sink, or the power
over cooling of a chiller, over leaving and entering water, and :math:`r` the part load. Of no
curve, straight lines and squares those are taken that Akaike's criterion bears out; a temperature
that hardly changed tells of no slope, and a note says so. The capacity over temperatures is fitted
likewise, to the periods at full load, which a column marks.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.polynomial import Polynomial

from engiagent.errors import InputError
from engiagent.identify.structures import Floats

MACHINES: Final = {
    "heat-pump": ("heat", "source", "sink"),
    "chiller": ("cooling", "leaving", "entering"),
}
"""Columns beside ``electric``: output, and the two temperatures of the curves."""
PERFORMANCE: Final = (
    *("cop", "carnot_fraction", "rated_cop", "cop_curve", "modulation_curve"),
    *("capacity_curve", "eir_curve", "part_load_curve", "part_load", "part_load_power"),
)
"""Slots of a component that say what the map says; beside it they would be said twice."""
_LEAST_SPREAD: Final = 2.0
_RUNNING: Final = 0.05
_OUTLYING: Final = 6.0
_LEAST: Final = 30
_FULL: Final = 0.99
_EXACT: Final = 1e-3
"""Relative error below which no curve is worth another coefficient."""


@dataclass(frozen=True)
class MachineMap:
    """A map with the deviation of each of its coefficients."""

    machine: str
    rated: float
    # factor on it by temperatures with its deviations; None where no full load was marked
    capacity: tuple[Floats, Floats] | None
    # surface, sigma: the six coefficients of EnergyPlus, and their standard deviations
    surface: Floats
    sigma: Floats
    part_load: Floats  # coefficients of the factor by part load, from the constant upwards
    error: float  # root mean square of measured over mapped, less 1
    used: int
    left_out: int
    ranges: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON."""
        return {
            "schema": "engiagent-machine-map/1",
            "machine": self.machine,
            "component": self.component(),
            "sigma": self.sigma.tolist(),
            "capacity_sigma": self.capacity[1].tolist() if self.capacity else [],
            "relative_error": self.error,
            "periods": self.used,
            "left_out": self.left_out,
            "ranges": [list(ends) for ends in self.ranges],
            "notes": list(self.notes),
        }

    def component(self) -> dict[str, Any]:
        """Return the component of a plant file, but for its temperatures and buses."""
        curve = [float(f"{c:.5g}") for c in self.surface]
        load = [float(f"{c:.5g}") for c in self.part_load]
        found: dict[str, Any] = {"rated_capacity": f"{self.rated:.4g} kW"}
        if self.capacity is not None and self.capacity[0][1:].any():
            found["capacity_curve"] = [float(f"{c:.5g}") for c in self.capacity[0]]
        if self.machine == "heat-pump":
            found = {"model": "heat_pump", **found, "cop_curve": curve}
            return found | ({"modulation_curve": load} if len(load) > 1 else {})
        # Power by part load is that ratio times the load itself.
        found = {"model": "chiller", **found, "rated_cop": 1, "eir_curve": curve}
        ends = dict(zip(("leaving_range", "entering_range"), self.ranges, strict=True))
        found |= {name: [f"{x:.4g} degC" for x in pair] for name, pair in ends.items() if any(pair)}
        return found | ({"part_load_curve": [0.0, *load]} if len(load) > 1 else {})


def machine_map(
    machine: str, electric: Floats, output: Floats, *others: Floats | None
) -> MachineMap:
    """Return the map of a machine from measurements of its operation, shape (N,).

    ``others``: both temperatures, and what is 1 at full load. What was not measured is None; there
    is no slope by such temperatures.

    Raises InputError when it hardly ever ran.
    """
    names, unseen = MACHINES[machine], np.zeros_like(electric)
    first, second, full = (*others, None)[:3]
    is_measured = (first is not None, second is not None)
    first, second = (unseen if t is None else t for t in (first, second))
    known = np.isfinite(electric + output + first + second)
    rated = float(np.quantile(output[known], 0.999)) if known.any() else 0.0
    runs = known & (output > _RUNNING * rated) & (electric > 0)
    if runs.sum() < _LEAST:
        expected = f"{_LEAST} periods or more in which it runs"
        raise InputError(f"the {machine} hardly ran", found=f"{runs.sum()}", expected=expected)
    p, q, x, y = (a[runs] for a in (electric, output, first, second))
    value = q / p if machine == "heat-pump" else p / q
    notes, columns = [], [np.ones_like(x), x, x**2, y, y**2, x * y]
    shapes = [[0], [0, 1, 3], [0, 1, 2, 3, 4, 5]]
    places = ((names[1], x, {1, 2, 5}), (names[2], y, {3, 4, 5}))
    for is_known, (name, temperature, gone) in zip(is_measured, places, strict=True):
        if np.ptp(temperature) < _LEAST_SPREAD:
            still = f"constant ({temperature.mean():.3g} degC)" if is_known else "not measured"
            notes.append(f"the {name} was {still}: no slope by it")
            shapes = [[k for k in shape if k not in gone] for shape in shapes]
    level, capacity = np.full_like(q, rated), None
    if full is not None and (at_full := full[runs] >= _FULL).sum() >= _LEAST:
        fits = [_fitted(q, columns, shape, np.ones_like(q), 0, at_full) for shape in shapes]
        _, surface, sigma, *_ = min(fits, key=lambda f: f[0])
        level = np.column_stack(columns) @ surface
        rated = float(level[at_full].mean())
        capacity = surface / rated, sigma / rated
    else:
        notes.append(f"capacity by temperatures cannot be known: it takes {_LEAST} at --full-load")
    r = q / level
    loads = (0, 1, 2) if np.ptp(r) > 0.3 else (0,)
    good = np.ones(len(x), dtype=bool)
    for _ in range(3):
        fits = [_fitted(value, columns, s, r, n, good) for s, n in product(shapes, loads)]
        _, surface, sigma, load, error = min(fits, key=lambda f: f[0])
        far = np.abs(error) > _OUTLYING * 1.4826 * np.median(np.abs(error)) + 1e-9
        if (far == ~good).all():
            break
        good = ~far
    ranges = tuple((float(t[good].min()), float(t[good].max())) for t in (x, y))
    rms, used = float(np.sqrt(np.mean(error[good] ** 2))), int(good.sum())
    left_out = len(good) - used
    return MachineMap(
        machine, rated, capacity, surface, sigma, load, rms, used, left_out, ranges, tuple(notes)
    )


def _fitted(
    value: Floats, columns: list[Floats], shape: list[int], r: Floats, degree: int, good: Any
) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Return Akaike's criterion, curve, deviations, part-load factor, and relative residuals.

    A product of two curves is linear in each: they are fitted in turn.
    """
    basis = np.column_stack([columns[k] for k in shape])
    load, slope = np.ones_like(r), np.zeros(degree)
    inner = np.vander(r - 1, degree + 1, increasing=True)[:, 1:]
    for _ in range(1 if not degree else 30):
        weighted = basis * (load / value)[:, None]  # relative errors count
        found = np.linalg.lstsq(weighted[good], np.ones(good.sum()), rcond=None)[0]
        if degree:
            level = basis @ found / value
            scaled = (inner * level[:, None])[good]
            slope = np.linalg.lstsq(scaled, (1 - level)[good], rcond=None)[0]
            load = 1 + inner @ slope
    residual = 1 - (basis * (load / value)[:, None]) @ found
    count, total = int(good.sum()), float(residual[good] @ residual[good])
    variance = max(total / max(count - len(shape) - degree, 1), 1e-18)
    spread = np.linalg.pinv(weighted[good].T @ weighted[good]) * variance
    surface, sigma = np.zeros(6), np.zeros(6)
    surface[shape], sigma[shape] = found, np.sqrt(np.diag(spread))
    criterion = count * np.log(max(total / count, _EXACT**2)) + 2 * (len(shape) + degree)
    factor = Polynomial([1.0, *slope])(Polynomial([-1.0, 1.0]))  # from r - 1 to r
    coefficients = np.asarray(factor.coef[: degree + 1], dtype=np.float64)
    return criterion, surface, sigma, coefficients, residual
