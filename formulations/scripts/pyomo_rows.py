"""Compiled rows as Pyomo text: what the language says and a rule cannot.

Kinks, logic, products with binaries and uncertain numbers become rows of the compiled program.
They are said over arrays of variables, as in the scripts of every other library.
"""

import re
from typing import ClassVar

import numpy as np

from engiagent.blueprint.functions import ELEMENTARY
from engiagent.formulations.program import ColumnBlock, Goal, Program, RowBlock
from engiagent.formulations.scripts.algebra import Algebra, listed, number
from engiagent.formulations.scripts.naming import Names
from engiagent.formulations.values import Floats, Ints


class Pyomo:
    """How Pyomo says what every script needs, over numpy's arrays of variables."""

    array = "np.array"
    nothing = "np.zeros({count})"
    matrix = "Matrix({data}, {indices}, {starts})"
    quadratic: ClassVar[str] = ""
    functions: ClassVar[dict[str, str]] = {
        "abs": "every(abs)",
        **{name: f"every(pyo.{function.pyomo})" for name, function in ELEMENTARY.items()},
    }

    def times(self, coefficients: str, vector: str) -> str:
        """Return the product, element by element."""
        return f"{coefficients} * {vector}"

    def total(self, vector: str) -> str:
        """Return the sum of a vector."""
        return f"sum({vector})"

    def extreme(self, function: str, pieces: list[str]) -> str:
        """Return the greatest or least of several vectors, by the absolute difference of two."""
        text, sign = pieces[0], "+" if function == "max" else "-"
        for piece in pieces[1:]:
            text = f"0.5 * (({text}) + ({piece}) {sign} every(abs)(({text}) - ({piece})))"
        return text


class RowPrinter:
    """Prints the compiled rows of one program.

    Attributes
    ----------
    declared
        The Python names of the blocks that the script declares by itself.
    """

    def __init__(self, program: Program, names: Names, declared: dict[ColumnBlock, str]) -> None:
        self.program = program
        self.names = names
        self.declared = declared
        self.arrays = {block: self._array_of(block) for block in program.columns}
        self.algebra = Algebra(program, Pyomo(), names, self.arrays)
        self.sos_of = _groups(program)

    @property
    def lines(self) -> list[str]:
        """Coefficients that the printed rows need."""
        return self.algebra.lines

    def _array_of(self, block: ColumnBlock) -> str:
        """Return the name of a block as an array; a variable of the script has another beside."""
        if block in self.declared:
            return self.names.fresh(f"{self.declared[block]}_all")
        return self.names.fresh(block.name)

    # -- columns --------------------------------------------------------------------------------

    def column(self, block: ColumnBlock, note: str) -> list[str]:
        """Return the lines that declare generated columns, as an array."""
        name = self.arrays[block]
        low, high = (
            side[block.start : block.stop]
            for side in (self.program.column_lower, self.program.column_upper)
        )
        lines, bounds = [], f"bounds=({limit(low[0])}, {limit(high[0])})"
        if np.any(low != low[0]) or np.any(high != high[0]):
            pairs = self.names.helper(f"{name}_bounds")
            both = ", ".join(f"({limit(a)}, {limit(b)})" for a, b in zip(low, high, strict=True))
            lines.append(f"{pairs} = [{both}]")
            bounds = f"bounds=lambda _, k: {pairs}[k]"
        domain = {"binary": "domain=pyo.Binary, ", "integer": "domain=pyo.Integers, "}
        kind = domain.get(block.kind, "")
        made = f"pyo.Var(range({block.size}), {kind}{bounds})"
        return [*lines, f'{name} = elements("{name}", {made}){note}']

    def arrays_in(self, lines: list[str]) -> list[str]:
        """Return the lines that make arrays of those of the script's variables that lines use."""
        used = set(re.findall(r"[A-Za-z]\w*", "\n".join(lines)))
        return [
            f"{self.arrays[block]} = flat({name})"
            for block, name in self.declared.items()
            if self.arrays[block] in used
        ]

    # -- rows -----------------------------------------------------------------------------------

    def row(self, block: RowBlock, name: str) -> list[str]:
        """Return the line that holds a block of rows."""
        if not block.size:
            return []
        rows = slice(block.start, block.stop)
        text = self.algebra.rows(block.start, block.stop)
        sides = f"{_side(self.program.row_lower[rows])}, {_side(self.program.row_upper[rows])}"
        indicators = self.program.indicators
        inside = (indicators.rows >= block.start) & (indicators.rows < block.stop)
        if not inside.any():
            return [f'rows("{name}", {text}, {sides})']
        order = np.argsort(indicators.rows[inside])
        columns = self.algebra.columns(indicators.columns[inside][order])
        active = listed(indicators.active[inside][order])
        return [f'rows_when("{name}", {text}, {sides}, {columns}, {active})']

    def groups(self) -> list[str]:
        """Return the lines by which at most one of several columns differs from zero."""
        lines = []
        for members in self.sos_of:
            name = self.names.fresh("at_most_one")
            texts = ", ".join(self.algebra.columns(column) for column in members)
            lines.append(f'at_most_one("{name}", {texts})')
        return lines

    def objective(self) -> str:
        """Return the objective of a program with one goal."""
        return f"one({self.algebra.objective()})"

    def goal(self, goal: Goal) -> str:
        """Return one of several goals."""
        return f"one({self.algebra.goal(goal.cost, goal.offset)})"


def limit(value: float) -> str:
    """Return a bound of a variable; None where there is none."""
    return number(value) if np.isfinite(value) else "None"


def _side(values: Floats) -> str:
    """Return the limits of rows: one, or a list with one each."""
    if np.all(values == values[0]):
        return limit(values[0])
    return f"[{', '.join(limit(value) for value in values)}]"


def _groups(program: Program) -> list[Ints]:
    """Return the groups of columns, those of one length together, shape (members, groups)."""
    by_length: dict[int, list[Ints]] = {}
    for group in program.sos1:
        by_length.setdefault(len(group), []).append(group)
    return [np.array(groups, dtype=np.int64).T for groups in by_length.values()]
