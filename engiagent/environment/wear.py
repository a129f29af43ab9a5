"""What a run costs the batteries of a site: throughput, cycles, and capacity as the checker has it.

Ageing is no property of a plan but of what was done, so that it is stated beside the plant file, by
the slots that the checker has for it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

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


def wear(
    units: Sequence[Unit], data: "xarray.Dataset", ageing: Ageing
) -> dict[str, dict[str, float | None]]:
    """Return by battery what a run did to it.

    Returns ``throughput``, the energy that it gave [kWh]; ``full_cycles``, that over its capacity;
    and ``capacity_lost``, the share of its capacity, None where nothing says how it ages. Raises
    InputError for ageing of what is no battery.
    """
    batteries = {unit.name: unit for unit in units if unit.model == "battery"}
    for name in ageing:
        if name not in batteries:
            said = f"there is no battery {name!r} to age"
            raise InputError(said, expected=nearest(name, batteries))
    steps: Any = np.diff(data["instant"].values)  # of stamps, or of seconds
    dated = np.issubdtype(steps.dtype, np.timedelta64)
    hours = steps / np.timedelta64(1, "h") if dated else steps / 3600.0
    found: dict[str, dict[str, float | None]] = {}
    for name, unit in batteries.items():
        full = unit.need("energy_capacity")
        given = float(np.sum(data[f"{name}.discharge"].values * hours))
        share = np.clip(data[f"{name}.state_of_charge"].values / full, 0.0, 1.0)
        lost = float(lost_share(share, hours, **ageing[name])[-1]) if name in ageing else None
        found[name] = {"throughput": given, "full_cycles": given / full, "capacity_lost": lost}
    return found
