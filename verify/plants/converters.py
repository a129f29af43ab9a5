"""Heaters and coolers by a coefficient of performance."""

from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import Cooler, Heater
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import known, row, written
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics

OUTPUTS = {"heater": "heat", "cooler": "cooling"}


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    """Keep the electric power; where the plan has only what it gives, find the power of that."""
    unit = group[0]
    word, cop = OUTPUTS[unit.model], plant.series(unit, "cop")
    power = plant.claimed(unit, "electric_power")
    if power is None:
        power = np.divide(plant.decision(unit, word), cop)
        return Run((), (plant.result(unit, "electric_power", power, f"its {word}"),))
    given = Heater(cop=cop).heat(power) if word == "heat" else Cooler(cop=cop).cooling(power)
    return Run((), (plant.result(unit, word, given, "its electric power"),))


def _rows(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    word = OUTPUTS[unit.model]
    power, output = known(plant, unit, "electric_power"), known(plant, unit, word)
    cop = written(plant, unit, "cop") or "1"
    if power is not None and output is not None:
        text = f"{output}[t] == {cop}*{power}[t]"
        yield row(f"{unit.name} output", text, plant.periods(unit).name)


def _entry(model: str, summary: str) -> Entry:
    bus = {"heater": "heat_bus", "cooler": "cooling_bus"}[model]
    word = OUTPUTS[model]
    return Entry(
        model,
        summary,
        SLOTS[model],
        _execute,
        limits=(("electric_power", "electric_power_max"),),
        connections={"bus": "electric", "zone": "the zone that it serves", bus: "that it feeds"},
        supplies={"zone": word, bus: word},
        demands={"bus": "electric_power"},
        answered=("electric_power",),
        rows=_rows,
    )


ENTRIES = {
    "heater": _entry("heater", "electric power in, heat out"),
    "cooler": _entry("cooler", "electric power in, heat taken away"),
}
