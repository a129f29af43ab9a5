"""A model as LP and MPS files say it: names, arrays and nothing else.

Writers make one from a :class:`~engiagent.formulations.program.Program`, readers make one from a
file, and :mod:`engiagent.formulations.exchange.to_blueprint` makes a blueprint of it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import NO_INDICATORS, NO_PRODUCTS, Indicators, Products, Sense
from engiagent.formulations.values import Floats, Ints

Bools = npt.NDArray[np.bool_]

UPPER_PART = "~upper"
"""What the name of the second of two rows ends in that are one row with two sides."""


@dataclass(frozen=True, eq=False)
class SpecialOrderedSet:
    """Columns of which at most ``order`` neighbours (1 or 2) differ from zero, in this order."""

    name: str
    order: int
    columns: Ints
    weights: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Where in a file things stand: line numbers, counted from 1."""

    file: str
    objective: int
    columns: Ints
    rows: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatModel:
    """A model with n named columns and m named rows.

    Attributes
    ----------
    cost, offset, products, row_starts … row_upper, indicators
        As in a :class:`~engiagent.formulations.program.Program`.
    integrality, semicontinuous
        Whether a column takes whole numbers; whether it may also be zero, outside its bounds; (n,).
    sos
        Special ordered sets.
    assumptions
        What the file leaves open and how it was read.
    places
        None for a model that comes from no file.
    """

    name: str
    sense: Sense
    objective_name: str
    cost: Floats
    offset: float
    column_names: tuple[str, ...]
    column_lower: Floats
    column_upper: Floats
    integrality: Bools
    semicontinuous: Bools
    row_names: tuple[str, ...]
    row_starts: Ints
    row_columns: Ints
    row_values: Floats
    row_lower: Floats
    row_upper: Floats
    products: Products = NO_PRODUCTS
    indicators: Indicators = NO_INDICATORS
    sos: tuple[SpecialOrderedSet, ...] = ()
    assumptions: tuple[str, ...] = ()
    places: Places | None = None

    @property
    def column_count(self) -> int:
        """Number of columns, n."""
        return len(self.column_names)

    @property
    def row_count(self) -> int:
        """Number of rows, m."""
        return len(self.row_names)

    @property
    def binary(self) -> Bools:
        """Which columns are 0 or 1."""
        within = (self.column_lower == 0.0) & (self.column_upper == 1.0)
        result: Bools = self.integrality & within & ~self.semicontinuous
        return result
