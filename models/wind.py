r"""A wind turbine by its power curve: density, cut-out with restart.

.. math:: P = f\left(v_h \left(\rho / \rho_0\right)^{1/3}\right) (1 - L)

as for a turbine with pitch control. Equal to windpowerlib to rounding, and here since the checker
runs it and windpowerlib takes 0.7 s to import; it has wind at hub height and density of the air
(``wind_speed``, ``density``).

Source: IEC 61400-12-1 (2017), section 9.1.5, for density.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    increasing,
    not_negative,
    positive,
    share,
    within,
)

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
    reference_density: float = 1.225  # of the curve. Above 0. [kg/m³]
    losses: float = 0.0  # by wakes, wires and availability. 0 to 1. [-]

    def __post_init__(self) -> None:
        at = not_negative(increasing(self.speeds, "the speeds of the curve"), "a speed", "m/s")
        if len(not_negative(self.powers, "a power of the curve", "kW")) != len(at):
            raise ParameterError(
                f"the curve has {len(at)} speeds and {len(self.powers)} powers; give one for each"
            )
        if self.restart_speed is not None:
            within(self.restart_speed, "the restart speed", "m/s", low=at[0], high=at[-1])
        positive(self.reference_density, "the reference density", "kg/m³")
        share(self.losses, "the losses")

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
        wind = not_negative(speed, "the wind speed", "m/s")
        air = self.reference_density if density is None else density
        ratio = positive(air, "the air density", "kg/m³") / self.reference_density
        inside = (wind >= self.speeds[0]) & (wind <= self.speeds[-1]) & np.asarray(running)
        produced = np.interp(wind * np.cbrt(ratio), self.speeds, self.powers)
        return np.where(inside, produced * (1.0 - self.losses), 0.0)

    def running(self, speed: npt.ArrayLike) -> Booleans:
        """Return where the turbine is not stopped by a storm; before the first period it runs.

        It stops above the last speed of the curve and starts again below the restart speed;
        between them it stays as it was. ``speed``: at the hub, shape (N,). [m/s]
        """
        wind = not_negative(speed, "the wind speed", "m/s")
        stop = wind > self.speeds[-1]
        # At the restart speed without hysteresis the turbine runs: only above it it stops.
        start = ~stop if self.restart_speed is None else wind < self.restart_speed
        place = np.arange(1, len(wind) + 1)
        last_start = np.maximum.accumulate(np.where(start, place, 0))
        return np.asarray(last_start >= np.maximum.accumulate(np.where(stop, place, 0)))
