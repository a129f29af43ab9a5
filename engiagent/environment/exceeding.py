"""What a plant showed that cannot be: beyond stated limits, or from energy that nothing made."""

from collections.abc import Iterator
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

if TYPE_CHECKING:
    import xarray

NOTHING: Final = 1e-6
"""By how much a limit may be exceeded, in its unit, before that is told."""
_SIDES: Final = {"_max": ("above", 1.0), "_min": ("below", -1.0)}
_WARM: Final = "use_temperature"


@dataclass(frozen=True)
class Exceeded:
    """A stated limit that what a plant showed exceeds."""

    limit: str  # the slot, as ``grid.import_power_max``
    quantity: str  # what it limits, as ``grid.import``
    side: str  # on which it is exceeded: ``above`` or ``below``
    most: float  # by how much at worst, in the step that begins ``at``
    at: str
    unit: str  # of ``most``
    total: float  # over time, as an energy. [unit h]
    hours: float

    def __str__(self) -> str:
        over_time = f"{self.total:.4g} {'kWh' if self.unit == 'kW' else f'{self.unit} h'}"
        by = f"{over_time} (up to {self.most:.4g} {self.unit}) of {self.quantity}"
        beyond = f"{self.side} its limit ({self.limit}) in {self.hours:.4g} h, most at {self.at}"
        return f"{by} were {beyond}: the plant itself does not keep it"


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
            unit = data[name].attrs["units"]
            total, of = (power @ hours, "kWh") if unit == "kW" else (3.6 * power @ hours, "t")
            by = f"{total:.4g} {of} (up to {power.max():.4g} {unit})"
            said = f"were taken that nothing made ({name}) in {hours[power > 0].sum():.4g} h"
            yield f"{before}{by} {said}: costs are too low and comfort too good by that"


def exceeded(
    blueprint: Blueprint, folder: Path | None, record: "xarray.Dataset"
) -> Iterator[Exceeded]:
    """Yield the limits of components that a record exceeds, of quantities that it shows.

    ``blueprint``: the plant over the steps of the record. Warm water that is drawn has to be as
    warm as it is wanted.
    """
    core, hours, stamps = blueprint.core, hours_of(record), stamps_of(record["time"])
    plant = Plant(Bench(Declarations(core, folder), {}), dynamics_of(core, folder))
    units = [plant.of(unit) for unit in plant.units if unit.element is None]
    for unit, slot in ((u, slot) for u in units for slot in u.slots):
        word, end = ("temperature", "_min") if slot == _WARM else (slot[:-4], slot[-4:])
        if end not in _SIDES:
            continue
        side, sign = _SIDES[end]
        words = (word, word.removesuffix("_power"), f"air.mean_{word}")  # that it may limit
        name = next((n for own in words for n in unit.names(own) if n in record), None)
        try:
            limit = unit.series(slot) * (unit.need("count") if "count" in unit.slots else 1.0)
            if slot == _WARM:
                limit = np.where(unit.series("use") > 0, limit, -np.inf)
        except EngiagentError:
            continue  # no limit, or a size that is still to be chosen
        if name is not None and limit.size == hours.size:
            own = unit.slots[slot].unit
            factor, shift = between(record[name].attrs["units"], own)
            shown = factor * record[name].values[-hours.size :] + shift  # of a state at their ends
            beyond = sign * (shown - limit)
            beyond[beyond <= NOTHING] = 0.0
            if beyond.any():
                yield Exceeded(
                    **{"limit": f"{unit.name}.{slot}", "quantity": name, "side": side},
                    most=float(beyond.max()),
                    at=stamps[int(np.argmax(beyond > beyond.max() - NOTHING))],
                    unit="K" if own == "degC" else own,
                    total=float(beyond @ hours),
                    hours=float(hours[beyond > 0.0].sum()),
                )


def notes_of(plant: Blueprint, folder: Path | None, data: "xarray.Dataset", who: str) -> list[str]:
    """Return notes, after some words, on what a record of a plant shows that cannot be."""
    return [*unserved(data, who), *(f"{who}{item}" for item in exceeded(plant, folder, data))]
