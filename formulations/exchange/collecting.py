"""What both readers do: collect named rows and columns with their lines, then make arrays."""

from dataclasses import dataclass, field

import numpy as np

from engiagent.formulations.exchange.flat import UPPER_PART, FlatModel, Places, SpecialOrderedSet
from engiagent.formulations.exchange.source import SourceText
from engiagent.formulations.program import OBJECTIVE, Indicators, Products, Sense

MAX_NAME = 1000
INFINITE = 1e20
"""What counts as infinite in bounds and sides, by convention of all readers."""


@dataclass
class Column:
    """A column as it is being read."""

    name: str
    line: int
    lower: float = 0.0
    upper: float = np.inf
    integral: bool = False
    semicontinuous: bool = False
    bounded: set[str] = field(default_factory=set)


@dataclass
class Row:
    """A row as it is being read; ``products`` maps pairs of columns to coefficients."""

    name: str
    line: int
    lower: float
    upper: float
    terms: dict[int, float] = field(default_factory=dict)
    products: dict[tuple[int, int], float] = field(default_factory=dict)
    condition: tuple[int, int] | None = None


class Collector:
    """The rows and columns of one file."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.columns: dict[str, Column] = {}
        self.numbers: dict[str, int] = {}
        self.rows: list[Row] = []
        self.row_lines: dict[str, int] = {}
        self.objective = Row("objective", 1, -np.inf, np.inf)
        self.offset = 0.0
        self.sense: Sense = "minimize"
        self.sos: list[SpecialOrderedSet] = []
        self.assumptions: dict[str, None] = {}

    def column(self, name: str, line: int) -> int:
        """Return the number of a column, a new one when the name is new."""
        number = self.numbers.get(name)
        if number is None:
            self._refuse_long(name, line)
            number = self.numbers[name] = len(self.numbers)
            self.columns[name] = Column(name, line)
        return number

    def _refuse_long(self, name: str, line: int) -> None:
        if len(name) > MAX_NAME:
            raise self.source.error(
                line,
                f"a name of {len(name)} characters",
                found=name,
                expected=f"at most {MAX_NAME}",
            )

    def add_row(self, row: Row) -> None:
        """Add a row whose name must be new."""
        self._refuse_long(row.name, row.line)
        before = self.row_lines.get(row.name)
        if before is not None:
            raise self.source.error(
                row.line,
                f"a second row of the same name; the first is on line {before}",
                found=repr(row.name),
            )
        self.row_lines[row.name] = row.line
        self.rows.append(row)

    def bound(self, column: Column, side: str, value: float, line: int) -> None:
        """Set one side of a column's bounds."""
        if (side == "lower" and value >= INFINITE) or (side == "upper" and value <= -INFINITE):
            raise self.source.error(
                line,
                f"the {side} bound of {column.name} is infinite on the wrong side",
                found=f"{value:g}",
            )
        setattr(column, side, unlimited(value))
        column.bounded.add(side)

    def model(self, name: str, objective_name: str) -> FlatModel:
        """Return the arrays of everything read."""
        columns = list(self.columns.values())
        rows = _merged(self.rows)
        entries = [sorted((k, v) for k, v in row.terms.items() if v != 0.0) for row in rows]
        cost = np.zeros(len(columns))
        for k, value in self.objective.terms.items():
            cost[k] = value
        return FlatModel(
            name=name,
            sense=self.sense,
            objective_name=objective_name,
            cost=cost,
            offset=self.offset,
            column_names=tuple(c.name for c in columns),
            column_lower=np.array([c.lower for c in columns], dtype=np.float64),
            column_upper=np.array([c.upper for c in columns], dtype=np.float64),
            integrality=np.array([c.integral for c in columns], dtype=np.bool_),
            semicontinuous=np.array([c.semicontinuous for c in columns], dtype=np.bool_),
            row_names=tuple(row.name for row in rows),
            row_starts=np.cumsum([0, *(len(row) for row in entries)]),
            row_columns=np.array([k for row in entries for k, _ in row], dtype=np.int64),
            row_values=np.array([v for row in entries for _, v in row], dtype=np.float64),
            row_lower=np.array([row.lower for row in rows], dtype=np.float64),
            row_upper=np.array([row.upper for row in rows], dtype=np.float64),
            products=_products(self.objective, rows),
            indicators=_indicators(rows),
            sos=tuple(self.sos),
            assumptions=tuple(self.assumptions),
            places=Places(
                file=self.source.file,
                objective=self.objective.line,
                columns=np.array([c.line for c in columns], dtype=np.int64),
                rows=np.array([row.line for row in rows], dtype=np.int64),
            ),
        )


def unlimited(value: float) -> float:
    """Return a bound with what counts as infinite made infinite."""
    return float(np.copysign(np.inf, value)) if abs(value) >= INFINITE else value


def _merged(rows: list[Row]) -> list[Row]:
    """Return the rows with those two that are one row with two sides joined again."""
    result: list[Row] = []
    for row in rows:
        before = result[-1] if result else None
        if (
            before is not None
            and row.name == before.name + UPPER_PART
            and (before.upper, row.lower) == (np.inf, -np.inf)
            and row.terms == before.terms
            and row.products == before.products
            and row.condition == before.condition
        ):
            before.upper = row.upper
        else:
            result.append(row)
    return result


def _products(objective: Row, rows: list[Row]) -> Products:
    found = [
        (number, first, second, value)
        for number, row in [(OBJECTIVE, objective), *enumerate(rows)]
        for (first, second), value in sorted(row.products.items())
        if value != 0.0
    ]
    table = np.array(found, dtype=np.float64).reshape(-1, 4)
    whole = table[:, :3].astype(np.int64)
    return Products(whole[:, 0], whole[:, 1], whole[:, 2], table[:, 3])


def _indicators(rows: list[Row]) -> Indicators:
    found = [(n, *row.condition) for n, row in enumerate(rows) if row.condition is not None]
    table = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Indicators(table[:, 0], table[:, 1], table[:, 2])
