"""Which domain of claims a problem is of."""

from typing import TYPE_CHECKING

from engiagent.agents.offline.engine import Understanding

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem


def understand_domain(problem: "Problem") -> Understanding | None:
    """Read a problem by the card of its domain; None where it is of none."""
    from engiagent.agents.offline.claims.air import understand_air
    from engiagent.agents.offline.claims.choice import understand_choice
    from engiagent.agents.offline.claims.flush import understand_flush
    from engiagent.agents.offline.claims.iso import understand_iso
    from engiagent.agents.offline.claims.tank import understand_tank
    from engiagent.agents.offline.claims.water import understand_water

    return (
        understand_water(problem)
        or understand_air(problem)
        or understand_choice(problem)
        or understand_flush(problem)
        or understand_iso(problem)
        or understand_tank(problem)
    )
