r"""A wind turbine by its power curve: density, cut-out with restart.

.. math:: P = f\left(v_h \left(\rho / \rho_0\right)^{1/3}\right) (1 - L)

A turbine with pitch control corrects the speed by density, one with stall control the power:
:math:`P = f(v_h) \rho / \rho_0`. Equal to windpowerlib to rounding, and here since the checker runs
it and windpowerlib takes 0.7 s to import; it has wind at hub height and density of the air
(``wind_speed``, ``density``).

Source: IEC 61400-12-1 (2017), section 9.1.5, for density.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, compatible, increasing, within

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class WindTurbine:
    """A turbine, or a farm of equal ones, by its power curve.

    Examples
    --------
    >>> turbine = WindTurbine(speeds=(3.0, 12.0, 25.0), powers=(0.0, 900.0, 900.0))
    >>> turbine.power([2.0, 6.0, 20.0, 26.0]).tolist()
    [0.0, 300.0, 900.0, 0.0]
    """

    # rising wind speeds of the curve, from cut-in to cut-out. At least 0. [m/s]
    speeds: tuple[float, ...]
    powers: tuple[float, ...]  # powers at these speeds and the reference density. At least 0. [kW]
    # after a cut-out the turbine starts again below this speed; the cut-out speed when None, which
    # is no hysteresis. At most the last speed. [m/s]
    restart_speed: float | None = None
    # ``pitch`` corrects the speed by density, ``stall`` the power
    control: Literal["pitch", "stall"] = "pitch"
    reference_density: float = 1.225  # of the curve. Above 0. [kg/m³]
    losses: float = 0.0  # by wakes, wires and availability. 0 to 1. [-]

    def __post_init__(self) -> None:
        at = increasing(self.speeds, "the speeds of the curve")
        within(at, "a speed of the curve", "m/s", low=0.0)
        if len(within(self.powers, "a power of the curve", "kW", low=0.0)) != len(at):
            raise ParameterError(
                f"the curve has {len(at)} speeds and {len(self.powers)} powers; give one for each"
            )
        if self.restart_speed is not None:
            within(
                self.restart_speed,
                "the restart speed",
                "m/s",
                low=self.speeds[0],
                high=self.speeds[-1],
            )
        if self.control not in ("pitch", "stall"):
            raise ParameterError(f"the control is {self.control!r}; give 'pitch' or 'stall'")
        within(self.reference_density, "the reference density", "kg/m³", low=0.0, above=True)
        within(self.losses, "the losses", "-", low=0.0, high=1.0)

    @property
    def rated_power(self) -> float:
        """The highest power of the curve. [kW]."""
        return float(max(self.powers))

    def power(
        self,
        speed: npt.ArrayLike,
        density: npt.ArrayLike | None = None,
        running: npt.ArrayLike = True,
    ) -> Floats:
        """Return the power for winds at the hub; 0 below cut-in and above cut-out. [kW].

        Cut-in and cut-out act on the wind as it is, not on the corrected speed; a speed that the
        correction moves off the curve takes the power at its end.

        ``speed``: at the hub. At least 0. [m/s] ``density``: of the air; that of the curve when
        None. Above 0. [kg/m³] ``running``: where the turbine is not stopped, see :meth:`running`.
        """
        wind = within(speed, "the wind speed", "m/s", low=0.0)
        ratio = np.ones(())
        if density is not None:
            air = within(density, "the air density", "kg/m³", low=0.0, above=True)
            ratio = air / self.reference_density
        compatible(speed=wind, density=ratio, running=running)
        inside = (wind >= self.speeds[0]) & (wind <= self.speeds[-1]) & np.asarray(running)
        if self.control == "pitch":
            produced = np.interp(wind * np.cbrt(ratio), self.speeds, self.powers)
        else:
            produced = np.interp(wind, self.speeds, self.powers) * ratio
        return np.where(inside, produced * (1.0 - self.losses), 0.0)

    def running(self, speed: npt.ArrayLike, initially: npt.ArrayLike = True) -> Booleans:
        """Return where the turbine is not stopped by a storm, over time along the first axis.

        It stops above the last speed of the curve and starts again below the restart speed;
        between them it stays as it was.

        ``speed``: at the hub, shape (N,) or (N, units). [m/s] ``initially``: whether it ran before
        the first period, one value or shape (units,).
        """
        wind = within(speed, "the wind speed", "m/s", low=0.0)
        if not wind.ndim or compatible(initially=initially, units=wind[0]) != wind.shape[1:]:
            raise ParameterError(
                f"the wind has the shape {wind.shape} and the state before it "
                f"{np.shape(initially)}; give (N,) and one value, or (N, units) and (units,)"
            )
        stop = wind > self.speeds[-1]
        restart = self.speeds[-1] if self.restart_speed is None else self.restart_speed
        # At the restart speed without hysteresis the turbine runs: only above it it stops.
        start = wind <= restart if self.restart_speed is None else wind < restart
        place = np.arange(1, len(wind) + 1).reshape(-1, *(1,) * (wind.ndim - 1))
        last_start = np.maximum.accumulate(np.where(start, place, 0), axis=0)
        last_stop = np.maximum.accumulate(np.where(stop, place, 0), axis=0)
        never = (last_start == 0) & (last_stop == 0)
        return np.where(never, np.asarray(initially, dtype=bool), last_start > last_stop)
