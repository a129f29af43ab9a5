"""The objective of drawing as little electricity as possible, whatever it costs."""

import re

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.plant.system import System


def without_supply(system: System, goal: Goal | None) -> list[str]:
    """Return what units draw where their electricity is the objective and nothing else gives it.

    Their electricity then needs no balance: whatever they draw can be had.
    """
    if goal is None or goal.target != "energy" or system.supplies.get("electricity"):
        return []
    return system.demands.pop("electricity", [])


def least_energy(system: System, goal: Goal, drawn: list[str]) -> Json | None:
    """Return the objective of the least electric energy; None, reported, where it is not clear."""
    draft = system.builder.draft
    if not drawn or system.plant_has("grid", "fuel"):
        draft.doubt(goal.line, "the least energy: of which units, and drawn from where?")
        return None
    if system.costs or system.burnt:
        draft.doubt(goal.line, "the objective is energy, and there are costs")
        return None
    return {
        "name": "energy",
        "sense": "minimize",
        "expression": f"sum(({' + '.join(drawn)})*dt(t) for t in T)",
        "unit": "MWh" if re.search(r"(?<![a-z])mwh", draft.lines[goal.line].line) else "kWh",
        "source_reference": draft.quote(goal.line),
    }
