r"""What something may cost: the capital that yearly earnings pay back at a target rate.

.. math::

    K = \frac{\sum_{k=1}^{N} (R_k - F) (1 + i)^{-k} + s K (1 + i)^{-N}}{1}
    \quad\Rightarrow\quad K = \frac{\sum_k (R_k - F)(1 + i)^{-k}}{1 - s (1 + i)^{-N}}

with earnings :math:`R`, fixed costs :math:`F`, a share :math:`s` of the capital left at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.errors import InputError
from engiagent.study.economics.cashflow import Floats, cash_flows, net_present_value
from engiagent.study.economics.rates import InternalRates, internal_rates


@dataclass(frozen=True)
class BreakEven:
    """What may be paid at most.

    Attributes
    ----------
    capital
        What may be paid today, for all of it; below 0 when earnings do not even cover fixed costs.
        [money]
    earnings
        What each year brings after fixed costs, shape (N,). [money/a]
    rates
        The internal rates at that capital, found again from the cash flows: the target is one of
        them.
    """

    capital: float
    earnings: tuple[float, ...]
    rates: InternalRates

    def per(self, amount: float) -> float:
        """Return the capital for a unit of an amount, as kW of power.

        Raises
        ------
        InputError
            When the amount is not above 0.
        """
        if not (np.isfinite(amount) and amount > 0):
            raise InputError(f"the size is {amount}; give a number above 0")
        return self.capital / amount


def break_even_capital(
    earnings: Sequence[float] | Floats,
    target: float,
    years: int | None = None,
    *,
    fixed_costs: float = 0.0,
    fade: float = 0.0,
    residual: float = 0.0,
) -> BreakEven:
    """Return the capital at which yearly earnings earn a target internal rate of return.

    Parameters
    ----------
    earnings
        What each year brings, from the end of the first on, shape (M,). [money/a]
    target
        The rate of return asked for. Above -1. [1/a]
    years
        How many years it lasts; the M years' earnings come again from the first on when it lasts
        longer than they. As many as there are earnings when None. [a]
    fixed_costs
        Of every year. [money/a]
    fade
        Part of the earnings that each year loses against the one before. 0 to below 1. [1/a]
    residual
        Part of the capital that is left at the end. 0 to 1. [-]

    Raises
    ------
    InputError
        When a number is out of its range, or the residual alone earns more than the target.

    Examples
    --------
    >>> round(break_even_capital([100.0], 0.13, 15).capital, 4)
    646.2379
    """
    given = cash_flows(earnings)
    count = len(given) if years is None else years
    if count < 1:
        raise InputError(f"it lasts {count} years; give at least 1")
    for name, value, top in (("fade", fade, 1.0 - 1e-12), ("residual", residual, 1.0)):
        if not 0 <= value <= top:
            raise InputError(f"the {name} is {value}; give a part from 0 to 1, as 0.02")
    cash_flows([fixed_costs])
    year = np.arange(count)
    net = given[year % len(given)] * (1.0 - fade) ** year - fixed_costs
    worth = net_present_value(target, np.concatenate(([0.0], net)))
    kept = 1.0 - residual * (1.0 + target) ** -count
    if kept <= 0:
        raise InputError(f"at a rate of {target} what is left at the end pays for everything")
    capital = worth / kept
    flows = np.concatenate(([-capital], net))
    flows[-1] += residual * capital
    return BreakEven(capital, tuple(net.tolist()), internal_rates(flows))
