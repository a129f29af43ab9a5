"""A flat model on its way to a blueprint: its families, their indices, and sums of their terms."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from engiagent.formulations.exchange.families import Domains, Family, families
from engiagent.formulations.exchange.model import LinearModel, number
from engiagent.formulations.exchange.parts import Index, Json, Parts, identifier

MAX_PIECES: Final = 40
MAX_TEXT: Final = 3000

Term = tuple[int, float]


class Translation:
    """What all parts of the translation share.

    Attributes
    ----------
    columns, rows
        The families of columns and of rows.
    variables, indices
        For each family of columns its name in the blueprint and its index; None for a scalar.
    family_of, labels_of
        For each column its family and its labels.
    """

    def __init__(self, model: LinearModel) -> None:
        self.model = model
        self.kinds = _kinds(model)
        self.columns = families(model.column_names, self.kinds)
        self.rows = families(model.row_names, [None] * len(model.row_names))
        owners: list[tuple[object, Family]] = [
            *((("column", k), f) for k, f in enumerate(self.columns)),
            *((("row", k), f) for k, f in enumerate(self.rows)),
        ]
        self.domains = Domains(
            {
                (key, q): [labels[q] for labels in family.labels]
                for key, family in owners
                for q in range(family.arity)
            }
        )
        used: dict[str, None] = {}
        self.variables = [_unused(identifier(f.base), used) for f in self.columns]
        self.parts = Parts(self.domains, model.file, used)
        self.indices: list[Index | None] = [
            self.parts.index(self.roots("column", k), f.labels, self.variables[k])
            if f.arity
            else None
            for k, f in enumerate(self.columns)
        ]
        self.family_of = np.zeros(len(model.column_names), dtype=np.int64)
        self.labels_of: list[tuple[str, ...]] = [()] * len(model.column_names)
        for k, family in enumerate(self.columns):
            for member, labels in zip(family.members, family.labels, strict=True):
                self.family_of[member] = k
                self.labels_of[member] = labels
        self.constraints: list[Json] = []
        self.expressions: list[Json] = []
        self._ids: set[str] = set()

    def roots(self, kind: str, position: int) -> tuple[Any, ...]:
        """Return the domains of the indices of a family of columns or rows."""
        family = (self.columns if kind == "column" else self.rows)[position]
        return tuple(self.domains.find(((kind, position), q)) for q in range(family.arity))

    def line(self, row: int) -> int:
        """Return the line on which a row stands; -1 is the objective."""
        return self.model.row_lines[row] if row >= 0 else self.model.objective_line

    def terms(self, row: int) -> list[Term]:
        """Return the columns and coefficients of a row."""
        span = slice(int(self.model.row_starts[row]), int(self.model.row_starts[row + 1]))
        columns, values = self.model.row_columns[span], self.model.row_values[span]
        return list(zip(columns.tolist(), values.tolist(), strict=True))

    def reference(self, column: int) -> str:
        """Return a column as it is named in expressions."""
        family = int(self.family_of[column])
        index = self.indices[family]
        if index is None:
            return self.variables[family]
        labels = zip(index.roots, self.labels_of[column], strict=True)
        inside = ", ".join(self.parts.literal(root, label) for root, label in labels)
        return f"{self.variables[family]}[{inside}]"

    def kind(self, row: int) -> str:
        """Return ``==``, ``<=``, ``>=`` or ``range``; empty for a row that limits nothing."""
        lower, upper = float(self.model.row_lower[row]), float(self.model.row_upper[row])
        if lower == upper:
            return "=="
        if np.isinf(lower):
            return "" if np.isinf(upper) else "<="
        return ">=" if np.isinf(upper) else "range"

    def total(
        self, pieces: Sequence[str], wanted: str, binders: Sequence[str], names: Sequence[str]
    ) -> str:
        """Return a sum of pieces; one too long for an expression is cut into named parts."""
        text = joined(pieces)
        if len(pieces) <= MAX_PIECES and len(text) <= MAX_TEXT:
            return text
        references: list[str] = []
        for chunk in _chunks(pieces):
            name = self.parts.name(f"{wanted}_part_{len(references) + 1}")
            entry: Json = {"name": name, "index": list(binders), "expression": joined(chunk)}
            self.expressions.append({k: v for k, v in entry.items() if v != []})
            references.append(f"{name}[{', '.join(names)}]" if names else name)
        return self.total(references, wanted, binders, names)

    def add(
        self, wanted: str, name: str, binders: Sequence[str], expression: str, line: int
    ) -> None:
        """Add a constraint under an id that no other has."""
        base = identifier(wanted, 100)
        chosen, count = base, 2
        while chosen in self._ids:
            chosen, count = f"{base}_{count}", count + 1
        self._ids.add(chosen)
        entry: Json = {"constraint_id": chosen, "name": name}
        if binders:
            entry["forall"] = list(binders)
        entry |= {"expression": expression, "source_reference": self.parts.source(line)}
        self.constraints.append(entry)


def _kinds(model: LinearModel) -> list[str]:
    """Return the type of each column, as a blueprint says it."""
    binary = (model.column_lower == 0.0) & (model.column_upper == 1.0)
    flags = zip(model.integrality, binary, model.semicontinuous, strict=True)
    return [
        ("binary" if unit else "integer") if whole else "semicontinuous" if semi else "continuous"
        for whole, unit, semi in flags
    ]


def compared(body: str, kind: str, lower: str, upper: str) -> str:
    """Return a body between its sides."""
    if kind == "range":
        return f"{lower} <= {body} <= {upper}"
    return f"{body} {kind} {upper if kind == '<=' else lower}"


def scaled(value: float | str, text: str) -> str:
    """Return a factor and what it multiplies.

    >>> scaled(1.0, "x"), scaled(-1.0, "x"), scaled(2.5, "x"), scaled("a[i]", "x[i]")
    ('x', '-x', '2.5*x', 'a[i]*x[i]')
    """
    factor = value if isinstance(value, str) else number(value)
    if factor in ("1", "-1"):
        return f"{factor[:-1]}{text}"
    return f"{factor}*{text}"


def joined(pieces: Iterable[str]) -> str:
    """Return a sum, with a minus in place of plus minus."""
    text = ""
    for piece in pieces:
        if not text:
            text = piece
        else:
            text += f" - {piece[1:]}" if piece.startswith("-") else f" + {piece}"
    return text or "0"


def _chunks(pieces: Sequence[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    for piece in pieces:
        if chunk and (len(chunk) >= MAX_PIECES or len(joined([*chunk, piece])) > MAX_TEXT):
            yield chunk
            chunk = []
        chunk.append(piece)
    yield chunk


def _unused(wanted: str, used: dict[str, None]) -> str:
    chosen, count = wanted, 2
    while chosen in used:
        chosen, count = f"{wanted}_{count}", count + 1
    used[chosen] = None
    return chosen
