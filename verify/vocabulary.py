"""The quantities of physical units: which are set by an operator, which follow, in which unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from engiagent.units.unit import Unit, parse_unit


@dataclass(frozen=True)
class Meaning:
    """What one series of a unit means.

    Attributes
    ----------
    unit
        The unit that is assumed where a schedule names none.
    kind
        ``decision`` is kept in a re-execution, ``state`` belongs to instants and is recomputed,
        ``result`` follows from decisions of the same period.
    """

    unit: str
    kind: str


def _decision(unit: str) -> Meaning:
    return Meaning(unit, "decision")


def _state(unit: str) -> Meaning:
    return Meaning(unit, "state")


def _result(unit: str) -> Meaning:
    return Meaning(unit, "result")


_STORE: Final = {"charge": _decision("kW"), "discharge": _decision("kW")}
_POWER: Final = {"power": _decision("kW"), "curtailed": _result("kW")}
_SWITCHED: Final = {"on": _decision("1"), "start": _result("1"), "stop": _result("1")}

SERIES: Final[Mapping[str, Mapping[str, Meaning]]] = MappingProxyType(
    {
        "air_handler": {
            "flow": _decision("kg/s"),
            "outdoor_share": _decision("1"),
            "supply_temperature": _decision("degC"),
            "heating_coil": _decision("kW"),
            "cooling_coil": _decision("kW"),
            "cooling": _result("kW"),
            "mixed_temperature": _result("degC"),
            "electric_power": _result("kW"),
        },
        "battery": {
            **_STORE,
            "state_of_charge": _state("kWh"),
            "loss": _result("kW"),
            "capacity_loss": _state("1"),
            "reserve_up": _decision("kW"),
            "reserve_down": _decision("kW"),
        },
        "boiler": {"heat": _decision("kW"), "fuel": _result("kW"), **_SWITCHED},
        "chiller": {
            "cooling": _decision("kW"),
            "electric_power": _result("kW"),
            "heat_rejected": _result("kW"),
            **_SWITCHED,
        },
        "chp": {
            "power": _decision("kW"),
            "dumped": _decision("kW"),
            "heat": _result("kW"),
            "fuel": _result("kW"),
            **_SWITCHED,
        },
        "cooler": {"electric_power": _decision("kW"), "cooling": _result("kW")},
        "cooling_tower": {
            "heat_rejected": _decision("kW"),
            "speed": _decision("1"),
            "electric_power": _result("kW"),
            "water_temperature": _result("degC"),
        },
        "curtailable_load": {"unmet": _decision("kW"), "power": _result("kW")},
        "demand_response": {"reduction": _decision("kW")},
        "ev": {**_STORE, "state_of_charge": _state("kWh"), "shortfall": _decision("kWh")},
        "extraction_chp": {
            "power": _decision("kW"),
            "heat": _decision("kW"),
            "fuel": _result("kW"),
            **_SWITCHED,
        },
        "fan": {"flow": _decision("kg/s"), "electric_power": _result("kW"), **_SWITCHED},
        "feeder": {
            "voltage": _result("1"),
            "loading": _result("1"),
            "losses": _result("kW"),
            "import": _result("kW"),
        },
        "generator_profile": _POWER,
        "genset": {
            "power": _decision("kW"),
            "reserve": _decision("kW"),
            "fuel": _result("l/h"),
            "emissions": _result("kg/h"),
            **_SWITCHED,
        },
        "grid": {"import": _decision("kW"), "export": _decision("kW")},
        "heat_pump": {
            "heat": _decision("kW"),
            "electric_power": _result("kW"),
            "source_heat": _result("kW"),
            **_SWITCHED,
        },
        "emitter": {"heat": _decision("kW"), "cooling": _decision("kW")},
        "heater": {"electric_power": _decision("kW"), "heat": _result("kW")},
        "hot_water_tank": {
            "charge": _decision("kW"),
            "draw": _result("kW"),
            "temperature": _state("degC"),
            "energy": _state("kWh"),
            "unmet": _result("kW"),
        },
        "ice_tank": {**_STORE, "energy": _state("kWh")},
        "job": {"begin": _decision("1"), "power": _result("kW")},
        "load": {"power": _result("kW")},
        "pump": {"flow": _decision("kg/s"), "electric_power": _result("kW"), **_SWITCHED},
        "pv": _POWER,
        "rc_network": {
            "heating": _result("kW"),
            "cooling": _result("kW"),
            "mean_temperature": _result("degC"),
        },
        "shiftable_load": {
            "shift_up": _decision("kW"),
            "shift_down": _decision("kW"),
            "power": _result("kW"),
            "shifted_energy": _state("kWh"),
        },
        "stratified_tank": {
            **_STORE,
            "draw": _result("kW"),
            "temperature": _state("degC"),
            "energy": _state("kWh"),
            "unmet": _result("kW"),
        },
        "tank": {**_STORE, "temperature": _state("degC"), "energy": _state("kWh")},
        "thermal_store": {**_STORE, "energy": _state("kWh")},
        "thermal_zone": {
            "heating": _decision("kW"),
            "cooling": _decision("kW"),
            "temperature": _state("degC"),
        },
        "two_zone_tank": {**_STORE, "energy": _state("kWh"), "fraction": _state("1")},
        "vav_box": {"flow": _decision("kg/s"), "reheat": _decision("kW"), "cooling": _result("kW")},
        "wind_turbine": _POWER,
        "zone_5r1c": {
            "heating": _decision("kW"),
            "cooling": _decision("kW"),
            "discomfort": _decision("K"),
            "mean_temperature": _result("degC"),
        },
    }
)
"""By model and by the last word of a quantity."""


STARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "state_of_charge": "initial_energy",
        "energy": "initial_energy",
        "temperature": "initial_temperature",
        "fraction": "initial_fraction",
    }
)
"""By the word of a state the parameter that gives its first value."""

_COMMON: Final = ("flow", "speed", "voltage", "loading", "loss", "losses", "fraction", "begin")
"""Words that problems use for other things than ours: a flow of goods, a voltage in volts."""


def _by_word() -> dict[str, Meaning]:
    """Return what a word means wherever it means one thing only."""
    found: dict[str, Meaning] = {}
    several = set(_COMMON)
    for group in SERIES.values():
        for word, meaning in group.items():
            known = found.setdefault(word, meaning)
            if known.unit != meaning.unit or (known.kind == "state") != (meaning.kind == "state"):
                several.add(word)
    return {word: meaning for word, meaning in found.items() if word not in several}


_BY_NAME: Final = _by_word()


def declared_unit(quantity: str) -> Unit | None:
    """Return the unit of a quantity by its last word, None for a word that is not listed.

    A word that means several things, as the ``fuel`` of a generating set and of a boiler, has none.

    Examples
    --------
    >>> str(declared_unit("battery.state_of_charge"))
    'kWh'
    """
    meaning = _BY_NAME.get(quantity.rpartition(".")[2])
    return None if meaning is None else parse_unit(meaning.unit)


def is_state(quantity: str) -> bool:
    """Whether a quantity belongs to instants, by its last word."""
    meaning = _BY_NAME.get(quantity.rpartition(".")[2])
    return meaning is not None and meaning.kind == "state"
