"""Fans and pumps with drives of variable speed."""

from collections.abc import Sequence
from dataclasses import replace

from engiagent.models.hvac.curves import Polynomial
from engiagent.models.hvac.turbomachines import PartLoadFan
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.partload import Machine, operated
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.switching import ONLY_WITH
from engiagent.verify.requirements import Dynamics

AFFINITY = (0.0, 0.0, 0.0, 1.0)
"""Power by the cube of the flow: the affinity laws in a system whose resistance stays."""


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    flow = plant.series(unit, "rated_flow")
    model = PartLoadFan(
        rated_flow=plant.need(unit, "rated_flow"),
        rated_power=plant.need(unit, "rated_power"),
        power_curve=Polynomial(plant.table(unit, "power_curve") or AFFINITY),
    )
    machine = Machine(
        flow, lambda ratio: model.power(ratio * flow), plant.need(unit, "minimum_flow")
    )
    done = operated(plant, unit, machine, plant.decision(unit, "flow"), "flow", "kg/s")
    power = plant.result(unit, "electric_power", done.declared, "its flow")
    return Run((), (replace(power, exact=done.exact), *done.state.results), done.excesses)


def _entry(model: str) -> Entry:
    return Entry(
        model,
        f"{model} with a drive of variable speed",
        SLOTS[model],
        _execute,
        connections={"bus": "electric"},
        demands={"bus": "electric_power"},
        only_with=ONLY_WITH,
    )


ENTRIES = {"fan": _entry("fan"), "pump": _entry("pump")}
