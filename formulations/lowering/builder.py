"""The columns and rows of a program in the making."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import ColumnBlock, RowBlock
from engiagent.formulations.values import Floats, Form, Ints, variables

Bools = npt.NDArray[np.bool_]
Kind = Literal["continuous", "integer", "binary"]


@dataclass(frozen=True, eq=False)
class RowGroup:
    """The rows of one block before assembly: ``lower <= form <= upper``, bounds (size,) or ()."""

    block: RowBlock
    form: Form
    lower: Floats
    upper: Floats

    def moved(self, affine: Form) -> Floats | float:
        """Return the constant that came with multiplying out the form's products."""
        return 0.0 if affine is self.form else affine.constant - self.form.constant


@dataclass(eq=False)
class Builder:
    """Collects columns and rows; what the compiler puts in itself is marked as generated."""

    columns: list[ColumnBlock] = field(default_factory=list)
    rows: list[RowGroup] = field(default_factory=list)
    # row numbers with the column and the value of it at which each row holds
    indicators: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)
    # groups of columns of which at most one may differ from zero
    sos1: list[Ints] = field(default_factory=list)
    # column_lower, column_upper, integrality: bounds and integrality of all columns so far, shape
    # (n,)
    column_lower: Floats = field(default_factory=lambda: np.zeros(0))
    column_upper: Floats = field(default_factory=lambda: np.zeros(0))
    integrality: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    _names: dict[str, int] = field(default_factory=dict)

    @property
    def column_count(self) -> int:
        """How many columns there are so far."""
        return len(self.column_lower)

    @property
    def row_count(self) -> int:
        """How many rows there are so far."""
        return self.rows[-1].block.stop if self.rows else 0

    def declare(
        self, blocks: list[ColumnBlock], lower: Floats, upper: Floats, whole: Bools
    ) -> None:
        """Take over blocks of columns that stand one after the other."""
        first = not self.columns
        self.columns += blocks
        if first:  # nearly always all there is: taken over as it is, not copied
            self.column_lower, self.column_upper, self.integrality = lower, upper, whole
            return
        self.column_lower = np.concatenate([self.column_lower, lower])
        self.column_upper = np.concatenate([self.column_upper, upper])
        self.integrality = np.concatenate([self.integrality, whole])

    def add_columns(
        self,
        name: str,
        size: int,
        lower: Floats | float,
        upper: Floats | float,
        kind: Kind = "continuous",
        **block: Any,
    ) -> Form:
        """Add generated columns and return them as a form of ``size`` rows."""
        start = self.column_count
        given: dict[str, Any] = {"unit": "1", "generated": True, **block}
        made = ColumnBlock(
            name=self._unique(name), start=start, stop=start + size, kind=kind, **given
        )
        sides = [np.array(np.broadcast_to(v, (size,)), dtype=np.float64) for v in (lower, upper)]
        self.declare([made], sides[0], sides[1], np.full(size, kind != "continuous"))
        return variables(np.arange(start, start + size, dtype=np.int64))

    def add_rows(
        self, label: str, form: Form, lower: Floats | float, upper: Floats | float, **block: Any
    ) -> RowBlock:
        """Add rows ``lower <= form <= upper``, generated if ``block`` does not say otherwise."""
        unique = self._unique(label)
        given: dict[str, Any] = {
            "name": unique,
            "constraint_id": unique,
            "unit": "1",
            "generated": True,
            **block,
        }
        start = self.row_count
        made = RowBlock(start=start, stop=start + form.size, **given)
        sides = (np.asarray(side - form.constant) for side in (lower, upper))
        self.rows.append(RowGroup(made, form, *sides))
        return made

    def hold_when(self, block: RowBlock, columns: Ints, active: int) -> None:
        """Let each row of a block hold only where its binary column has the value ``active``."""
        rows = np.arange(block.start, block.stop)
        self.indicators.append((rows, columns, np.full(len(rows), active)))

    def is_binary(self, columns: Ints) -> Bools:
        """Whether columns take the values 0 and 1 only."""
        inside = (self.column_lower[columns] >= 0) & (self.column_upper[columns] <= 1)
        return np.asarray(self.integrality[columns] & inside)

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0) + 1
        self._names[name] = count
        return name if count == 1 else f"{name}_{count}"
