"""What has changed in the arrays of a program since a solver last saw them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.validate import INFINITE, check_program

Places = npt.NDArray[np.int32]
ARRAYS = ("cost", "column_lower", "column_upper", "row_lower", "row_upper", "row_values")


class Snapshot:
    """The arrays that may change, as a solver has them.

    They are kept as bytes: most arrays are the same at most solves, and bytes tell that fastest.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seen = {name: getattr(program, name).tobytes() for name in ARRAYS}
        self._products = program.products.values.tobytes()

    def changed(self, *names: str) -> Places | None:
        """Return where any of some arrays of one length differs, None where none does.

        The arrays count as seen from now on, unless this raises.

        Raises ProgramError when a new number is NaN or another one that no solver can be trusted
        with.
        """
        different: Any = None
        fresh: dict[str, bytes] = {}
        for name in names:
            now = getattr(self._program, name)
            raw = now.tobytes()
            seen = self._seen[name]
            if raw != seen:
                fresh[name] = raw
                moved = now != np.frombuffer(seen)
                different = moved if different is None else different | moved
        if different is None:
            return None
        places: Places = different.nonzero()[0].astype(np.int32)
        for name in fresh:
            if not _harmless(getattr(self._program, name)[places], name):
                check_program(self._program)
        self._seen.update(fresh)
        return places

    def products_changed(self, check: Callable[[], None]) -> bool:
        """Return whether coefficients of products have changed.

        They count as seen from now on, unless ``check`` raises: then they have to pass it again.
        """
        raw = self._program.products.values.tobytes()
        if raw == self._products:
            return False
        if not bool(np.all(np.abs(self._program.products.values) < INFINITE)):
            check_program(self._program)
        check()
        self._products = raw
        return True


def crosses(lower: Floats, upper: Floats) -> bool:
    """Return whether any lower bound lies above its upper bound."""
    return bool((lower > upper).any())


def _harmless(values: Floats, name: str) -> bool:
    """Return whether new numbers are plainly finite and neither huge nor tiny."""
    size = np.abs(values)
    if name == "row_values":
        return bool(((size < 1e12) & ((size == 0) | (size > 1e-9))).all())
    # NaN and infinity fail this too, and are looked at more closely.
    if not len(size) or size.max() < INFINITE:
        return True
    none = {"lower": -np.inf, "upper": np.inf}.get(name.rpartition("_")[2], np.nan)
    return bool(((size < INFINITE) | (values == none)).all())
