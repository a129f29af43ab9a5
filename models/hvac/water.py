"""Liquid water and dry air in the balances of tanks, coils and loops: one specific heat each.

That of water is within 0.8 % of the true one (IAPWS-95, as CoolProp evaluates it) from 0 to
100 degC; both are the ones of ASHRAE Handbook Fundamentals (SI), 2017, chapter 1.
"""

from typing import Final

SPECIFIC_HEAT: Final = 4.186
"""Of water. [kJ/(kg K)]"""
DRY_AIR_HEAT: Final = 1.006
"""Of dry air. [kJ/(kg K)]"""
