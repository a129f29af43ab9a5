"""Rows as constraints: those that state the same of different elements as one over a set.

A row names each of its columns by a *pattern*: the family of the column, and for each of its
indices an index of the row, perhaps some steps on (``x[t+1]``), a fixed label (``x["hub"]``), or
nothing, where the row has all columns that agree in the other indices, as in
``sum(x[i, j] for j in J)`` of the row i. Rows with the same patterns become one constraint; every
other row stands alone.
"""

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from engiagent.formulations.exchange.draft import Index, identifier, indexed, scaled
from engiagent.formulations.exchange.families import Domain, Family
from engiagent.formulations.exchange.translation import Translation
from engiagent.formulations.values import Floats, Ints

MAX_STEPS: Final = 3
MAX_MAPS: Final = 64
MAX_GROUPS: Final = 8
MAX_FILTERED: Final = 2_000_000
"""How many combinations a filtered sum may run over in one constraint."""

MAX_TERMS: Final = 24


class Pattern(NamedTuple):
    """A variable, and for each of its indices ``(p, d)``.

    That is d steps on from index p of the row; with p of -1 the place d itself; ``()`` where the
    index is free and summed over.
    """

    variable: int
    places: tuple[tuple[int, ...], ...]

    @property
    def is_sum(self) -> bool:
        """Whether any index is free."""
        return () in self.places


def add_rows(t: Translation) -> None:
    """Add all rows of a model as constraints."""
    left = [row for family in t.rows for row in FamilyOfRows(t, family).add(least=2)]
    for row in sorted(left):
        if t.kinds[row]:
            FamilyOfRows(t, Family.single(t.names[row], row)).add(least=1)


def _same(keys: Ints, values: Floats) -> bool:
    """Whether values of the same key are the same."""
    last = np.zeros(int(keys.max(initial=-1)) + 1)
    last[keys] = values
    return bool(np.all(last[keys] == values))


