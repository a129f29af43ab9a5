"""A model of named rows on its way to a blueprint: its families, their indices, and its arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.formulations.exchange.draft import Draft, Index, identifier, indexed
from engiagent.formulations.exchange.families import Family, families
from engiagent.formulations.exchange.model import Column, FileModel
from engiagent.formulations.exchange.names import unused

FEW: Final = 4
"""How many priced elements of a family the objective names one by one."""


@dataclass(frozen=True, eq=False)
class Variable:
    """A family of columns with its name in the blueprint."""

    name: str
    family: Family
    index: Index


class Translation:
    """What all parts of the translation share.

    ``matrix`` has the rows of the model, the last of which is the objective; ``lines`` and
    ``names`` say where in the file they stand and how they are called, ``lower``, ``upper`` and
    ``kinds`` (``==``, ``<=``, ``>=``, ``range`` or nothing) what limits them. ``owner`` and
    ``member`` give for each column its variable, and which member of that it is.
    """

    def __init__(self, model: FileModel) -> None:
        from scipy.sparse import csr_array  # a third of a second, for every command

        self.model, self.columns = model, list(model.columns.values())
        rows = [*model.rows.values(), model.objective]
        self.lines, self.names = [row.line for row in rows], [row.name for row in rows]
        self.lower = np.array([row.lower for row in rows])
        self.upper = np.array([row.upper for row in rows])
        self.kinds = [_relation(low, up) for low, up in zip(self.lower, self.upper, strict=True)]
        kinds = [type_of(column) for column in self.columns]
        columns, self.rows = families(list(model.columns), kinds, list(model.rows))
        taken: dict[str, None] = {}
        for family in columns:
            taken[unused(identifier(family.base), taken, "_")] = None
        self.draft = Draft(model.source.file, taken)
        self.variables = []
        for name, family in zip(taken, columns, strict=True):
            line = self.columns[int(family.members.min())].line
            index = self.draft.index(family.domains, family.places, name, line)
            self.variables.append(Variable(name, family, index))
        self.owner = np.zeros(len(self.columns), dtype=np.int64)
        self.member = np.zeros_like(self.owner)
        for k, family in enumerate(columns):
            self.owner[family.members] = k
            self.member[family.members] = np.arange(len(family.members))
        number = {name: k for k, name in enumerate(model.columns)}
        found = [
            (k, number[name], value)
            for k, row in enumerate(model.rows.values())
            for name, value in row.terms.items()
            if value != 0.0
        ]
        found += [(len(model.rows), k, value) for k, value in self._costs()]
        at, where, values = np.array(found, dtype=np.float64).reshape(-1, 3).T
        shape = len(rows), len(self.columns)
        self.matrix = csr_array((values, (at.astype(np.int64), where.astype(np.int64))), shape)

    def _costs(self) -> Iterator[tuple[int, float]]:
        """Yield the costs by column, those of a whole family where the objective sums it up."""
        terms = self.model.objective.terms
        for variable in self.variables:
            members = variable.family.members.tolist()
            costs = [terms.get(self.columns[k].name, 0.0) for k in members]
            priced = np.count_nonzero(costs)
            whole = priced > FEW or (priced and len(set(costs)) == 1)
            yield from ((k, c) for k, c in zip(members, costs, strict=True) if c != 0.0 or whole)

    def reference(self, column: int) -> str:
        """Return a column as it is named in expressions."""
        variable = self.variables[int(self.owner[column])]
        places = variable.index.places[self.member[column]].tolist()
        pairs = zip(variable.index.domains, places, strict=True)
        return indexed(variable.name, [domain.literal(k) for domain, k in pairs])


def type_of(column: Column) -> str:
    """Return the type of a column, as a blueprint says it."""
    if column.integral:
        return "binary" if (column.lower, column.upper) == (0.0, 1.0) else "integer"
    return "continuous"


def _relation(lower: float, upper: float) -> str:
    if np.isinf(lower) or np.isinf(upper):
        return ">=" if np.isfinite(lower) else "<=" if np.isfinite(upper) else ""
    return "==" if lower == upper else "range"
