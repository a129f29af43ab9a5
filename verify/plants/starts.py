"""First values of states."""

from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats


def first(plant: Plant, unit: Dynamics, slot: str, claimed: Floats | None) -> float:
    """Return the first value of a state: the declared one, or where there is none the plan's."""
    given = plant.single(unit, slot)
    if given is not None:
        return given
    if claimed is None:
        raise EvaluationError(f"the {slot.replace('_', ' ')} of {unit.name} is unknown")
    return float(claimed[0])
