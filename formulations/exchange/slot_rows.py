"""Rows without a common structure: alone when they are few, else in tables of slots.

Rows with equally many columns of each family share a constraint. Its tables say for every row and
slot which column stands there and with what coefficient, so that the model takes as much space and
time as it has nonzeros.
"""

from collections.abc import Sequence
from typing import Final

from engiagent.formulations.exchange.lp_writer import number
from engiagent.formulations.exchange.parts import Index
from engiagent.formulations.exchange.translation import (
    MAX_TEXT,
    Term,
    Translation,
    compared,
    joined,
    scaled,
)

MAX_ALONE: Final = 60
MAX_TERMS: Final = 24


def remaining_rows(t: Translation, rows: Sequence[int]) -> None:
    """Turn rows into constraints, whatever they look like."""
    quadratic = set(t.model.products.rows.tolist())
    short = [r for r in rows if r not in quadratic and len(t.terms(r)) <= MAX_TERMS]
    alone = set(short if len(short) <= MAX_ALONE else ())
    groups: dict[tuple[str, tuple[tuple[int, int], ...]], list[int]] = {}
    for row in rows:
        kind = t.kind(row)
        if not kind:
            continue
        if row in quadratic or row in alone or not t.terms(row):
            _alone(t, row, kind)
        else:
            groups.setdefault((kind, tuple(_counts(t, row).items())), []).append(row)
    for (kind, counts), members in groups.items():
        _Slots(t, members, dict(counts)).constraint(kind)


