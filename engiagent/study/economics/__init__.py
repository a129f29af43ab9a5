"""Money over time: annuities, present values, rates of return, levelised and break-even costs."""

from engiagent.study.economics.cashflow import (
    annuity_factor,
    annuity_payment,
    levelised_cost,
    net_present_value,
)
from engiagent.study.economics.rates import (
    BreakEven,
    InternalRates,
    break_even_capital,
    internal_rates,
)

__all__ = [
    "BreakEven",
    "InternalRates",
    "annuity_factor",
    "annuity_payment",
    "break_even_capital",
    "internal_rates",
    "levelised_cost",
    "net_present_value",
]
