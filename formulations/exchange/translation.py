"""A flat model on its way to a blueprint: its families, their indices, and its terms."""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.exchange.draft import Draft, Index, identifier, unused
from engiagent.formulations.exchange.families import Family, families
from engiagent.formulations.exchange.model import LinearModel
from engiagent.formulations.values import Floats, Ints


@dataclass(frozen=True, eq=False)
class Variable:
    """A family of columns with its name in the blueprint; ``index`` is None for a scalar."""

    name: str
    family: Family
    index: Index | None


@dataclass(frozen=True, eq=False)
class Terms:
    """Coefficients of some rows: of which of them, the columns and the values."""

    at: Ints
    columns: Ints
    values: Floats


class Translation:
    """What all parts of the translation share.

    Attributes
    ----------
    variables, rows
        The families of columns, named, and those of rows.
    owner, member
        For each column its variable, and which member of that it is.
    types, kinds
        The type of each column; of each row ``==``, ``<=``, ``>=`` or ``range``, and nothing for
        one that limits nothing.
    """

    def __init__(self, model: LinearModel) -> None:
        self.model = model
        self.types, self.kinds = _types(model), _kinds(model)
        columns, self.rows = families(model.column_names, self.types, model.row_names)
        names: dict[str, None] = {}
        for family in columns:
            names[unused(identifier(family.base), names)] = None
        self.draft = Draft(model.file, names)
        self.variables = [
            Variable(
                name,
                family,
                self.draft.index(family.domains, family.places, name) if family.domains else None,
            )
            for name, family in zip(names, columns, strict=True)
        ]
        self.owner = np.zeros(len(model.column_names), dtype=np.int64)
        self.member = np.zeros_like(self.owner)
        for k, family in enumerate(columns):
            self.owner[family.members] = k
            self.member[family.members] = np.arange(len(family.members))

    def line(self, row: int) -> int:
        """Return the line on which a row stands; -1 is the objective."""
        return self.model.row_lines[row] if row >= 0 else self.model.objective_line

    def terms(self, rows: Ints) -> Terms:
        """Return the coefficients of some rows, one row after the other."""
        starts, stops = self.model.row_starts[rows], self.model.row_starts[rows + 1]
        counts = stops - starts
        at = np.repeat(np.arange(len(rows)), counts)
        entries = np.arange(len(at)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return Terms(at, self.model.row_columns[entries], self.model.row_values[entries])

    def reference(self, column: int) -> str:
        """Return a column as it is named in expressions."""
        variable = self.variables[int(self.owner[column])]
        if variable.index is None:
            return variable.name
        places = variable.family.places[self.member[column]].tolist()
        pairs = zip(variable.family.domains, places, strict=True)
        return f"{variable.name}[{', '.join(domain.literal(k) for domain, k in pairs)}]"


def _types(model: LinearModel) -> list[str]:
    """Return the type of each column, as a blueprint says it."""
    binary = (model.column_lower == 0.0) & (model.column_upper == 1.0)
    flags = zip(model.integrality, binary, model.semicontinuous, strict=True)
    return [
        ("binary" if unit else "integer") if whole else "semicontinuous" if semi else "continuous"
        for whole, unit, semi in flags
    ]


def _kinds(model: LinearModel) -> list[str]:
    free_below, free_above = np.isinf(model.row_lower), np.isinf(model.row_upper)
    open_ends = np.where(free_below, np.where(free_above, "", "<="), ">=")
    two = np.where(model.row_lower == model.row_upper, "==", "range")
    kinds: list[str] = np.where(free_below | free_above, open_ends, two).tolist()
    return kinds
