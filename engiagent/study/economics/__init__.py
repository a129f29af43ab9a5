"""Money over time: annuities, present values, rates of return, levelised and break-even costs."""

from engiagent.study.economics.cashflow import (
    BreakEven,
    InternalRates,
    annuity_factor,
    annuity_payment,
    break_even_capital,
    internal_rates,
    levelised_cost,
    net_present_value,
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
