"""What a partial schedule leaves out and the equations of its blueprint determine.

States follow from decisions by the models of their units (:mod:`engiagent.verify.case`). Beyond
that an equation that holds in each period says what its only unknown is: the import from a balance,
the electricity of a heater from its heat, what is curtailed from what is used. Equations are taken
one unknown at a time, again and again; nothing is chosen.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import ConstraintDef, Core
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench
from engiagent.verify.naming import Known
from engiagent.verify.series import Series
from engiagent.verify.sweeps import triplets

Entry = tuple[str, int]
"""A variable by its name, and an element of it."""

LAWS = (None, "Physical Laws", "Supply-Demand Balance")
"""Categories of equations that describe what is; what somebody wants is no law."""
MAX_ELEMENTS = 3_000_000


@dataclass(frozen=True, eq=False)
class _Unknown:
    """A variable that the schedule leaves out; ``exists``: its elements, where it is sparse."""

    names: tuple[str, ...]
    dims: tuple[IndexSet, ...]
    unit: Unit
    exists: npt.NDArray[np.bool_] | None

    def series(self, flat: npt.NDArray[np.float64]) -> Series:
        """Return it with numbers in SI."""
        data = self.unit.from_si(flat).reshape([dim.size for dim in self.dims])
        return Series(self.names[-1], data, self.unit, tuple(dim.name for dim in self.dims))

    @property
    def size(self) -> int:
        """How many elements its grid has."""
        return math.prod(dim.size for dim in self.dims)


class _Row(NamedTuple):
    """An equation ``constant + sum(terms * unknowns) == 0``."""

    constant: float
    terms: dict[Entry, float]
    source: str


def _solved(
    rows: Sequence[_Row], exports: Mapping[str, str]
) -> tuple[dict[Entry, float], dict[Entry, str]]:
    """Return the only unknown of a row, again and again: in SI, and by which equation.

    ``exports``: by an import the export beside it. Where these are all that a row does not know,
    the sign of their sum tells them apart; no row is asked for it while another has one unknown.
    """
    found: dict[Entry, float] = {}
    sources: dict[Entry, str] = {}
    left = [len(row.terms) for row in rows]
    rows_of: dict[Entry, list[int]] = defaultdict(list)
    for k, row in enumerate(rows):
        for entry in row.terms:
            rows_of[entry].append(k)
    single = deque(k for k, count in enumerate(left) if count == 1)
    every = iter(range(len(rows)))
    while (k := single.popleft() if single else next(every, -1)) >= 0:
        if not 0 < left[k] < 3:
            continue
        row = rows[k]
        known = sum(factor * found[e] for e, factor in row.terms.items() if e in found)
        unknown = [entry for entry in row.terms if entry not in found]
        into, *out = sorted(unknown, key=lambda entry: entry[0] not in exports)
        net, source = -(row.constant + known) / row.terms[into], row.source
        settled = {into: net}
        if out:
            pair = exports.get(into[0]), into[1], -row.terms[into]
            apart = {into: max(net, 0.0), out[0]: max(-net, 0.0)}
            settled = apart if pair == (*out[0], row.terms[out[0]]) else {}
            source += ", import and export by the sign of their sum"
        for entry, value in settled.items() if math.isfinite(net) else ():
            found[entry], sources[entry] = value, source
            for touched in rows_of[entry]:
                left[touched] -= 1
                if left[touched] == 1:
                    single.append(touched)
    return found, sources


def completed(
    core: Core, known: Known, series: Mapping[str, Series]
) -> tuple[dict[str, Series], list[str]]:
    """Return the series that the equations of a blueprint determine, and a note for each.

    ``known``: what the documents speak of. ``series``: what is given or was recomputed already.
    """
    declarations = known.declared(core)
    try:
        unknown = list(_unknown(core, Bench(declarations, series)))
    except EngiagentError:
        return {}, []  # the levels say what is wrong with the documents
    if not series or not unknown or sum(one.size for one in unknown) > MAX_ELEMENTS:
        return {}, []
    noughts = {name: one.series(np.zeros(one.size)) for one in unknown for name in one.names}
    bench = Bench(declarations, {**series, **noughts})
    laws = [c for c in core.constraints if c.hard is not False and c.category in LAWS]
    try:
        rows = [row for law in laws for row in _rows_of(bench, law, unknown)]
    finally:
        bench.forget()
    imports, exports = (
        {n.removesuffix(way): one.names[0] for one in unknown for n in one.names if n.endswith(way)}
        for way in (".import", ".export")
    )
    pairs = {imports[owner]: exports[owner] for owner in imports.keys() & exports.keys()}
    found, sources = _solved(rows, pairs)
    added: dict[str, Series] = {}
    notes = []
    for one in unknown:
        places = np.arange(one.size) if one.exists is None else np.flatnonzero(one.exists)
        elements = [(one.names[0], place) for place in places.tolist()]
        if elements and all(element in found for element in elements):
            data = np.full(one.size, np.nan)
            data[places] = [found[element] for element in elements]
            added |= dict.fromkeys(one.names, one.series(data))
            by = ", ".join(sorted({sources[element] for element in elements}))
            notes.append(f"{one.names[-1]} is not in the schedule: recomputed from {by}")
    return added, notes


def _unknown(core: Core, bench: Bench) -> Iterator[_Unknown]:
    """Yield the variables of a blueprint that are not given."""
    for variable in core.decision_variables:
        if variable.name not in bench.series and variable.quantity not in bench.series:
            names = tuple(dict.fromkeys(n for n in (variable.name, variable.quantity) if n))
            dims, _ = bench.declarations.dims(variable.index)
            yield _Unknown(names, dims, parse_unit(variable.unit or "1"), bench.mask(variable))


def _rows_of(bench: Bench, law: ConstraintDef, unknown: Sequence[_Unknown]) -> Iterator[_Row]:
    """Yield the rows of an equation in which something unknown stands."""
    try:
        frame = bench.evaluator.frame(law.forall, law.where)
        compared = bench.evaluator.compared(law.expression, frame)
    except EngiagentError:
        bench.evaluator.faults = []
        return  # it needs what nobody gives, or is no comparison: it determines nothing
    names = {name: one.names[0] for one in unknown for name in one.names}
    by_order = {v.order: names[name] for name, v in bench.variables.items() if name in names}
    for op, left, right in compared:
        difference = arithmetic.add(left, right, -1.0)
        if op != "==" or difference.degree != 1:
            continue
        entries: dict[int, dict[Entry, float]] = defaultdict(lambda: defaultdict(float))
        for order, coefficients in triplets(difference).items():
            if order in by_order:
                listed = zip(*(part.tolist() for part in coefficients), strict=True)
                for row, at, factor in listed:
                    entries[row][by_order[order], at] += factor
        for row, terms in entries.items():
            there = {entry: factor for entry, factor in terms.items() if factor != 0.0}
            if there:
                yield _Row(float(difference.data[row]), there, law.constraint_id)


def listed(given: Iterable[str], recomputed: Iterable[str]) -> str:
    """Return the note that says what a schedule gave and what was recomputed."""
    return (
        f"given in the schedule: {', '.join(sorted(set(given))) or 'nothing'}; "
        f"recomputed: {', '.join(sorted(set(recomputed)))}"
    )
