"""What the best plan of a chain is given as."""

from dataclasses import dataclass

from engiagent.solvers.structure.entries import Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """The best columns of all steps, with multipliers.

    Attributes
    ----------
    x
        Columns of the program, slacks and excesses, shape (total,); 0 outside of steps.
    y
        Multipliers of the chain and balance rows, shape (m,), 0 elsewhere.
    """

    x: Floats
    y: Floats
