r"""Ageing of a battery: cycles by rainflow and Miner, the calendar by root time.

Cycles of depth :math:`D_i` (fraction of the capacity) and number :math:`n_i` (1 or 1/2) add up to

.. math:: L = \sum_i \frac{n_i}{N(D_i)}, \qquad N(D) = N_1 D^{-k},

where :math:`N(D)` cycles of that depth use up the life (Palmgren–Miner, Woehler curve). The end of
life is a loss of capacity :math:`q_{eol}`, so that the cycles cost :math:`q_{eol} L`. A battery
loses :math:`q = k_0 \sqrt{t}` by the calendar.

Sources: ASTM E1049-85 for the counting (library rainflow); M. A. Miner, J. Appl. Mech. 12 (1945)
A159 for the sum; K. Smith et al., "Life prediction model for grid-connected Li-ion battery energy
storage system", American Control Conference 2017, doi:10.23919/ACC.2017.7963578, for the calendar.
"""

import numpy as np
import numpy.typing as npt
from rainflow import extract_cycles

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    not_negative,
    positive,
    share,
    steps,
)


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


def lost_share(
    charge: npt.ArrayLike,
    hours: npt.ArrayLike,
    *,
    cycles_at_full_depth: float | None = None,
    cycle_exponent: float = 1.0,
    calendar_rate: float | None = None,
    end_of_life_loss: float = 0.2,
) -> Floats:
    """Return the share of its capacity that a new battery has lost at each instant. [-].

    A cycle counts when it closes, a half cycle at its second turning point.

    Parameters
    ----------
    charge
        State of charge at the N+1 instants, as a share of the capacity. 0 to 1. [-]
    hours
        Length of the N periods. [h]
    cycles_at_full_depth, cycle_exponent
        :math:`N_1`, above 0, and :math:`k`, at least 0; None when cycles do not age. [-]
    calendar_rate
        :math:`k_0`, the loss of the first day; None when time does not age. At least 0. [1/day^0.5]
    end_of_life_loss
        :math:`q_{eol}`. Above 0, at most 1. [-]

    Examples
    --------
    >>> lost = lost_share([0.0, 1.0] * 200 + [0.0], 12.0, cycles_at_full_depth=4000.0)
    >>> round(float(lost[-1]), 6)
    0.01
    """
    level = share(charge, "the state of charge")
    if level.ndim != 1 or len(level) < 2:
        raise ParameterError(
            f"the state of charge has the shape {level.shape}; give one for each instant"
        )
    length = steps(hours, len(level) - 1)
    most = float(fraction(end_of_life_loss, "the loss at the end of life"))
    used, calendar = np.zeros(len(level)), np.zeros(len(level))
    if cycles_at_full_depth is not None:
        life = positive(cycles_at_full_depth, "the number of full cycles", "-")
        exponent = not_negative(cycle_exponent, "the exponent of the Woehler curve", "-")
        cycles, ends = rainflow(level)
        np.add.at(used, ends, cycles[:, 2] * cycles[:, 0] ** exponent / life)
    if calendar_rate is not None:
        rate = not_negative(calendar_rate, "the calendar rate", "1/day^0.5")
        calendar = rate * np.sqrt(np.concatenate(([0.0], np.cumsum(length))) / 24.0)
    return np.asarray(most * np.cumsum(used) + calendar)
