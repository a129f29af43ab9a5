"""Which kernel runs: compiled by numba where that is installed and worth its import, else plain."""

import importlib.util
import sys
from typing import Final

from engiagent.solvers.structure.chain import Kernel

SHORT: Final = 4_000
"""Steps, over all evaluations expected, up to which the plain kernel takes no time to speak of."""
WORTH_IMPORT: Final = 400_000
"""Steps, over all evaluations expected, from which importing numba costs less than it saves."""


def choose_kernel(steps: int) -> Kernel:
    """Return the faster kernel for a number of steps, the import of numba included.

    The kernels differ by rounding. So a short chain gets the plain one, whatever is loaded: then
    its plan does not depend on what the process did before.
    """
    if steps > SHORT and "numba" in sys.modules:
        return "numba"
    if steps < WORTH_IMPORT or importlib.util.find_spec("numba") is None:
        return "plain"
    return "numba"
