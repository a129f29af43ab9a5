"""What has changed in the arrays of a program since a solver last saw them."""

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.validate import INFINITE, check_program

ARRAYS = ("cost", "column_lower", "column_upper", "row_lower", "row_upper", "row_values")


class Snapshot:
    """Copies of the arrays that may change, as a solver has them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seen = {name: getattr(program, name).copy() for name in ARRAYS}
        self._products = program.products.values.copy()

    def changed(self, *names: str) -> Ints | None:
        """Return where any of some arrays of one length differs, None where none does.

        The arrays count as seen from now on.

        Raises
        ------
        ProgramError
            When a new number is NaN or another one that no solver can be trusted with.
        """
        found: Ints | None = None
        for name in names:
            now, before = getattr(self._program, name), self._seen[name]
            if np.array_equal(now, before):
                continue
            # A NaN differs from itself, so it can never be taken for seen.
            places = np.flatnonzero(now != before)
            if not _harmless(now[places], name):
                check_program(self._program)
            before[places] = now[places]
            found = places if found is None else np.union1d(found, places)
        return found

    def products_changed(self) -> bool:
        """Return whether coefficients of products have changed; they count as seen from now on."""
        values = self._program.products.values
        if np.array_equal(values, self._products):
            return False
        self._products[:] = values
        return True


def crosses(lower: Floats, upper: Floats) -> bool:
    """Return whether any lower bound lies above its upper bound."""
    return bool((lower > upper).any())


def _harmless(values: Floats, name: str) -> bool:
    """Return whether new numbers are plainly finite and neither huge nor tiny."""
    size = np.abs(values)
    if name == "row_values":
        return bool(((size < 1e12) & ((size == 0) | (size > 1e-9))).all())
    return bool((size < INFINITE).all())
