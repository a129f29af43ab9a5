"""What a text says of things that are decided before it is known what comes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft, Value
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.grids import Column, Grid
from engiagent.agents.offline.plant.uncertain.commitments import Commitment, take_commitment
from engiagent.agents.offline.plant.uncertain.risks import Risk, take_risk
from engiagent.agents.offline.plant.uncertain.scenarios import Scenarios, take_scenarios
from engiagent.agents.offline.plant.uncertain.stages import Stages, take_stages
from engiagent.agents.offline.plant.units import Instance, Plant, Unit, pattern_of, unit_of


@dataclass
class Ahead:
    """Scenarios, what is decided before one of them comes, and how they count together."""

    scenarios: Scenarios
    stages: Stages
    commitment: Commitment | None
    risk: Risk | None = None


@lru_cache(maxsize=1)
def _unit() -> Unit:
    return unit_of(load_card("scenarios")["unit"])


def take_ahead(
    draft: Draft, grids: Sequence[Grid], files: Sequence[Column], currency: str | None
) -> tuple[Ahead | None, list[Column]]:
    """Take what a text says of scenarios and of decisions before and after they are known.

    Returns
    -------
    ahead, columns
        None where there are no scenarios; all columns, those of scenarios as one.
    """
    scenarios, columns = take_scenarios(draft, grids, files, currency)
    if scenarios is None:
        return None, columns
    commitment = take_commitment(draft)
    stages = take_stages(draft)
    return Ahead(scenarios, stages, commitment), columns


def with_commitment(plant: Plant, ahead: Ahead | None) -> Plant:
    """Add the commitment of a text as something that numbers may be about."""
    if ahead is None:
        return plant
    more = {name: str(text) for name, text in load_card("scenarios")["words"].items()}
    plant = replace(plant, concepts={**plant.concepts, **more})
    if ahead.commitment is None:
        return plant
    unit = replace(_unit(), nouns=ahead.commitment.nouns)
    made = Instance("commitment", unit, pattern_of(unit.nouns))
    return replace(
        plant,
        units={**plant.units, "commitment": unit},
        instances=(*plant.instances, made),
    )


def weighed(draft: Draft, goal: Goal | None, ahead: Ahead | None) -> None:
    """Read how the objective weighs the scenarios, where there are any."""
    if ahead is not None:
        ahead.risk = take_risk(draft, goal, ahead.scenarios)


def variants(draft: Draft, ahead: Ahead | None) -> dict[int, list[Value]]:
    """Return the series of all scenarios, by the identity of the source of what stands for them."""
    if ahead is None:
        return {}
    merged = {id(g.merged.source): g for g in ahead.scenarios.groups}
    return {
        id(value.source): [
            replace(value, source=None, numbers=c.numbers, data=c.data)
            for c in merged[id(value.source)].columns
        ]
        for value in draft.series.values() if id(value.source) in merged
    }  # fmt: skip


def committed_lines(ahead: Ahead | None) -> set[int]:
    """Return the lines that speak of a commitment, which may be negative."""
    return ahead.commitment.lines if ahead is not None and ahead.commitment is not None else set()