class FamilyOfRows:
    """The terms of one family of rows: of which row, the column, the value, and the pattern."""

    def __init__(self, t: Translation, family: Family) -> None:
        self.t = t
        self.family = family
        terms = t.matrix[family.members].tocoo()
        self.at, self.columns, self.values = terms.row, terms.col, terms.data
        self.owner = t.owner[self.columns]
        self.patterns: dict[Pattern, Ints] = {}
        left = np.ones(len(self.owner), dtype=np.bool_)
        for owner in np.unique(self.owner).tolist():
            for chosen in self._maps(t.variables[owner].index):
                entries = self._slice(owner, chosen, np.flatnonzero(left & (self.owner == owner)))
                if len(entries):
                    places = tuple(() if p is None else (p, 0) for p in chosen)
                    self.patterns[Pattern(owner, places)] = entries
                    left[entries] = False
        for owner in np.unique(self.owner[left]).tolist():
            self.patterns |= self._singles(owner, np.flatnonzero(left & (self.owner == owner)))
        order = sorted(self.patterns, key=lambda pattern: (not pattern.is_sum, pattern))
        self.patterns = {pattern: self.patterns[pattern] for pattern in order}

    def _maps(self, index: Index) -> list[tuple[int | None, ...]]:
        """Return the maps to try, those that leave most indices free (None) first."""
        known = list(enumerate(self.family.domains))
        choices = [[None, *(p for p, own in known if own is domain)] for domain in index.domains]
        if np.prod([len(part) for part in choices]) > MAX_MAPS:
            return []
        maps = [found for found in product(*choices) if None in found]
        return sorted(maps, key=lambda found: sum(p is not None for p in found))

    def _slice(self, owner: int, chosen: tuple[int | None, ...], mine: Ints) -> Ints:
        """Return the entries that are all of a family that agrees with the row; or none."""
        own, places, at = self.t.variables[owner].index, self.family.places, self.at
        fixed = [(q, p) for q, p in enumerate(chosen) if p is not None]
        qs, ps = [q for q, _ in fixed], [p for _, p in fixed]
        theirs = own.places[self.t.member[self.columns[mine]]]
        entries = mine[np.all(theirs[:, qs] == places[at[mine]][:, ps], axis=1)]
        sizes = Counter(map(tuple, own.places[:, qs].tolist()))
        wanted = np.array([sizes[key] for key in map(tuple, places[:, ps].tolist())])
        nothing = entries[:0]
        if not np.array_equal(np.bincount(at[entries], minlength=len(places)), wanted):
            return nothing
        if wanted.max() < 2 or (wanted.min() == 0 and not own.is_tuples):
            return nothing
        if fixed and own.is_tuples and len(places) * len(own.places) > MAX_FILTERED:
            return nothing
        values = self.values[entries]
        regular = _same(at[entries], values) or _same(self.columns[entries], values)
        return entries if regular or not fixed else nothing

    def _singles(self, owner: int, entries: Ints) -> dict[Pattern, Ints]:
        """Return the patterns of terms that no sum takes, as they look from their rows."""
        index = self.t.variables[owner].index
        theirs = index.places[self.t.member[self.columns[entries]]]
        mine = self.family.places[self.at[entries]]
        columns = []
        for q, domain in enumerate(index.domains):
            base, step = np.full(len(entries), -1), theirs[:, q].copy()
            nearest = np.full(len(entries), MAX_STEPS + 1)
            for p, own in enumerate(self.family.domains):
                steps = theirs[:, q] - mine[:, p]
                near = (np.abs(steps) < nearest) & (own is domain)
                base[near], step[near], nearest[near] = p, steps[near], np.abs(steps[near])
            columns.append(list(zip(base.tolist(), step.tolist(), strict=True)))
        found: dict[Pattern, list[int]] = {}
        shapes = zip(*columns, strict=True) if columns else [()] * len(entries)
        for entry, places in zip(entries.tolist(), shapes, strict=True):
            found.setdefault(Pattern(owner, places), []).append(entry)
        return {pattern: np.array(part) for pattern, part in found.items()}

    # -- constraints ----------------------------------------------------------------------------

    def add(self, least: float) -> list[int]:
        """Add constraints of ``least`` rows and more; return the rows left over."""
        rows = self.family.members.tolist()
        signatures: list[list[Pattern]] = [[] for _ in rows]
        sums = any(pattern.is_sum for pattern in self.patterns)
        for pattern, entries in self.patterns.items():
            for position in [] if pattern.is_sum else self.at[entries].tolist():
                signatures[position].append(pattern)
        groups: dict[tuple[str, tuple[Pattern, ...]], list[int]] = {}
        for position, (row, found) in enumerate(zip(rows, signatures, strict=True)):
            groups.setdefault((self.t.kinds[row], tuple(found)), []).append(position)
        if sum(len(group) > 1 for group in groups.values()) > MAX_GROUPS:
            least = len(rows) / MAX_GROUPS
        left: list[int] = []
        for (kind, signature), positions in groups.items():
            whole = len(positions) >= least or (len(positions) == len(rows) and sums)
            short = least == 1 or (len(signature) <= MAX_TERMS and (signature or sums))
            if kind and whole and short:
                self._constraint(np.array(positions))
            else:
                left += [rows[position] for position in positions]
        return left

    def _constraint(self, positions: Ints) -> None:
        t, family, rows = self.t, self.family, self.family.members[positions]
        name, line = identifier(family.base), t.lines[int(rows.min())]
        index = t.draft.index(family.domains, family.places[positions], name, line)
        kind = t.kinds[rows[0]]
        # Without terms 0 <= 5 says nothing, but 0 <= -5 says that there is no solution.
        pieces = self.pieces(positions, index) or [scaled(0.0, t.reference(0))]
        body = t.draft.total(pieces, name, index)

        def side(values: Floats, word: str) -> str:
            return t.draft.factor(f"{name}_{word}", [index], values[rows])

        if kind == "range":
            text = f"{side(t.lower, 'min')} <= {body} <= {side(t.upper, 'max')}"
        else:
            text = f"{body} {kind} {side(t.upper if kind == '<=' else t.lower, 'rhs')}"
        t.draft.add(family.base, family.base, index, text)

    def pieces(self, positions: Ints, index: Index) -> list[str]:
        """Return the terms of some rows as expressions of their index."""
        inside = np.isin(self.at, positions)
        parts = {pattern: part[inside[part]] for pattern, part in self.patterns.items()}
        return [
            self._piece(pattern, entries, positions, index)
            for pattern, entries in parts.items()
            if len(entries)
        ]

    def _piece(self, pattern: Pattern, entries: Ints, positions: Ints, index: Index) -> str:
        draft, variable = self.t.draft, self.t.variables[pattern.variable]
        own, letters = variable.index, draft.letters[len(index.letters) :]
        inner, binders, agree = [], [], []
        for q, place in enumerate(pattern.places):
            text = _place(index, own.domains[q], *place) if place else letters[q]
            if pattern.is_sum and place and own.is_tuples:
                agree.append(f"{letters[q]} == {text}")
                text = letters[q]
            elif not place and not own.is_tuples:
                binders.append(f"{text} in {own.sets[q]}")
            inner.append(text)
        own = replace(own, letters=tuple(inner), line=index.line)
        wanted = f"{identifier(self.family.base)}_{variable.name}"
        outer, body, values = "1", indexed(variable.name, inner), self.values[entries]
        at = np.searchsorted(positions, self.at[entries])
        if _same(at, values):
            by_row = np.full(len(positions), values[0])  # also of rows whose sum is empty
            by_row[at] = values
            outer = draft.factor(wanted, [index], by_row)
        else:
            over = [own] if _same(self.columns[entries], values) else [index, own]
            table = np.zeros((len(positions) if len(over) > 1 else 1, len(own.places)))
            table[at if len(over) > 1 else 0, self.t.member[self.columns[entries]]] = values
            body = scaled(draft.factor(wanted, over, table.reshape(-1)), body)
        if pattern.is_sum:
            where = f" if {' and '.join(agree)}" if agree else ""
            body = f"sum({body} for {' for '.join(binders or own.binders())}{where})"
        return scaled(outer, body)


def _place(index: Index, domain: Domain, p: int, step: int) -> str:
    """Return an index of a column as the row of an index names it."""
    if p < 0:
        return domain.literal(step)
    return f"{index.letters[p]}{step:+d}" if step else index.letters[p]
