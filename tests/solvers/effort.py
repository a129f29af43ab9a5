"""How many random programs a property is tried on: few by default, more on request.

``ENGIAGENT_EXAMPLES=500`` sets the number for the agreement of solvers, and at least as many for
every other property.
"""

import os

ASKED = int(os.environ.get("ENGIAGENT_EXAMPLES", "0"))


def examples(few: int) -> int:
    """Return how many examples to try: what is asked for in the environment, but at least few."""
    return max(few, ASKED)
