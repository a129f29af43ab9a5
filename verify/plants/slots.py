"""Parameters of every model of units, in one place: names, units, defaults, meanings."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from engiagent.verify.plants.entry import Kind, Slot


def _given(unit: str, meaning: str, kind: Kind = "number") -> Slot:
    return Slot(unit, meaning, kind, required=True)


def _usual(unit: str, default: float, meaning: str, kind: Kind = "number") -> Slot:
    return Slot(unit, meaning, kind, default)


def _series(unit: str, meaning: str) -> Slot:
    return Slot(unit, meaning, "series")


def _table(unit: str, meaning: str) -> Slot:
    return Slot(unit, meaning, "table")


STORAGE: Final = {
    "energy_capacity": _given("kWh", "largest content"),
    "charge_power_max": _series("kW", "at the terminals; no limit when absent"),
    "discharge_power_max": _series("kW", "at the terminals; no limit when absent"),
    "charge_efficiency": _usual("1", 1.0, "stored over taken"),
    "discharge_efficiency": _usual("1", 1.0, "delivered over given up"),
    "initial_energy": Slot("kWh", "content at the start; the plan's own when absent"),
    "minimum_energy": _usual("kWh", 0.0, "least content"),
    "maximum_energy": Slot("kWh", "largest content in use; the capacity when absent"),
    "self_discharge": _usual("1/h", 0.0, "share of the content lost in an hour"),
}
BATTERY: Final = {
    **STORAGE,
    "no_load_loss": Slot("kW", "loss of the running converter; with it the efficiencies are 1"),
    "proportional_loss": Slot("1", "loss per power, of the converter"),
    "quadratic_loss": Slot("1", "loss per power squared over the rated power"),
    "standby_loss": Slot("kW", "loss at no power; the no-load loss when absent"),
    "rated_power": Slot("kW", "of the converter; the larger power limit when absent"),
    "loss_power": _table("kW", "powers of a table of losses, from 0 up"),
    "loss": _table("kW", "losses at these powers"),
    "cycles_at_full_depth": Slot("1", "cycles of full depth to the end of life"),
    "cycle_exponent": _usual("1", 1.0, "by which the life falls with the depth of cycles"),
    "calendar_rate": Slot("1", "lost share of the capacity at the square root of a day"),
    "end_of_life_loss": _usual("1", 0.2, "lost share of the capacity at the end of life"),
    "cycles_max": Slot("1", "largest number of full discharges in the horizon"),
    "daily_cycles_max": Slot("1", "the same on each calendar day"),
    "wear_cost": Slot("EUR/kWh", "of a kWh discharged, in any currency"),
    "reserve_up_max": Slot("kW", "largest upward reserve"),
    "reserve_down_max": Slot("kW", "largest downward reserve"),
    "reserve_hours": _usual("h", 1.0, "how long reserve has to last"),
    "capacity_loss_max": Slot("1", "largest lost share of the capacity at the end of the horizon"),
}
BODY: Final = {
    "mass": _given("kg", "water in the tank"),
    "loss_conductance": _usual("kW/K", 0.0, "to the surroundings"),
    "ambient_temperature": _usual("degC", 20.0, "around the tank", "series"),
    "initial_temperature": Slot("degC", "at the start; the plan's own when absent"),
    "temperature_min": _usual("degC", 0.0, "at every instant"),
    "temperature_max": _usual("degC", 100.0, "at every instant"),
    "charge_power_max": _series("kW", "into it; no limit when absent"),
}
DISCHARGED: Final = {"discharge_power_max": _series("kW", "out of it; no limit when absent")}
DRAWN: Final = {
    "use": _given("kg/s", "warm water that is drawn", "series"),
    "use_temperature": _given("degC", "at which it is wanted"),
    "cold_temperature": _usual("degC", 10.0, "of cold water", "series"),
}
TWO_ZONES: Final = {
    **{
        name: BODY[name]
        for name in ("mass", "loss_conductance", "ambient_temperature", "charge_power_max")
    },
    **DISCHARGED,
    "hot_temperature": _given("degC", "of the hot zone"),
    "cold_temperature": _given("degC", "of the cold zone"),
    "initial_fraction": Slot("1", "charged share at first; the plan's own when absent"),
    "minimum_fraction": _usual("1", 0.0, "least charged share"),
}
STRATIFIED: Final = {
    **BODY,
    **DISCHARGED,
    **DRAWN,
    "use": _series("kg/s", "warm water that is drawn; no draws when absent"),
    "use_temperature": Slot("degC", "at which it is wanted"),
    "layers": _usual("1", 10.0, "of equal mass"),
    "height": _usual("m", 1.5, "of the water"),
    "area": _usual("m2", 0.5, "of its cross-section"),
    "conductivity": _usual("W/(m*K)", 0.6, "between layers"),
    "heater_layer": Slot("1", "where heat comes in, 0 at the top; the lowest when absent"),
}
ICE: Final = {
    "energy_capacity": _given("kWh", "cold of all ice"),
    **{
        name: STORAGE[name]
        for name in (
            "charge_power_max",
            "discharge_power_max",
            "initial_energy",
            "minimum_energy",
            "self_discharge",
        )
    },
    "charge_limit_share": _table("1", "shares of ice of the table of the charge limit"),
    "charge_limit": _table("kW", "largest charge at these shares"),
    "discharge_limit_share": _table("1", "shares of ice of the table of the discharge limit"),
    "discharge_limit": _table("kW", "largest discharge at these shares"),
    "charge_curve": _table("1", "six coefficients of the charge limit"),
    "charge_difference": _series("K", "mean temperature difference of brine and ice"),
    "discharge_curve": _table("1", "six coefficients of the discharge limit"),
    "discharge_difference": _series("K", "mean temperature difference of brine and ice"),
    "curve_hours": _usual("h", 1.0, "time basis of the curves"),
    "nominal_difference": _usual("K", 10.0, "of the curves"),
}
EV: Final = {
    **{
        name: STORAGE[name]
        for name in (
            "energy_capacity",
            "charge_efficiency",
            "discharge_efficiency",
            "minimum_energy",
        )
    },
    "charge_power_max": _given("kW", "at the plug"),
    "discharge_power_max": _usual("kW", 0.0, "at the plug; above 0 for a vehicle that gives back"),
    "arrival": _table("h", "when it is plugged in, from the start of the horizon; one a session"),
    "departure": _table("h", "when it leaves, from the start of the horizon; one a session"),
    "arrival_energy": _table("kWh", "content on arrival; one a session"),
    "required_energy": _table("kWh", "least content on departure; one a session, 0 when absent"),
}
SWITCHING: Final = {
    "count": _usual("1", 1.0, "units alike; `on` then says how many run"),
    "initially_on": _usual("1", 0.0, "1 when it ran before the horizon"),
    "initial_hours": Slot("h", "time in that state; long enough when absent"),
    "minimum_up_hours": _usual("h", 0.0, "least time up"),
    "minimum_down_hours": _usual("h", 0.0, "least time down"),
}
STARTING: Final = {**SWITCHING, "start_cost": Slot("EUR", "cost of a start, in any currency")}
GENSET: Final = {
    "rated_power": _given("kW", "largest power"),
    "fuel_slope": Slot("l/kWh", "fuel by power; also in kg/kWh, m3/kWh or kWh/kWh"),
    "fuel_no_load": _usual("l/h", 0.0, "fuel of the running set without power"),
    "fuel_quadratic": _usual("l/(kW**2*h)", 0.0, "fuel by the square of the power"),
    "heating_value": Slot(
        "kWh/l", "of the fuel; an efficiency above 1 is refused where it is known"
    ),
    "minimum_load": _usual("1", 0.0, "least power while running, over the rated power"),
    "start_fuel": _usual("l", 0.0, "fuel of a start"),
    "ramp_up": Slot("kW/h", "largest rise between periods that run; no limit when absent"),
    "ramp_down": Slot("kW/h", "largest fall between periods that run; no limit when absent"),
    "initial_power": _usual("kW", 0.0, "power before the horizon"),
    "fuel_power": _table("kW", "rising powers of a table of fuel, instead of the curve"),
    "fuel_rate": _table("l/h", "fuel at these powers; also in kg/h or kW"),
    "reserve_max": Slot("kW", "largest spinning reserve"),
    "emission_factor": Slot("kg/l", "carbon dioxide of the fuel; also per kg or kWh"),
    **STARTING,
}
CHP: Final = {
    "rated_power": _given("kW", "largest electric power"),
    "load": _table("1", "rising loads from the least to 1"),
    "electric_efficiency": _table("1", "at these loads"),
    "thermal_efficiency": _table("1", "at these loads"),
    **STARTING,
}
EXTRACTION_CHP: Final = {
    "condensing_power_max": _given("kW", "largest power without heat"),
    "condensing_power_min": _usual("kW", 0.0, "least power without heat"),
    "power_loss": _given("1", "power given up for a unit of heat"),
    "power_to_heat": _given("1", "slope of the back-pressure line"),
    "back_pressure_offset": _usual("kW", 0.0, "where that line meets no heat"),
    "heat_max": Slot("kW", "largest heat; no limit when absent"),
    "fuel_slope": _given("1", "fuel by power without heat"),
    "fuel_no_load": _usual("kW", 0.0, "fuel of the running unit without power"),
    "fuel_quadratic": _usual("1/kW", 0.0, "fuel by the square of the power"),
    **STARTING,
}
PART_LOAD: Final = {
    "part_load": _table("1", "rising ratios of a table of part load, instead of a curve"),
    "part_load_power": _table("1", "input over that of full load there"),
    "segments": Slot("1", "chords by which the plan replaces the curve; they then are declared"),
}
ZONE_5R1C: Final = {
    "mass_capacity": _given("kWh/K", "of the mass"),
    "mass_area": _given("m2", "of the mass"),
    "surface_area": _given("m2", "of all surfaces"),
    "window_conductance": _given("kW/K", "of parts without mass"),
    "opaque_conductance": _given("kW/K", "of walls, roof and floor"),
    "ventilation": _given("kW/K", "of the air that is exchanged"),
    "ambient_temperature": _given("degC", "outside", "series"),
    "supply_temperature": _series("degC", "of the air; that outside when absent"),
    "internal_gains": _usual("kW", 0.0, "of people and devices", "series"),
    "solar_gains": _usual("kW", 0.0, "through windows", "series"),
    "initial_temperature": _given("degC", "of the mass at the start"),
    "temperature_min": _series("degC", "of the air, mean; no limit when absent"),
    "temperature_max": _series("degC", "of the air, mean; no limit when absent"),
    "heating_power_max": _series("kW", "heat; no limit when absent"),
    "cooling_power_max": _series("kW", "heat taken away; no limit when absent"),
}
AIR_HANDLER: Final = {
    "rated_flow": _given("kg/s", "of the supply air"),
    "rated_power": _usual("kW", 0.0, "of the fans, at the rated flow"),
    "minimum_flow": _usual("1", 0.0, "least share of the flow"),
    "outdoor_temperature": _given("degC", "of the outdoor air", "series"),
    "outdoor_share_min": _usual("1", 0.0, "of outdoor air", "series"),
    "outdoor_share_max": _usual("1", 1.0, "of outdoor air", "series"),
    "supply_temperature_min": _given("degC", "of the supply air", "series"),
    "supply_temperature_max": _given("degC", "of the supply air", "series"),
    "heating_power_max": _usual("kW", 0.0, "of its coil", "series"),
    "cooling_power_max": _usual("kW", 0.0, "of its coil", "series"),
}
VAV_BOX: Final = {
    "flow_min": _usual("kg/s", 0.0, "least flow into the zone", "series"),
    "flow_max": _given("kg/s", "largest flow", "series"),
    "reheat_max": _usual("kW", 0.0, "of its coil", "series"),
    "discharge_temperature_max": _series("degC", "behind its coil; no limit when absent"),
}
EMITTER: Final = {"power_max": _series("kW", "into the zone; no limit when absent")}
CONVERTER: Final = {
    "electric_power_max": _series("kW", "no limit when absent"),
    "cop": Slot("1", "useful over electric power", "series", 1.0),
}
HEAT_PUMP: Final = {
    "rated_capacity": _given("kW", "largest heat, at the rating"),
    "cop": _series("1", "as a number or a series; or by one of the next two"),
    "carnot_fraction": Slot("1", "of the reversible machine between condensation and evaporation"),
    "sink_approach": _usual("K", 0.0, "between refrigerant and sink"),
    "source_approach": _usual("K", 0.0, "between refrigerant and source"),
    "minimum_lift": _usual("K", 10.0, "least temperature difference that counts"),
    "cop_curve": _table("1", "six or ten coefficients over source and sink in degC"),
    "rated_cop": _usual("1", 1.0, "by which the curve is multiplied"),
    "capacity_curve": _table("1", "six or ten coefficients, factor on the rated capacity"),
    "source_temperature": _series("degC", "of air or brine; needed by Carnot and curves"),
    "sink_temperature": _series("degC", "of the water as it leaves; needed by Carnot and curves"),
    "modulation_curve": _table("1", "coefficients, factor on the COP by part load"),
    "minimum_part_load": _usual("1", 0.0, "below which it cycles"),
    "cycling_coefficient": _usual("1", 0.9, "of EN 14825, to water"),
    "standby_power": _usual("kW", 0.0, "of each, drawn on or off"),
    "electric_power_max": _series("kW", "of each; no limit when absent"),
    **PART_LOAD,
    **STARTING,
}
BOILER: Final = {
    "rated_capacity": _given("kW", "largest heat"),
    "rated_efficiency": _given("1", "heat over fuel at the rating"),
    "efficiency_curve": _table("1", "six or ten coefficients over part load and water in degC"),
    "water_temperature": _series("degC", "of the water, as the curve means it"),
    "minimum_part_load": _usual("1", 0.0, "below which the burner cycles"),
    "standby_loss": _usual("kW", 0.0, "fuel lost while the burner pauses"),
    **PART_LOAD,
    **STARTING,
}
CHILLER: Final = {
    "rated_capacity": _given("kW", "cooling at the rating", "series"),
    "rated_cop": _given("1", "at the rating", "series"),
    "capacity_curve": _table(
        "1", "six or ten coefficients over leaving and entering water; 1 when absent"
    ),
    "eir_curve": _table(
        "1", "six or ten coefficients, factor on power over cooling; 1 when absent"
    ),
    "part_load_curve": _table(
        "1",
        "coefficients, factor on the full-load power by part load; the "
        "part load itself when absent",
    ),
    "leaving_temperature": _usual("degC", 7.0, "of the chilled water", "series"),
    "entering_temperature": _usual("degC", 29.0, "of the condenser's water or air", "series"),
    "leaving_range": _table(
        "degC", "two temperatures: where the curves were fitted; beyond it they hold their value"
    ),
    "entering_range": _table("degC", "the same"),
    "minimum_part_load": _usual("1", 0.0, "below which it cycles"),
    "minimum_unloading": Slot("1", "below which it is loaded falsely; the above when absent"),
    "maximum_part_load": _usual("1", 1.0, "up to which it can be loaded"),
    "heat_to_condenser": _usual("1", 1.0, "share of the power that the condenser takes up"),
    "electric_power_max": _series("kW", "of each; no limit when absent"),
    **PART_LOAD,
    **STARTING,
}
COOLING_TOWER: Final = {
    "rated_water_flow": _given("kg/s", "of the water"),
    "rated_fan_power": _usual("kW", 0.0, "at full speed"),
    "fan_exponent": _usual("1", 3.0, "of power by speed"),
    "wet_bulb_temperature": _given("degC", "of the entering air", "series"),
    "water_flow": _series("kg/s", "of the water; the rated one when absent"),
    "water_temperature_max": _series("degC", "of the leaving water; no limit when absent"),
}
FLOW_MACHINE: Final = {
    "rated_flow": _given("kg/s", "at full speed"),
    "rated_power": _given("kW", "electric, at the rated flow"),
    "power_curve": _table(
        "1",
        "coefficients of the share of power by the share of flow; its cube, "
        "the affinity laws, when absent",
    ),
    "minimum_flow": _usual("1", 0.0, "least share of flow while running"),
    "segments": PART_LOAD["segments"],
    **SWITCHING,
}
PROFILE: Final = {
    "available_power": _given("kW", "what could be delivered", "series"),
    "curtailable": _usual("1", 1.0, "0 when all of it has to be taken"),
}
PV: Final = {
    "dc_capacity": _given("kW", "at 1000 W/m2 and 25 degC"),
    "ac_capacity": Slot("kW", "of the inverter; no limit when absent"),
    "temperature_coefficient": _usual("1/K", -0.0047, "of the power"),
    "losses": Slot("1", "between cells and inverter; those of PVWatts when absent"),
    "inverter_efficiency": _usual("1", 0.96, "at the rated power"),
    "heat_loss": _usual("W/(m2*K)", 25.0, "of the modules"),
    "heat_loss_by_wind": _usual("W*s/(m3*K)", 6.84, "of the modules"),
    "irradiance": _given("W/m2", "in the plane of the array", "series"),
    "air_temperature": _given("degC", "of the air", "series"),
    "wind_speed": _usual("m/s", 1.0, "at the modules", "series"),
    "curtailable": PROFILE["curtailable"],
}
WIND: Final = {
    "speeds": _table("m/s", "rising wind speeds of the power curve, from cut-in to cut-out"),
    "powers": _table("kW", "at these speeds"),
    "restart_speed": Slot("m/s", "below which it starts again after a cut-out"),
    "reference_density": _usual("kg/m3", 1.225, "of the curve"),
    "losses": _usual("1", 0.0, "by wakes, wires and availability"),
    "wind_speed": _given("m/s", "at the hub", "series"),
    "air_density": _series("kg/m3", "of the air; that of the curve when absent"),
    "curtailable": PROFILE["curtailable"],
}
CURTAILABLE: Final = {
    "power": _given("kW", "the demand", "series"),
    "curtailable_share": _usual("1", 1.0, "of the demand that may be left unserved", "series"),
    "unmet_energy_max": Slot("kWh", "largest energy left unserved; no limit when absent"),
    "lost_load_value": _series("EUR/kWh", "price of what is left unserved, in any currency"),
}
SHIFTABLE: Final = {
    "power": _given("kW", "the demand as it would be", "series"),
    "shift_up_max": _given("kW", "largest rise", "series"),
    "shift_down_max": _given("kW", "largest fall, up to the demand", "series"),
    "ahead_energy_max": Slot("kWh", "largest energy ahead of its time; no limit when absent"),
    "delayed_energy_max": Slot("kWh", "largest energy after its time; no limit when absent"),
    "shift_hours": Slot("h", "within which a fall is made up for; the horizon when absent"),
}
JOB: Final = {
    "power": _given("kW", "while it runs"),
    "duration": _given("h", "whole periods that it takes"),
    "earliest": _usual("h", 0.0, "first beginning, from the start"),
    "latest": Slot("h", "when it has to be done; the horizon's end when absent"),
    "runs": _usual("1", 1.0, "how often it is to be done"),
}
DEMAND_RESPONSE: Final = {
    "event": _given("1", "1 in an event", "series"),
    "baseline": _given("kW", "import without an event", "series"),
    "reduction_min": _series("kW", "in every event"),
    "reduction_max": _series("kW", "that is paid for"),
    "reward": _series("EUR/kWh", "for energy below the baseline, in any currency"),
}
ZONE: Final = {
    "capacitance": _given("kWh/K", "heat that warms it by a kelvin"),
    "resistance": Slot("K/kW", "to the ambient; none when absent"),
    "initial_temperature": Slot("degC", "at the start; the plan's own when absent"),
    "ambient_temperature": _series("degC", "outside"),
    "gains": _series("kW", "heat of sun and people; 0 when absent"),
    "heating_power_max": _series("kW", "of a zone without units of its own"),
    "cooling_power_max": _series("kW", "of a zone without units of its own"),
}
FEEDER: Final = {
    "source_voltage": _usual("1", 1.0, "held at the source, of the nominal one", "series"),
    "minimum_voltage": _usual("1", 0.9, "at every bus, of the nominal one"),
    "maximum_voltage": _usual("1", 1.1, "at every bus, of the nominal one"),
    "maximum_loading": _usual("1", 1.0, "of every branch, current over its rating"),
}

SLOTS: Final[Mapping[str, Mapping[str, Slot]]] = MappingProxyType(
    {
        "air_handler": AIR_HANDLER,
        "battery": BATTERY,
        "boiler": BOILER,
        "chiller": CHILLER,
        "chp": CHP,
        "cooler": CONVERTER,
        "cooling_tower": COOLING_TOWER,
        "curtailable_load": CURTAILABLE,
        "demand_response": DEMAND_RESPONSE,
        "emitter": EMITTER,
        "ev": EV,
        "extraction_chp": EXTRACTION_CHP,
        "fan": FLOW_MACHINE,
        "feeder": FEEDER,
        "generator_profile": PROFILE,
        "genset": GENSET,
        "grid": {
            "import_power_max": _series("kW", "no limit when absent"),
            "export_power_max": _series("kW", "no limit when absent"),
            "import_price": _series("EUR/kWh", "of import, in any currency"),
            "export_price": _series("EUR/kWh", "paid for export, in any currency"),
        },
        "heat_pump": HEAT_PUMP,
        "heater": CONVERTER,
        "hot_water_tank": {**BODY, **DRAWN},
        "ice_tank": ICE,
        "job": JOB,
        "load": {"power": _series("kW", "the demand; the plan's own when absent")},
        "pump": FLOW_MACHINE,
        "pv": PV,
        "rc_network": {},
        "shiftable_load": SHIFTABLE,
        "stratified_tank": STRATIFIED,
        "tank": {**BODY, **DISCHARGED},
        "thermal_store": STORAGE,
        "thermal_zone": ZONE,
        "two_zone_tank": TWO_ZONES,
        "vav_box": VAV_BOX,
        "wind_turbine": WIND,
        "zone_5r1c": ZONE_5R1C,
    }
)
"""By model."""
