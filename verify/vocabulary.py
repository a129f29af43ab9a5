"""The quantities of physical units: which are set by an operator, which follow, in which unit."""

from dataclasses import dataclass
from typing import Final

from engiagent.blueprint.units import Unit, parse_unit


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


SERIES: Final[dict[str, dict[str, Meaning]]] = {
    "battery": {
        "charge": Meaning("kW", "decision"),
        "discharge": Meaning("kW", "decision"),
        "state_of_charge": Meaning("kWh", "state"),
    },
    "thermal_zone": {
        "heating": Meaning("kW", "decision"),
        "cooling": Meaning("kW", "decision"),
        "temperature": Meaning("degC", "state"),
    },
    "heater": {
        "electric_power": Meaning("kW", "decision"),
        "heat": Meaning("kW", "result"),
    },
    "cooler": {
        "electric_power": Meaning("kW", "decision"),
        "cooling": Meaning("kW", "result"),
    },
    "grid": {
        "import": Meaning("kW", "decision"),
        "export": Meaning("kW", "decision"),
    },
    "load": {"power": Meaning("kW", "result")},
    "generator_profile": {
        "power": Meaning("kW", "decision"),
        "curtailed": Meaning("kW", "result"),
    },
}

_BY_NAME: Final = {name: m for group in SERIES.values() for name, m in group.items()}


def declared_unit(quantity: str) -> Unit | None:
    """Return the unit of a quantity by its last word, None for a word that is not listed.

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
