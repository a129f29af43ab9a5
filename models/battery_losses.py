r"""Losses of a converter by power: quadratic or piecewise linear.

A converter that carries the power :math:`P \ge 0` at its terminals loses

.. math:: L(P) = p_0 + p_1 P + p_2 \frac{P^2}{P_r} \quad (P > 0), \qquad L(0) = p_s,

with the no-load loss :math:`p_0`, the rated power :math:`P_r` and the standby power :math:`p_s`. A
battery that charges stores :math:`P - L(P)`; one that discharges gives up :math:`P + L(P)`.

Source: H. Schmidt and D. U. Sauer, "Wechselrichter-Wirkungsgrade", Sonnenenergie 4 (1996) 43–47,
for the quadratic loss; a piecewise loss joins measured points.
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
    within,
)


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
