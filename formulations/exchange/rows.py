"""Rows as constraints: those that state the same of different elements as one over a set.

Two things are recognised. A *slice* is all of a family of columns that agrees with the row in some
of its indices, ``sum(x[i, j] for j in J)`` in the row of i. A *term* is a single column whose
indices are those of the row, perhaps some steps on, or fixed labels: ``x[t+1]``, ``x["hub"]``.
Rows with the same slices and terms become one constraint. What is left stands alone where it is
little; else rows with equally many columns of each family share a constraint, whose tables name the
columns, so that a model takes as much space and time as it has nonzeros.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from engiagent.formulations.exchange.draft import Index, identifier, scaled
from engiagent.formulations.exchange.families import Domain, Family
from engiagent.formulations.exchange.model import number
from engiagent.formulations.exchange.translation import Terms, Translation, Variable
from engiagent.formulations.values import Floats, Ints

MAX_STEPS: Final = 3
MAX_MAPS: Final = 64
MAX_GROUPS: Final = 8
MAX_FILTERED: Final = 2_000_000
"""How many combinations a filtered sum may run over in one constraint."""

MAX_ALONE: Final = 60
MAX_TERMS: Final = 24

Map = tuple[int | None, ...]
"""For each index of a column, the index of the row with which it agrees; None where it is free."""

Single = tuple[int, tuple[tuple[int, int], ...]]
"""A variable, and for each of its indices ``(p, d)``: d steps on from index p of the row; with p of
-1 the place d itself."""


@dataclass(frozen=True)
class Slice:
    """A slice: the variable, its map, and the terms that it takes."""

    variable: int
    map: Map
    entries: Ints


def add_rows(t: Translation) -> None:
    """Add all rows of a model as constraints."""
    left: list[int] = []
    for family in t.rows:
        left += _Rows(t, family).add(least=2)
    stated = [row for row in left if t.kinds[row]]
    counts = np.diff(t.model.row_starts)
    short = [row for row in stated if counts[row] <= MAX_TERMS]
    alone = set(short) if len(short) <= MAX_ALONE else {row for row in short if not counts[row]}
    for row in sorted(alone):
        _Rows(t, Family.single(t.model.row_names[row], row)).add(least=1)
    _add_tabulated(t, [row for row in stated if row not in alone])


def _same(keys: Ints, values: Floats) -> bool:
    """Whether values of the same key are the same."""
    last = np.zeros(int(keys.max(initial=-1)) + 1)
    last[keys] = values
    return bool(np.all(last[keys] == values))


class _Rows:
    """One family of rows."""

    def __init__(self, t: Translation, family: Family) -> None:
        self.t = t
        self.family = family
        self.count = len(family.members)
        self.terms: Terms = t.terms(family.members)
        self.owner = t.owner[self.terms.columns]
        self.left = np.ones(len(self.owner), dtype=np.bool_)

    def add(self, least: float) -> list[int]:
        """Add constraints of ``least`` rows and more; return the rows left over."""
        slices = list(self._slices())
        singles = self._singles()
        signatures: list[list[Single]] = [[] for _ in range(self.count)]
        for entry, single in singles.items():
            signatures[int(self.terms.at[entry])].append(single)
        rows = self.family.members.tolist()
        groups: dict[tuple[str, tuple[Single, ...]], list[int]] = {}
        for position, (row, found) in enumerate(zip(rows, signatures, strict=True)):
            groups.setdefault((self.t.kinds[row], tuple(sorted(found))), []).append(position)
        if sum(len(group) > 1 for group in groups.values()) > MAX_GROUPS:
            least = self.count / MAX_GROUPS
        left: list[int] = []
        for (kind, signature), positions in groups.items():
            whole = len(positions) >= least or (len(positions) == self.count and bool(slices))
            short = len(signature) <= MAX_TERMS and (signature or slices or least == 1)
            if kind and whole and short:
                self._constraint(np.array(positions), kind, signature, slices, singles)
            else:
                left += [rows[position] for position in positions]
        return left

    # -- slices ---------------------------------------------------------------------------------

    def _slices(self) -> Iterator[Slice]:
        for owner in np.unique(self.owner).tolist():
            index = self.t.variables[owner].index
            for chosen in [] if index is None else self._maps(index):
                found = self._slice(owner, chosen)
                if found is not None:
                    self.left[found.entries] = False
                    yield found

    def _maps(self, index: Index) -> list[Map]:
        """Return the maps to try, those that leave most indices free first."""
        known = list(enumerate(self.family.domains))
        choices = [[None, *(p for p, own in known if own is domain)] for domain in index.domains]
        if np.prod([len(part) for part in choices]) > MAX_MAPS:
            return []
        maps = [found for found in product(*choices) if None in found]
        return sorted(maps, key=lambda found: sum(p is not None for p in found))

    def _slice(self, owner: int, chosen: Map) -> Slice | None:
        variable, at = self.t.variables[owner], self.terms.at
        fixed = [(q, p) for q, p in enumerate(chosen) if p is not None]
        mine = np.flatnonzero(self.left & (self.owner == owner))
        own, places = variable.family.places, self.family.places
        theirs = own[self.t.member[self.terms.columns[mine]]]
        agree = np.ones(len(mine), dtype=np.bool_)
        for q, p in fixed:
            agree &= theirs[:, q] == places[at[mine], p]
        entries = mine[agree]
        wanted = np.full(self.count, len(own))
        if fixed:
            keys = [own[:, [q for q, _ in fixed]], places[:, [p for _, p in fixed]]]
            _, group = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
            group = group.reshape(-1)
            members = np.bincount(group[: len(own)], minlength=int(group.max()) + 1)
            wanted = members[group[len(own) :]]
        assert variable.index is not None
        is_tuples = variable.index.is_tuples
        if not np.array_equal(np.bincount(at[entries], minlength=self.count), wanted):
            return None
        if wanted.max() < 2 or (wanted.min() == 0 and not is_tuples):
            return None
        if is_tuples and fixed and self.count * len(own) > MAX_FILTERED:
            return None
        return Slice(owner, chosen, entries) if not fixed or self._depends(entries) else None

    def _depends(self, entries: Ints) -> str:
        """Return on what coefficients depend: ``none``, ``row``, ``column`` or nothing of these."""
        at, columns = self.terms.at[entries], self.terms.columns[entries]
        values = self.terms.values[entries]
        if np.all(values == values[:1]):
            return "none"
        return "row" if _same(at, values) else "column" if _same(columns, values) else ""

    # -- single terms ---------------------------------------------------------------------------

    def _singles(self) -> dict[int, Single]:
        """Return the terms that no slice takes, as they look from their rows."""
        found: dict[int, Single] = {}
        for owner in np.unique(self.owner[self.left]).tolist():
            entries = np.flatnonzero(self.left & (self.owner == owner))
            family = self.t.variables[owner].family
            theirs = family.places[self.t.member[self.terms.columns[entries]]]
            mine = self.family.places[self.terms.at[entries]]
            columns = []
            for q, domain in enumerate(family.domains):
                base, step = np.full(len(entries), -1), theirs[:, q].copy()
                nearest = np.full(len(entries), MAX_STEPS + 1)
                for p, own in enumerate(self.family.domains):
                    steps = theirs[:, q] - mine[:, p]
                    near = (np.abs(steps) < nearest) & (own is domain)
                    base[near], step[near], nearest[near] = p, steps[near], np.abs(steps[near])
                columns.append(list(zip(base.tolist(), step.tolist(), strict=True)))
            places = list(zip(*columns, strict=True)) if columns else [()] * len(entries)
            found |= {e: (owner, p) for e, p in zip(entries.tolist(), places, strict=True)}
        return found

    # -- the constraint -------------------------------------------------------------------------

    def _constraint(
        self,
        rows: Ints,
        kind: str,
        signature: tuple[Single, ...],
        slices: list[Slice],
        singles: dict[int, Single],
    ) -> None:
        t, name = self.t, identifier(self.family.base)
        index = t.draft.index(self.family.domains, self.family.places[rows], name)
        names = list(t.draft.letters[: len(self.family.domains)])
        numbers = self.family.members[rows]
        line = t.line(int(numbers.min()))
        inside = np.isin(self.terms.at, rows)
        pieces = []
        for found in slices:
            # Rows of one kind may all lack what other rows of the family sum up.
            entries = found.entries[inside[found.entries]]
            if len(entries):
                part = Slice(found.variable, found.map, entries)
                pieces.append(self._slice_text(part, rows, index, names, line))
        values: dict[Single, Floats] = {single: np.zeros(len(rows)) for single in signature}
        for entry, single in singles.items():
            if inside[entry]:
                place = np.searchsorted(rows, self.terms.at[entry])
                values[single][place] = self.terms.values[entry]
        for single in signature:
            variable = t.variables[single[0]]
            factor = t.draft.factor(f"{name}_{variable.name}", index, names, values[single], line)
            pieces.append(scaled(factor, _reference(variable, single, names)))
        binders = index.binders(names)
        # Without terms 0 <= 5 says nothing, but 0 <= -5 says that there is no solution.
        pieces = pieces or [scaled(0.0, t.reference(0))]
        body = t.draft.total(pieces, name, binders, names)
        text = _between(t, body, kind, numbers, (name, index, names))
        t.draft.add(self.family.base, self.family.base, binders, text, line)

    def _slice_text(
        self, found: Slice, rows: Ints, index: Index, names: list[str], line: int
    ) -> str:
        variable, draft = self.t.variables[found.variable], self.t.draft
        own = variable.index
        assert own is not None
        letters = draft.letters[len(names) : len(names) + len(found.map)]
        inner = [
            names[p] if p is not None and not own.is_tuples else letters[q]
            for q, p in enumerate(found.map)
        ]
        pairs = list(zip(inner, found.map, strict=True))
        if own.is_tuples:
            binders = own.binders(inner)
            agree = [f"{letter} == {names[p]}" for letter, p in pairs if p is not None]
            where = f" if {' and '.join(agree)}" if agree else ""
        else:
            over = zip(own.sets, pairs, strict=True)
            binders = [f"{letter} in {group}" for group, (letter, p) in over if p is None]
            where = ""
        at, values = np.searchsorted(rows, self.terms.at[found.entries]), self.terms.values
        columns = self.t.member[self.terms.columns[found.entries]]
        values = values[found.entries]
        wanted, outside, inside = f"{identifier(self.family.base)}_{variable.name}", "1", "1"
        depends = self._depends(found.entries)
        if depends in ("none", "row"):
            by_row = np.full(len(rows), values[0])  # also of rows whose slice is empty
            by_row[at] = values
            outside = draft.factor(wanted, index, names, by_row, line)
        else:
            of_rows = [] if depends == "column" else [index]
            table = np.zeros((len(rows) if of_rows else 1, len(own.places)))
            table[at if of_rows else 0, columns] = values
            name = draft.table(wanted, [*of_rows, own], table.reshape(-1).tolist(), line)
            inside = f"{name}[{', '.join([*(names if of_rows else []), *inner])}]"
        body = scaled(inside, f"{variable.name}[{', '.join(inner)}]")
        more = "".join(f" for {binder}" for binder in binders[1:])
        return scaled(outside, f"sum({body} for {binders[0]}{more}{where})")


def _reference(variable: Variable, single: Single, names: Sequence[str]) -> str:
    """Return a single term as it is named in the row's constraint."""
    parts = [
        domain.literal(step) if p < 0 else f"{names[p]}{step:+d}" if step else names[p]
        for domain, (p, step) in zip(variable.family.domains, single[1], strict=True)
    ]
    return f"{variable.name}[{', '.join(parts)}]" if parts else variable.name


