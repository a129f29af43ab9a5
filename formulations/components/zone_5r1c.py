r"""A zone of ISO 13790: five conductances and one capacity, with the set points as a band.

Air, surfaces and mass; gains are shared among them as the standard says. The band holds the mean
temperature of the air; the step is exact and not the standard's Crank–Nicolson one. Heating and
cooling are decisions, on a bus of heat or cold taken from there. With the option ``soft`` the band
may be left by the quantity ``discomfort``.
"""

from typing import Any

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.heat_network import Inputs, comfort, network_of
from engiagent.formulations.components.parts import variable
from engiagent.formulations.components.thermal_coupling import number
from engiagent.models.buildings.iso13790 import H_MS, Zone5R1C
from engiagent.models.ranges import ParameterError

SLOTS = {
    "mass_capacity": Slot("kWh/K", required=True, low=0, above=True, meaning="of the mass"),
    "mass_area": Slot("m2", required=True, low=0, above=True, meaning="of the mass"),
    "surface_area": Slot("m2", required=True, low=0, above=True, meaning="of all surfaces"),
    "window_conductance": Slot("kW/K", required=True, low=0, meaning="of parts without mass"),
    "opaque_conductance": Slot("kW/K", required=True, low=0, meaning="of walls, roof and floor"),
    "ventilation": Slot("kW/K", required=True, low=0, meaning="of the air that is exchanged"),
    "ambient_temperature": Slot("degC", required=True, series=True, meaning="outside"),
    "supply_temperature": Slot("degC", series=True, default="that outside", meaning="of the air"),
    "internal_gains": Slot("kW", series=True, low=0, default="0", meaning="of people and devices"),
    "solar_gains": Slot("kW", series=True, low=0, default="0", meaning="through windows"),
    "initial_temperature": Slot("degC", required=True, meaning="of the mass at the start"),
    "temperature_min": Slot("degC", series=True, default="no limit", meaning="of the air, mean"),
    "temperature_max": Slot("degC", series=True, default="no limit", meaning="of the air, mean"),
    "heating_power_max": Slot("kW", series=True, low=0, default="no limit", meaning="heat"),
    "cooling_power_max": Slot("kW", series=True, low=0, default="0", meaning="heat taken away"),
}
OPTIONS = ("soft",)
CONNECTIONS = ("heat_bus", "cooling_bus")
SIZES = ("mass_capacity", "mass_area", "surface_area", "window_conductance", "opaque_conductance")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a zone of ISO 13790."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    sizes: dict[str, Any] = {
        slot: number(reader, reader.text(slot), SLOTS[slot].unit) for slot in SIZES
    }
    try:
        zone = Zone5R1C(**sizes)
        network = zone.network(number(reader, reader.text("ventilation"), "kW/K"))
    except ParameterError as error:
        raise wrong(component, f"its sizes do not fit: {error}") from None
    name, result, load = reader.name, Fragment(), []
    for way, port in (("heating", "heat_bus"), ("cooling", "cooling_bus")):
        if way == "cooling" and not reader.given("cooling_power_max"):
            continue
        most = reader.optional(f"{way}_power_max")
        result += variable(reader, way, "kW", way, upper=most, slots=(f"{way}_power_max",))
        power = f"{name}_{way}[t]"
        result += Fragment(terminals=reader.terminal(power, most, supplies=False, port=port))
        load.append(power)
    ratio = sizes["mass_area"] / sizes["surface_area"]
    lost = sizes["window_conductance"] / (H_MS * sizes["surface_area"] / 1000.0)
    internal = reader.optional("internal_gains") or "0[kW]"
    radiant = f"(0.5*{internal} + {reader.optional('solar_gains') or '0[kW]'})"
    outside = reader.text("ambient_temperature")
    heat = {
        "air": f"0.5*{internal} + {' - '.join(load)}",
        "surface": f"{1.0 - ratio - lost!r}*{radiant}",
        "mass": f"{ratio!r}*{radiant}",
    }
    boundary = {"ambient": outside, "supply": reader.optional("supply_temperature") or outside}
    inputs = Inputs(boundary, heat, {"mass": reader.text("initial_temperature")})
    band = (reader.optional("temperature_min"), reader.optional("temperature_max"))
    return (
        result
        + network_of(reader, network, inputs)
        + comfort(reader, f"{name}_mean_temperature['air', t]", *band)
    )


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="zone of ISO 13790 with air, surfaces and mass",
    quantities={
        "temperature": "degC",
        "mean_temperature": "degC",
        "heating": "kW",
        "cooling": "kW",
        "discomfort": "K",
    },
    leaves_out="ventilation that changes; the operative temperature as what is controlled",
    exact_against="buildings.iso13790.Zone5R1C (scheme exact)",
)
