r"""A photovoltaic array: the power that weather makes available, less what is curtailed.

.. math::
    T_c = T_a + \frac{G}{u_0 + u_1 v}, \qquad
    P_{dc} = P_{dc0}\,\frac{G}{1000}\,\max(0, 1 + \gamma (T_c - 25))(1 - L), \qquad
    0 \le P_t \le P_{ac}(P_{dc})

The available power is a parameter that follows from the weather, so that a file of weather, a
table and numbers in the text serve alike; the inverter's curve is that of PVWatts where it has a
rating.
"""

from engiagent.formulations.components import generator_profile
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.temperatures import plain
from engiagent.models.pv import PVWATTS_LOSS


def declare(reader: Reader) -> None:
    """Add the algebra of a photovoltaic array."""
    reader.derived(
        "cell_temperature",
        "degC",
        _cell_temperature(reader),
        "temperature of the cells",
        of="irradiance air_temperature",
    )
    reader.derived(
        "dc_power", "kW", _dc_power(reader), "power of the cells", of="irradiance dc_capacity"
    )
    made = reader.derived(
        "available_power",
        "kW",
        _ac_power(reader),
        "power by irradiance and temperature",
        of="irradiance air_temperature wind_speed",
    )
    generator_profile.delivered(reader, made)


def _cell_temperature(reader: Reader) -> str:
    wind = reader.text("wind_speed")
    loss = reader.text("heat_loss")
    by_wind = reader.text("heat_loss_by_wind")
    sun = reader.text("irradiance")
    return f"{reader.text('air_temperature')} + {sun}/({loss} + {by_wind}*{wind})"


def _dc_power(reader: Reader) -> str:
    change = reader.text("temperature_coefficient")
    warmth = f"{plain(f'{reader.name}_cell_temperature[t]')} - 25"
    factor = f"max(0, 1 + {change}*1[K]*({warmth}))"
    losses = reader.optional("losses") or repr(PVWATTS_LOSS)
    sun = f"{reader.text('irradiance')}/1000[W/m2]"
    return f"{reader.text('dc_capacity')}*{sun}*{factor}*(1 - {losses})"


def _ac_power(reader: Reader) -> str:
    direct = f"{reader.name}_dc_power[t]"
    nominal = reader.text("inverter_efficiency")
    if not reader.given("ac_capacity"):
        return f"{nominal}*{direct}"
    rating = f"{reader.text('ac_capacity')}/{nominal}"
    curved = f"{nominal}/0.9637*((0.9858 - 0.0162*{direct}/({rating}))*{direct} - 0.0059*{rating})"
    return f"min(max(0[kW], {curved}), {reader.text('ac_capacity')})"