def _between(
    t: Translation, body: str, kind: str, rows: Ints, owner: tuple[str, Index, Sequence[str]]
) -> str:
    """Return a body between the sides of its rows."""
    name, index, names = owner

    def side(values: Floats, word: str) -> str:
        suffix = word if kind == "range" else "rhs"
        return t.draft.factor(f"{name}_{suffix}", index, names, values[rows], t.line(int(rows[0])))

    if kind == "range":
        return f"{side(t.model.row_lower, 'min')} <= {body} <= {side(t.model.row_upper, 'max')}"
    sides = t.model.row_upper if kind == "<=" else t.model.row_lower
    return f"{body} {kind} {side(sides, 'rhs')}"


# --- rows without a common structure -----------------------------------------------------------


def _add_tabulated(t: Translation, rows: Sequence[int]) -> None:
    """Add rows that have equally many columns of each family as one constraint."""
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    order = np.array(rows, dtype=np.int64)
    terms = t.terms(order)
    ends = np.searchsorted(terms.at, np.arange(len(rows) + 1)).tolist()
    owners = t.owner[terms.columns].tolist()
    for k, row in enumerate(rows):
        key = t.kinds[row], tuple(sorted(owners[ends[k] : ends[k + 1]]))
        groups.setdefault(key, []).append(row)
    slots: dict[int, Index] = {}
    for (kind, owned), members in groups.items():
        _tabulated(t, kind, owned, np.array(members), slots)


