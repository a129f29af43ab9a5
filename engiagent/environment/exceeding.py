"""Limits that components state and that what a plant showed does not keep.

The physics of a plant clips what a machine can do, as its power; a grid gives what is drawn from
it, and a tank becomes as warm as it becomes. What that exceeds has to be told.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.environment.interface import between
from engiagent.environment.running import Floats, stamps_of
from engiagent.errors import EngiagentError
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.repeated import dynamics_of
from engiagent.verify.plants.unit import Unit

if TYPE_CHECKING:
    import xarray

NOTHING: Final = 1e-6
"""By how much a limit may be exceeded, in its unit, before that is told."""
_SIDES: Final = {"_max": 1.0, "_min": -1.0}


@dataclass(frozen=True)
class Exceeded:
    """A stated limit that what a plant showed exceeds; ``at`` begins the step where it is worst."""

    limit: str  # the slot, as ``grid.import_power_max``
    quantity: str  # what it limits, as ``grid.import``
    side: str  # ``above`` or ``below``
    most: float
    unit: str  # of ``most``, that of a difference
    total: float  # over time, as an energy. [unit h]
    hours: float
    at: str

    def __str__(self) -> str:
        by = much(self.total, self.most, self.unit)
        beyond = f"{self.side} its limit ({self.limit}) in {self.hours:.4g} h"
        return f"{by} of {self.quantity} were {beyond}, most at {self.at}"


def much(total: float, most: float, unit: str) -> str:
    """Return in words what was beyond something over time, and at most."""
    over_time = f"{unit}h" if unit == "kW" else f"{unit} h"
    return f"{total:.4g} {over_time} (up to {most:.4g} {unit})"


def hours_of(data: "xarray.Dataset") -> Floats:
    """Return the lengths of the steps of a record. [h]."""
    steps: Any = np.diff(data["instant"].values)  # of stamps, or of seconds
    dated = np.issubdtype(steps.dtype, np.timedelta64)
    return np.asarray(steps / np.timedelta64(1, "h") if dated else steps / 3600.0)


def unserved(data: "xarray.Dataset", before: str = "") -> Iterator[str]:
    """Yield a note, after some words, on each bus where energy was taken that nothing made."""
    hours = hours_of(data)
    for name in (str(name) for name in data if str(name).endswith(".unserved")):
        power = np.where(data[name].values > NOTHING, data[name].values, 0.0)
        if power.any():
            by = much(float(power @ hours), float(power.max()), "kW")
            said = f"were taken that nothing made ({name}) in {hours[power > 0].sum():.4g} h"
            yield f"{before}{by} {said}: costs are too low and comfort too good by that"


def exceeded(
    blueprint: Blueprint, folder: Path | None, record: "xarray.Dataset"
) -> Iterator[Exceeded]:
    """Yield the limits of components that a record exceeds.

    ``blueprint``: the plant over the steps of the record. A limit whose quantity the record does
    not show, or that is still to be chosen, is left out.
    """
    plant = Plant(
        Bench(Declarations(blueprint.core, folder), {}), dynamics_of(blueprint.core, folder)
    )
    hours, stamps = hours_of(record), stamps_of(record["time"])
    for unit in (plant.of(unit) for unit in plant.units if unit.element is None):
        for slot in (slot for slot in unit.parameters if slot[-4:] in _SIDES):
            name = next((n for n in _limited(unit, slot[:-4]) if n in record), None)
            try:
                limit = None if name is None else unit.series(slot)
            except EngiagentError:
                continue
            if name is None or limit is None or limit.size != hours.size:
                continue
            limit = limit * (unit.need("count") if "count" in unit.slots else 1.0)
            own = unit.slots[slot].unit
            factor, shift = between(record[name].attrs["units"], own)
            shown = factor * record[name].values[-hours.size :] + shift  # of a state at their ends
            beyond = np.maximum(_SIDES[slot[-4:]] * (shown - limit), 0.0)
            out = beyond > NOTHING
            if out.any():
                yield Exceeded(
                    limit=f"{unit.name}.{slot}",
                    quantity=name,
                    side="above" if slot.endswith("_max") else "below",
                    most=float(beyond.max()),
                    unit="K" if own == "degC" else own,
                    total=float(beyond[out] @ hours[out]),
                    hours=float(hours[out].sum()),
                    at=stamps[int(np.argmax(beyond > beyond.max() - NOTHING))],
                )


def _limited(unit: Unit, word: str) -> Iterator[str]:
    """Yield the quantities that a slot may limit, by its words: ``import_power`` is of import."""
    for own in (word, word.removesuffix("_power"), f"air.mean_{word}"):
        yield from unit.names(own)


def limit_notes(found: Iterable[Exceeded], before: str = "") -> list[str]:
    """Return a note, after some words, on each limit that was exceeded."""
    return [f"{before}{item}: the plant itself does not keep it" for item in found]
