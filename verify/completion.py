"""What a partial schedule leaves out and the equations of the problem determine.

States follow from decisions by the models of their units (:mod:`engiagent.verify.case`). Beyond
that an equation that holds in each period says what its only unknown is: the import from a balance,
the electricity of a heater from its heat, what is curtailed from what is used. Equations are taken
one unknown at a time, again and again; nothing is chosen.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Core
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.naming import Known
from engiagent.verify.requirements import Requirements
from engiagent.verify.series import Series
from engiagent.verify.sweeps import triplets
from engiagent.verify.vocabulary import declared_unit, is_state

Floats = npt.NDArray[np.float64]
Entry = tuple[str, int]

LAWS = (None, "Physical Laws", "Supply-Demand Balance")
"""Categories of equations that describe what is; what somebody wants is no law."""
MAX_ELEMENTS = 3_000_000
SIGNED = (("import", "export"),)


@dataclass(frozen=True)
class Unknown:
    """A variable or quantity that the schedule leaves out."""

    name: str
    quantity: str | None
    dims: tuple[IndexSet, ...]
    unit: Unit
    exists: npt.NDArray[np.bool_]

    @property
    def names(self) -> list[str]:
        """The names under which others look for it."""
        return list(dict.fromkeys(n for n in (self.name, self.quantity) if n))


@dataclass(frozen=True)
class Equation:
    """A comparison by ``==`` over some rows."""

    id: str
    expression: str
    forall: tuple[str, ...]
    where: str | None


@dataclass(eq=False)
class _Row:
    """An equation ``constant + sum(coefficients * unknowns) == 0``; ``left`` are not yet known."""

    constant: float
    terms: dict[Entry, float]
    source: str
    left: int

    def unknown(self, found: Mapping[Entry, float]) -> list[Entry]:
        """Return the elements that are not yet known."""
        return [entry for entry in self.terms if entry not in found]

    def solved_for(self, entry: Entry, found: Mapping[Entry, float]) -> float:
        """Return what an element is with all that is known."""
        known = sum(factor * found[e] for e, factor in self.terms.items() if e in found)
        return -(self.constant + known) / self.terms[entry]


def completed(
    core: Core | None, requirements: Requirements | None, known: Known, series: Mapping[str, Series]
) -> tuple[dict[str, Series], list[str]]:
    """Return the series that the equations determine, and a note for each.

    Parameters
    ----------
    core
        The blueprint's; None without one, when the requirements' equations count.
    known
        What the documents speak of.
    series
        What the schedule gives, and what was already recomputed.
    """
    document = core if core is not None else None if requirements is None else requirements.core
    if document is None or not series:
        return {}, []
    declarations = known.declared(document)
    try:
        if core is not None:
            unknown, equations = _of_core(core, declarations, series), _laws(core)
        else:
            assert requirements is not None
            unknown = _of_quantities(known.quantities, declarations, series)
            equations = [
                Equation(r.id, r.expression, r.forall, r.where) for r in requirements.requirements
            ]
    except EngiagentError:
        return {}, []  # the levels say what is wrong with the documents
    if not unknown or sum(u.exists.size for u in unknown) > MAX_ELEMENTS:
        return {}, []
    rows = _rows(declarations, equations, unknown, series)
    return _as_series(unknown, *_solved(rows, unknown))


def _laws(core: Core) -> list[Equation]:
    return [
        Equation(c.constraint_id, c.expression, c.forall, c.where)
        for c in core.constraints
        if c.hard is not False and c.category in LAWS
    ]


def _of_core(core: Core, declarations: Declarations, series: Mapping[str, Series]) -> list[Unknown]:
    bench = Bench(declarations, series)
    found = []
    for variable in core.decision_variables:
        if variable.name in series or variable.quantity in series:
            continue
        dims, _ = declarations.dims(variable.index)
        mask = bench.mask(variable)
        size = int(np.prod([dim.size for dim in dims], dtype=np.int64))
        exists = np.ones(size, dtype=bool) if mask is None else mask
        unit = parse_unit(variable.unit or "1")
        found.append(Unknown(variable.name, variable.quantity, dims, unit, exists))
    return found


def _of_quantities(
    quantities: frozenset[str], declarations: Declarations, series: Mapping[str, Series]
) -> list[Unknown]:
    """Return physical quantities that are not given; each runs over the one time set."""
    timed = [s for s in declarations.sets.values() if s.kind == "time"]
    if len(timed) != 1:
        return []
    found = []
    for name in sorted(quantities):
        unit = declared_unit(name)
        if name in series or unit is None or is_state(name):
            continue
        found.append(Unknown(name, None, (timed[0],), unit, np.ones(timed[0].size, dtype=bool)))
    return found


def _rows(
    declarations: Declarations,
    equations: Sequence[Equation],
    unknown: Sequence[Unknown],
    series: Mapping[str, Series],
) -> list[_Row]:
    """Return all rows in which something unknown stands, the unknowns taken as nought."""
    noughts: dict[str, Series] = {}
    for one in unknown:
        shape = tuple(dim.size for dim in one.dims)
        zero = -one.unit.origin / one.unit.scale  # SI nought
        empty = Series(one.name, np.full(shape, zero), one.unit, tuple(d.name for d in one.dims))
        noughts |= dict.fromkeys(one.names, empty)
    bench = Bench(declarations, {**series, **noughts})
    try:
        return [row for equation in equations for row in _rows_of(bench, equation, unknown)]
    finally:
        bench.forget()


def _rows_of(bench: Bench, equation: Equation, unknown: Sequence[Unknown]) -> Iterator[_Row]:
    try:
        frame = bench.evaluator.frame(equation.forall, equation.where)
        compared = bench.evaluator.compared(equation.expression, frame)
    except EngiagentError:
        bench.evaluator.faults = []
        return  # it needs what nobody gives, or is no comparison: it determines nothing
    by_order = {
        value.order: one.name
        for one in unknown
        for name, value in bench.variables.items()
        if name in one.names
    }
    for op, left, right in compared:
        difference = arithmetic.add(left, right, -1.0)
        if op != "==" or difference.degree != 1:
            continue
        entries: dict[int, dict[Entry, float]] = defaultdict(lambda: defaultdict(float))
        for order, (rows, places, factors) in triplets(difference).items():
            if order not in by_order:
                continue
            listed = zip(rows.tolist(), places.tolist(), factors.tolist(), strict=True)
            for row, at, factor in listed:
                entries[row][by_order[order], at] += factor
        for row, terms in entries.items():
            there = {entry: factor for entry, factor in terms.items() if factor != 0.0}
            if there:
                yield _Row(float(difference.data[row]), there, equation.id, len(there))


def _solved(
    rows: Sequence[_Row], unknown: Sequence[Unknown]
) -> tuple[dict[Entry, float], dict[str, set[str]], set[str]]:
    """Return values of unknown elements in SI, from which equations, and which came by sign."""
    rows_of: dict[Entry, list[_Row]] = defaultdict(list)
    for row in rows:
        for entry in row.terms:
            rows_of[entry].append(row)
    found: dict[Entry, float] = {}
    used: dict[str, set[str]] = defaultdict(set)
    signed: set[str] = set()
    waiting = deque(row for row in rows if row.left == 1)
    pairs = {
        one.name: other.name
        for one in unknown
        for other in unknown
        for into, out in SIGNED
        if _owner(one, into) is not None and _owner(one, into) == _owner(other, out)
    }

    def settle(entry: Entry, value: float, row: _Row) -> None:
        found[entry] = value
        used[entry[0]].add(row.source)
        for touched in rows_of[entry]:
            touched.left -= 1
            if touched.left == 1:
                waiting.append(touched)

    def work() -> None:
        while waiting:
            row = waiting.popleft()
            left = row.unknown(found)
            value = row.solved_for(left[0], found) if len(left) == 1 else np.nan
            if np.isfinite(value):
                settle(left[0], value, row)

    work()
    for row in rows:
        pair = _pair(row, found, pairs) if row.left == 2 else None
        net = np.nan if pair is None else row.solved_for(pair[0], found)
        if pair is not None and np.isfinite(net):
            signed |= {entry[0] for entry in pair}
            settle(pair[0], max(net, 0.0), row)
            settle(pair[1], max(-net, 0.0), row)
            work()
    return found, used, signed


def _owner(unknown: Unknown, word: str) -> str | None:
    owner, _, last = (unknown.quantity or unknown.name).rpartition(".")
    return owner if owner and last == word else None


def _pair(
    row: _Row, found: Mapping[Entry, float], pairs: Mapping[str, str]
) -> tuple[Entry, Entry] | None:
    """Return import and export of one period where they are all that a balance does not know."""
    terms = row.unknown(found)
    for into, out in (terms, terms[::-1]):
        opposite = row.terms[into] == -row.terms[out]
        if opposite and into[1] == out[1] and pairs.get(into[0]) == out[0]:
            return into, out
    return None


def _as_series(
    unknown: Sequence[Unknown],
    found: Mapping[Entry, float],
    used: Mapping[str, set[str]],
    signed: set[str],
) -> tuple[dict[str, Series], list[str]]:
    """Return the unknowns that are determined everywhere."""
    added: dict[str, Series] = {}
    notes = []
    for one in unknown:
        places = np.flatnonzero(one.exists).tolist()
        if not places or any((one.name, place) not in found for place in places):
            continue
        data = np.full(one.exists.size, np.nan)
        data[places] = [found[one.name, place] for place in places]
        shown = one.unit.from_si(data)
        shape = tuple(dim.size for dim in one.dims)
        dims = tuple(dim.name for dim in one.dims)
        full = Series(one.names[-1], shown.reshape(shape), one.unit, dims)
        added |= dict.fromkeys(one.names, full)
        by = ", ".join(sorted(used[one.name]))
        how = ", import and export by the sign of their sum" if one.name in signed else ""
        notes.append(f"{one.names[-1]} is not in the schedule: recomputed from {by}{how}")
    return added, notes


def listed(given: Iterable[str], recomputed: Iterable[str]) -> str:
    """Return the note that says what a schedule gave and what was recomputed."""
    return (
        f"given in the schedule: {', '.join(sorted(set(given))) or 'nothing'}; "
        f"recomputed: {', '.join(sorted(set(recomputed)))}"
    )
