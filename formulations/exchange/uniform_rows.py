"""Rows of one family that say the same of different elements, as one constraint.

Two things are recognised. A *slice* is all of a family of columns that agrees with the row in some
of its indices, ``sum(x[i, j] for j in J)`` in the row of i. A *term* is a single column whose
indices are those of the row, perhaps some steps on, or fixed labels: ``x[t+1]``, ``x["hub"]``.
Rows with the same slices and terms become one constraint; all others are left to others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from engiagent.formulations.exchange.families import Family, Labels
from engiagent.formulations.exchange.parts import Index, identifier
from engiagent.formulations.exchange.translation import Translation, compared, scaled

MAX_STEPS: Final = 3
MAX_MAPS: Final = 64
MAX_GROUPS: Final = 8
MAX_FILTERED: Final = 2_000_000
"""How many combinations a filtered sum may run over in one constraint."""

Map = tuple[int | None, ...]
"""For each index of a column, the index of the row with which it agrees; None where it is free."""

Place = tuple[str, int, int | str]
"""``("=", p, d)``: d steps on from index p of the row; ``("c", 0, label)``: a fixed label."""

Single = tuple[int, tuple[Place, ...]]


@dataclass(frozen=True)
class Slice:
    """A slice, with the coefficient of every column in every row."""

    family: int
    map: Map
    entries: dict[tuple[int, int], float]


def uniform_rows(translation: Translation, position: int) -> list[int]:
    """Turn what is uniform in a family of rows into constraints; return the rows left over."""
    return _Uniform(translation, position).run()


class _Uniform:
    """One family of rows."""

    def __init__(self, translation: Translation, position: int) -> None:
        self.t = translation
        self.family: Family = translation.rows[position]
        self.roots = translation.roots("row", position)
        self.labels: dict[int, Labels] = dict(
            zip(self.family.members, self.family.labels, strict=True)
        )
        self.kinds = {row: translation.kind(row) for row in self.family.members}
        self.left: dict[int, dict[int, dict[int, float]]] = {}
        for row in self.family.members:
            by_family = self.left[row] = {}
            for column, value in translation.terms(row):
                family = int(translation.family_of[column])
                by_family.setdefault(family, {})[column] = value

    def run(self) -> list[int]:
        if not self.family.arity:
            return list(self.family.members)
        slices = list(self._slices())
        groups: dict[tuple[str, tuple[Single, ...]], list[int]] = {}
        for row in self.family.members:
            key = self.kinds[row], self._singles(row, slices)
            groups.setdefault(key, []).append(row)
        large = [rows for rows in groups.values() if len(rows) > 1]
        least = 2 if len(large) <= MAX_GROUPS else len(self.family.members) / MAX_GROUPS
        left: list[int] = []
        for (kind, singles), rows in groups.items():
            whole = len(rows) >= least or len(rows) == len(self.family.members)
            if kind and whole and (singles or slices):
                self._constraint(rows, kind, singles, slices)
            else:
                left += rows
        return left

    # -- slices ---------------------------------------------------------------------------------

    def _slices(self) -> Iterator[Slice]:
        for family in sorted({f for parts in self.left.values() for f in parts}):
            index = self.t.indices[family]
            if index is None:
                continue
            for chosen in self._maps(index):
                found = self._slice(family, index, chosen)
                if found is not None:
                    for row, column in found.entries:
                        del self.left[row][family][column]
                    yield found

    def _maps(self, index: Index) -> list[Map]:
        """Return the maps to try, those that leave most indices free first."""
        choices = [
            [None, *(p for p, root in enumerate(self.roots) if root == own)] for own in index.roots
        ]
        count = 1
        for part in choices:
            count *= len(part)
        if count > MAX_MAPS:
            return []
        maps = [m for m in product(*choices) if None in m]
        return sorted(maps, key=lambda m: sum(p is not None for p in m))

    def _slice(self, family: int, index: Index, chosen: Map) -> Slice | None:
        fixed = [(q, p) for q, p in enumerate(chosen) if p is not None]
        members: dict[Labels, list[int]] = {}
        for column, labels in self._members(family):
            members.setdefault(tuple(labels[q] for q, _ in fixed), []).append(column)
        entries: dict[tuple[int, int], float] = {}
        longest = 0
        for row, labels in self.labels.items():
            columns = members.get(tuple(labels[p] for _, p in fixed), [])
            left = self.left[row].get(family, {})
            if (not columns and not index.is_tuples) or any(c not in left for c in columns):
                return None
            longest = max(longest, len(columns))
            entries |= {(row, column): left[column] for column in columns}
        if longest < 2 or (index.is_tuples and fixed and self._too_many(index)):
            return None
        result = Slice(family, chosen, entries)
        return result if self._coefficients(result) or not fixed else None

    def _members(self, family: int) -> Iterator[tuple[int, Labels]]:
        own = self.t.columns[family]
        return zip(own.members, own.labels, strict=True)

    def _too_many(self, index: Index) -> bool:
        return len(self.labels) * len(index.elements) > MAX_FILTERED

    def _coefficients(self, found: Slice, rows: list[int] | None = None) -> str:
        """Return on what a slice's coefficients depend: ``none``, ``column``, ``row`` or ``""``."""
        wanted = None if rows is None else set(rows)
        by_row: dict[int, float] = {}
        by_column: dict[int, float] = {}
        same_row = same_column = True
        for (row, column), value in found.entries.items():
            if wanted is not None and row not in wanted:
                continue
            same_row &= by_row.setdefault(row, value) == value
            same_column &= by_column.setdefault(column, value) == value
        if same_row and len(set(by_row.values())) == 1:
            return "none"
        return "row" if same_row else "column" if same_column else ""

    # -- single terms ---------------------------------------------------------------------------

    def _singles(self, row: int, slices: list[Slice]) -> tuple[Single, ...]:
        labels = self.labels[row]
        found = [
            (family, self._places(labels, column))
            for family, columns in self.left[row].items()
            for column in columns
        ]
        return tuple(sorted(found, key=str))

    def _places(self, labels: Labels, column: int) -> tuple[Place, ...]:
        index = self.t.indices[int(self.t.family_of[column])]
        if index is None:
            return ()
        own = zip(index.roots, self.t.labels_of[column], strict=True)
        return tuple(self._place(labels, root, label) for root, label in own)

    def _place(self, labels: Labels, root: object, label: str) -> Place:
        best: tuple[int, int, int] | None = None
        for p, (own, mine) in enumerate(zip(self.roots, labels, strict=True)):
            if own != root:
                continue
            place = self.t.domains.place[own]
            steps = place[label] - place[mine]
            if abs(steps) <= MAX_STEPS and (best is None or (abs(steps), p) < best[:2]):
                best = (abs(steps), p, steps)
        return ("c", 0, label) if best is None else ("=", best[1], best[2])

    # -- the constraint -------------------------------------------------------------------------

    def _constraint(
        self, rows: list[int], kind: str, singles: tuple[Single, ...], slices: list[Slice]
    ) -> None:
        t, name = self.t, identifier(self.family.base)
        index = t.parts.index(self.roots, [self.labels[row] for row in rows], name)
        names = list(t.parts.letters[: len(self.roots)])
        # Rows of one kind may all lack what other rows of the family sum up.
        kept = set(rows)
        there = [s for s in slices if any(row in kept for row, _ in s.entries)]
        pieces = [self._slice_text(s, rows, index, names, name) for s in there]
        pieces += [self._single_text(s, rows, index, names, name) for s in singles]
        line = t.line(rows[0])
        lower = upper = ""
        if kind != "<=":
            values = {self.labels[r]: float(t.model.row_lower[r]) for r in rows}
            lower = t.parts.values(
                f"{name}_{'rhs' if kind != 'range' else 'min'}", index, names, values, line
            )
        if kind in ("<=", "range"):
            values = {self.labels[r]: float(t.model.row_upper[r]) for r in rows}
            upper = t.parts.values(
                f"{name}_{'rhs' if kind != 'range' else 'max'}", index, names, values, line
            )
        binders = index.binders(names)
        body = t.total(pieces, name, binders, names)
        t.add(self.family.base, self.family.base, binders, compared(body, kind, lower, upper), line)

    def _single_text(
        self, single: Single, rows: list[int], index: Index, names: list[str], owner: str
    ) -> str:
        family, places = single
        variable, own = self.t.variables[family], self.t.indices[family]
        values = {}
        for row in rows:
            labels = self.labels[row]
            column = self._column(labels, family, places)
            values[labels] = self.left[row][family][column]
        parts = [self._index_text(p, q, own, names) for q, p in enumerate(places)]
        reference = f"{variable}[{', '.join(parts)}]" if parts else variable
        factor = self.t.parts.values(
            f"{owner}_{variable}", index, names, values, self.t.line(rows[0])
        )
        return scaled(factor, reference)

    def _column(self, labels: Labels, family: int, places: tuple[Place, ...]) -> int:
        wanted = []
        for kind, p, what in places:
            if kind == "c":
                wanted.append(str(what))
            else:
                root = self.roots[p]
                place = self.t.domains.place[root][labels[p]] + int(what)
                wanted.append(self.t.domains.labels[root][place])
        return self.t.columns[family].number_of[tuple(wanted)]

    def _index_text(self, place: Place, q: int, own: Index | None, names: list[str]) -> str:
        kind, p, what = place
        if kind == "c":
            assert own is not None
            return self.t.parts.literal(own.roots[q], str(what))
        steps = int(what)
        return f"{names[p]}{steps:+d}" if steps else names[p]

    def _slice_text(
        self, found: Slice, rows: list[int], index: Index, names: list[str], owner: str
    ) -> str:
        t, own = self.t, self.t.indices[found.family]
        assert own is not None
        variable = t.variables[found.family]
        letters = t.parts.letters[len(names) : len(names) + len(found.map)]
        inner = [
            names[p] if p is not None and not own.is_tuples else letters[q]
            for q, p in enumerate(found.map)
        ]
        if own.is_tuples:
            binders = own.binders(inner)
            agree = [f"{inner[q]} == {names[p]}" for q, p in enumerate(found.map) if p is not None]
            where = f" if {' and '.join(agree)}" if agree else ""
        else:
            pairs = zip(inner, own.sets, found.map, strict=True)
            binders = [f"{letter} in {group}" for letter, group, p in pairs if p is None]
            where = ""
        wanted = f"{owner}_{variable}"
        outside, inside = self._factors(found, rows, index, names, (own, inner, wanted))
        body = scaled(inside, f"{variable}[{', '.join(inner)}]")
        for binder in binders[1:]:
            where = f" for {binder}{where}"
        return scaled(outside, f"sum({body} for {binders[0]}{where})")

    def _factors(
        self,
        found: Slice,
        rows: list[int],
        index: Index,
        names: list[str],
        target: tuple[Index, list[str], str],
    ) -> tuple[str, str]:
        """Return the factor before a slice's sum and that inside it."""
        own, inner, wanted = target
        parts, line, kept = self.t.parts, self.t.line(rows[0]), set(rows)
        entries = {key: v for key, v in found.entries.items() if key[0] in kept}
        depends = self._coefficients(found, rows)
        if depends in ("none", "row"):
            by_row = {self.labels[row]: value for (row, _), value in entries.items()}
            for labels in index.elements:  # rows whose slice is empty
                by_row.setdefault(labels, next(iter(by_row.values())))
            return parts.values(wanted, index, names, by_row, line), "1"
        if depends == "column":
            table = dict.fromkeys(own.elements, 0.0)
            table |= {self.t.labels_of[column]: value for (_, column), value in entries.items()}
            return "1", f"{parts.parameter(wanted, [own], table, line)}[{', '.join(inner)}]"
        full = {
            (*self.labels[row], *self.t.labels_of[column]): value
            for (row, column), value in entries.items()
        }
        name = parts.parameter(wanted, [index, own], full, line)
        return "1", f"{name}[{', '.join([*names, *inner])}]"
