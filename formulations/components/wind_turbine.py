r"""A wind turbine, or a farm of equal ones: the power that the wind makes available.

.. math:: 0 \le P_t \le (1 - L)\,P\!\left(v_t (\rho_t/\rho_0)^{1/3}\right)
    \;\text{ for } v_{in} \le v_t \le v_{out}, \text{ else } 0

with the power curve straight between its points, and the speed corrected by the density of the air.
"""

from engiagent.formulations.components import generator_profile
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import tables


def declare(reader: Reader) -> None:
    """Add the algebra of a wind turbine."""
    found = tables(reader, "curve", ("speeds", "powers"))
    speeds, powers = found.names
    wind = reader.text("wind_speed")
    low, high = f"{speeds}[first({found.over})]", f"{speeds}[last({found.over})]"
    corrected = wind
    if reader.given("air_density"):
        reference = reader.text("reference_density")
        ratio = f"{reader.text('air_density')}/({reference})"
        corrected = f"{wind}*({ratio})**0.3333333333333333"
    # Off the curve after the correction the power at its end holds.
    at = f"min(max({corrected}, {low}), {high})"
    kept = f"(1 - {reader.text('losses')})*" if reader.given("losses") else ""
    made = f"{kept}piecewise({at}, {speeds}, {powers})"
    available = reader.derived(
        "available_power",
        "kW",
        f"{made} if {low} <= {wind} <= {high} else 0[kW]",
        "power by the wind",
        of="wind_speed speeds powers",
    )
    generator_profile.delivered(reader, available)
