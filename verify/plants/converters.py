"""Heaters and coolers by a coefficient of performance."""

from collections.abc import Iterator

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import known, row, written
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit

OUTPUTS = {"heater": "heat", "cooler": "cooling"}


def _execute(unit: Unit) -> Run:
    """Keep the electric power; where the plan has only what it gives, find the power of that."""
    word, cop = OUTPUTS[unit.model], unit.series("cop")
    power = unit.claimed("electric_power")
    if power is None:
        power = np.divide(unit.decision(word), cop)
        return Run((), (unit.result("electric_power", power, f"its {word}"),))
    return Run((), (unit.result(word, cop * power, "its electric power"),))


def _rows(unit: Unit) -> Iterator[ConstraintDef]:
    word = OUTPUTS[unit.model]
    power, output = known(unit, "electric_power"), known(unit, word)
    cop = written(unit, "cop") or "1"
    if power is not None and output is not None:
        text = f"{output}[t] == {cop}*{power}[t]"
        yield row(f"{unit.name} output", text, unit.periods.name)


def _entry(word: str, bus: str) -> Entry:
    return Entry(
        _execute,
        limits=(("electric_power", "electric_power_max"),),
        supplies={"zone": word, bus: word},
        demands={"bus": "electric_power"},
        answered=("electric_power",),
        rows=_rows,
    )


ENTRIES = {"heater": _entry("heat", "heat_bus"), "cooler": _entry("cooling", "cooling_bus")}
