r"""A photovoltaic array: the power that weather makes available, less what is curtailed.

.. math::
    T_c = T_a + \frac{G}{u_0 + u_1 v}, \qquad
    P_{dc} = P_{dc0}\,\frac{G}{1000}\,\max(0, 1 + \gamma (T_c - 25))(1 - L), \qquad
    0 \le P_t \le P_{ac}(P_{dc})

The available power is a parameter that follows from the weather, so that a file of weather, a
table and numbers in the text serve alike; the inverter's curve is that of PVWatts where it has a
rating.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import generator_profile
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import derived
from engiagent.formulations.components.temperatures import plain
from engiagent.models.pv import PVWATTS_LOSS

SLOTS = {
    "dc_capacity": Slot("kW", required=True, low=0, above=True, meaning="at 1000 W/m2 and 25 degC"),
    "ac_capacity": Slot("kW", low=0, above=True, default="no limit", meaning="of the inverter"),
    "temperature_coefficient": Slot(
        "1/K", low=-0.02, high=0.005, default="-0.0047", meaning="of the power"
    ),
    "losses": Slot(
        "1", low=0, high=1, default="those of PVWatts", meaning="between cells and inverter"
    ),
    "inverter_efficiency": Slot(
        "1", low=0, above=True, high=1, default="0.96", meaning="at the rated power"
    ),
    "heat_loss": Slot("W/(m2*K)", low=0, above=True, default="25", meaning="of the modules"),
    "heat_loss_by_wind": Slot("W*s/(m3*K)", low=0, default="6.84", meaning="of the modules"),
    "irradiance": Slot(
        "W/m2", required=True, series=True, low=0, high=2000, meaning="in the plane of the array"
    ),
    "air_temperature": Slot(
        "degC", required=True, series=True, low=-90, high=70, meaning="of the air"
    ),
    "wind_speed": Slot("m/s", series=True, low=0, default="1", meaning="at the modules"),
    "curtailable": generator_profile.SLOTS["curtailable"],
}
OPTIONS = generator_profile.OPTIONS
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a photovoltaic array."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    available = derived(
        reader,
        "available_power",
        "kW",
        _ac_power(reader),
        "power by irradiance and temperature",
        slots=("irradiance", "air_temperature", "wind_speed"),
    )
    cells = derived(
        reader,
        "cell_temperature",
        "degC",
        _cell_temperature(reader),
        "temperature of the cells",
        slots=("irradiance", "air_temperature"),
    )
    direct = derived(
        reader,
        "dc_power",
        "kW",
        _dc_power(reader),
        "power of the cells",
        slots=("irradiance", "dc_capacity"),
    )
    made = f"{reader.name}_available_power[t]"
    return cells + direct + available + generator_profile.delivered(reader, made)


def _cell_temperature(reader: Reader) -> str:
    wind = reader.optional("wind_speed") or "1[m/s]"
    loss = reader.optional("heat_loss") or "25[W/(m2*K)]"
    by_wind = reader.optional("heat_loss_by_wind") or "6.84[W*s/(m3*K)]"
    sun = reader.text("irradiance")
    return f"{reader.text('air_temperature')} + {sun}/({loss} + {by_wind}*{wind})"


def _dc_power(reader: Reader) -> str:
    change = reader.optional("temperature_coefficient") or "-0.0047[1/K]"
    warmth = f"{plain(f'{reader.name}_cell_temperature[t]')} - 25"
    factor = f"max(0, 1 + {change}*1[K]*({warmth}))"
    losses = reader.optional("losses") or repr(PVWATTS_LOSS)
    sun = f"{reader.text('irradiance')}/1000[W/m2]"
    return f"{reader.text('dc_capacity')}*{sun}*{factor}*(1 - {losses})"


def _ac_power(reader: Reader) -> str:
    direct = f"{reader.name}_dc_power[t]"
    nominal = reader.optional("inverter_efficiency") or "0.96"
    if not reader.given("ac_capacity"):
        return f"{nominal}*{direct}"
    rating = f"{reader.text('ac_capacity')}/{nominal}"
    curved = f"{nominal}/0.9637*((0.9858 - 0.0162*{direct}/({rating}))*{direct} - 0.0059*{rating})"
    return f"min(max(0[kW], {curved}), {reader.text('ac_capacity')})"


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="photovoltaic array by irradiance, temperature and wind",
    quantities={"power": "kW", "curtailed": "kW"},
    leaves_out="what the inverter draws at night; irradiance has to be that in the plane",
    exact_against="pv.PvArray",
)
