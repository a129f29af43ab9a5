"""Who has read the text of a problem besides the author of a blueprint.

Nothing is taken from the record of a run: the plant block or the stored reading beside the problem
is read again, and its grade counts for a blueprint that is the same.
"""

from collections.abc import Mapping

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.plant.source import find_source
from engiagent.readings.read import read
from engiagent.readings.stored import stored_reading
from engiagent.text import Problem
from engiagent.verify.claims import Reading as Claim


def claim_of(
    problem: Problem, blueprint: Blueprint, overrides: Mapping[str, str] | None = None
) -> Claim | None:
    """Return the claim of a plant block or a stored reading for a blueprint.

    Parameters
    ----------
    overrides
        The values that the user has set beside the text.

    Returns
    -------
    None where neither lies beside the problem, or the blueprint says something else.
    """
    try:
        stated = find_source(problem) is not None
        stored = None if stated else stored_reading(problem)
        if not stated and stored is None:
            return None
        found = read(problem, overrides).blueprint
        if found is None or expand(found).core != expand(blueprint).core:
            return None
    except EngiagentError:
        return None  # whoever reads the problem for its blueprint is told what is wrong
    if stored is None:
        return Claim("stated", "plant block", problem.path.name)
    accepted = stored.accepted
    by = f"{accepted['by']}, read again by rule"
    return Claim(accepted["grade"], by, stored.path.name, tuple(accepted.get("open", ())))
