"""Fans and pumps with drives of variable speed."""

from engiagent.models.hvac.curves import Polynomial
from engiagent.models.hvac.fluids import PartLoadFan
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.partload import Machine, operated
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.switching import ONLY_WITH
from engiagent.verify.plants.unit import Unit

AFFINITY = (0.0, 0.0, 0.0, 1.0)
"""Power by the cube of the flow: the affinity laws in a system whose resistance stays."""


def _execute(unit: Unit) -> Run:
    flow = unit.series("rated_flow")
    model = PartLoadFan(
        **unit.numbers("rated_flow", "rated_power"),
        power_curve=Polynomial(unit.table("power_curve") or AFFINITY),
    )
    machine = Machine(flow, lambda ratio: model.power(ratio * flow), unit.need("minimum_flow"))
    done = operated(unit, machine, unit.decision("flow"), "flow")
    power = unit.result("electric_power", done.declared, "its flow", exact=done.exact)
    return Run((), (power, *done.state.results), done.excesses)


ENTRY = Entry(_execute, demands={"bus": "electric_power"}, only_with=ONLY_WITH)
ENTRIES = {"fan": ENTRY, "pump": ENTRY}
