"""What a run costs the batteries of a site: throughput, cycles, and capacity as the checker has it.

Ageing is no property of a plan but of what was done, so that it is stated beside the plant file, by
the slots that the checker has for it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from engiagent.environment.exceeding import hours_of
from engiagent.environment.interface import amount, read_yaml
from engiagent.errors import InputError
from engiagent.models.battery import lost_share
from engiagent.plant.source import nearest
from engiagent.verify.plants.stores import AGEING
from engiagent.verify.plants.unit import Unit

if TYPE_CHECKING:
    import xarray

SLOTS: Final = (*AGEING, "cycle_exponent", "end_of_life_loss")
Ageing = Mapping[str, Mapping[str, float]]
"""By battery values of :data:`SLOTS`."""


def read_ageing(path: Path) -> dict[str, dict[str, float]]:
    """Read from a file how batteries age, by their names.

    Raises InputError for what is no mapping, an unknown slot or no number.
    """
    tree = read_yaml(path)
    found: dict[str, dict[str, float]] = {}
    for name, given in tree.items() if isinstance(tree, Mapping) else [("it", tree)]:
        if not isinstance(given, Mapping):
            expected = "battery: {cycles_at_full_depth: 4000}"
            raise InputError(f"{name} is no mapping of slots", path.name, expected=expected)
        for slot in given:
            if slot not in SLOTS:
                said = f"{name}: unknown slot {slot!r}"
                raise InputError(said, path.name, expected=nearest(str(slot), SLOTS))
        found[str(name)] = {s: amount(v, f"{name}.{s}", "1")[0] for s, v in given.items()}
    return found


class Fading:
    """The share of its capacity that each battery has lost so far in a run, anew after each day."""

    def __init__(self, units: Sequence[Unit], ageing: Ageing) -> None:
        batteries = {unit.name: unit for unit in units if unit.model == "battery"}
        for name in ageing:
            if name not in batteries:
                said = f"there is no battery {name!r} to age"
                raise InputError(said, expected=nearest(name, batteries))
        self.ageing = ageing
        self._full = {name: batteries[name].need("energy_capacity") for name in ageing}

    def start(self, state: Mapping[str, float]) -> None:
        """Begin a run with new batteries, from the contents by full port name. [kWh]."""
        self.lost, self._clock = dict.fromkeys(self._full, 0.0), 0.0
        self._turns = {n: ([state[f"{n}.energy"] / full], [0.0]) for n, full in self._full.items()}

    def follow(self, state: Mapping[str, float], hours: float) -> None:
        """Take note of the contents after a step; of a rise or a fall the ends alone matter."""
        days, self._clock = (self._clock + 1e-6) // 24.0, self._clock + hours
        for name, (levels, times) in self._turns.items():
            level = state[f"{name}.energy"] / self._full[name]
            if len(levels) > 1 and (levels[-1] - levels[-2]) * (level - levels[-1]) >= 0.0:
                levels.pop(), times.pop()
            levels.append(level)
            times.append(self._clock)
            if (self._clock + 1e-6) // 24.0 > days:
                found = lost_share(np.clip(levels, 0.0, 1.0), np.diff(times), **self.ageing[name])
                self.lost[name] = min(float(found[-1]), 1.0)


def wear(
    units: Sequence[Unit], data: "xarray.Dataset", ageing: Ageing
) -> dict[str, dict[str, float | None]]:
    """Return by battery what a run did to it.

    Returns ``throughput``, the energy that it gave [kWh]; ``full_cycles``, that over its capacity;
    and ``capacity_lost``, the share of its capacity, None where nothing says how it ages.
    """
    hours, found = hours_of(data), dict[str, dict[str, float | None]]()
    for name, unit in ((unit.name, unit) for unit in units if unit.model == "battery"):
        full = unit.need("energy_capacity")
        given = float(np.sum(data[f"{name}.discharge"].values * hours))
        share = np.clip(data[f"{name}.state_of_charge"].values / full, 0.0, 1.0)
        lost = float(lost_share(share, hours, **ageing[name])[-1]) if name in ageing else None
        found[name] = {"throughput": given, "full_cycles": given / full, "capacity_lost": lost}
    return found
