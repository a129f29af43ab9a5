"""The quantities of physical units: which are set by an operator, which follow, in which unit."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from engiagent.slots import COMPONENTS, Quantity
from engiagent.units.unit import Unit, parse_unit


class _Series(Mapping[str, Mapping[str, Quantity]]):
    def __getitem__(self, model: str) -> Mapping[str, Quantity]:
        return COMPONENTS[model].executed_series

    def __iter__(self) -> Iterator[str]:
        return iter(COMPONENTS)

    def __len__(self) -> int:
        return len(COMPONENTS)


SERIES: Final = _Series()
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


@cache
def _by_word() -> Mapping[str, Quantity]:
    """Return what a word means wherever it means one thing only."""
    found: dict[str, Quantity] = {}
    several = set(_COMMON)
    for group in SERIES.values():
        for word, meaning in group.items():
            known = found.setdefault(word, meaning)
            if known.unit != meaning.unit or (known.kind == "state") != (meaning.kind == "state"):
                several.add(word)
    return {word: meaning for word, meaning in found.items() if word not in several}


def declared_unit(quantity: str) -> Unit | None:
    """Return the unit of a quantity by its last word, None for a word that is not listed.

    A word that means several things, as the ``fuel`` of a generating set and of a boiler, has none.

    >>> str(declared_unit("battery.state_of_charge"))
    'kWh'
    """
    meaning = _by_word().get(quantity.rpartition(".")[2])
    return None if meaning is None else parse_unit(meaning.unit)


def is_state(quantity: str) -> bool:
    """Whether a quantity belongs to instants, by its last word."""
    meaning = _by_word().get(quantity.rpartition(".")[2])
    return meaning is not None and meaning.kind == "state"
