"""Liquid water in the balances of tanks, coils and loops, which take one specific heat.

It is within 0.8 % of the true one (IAPWS-95, as CoolProp evaluates it) from 0 to 100 degC.
"""

from typing import Final

SPECIFIC_HEAT: Final = 4.186
"""Mean specific heat, the one of ASHRAE's moist air. [kJ/(kg K)]"""
