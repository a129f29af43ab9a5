r"""A zone of ISO 13790: five conductances and one capacity, with the set points as a band.

Air, surfaces and mass; gains are shared among them as the standard says. The band holds the mean
temperature of the air; the step is exact and not the standard's Crank–Nicolson one. Heating and
cooling are decisions, on a bus of heat or cold taken from there. With the option ``soft`` the band
may be left by the quantity ``discomfort``.
"""

from typing import Any

from engiagent.formulations.components.heat_network import Inputs, comfort, network_of
from engiagent.formulations.components.reader import Reader
from engiagent.models.buildings.iso13790 import H_MS, Zone5R1C
from engiagent.models.ranges import ParameterError

SIZES = ("mass_capacity", "mass_area", "surface_area", "window_conductance", "opaque_conductance")


def declare(reader: Reader) -> None:
    """Add the algebra of a zone of ISO 13790."""
    sizes: dict[str, Any] = {slot: reader.number(slot) for slot in SIZES}
    try:
        zone = Zone5R1C(**sizes)
        network = zone.network(reader.number("ventilation"))
    except ParameterError as error:
        raise reader.wrong(f"its sizes do not fit: {error}") from None
    load = []
    for way, port in (("heating", "heat_bus"), ("cooling", "cooling_bus")):
        if way == "cooling" and not reader.given("cooling_power_max"):
            continue
        slot = f"{way}_power_max"
        load.append(reader.exchange(way, way, slot, supplies=False, port=port))
    ratio = sizes["mass_area"] / sizes["surface_area"]
    lost = sizes["window_conductance"] / (H_MS * sizes["surface_area"] / 1000.0)
    internal = reader.text("internal_gains")
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
    network_of(reader, network, inputs)
    comfort(reader, f"{reader.name}_mean_temperature['air', t]", *band)