def _tabulated(
    t: Translation, kind: str, owned: tuple[int, ...], rows: Ints, slots: dict[int, Index]
) -> None:
    draft, line = t.draft, t.line(int(rows[0]))
    row_names = [t.model.row_names[row] for row in rows.tolist()]
    domain = Domain(row_names)
    name = draft.domain_set(domain, "rows")
    index = draft.index((domain,), np.arange(len(rows))[:, None], name)
    letter, other = draft.letters[:2]
    terms = t.terms(rows)
    pieces = []
    for owner in dict.fromkeys(owned):
        count, variable = owned.count(owner), t.variables[owner]
        mine = t.owner[terms.columns] == owner
        columns, values = terms.columns[mine], terms.values[mine]
        names, over, binder = [letter], [index], ""
        if count > 1:
            if count not in slots:
                numbers = Domain([str(k + 1) for k in range(count)])
                draft.domain_set(numbers, f"K_{count}")
                slots[count] = draft.index((numbers,), np.arange(count)[:, None], "slots")
            names, over = [letter, other], [index, slots[count]]
            binder = slots[count].binders([other])[0]
        factor = number(float(values[0]))
        if not np.all(values == values[0]):
            table = draft.table(f"{name}_{variable.name}", over, values.tolist(), line)
            factor = f"{table}[{', '.join(names)}]"
        chosen = _chosen(t, variable, columns, f"{name}_{variable.name}_at", over, names)
        text = scaled(factor, chosen)
        pieces.append(f"sum({text} for {binder})" if binder else text)
    body = draft.total(pieces, name, index.binders([letter]), [letter])
    text = _between(t, body, kind, rows, (name, index, [letter]))
    title = row_names[0] if len(rows) == 1 else f"{len(rows)} rows"
    draft.add(name, title, index.binders([letter]), text, line)


def _chosen(
    t: Translation,
    variable: Variable,
    columns: Ints,
    wanted: str,
    over: Sequence[Index],
    names: Sequence[str],
) -> str:
    """Return a reference to columns of one variable that tables name."""
    if variable.index is None:
        return variable.name
    line, inside = t.model.column_lines[int(columns[0])], []
    places = variable.family.places[t.member[columns]]
    for domain, part, group in zip(
        variable.family.domains, places.T.tolist(), variable.index.parts, strict=True
    ):
        text = domain.literal(part[0])
        if len(set(part)) > 1:
            labels = [domain.labels[k] for k in part]
            text = f"{t.draft.table(wanted, over, labels, line, group)}[{', '.join(names)}]"
        inside.append(text)
    return f"{variable.name}[{', '.join(inside)}]"