def _counts(t: Translation, row: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for column, _ in t.terms(row):
        family = int(t.family_of[column])
        counts[family] = counts.get(family, 0) + 1
    return dict(sorted(counts.items()))


def _alone(t: Translation, row: int, kind: str) -> None:
    line, name = t.line(row), t.model.row_names[row]
    pieces = [scaled(value, t.reference(column)) for column, value in t.terms(row)]
    pieces += products(t, row, name)
    if not pieces:
        # 0 <= 5 says nothing, but 0 <= -5 says that there is no solution.
        pieces = [f"0*{t.reference(0)}"]
    body = t.total(pieces, name, [], [])
    lower, upper = number(float(t.model.row_lower[row])), number(float(t.model.row_upper[row]))
    t.add(name, name, [], compared(body, kind, lower, upper), line)


def products(t: Translation, row: int, wanted: str) -> list[str]:
    """Return the quadratic terms of a row, or of the objective at -1, as pieces of a sum."""
    entries = t.model.products
    chosen = (entries.rows == row).nonzero()[0].tolist()
    triples = [
        (int(entries.first[k]), int(entries.second[k]), float(entries.values[k])) for k in chosen
    ]
    texts = [
        scaled(value, f"{t.reference(i)}**2" if i == j else f"{t.reference(j)}*{t.reference(i)}")
        for i, j, value in triples
    ]
    if len(texts) <= MAX_TERMS and len(joined(texts)) <= MAX_TEXT:
        return texts
    groups: dict[tuple[int, int, bool], list[tuple[int, int, float]]] = {}
    for i, j, value in triples:
        key = int(t.family_of[i]), int(t.family_of[j]), i == j
        groups.setdefault(key, []).append((i, j, value))
    return [_product_sum(t, members, wanted, t.line(row)) for members in groups.values()]


def _product_sum(
    t: Translation, members: list[tuple[int, int, float]], wanted: str, line: int
) -> str:
    """Return the sum of products of two families, over a table of them."""
    slots = t.parts.slots(len(members))
    letter = t.parts.letters[0]
    labels = slots.elements
    values = {label: value for label, (_, _, value) in zip(labels, members, strict=True)}
    factor = t.parts.values(f"{wanted}_q", slots, [letter], values, line)
    sides = [
        _chosen(t, slots, [letter], dict(zip(labels, side, strict=True)), wanted, line)
        for side in zip(*((i, j) for i, j, _ in members), strict=True)
    ]
    square = all(i == j for i, j, _ in members)
    body = f"{sides[0]}**2" if square else f"{sides[1]}*{sides[0]}"
    return f"sum({scaled(factor, body)} for {slots.binders([letter])[0]})"


def _chosen(
    t: Translation,
    index: Index,
    names: Sequence[str],
    columns: dict[tuple[str, ...], int],
    wanted: str,
    line: int,
    more: Sequence[Index] = (),
) -> str:
    """Return a reference to columns of one family that a table names."""
    first = next(iter(columns.values()))
    family = int(t.family_of[first])
    own, variable = t.indices[family], t.variables[family]
    if own is None:
        return variable
    if len(set(columns.values())) == 1:
        return t.reference(first)
    inside = []
    for q, (root, group) in enumerate(zip(own.roots, own.parts, strict=True)):
        literals = t.parts.literals(root)
        table = {key: literals[t.labels_of[column][q]] for key, column in columns.items()}
        if len(set(table.values())) == 1:
            inside.append(t.parts.literal(root, t.labels_of[first][q]))
            continue
        name = t.parts.parameter(f"{wanted}_{variable}_at", [index, *more], table, line, group)
        inside.append(f"{name}[{', '.join(names)}]")
    return f"{variable}[{', '.join(inside)}]"


class _Slots:
    """Rows with equally many columns of each family."""

    def __init__(self, t: Translation, rows: list[int], counts: dict[int, int]) -> None:
        self.t = t
        self.rows = rows
        self.counts = counts
        self.line = t.line(rows[0])
        self.index = t.parts.names_index([t.model.row_names[row] for row in rows], "rows")
        self.name = self.index.sets[0]
        self.letter = t.parts.letters[0]

    def constraint(self, kind: str) -> None:
        """Add the constraint that says all the rows."""
        t = self.t
        by_family: dict[int, list[list[Term]]] = {family: [] for family in self.counts}
        for row in self.rows:
            terms: dict[int, list[Term]] = {}
            for column, value in t.terms(row):
                terms.setdefault(int(t.family_of[column]), []).append((column, value))
            for family, part in terms.items():
                by_family[family].append(part)
        pieces = [self._piece(family, parts) for family, parts in by_family.items()]
        binders = self.index.binders([self.letter])
        body = t.total(pieces, self.name, binders, [self.letter])
        sides = {side: self._side(side, kind) for side in ("lower", "upper")}
        expression = compared(body, kind, sides["lower"], sides["upper"])
        t.add(self.name, f"{len(self.rows)} rows", binders, expression, self.line)

    def _side(self, side: str, kind: str) -> str:
        if (side == "lower" and kind == "<=") or (side == "upper" and kind in (">=", "==")):
            return ""
        values = getattr(self.t.model, f"row_{side}")
        by_row: dict[tuple[str, ...], float] = {
            (self.t.model.row_names[row],): float(values[row]) for row in self.rows
        }
        wanted = f"{self.name}_{side}" if kind == "range" else f"{self.name}_rhs"
        return self.t.parts.values(wanted, self.index, [self.letter], by_row, self.line)

    def _piece(self, family: int, parts: list[list[Term]]) -> str:
        t, variable = self.t, self.t.variables[family]
        slots = t.parts.slots(self.counts[family])
        single = self.counts[family] == 1
        names = [self.letter] if single else [self.letter, t.parts.letters[1]]
        more = [] if single else [slots]
        columns: dict[tuple[str, ...], int] = {}
        values: dict[tuple[str, ...], float] = {}
        for row, terms in zip(self.rows, parts, strict=True):
            for slot, (column, value) in zip(slots.elements, terms, strict=True):
                key = (t.model.row_names[row],) if single else (t.model.row_names[row], *slot)
                columns[key], values[key] = column, value
        wanted = f"{self.name}_{variable}"
        if len(set(values.values())) == 1:
            factor = number(next(iter(values.values())))
        else:
            table = t.parts.parameter(wanted, [self.index, *more], values, self.line)
            factor = f"{table}[{', '.join(names)}]"
        body = _chosen(t, self.index, names, columns, self.name, self.line, more)
        if single:
            return scaled(factor, body)
        return f"sum({scaled(factor, body)} for {slots.binders(names[1:])[0]})"
