"""What a partial schedule leaves out and the equations of the problem determine.

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
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.naming import Known
from engiagent.verify.requirements import Requirement, Requirements
from engiagent.verify.series import Series
from engiagent.verify.sweeps import triplets
from engiagent.verify.vocabulary import declared_unit, is_state

Entry = tuple[str, int]
"""A variable or quantity by its name, and an element of it."""

LAWS = (None, "Physical Laws", "Supply-Demand Balance")
"""Categories of equations that describe what is; what somebody wants is no law."""
MAX_ELEMENTS = 3_000_000


@dataclass(frozen=True, eq=False)
class Unknown:
    """A variable or quantity that the schedule leaves out."""

    names: tuple[str, ...]
    dims: tuple[IndexSet, ...]
    unit: Unit
    exists: npt.NDArray[np.bool_] | None = None

    def series(self, flat: npt.NDArray[np.float64]) -> Series:
        """Return it with numbers in SI."""
        shape = tuple(dim.size for dim in self.dims)
        data = self.unit.from_si(flat).reshape(shape)
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


class _Found(NamedTuple):
    """An unknown that became known: its value in SI, by which equation, by a sign or outright."""

    value: float
    source: str
    signed: bool


def _solved(rows: Sequence[_Row], exports: Mapping[str, str]) -> dict[Entry, _Found]:
    """Return the only unknown of a row, again and again.

    ``exports``: by an import the export beside it. Where these are all that a row does not know,
    the sign of their sum tells them apart; no row is asked for it while another has one unknown.
    """
    found: dict[Entry, _Found] = {}
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
        known = sum(f * found[e].value for e, f in row.terms.items() if e in found)
        into, *out = sorted(
            (e for e in row.terms if e not in found), key=lambda e: e[0] not in exports
        )
        net = -(row.constant + known) / row.terms[into]
        settled = {into: net}
        for entry in out:
            pair = exports.get(into[0]), into[1], -row.terms[into]
            apart = {into: max(net, 0.0), entry: max(-net, 0.0)}
            settled = apart if pair == (*entry, row.terms[entry]) else {}
        for entry, value in settled.items() if math.isfinite(net) else ():
            found[entry] = _Found(value, row.source, len(settled) == 2)
            for touched in rows_of[entry]:
                left[touched] -= 1
                if left[touched] == 1:
                    single.append(touched)
    return found


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
    equations: Sequence[ConstraintDef | Requirement]
    try:
        if core is not None:
            unknown = list(_variables(core, Bench(declarations, series)))
            equations = [c for c in core.constraints if c.hard is not False and c.category in LAWS]
        else:
            unknown = list(_quantities(known.quantities, declarations, series))
            equations = () if requirements is None else requirements.requirements
    except EngiagentError:
        return {}, []  # the levels say what is wrong with the documents
    if not unknown or sum(one.size for one in unknown) > MAX_ELEMENTS:
        return {}, []
    noughts = {name: one.series(np.zeros(one.size)) for one in unknown for name in one.names}
    bench = Bench(declarations, {**series, **noughts})
    try:
        rows = [row for one in equations for row in _rows_of(bench, one, unknown)]
    finally:
        bench.forget()
    imports, exports = (
        {n.removesuffix(way): one.names[0] for one in unknown for n in one.names if n.endswith(way)}
        for way in (".import", ".export")
    )
    pairs = {imports[owner]: exports[owner] for owner in imports.keys() & exports.keys()}
    return _determined(unknown, _solved(rows, pairs))


def _variables(core: Core, bench: Bench) -> Iterator[Unknown]:
    """Yield the variables of a blueprint that are not given."""
    for variable in core.decision_variables:
        if variable.name not in bench.series and variable.quantity not in bench.series:
            names = tuple(dict.fromkeys(n for n in (variable.name, variable.quantity) if n))
            dims, _ = bench.declarations.dims(variable.index)
            yield Unknown(names, dims, parse_unit(variable.unit or "1"), bench.mask(variable))


def _quantities(
    quantities: frozenset[str], declarations: Declarations, series: Mapping[str, Series]
) -> Iterator[Unknown]:
    """Yield physical quantities that are not given; each runs over the one time set."""
    timed = [s for s in declarations.sets.values() if s.kind == "time"]
    for name in sorted(quantities) if len(timed) == 1 else ():
        unit = declared_unit(name)
        if name not in series and unit is not None and not is_state(name):
            yield Unknown((name,), (timed[0],), unit)


def _rows_of(
    bench: Bench, equation: ConstraintDef | Requirement, unknown: Sequence[Unknown]
) -> Iterator[_Row]:
    """Yield the rows of an equation in which something unknown stands."""
    identifier = equation.id if isinstance(equation, Requirement) else equation.constraint_id
    try:
        frame = bench.evaluator.frame(equation.forall, equation.where)
        compared = bench.evaluator.compared(equation.expression, frame)
    except EngiagentError:
        bench.evaluator.faults = []
        return  # it needs what nobody gives, or is no comparison: it determines nothing
    by_order = {
        bench.variables[name].order: one.names[0]
        for one in unknown
        for name in one.names
        if name in bench.variables
    }
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
                yield _Row(float(difference.data[row]), there, identifier)


def _determined(
    unknown: Sequence[Unknown], found: Mapping[Entry, _Found]
) -> tuple[dict[str, Series], list[str]]:
    """Return the unknowns that are determined everywhere, and a note for each."""
    added: dict[str, Series] = {}
    notes = []
    for one in unknown:
        every = range(one.size) if one.exists is None else np.flatnonzero(one.exists).tolist()
        elements = {place: found.get((one.names[0], place)) for place in every}
        values = [element for element in elements.values() if element is not None]
        if not values or len(values) < len(elements):
            continue
        data = np.full(one.size, np.nan)
        data[list(elements)] = [element.value for element in values]
        added |= dict.fromkeys(one.names, one.series(data))
        by = ", ".join(sorted({element.source for element in values}))
        signed = any(element.signed for element in values)
        how = ", import and export by the sign of their sum" if signed else ""
        notes.append(f"{one.names[-1]} is not in the schedule: recomputed from {by}{how}")
    return added, notes


def listed(given: Iterable[str], recomputed: Iterable[str]) -> str:
    """Return the note that says what a schedule gave and what was recomputed."""
    return (
        f"given in the schedule: {', '.join(sorted(set(given))) or 'nothing'}; "
        f"recomputed: {', '.join(sorted(set(recomputed)))}"
    )
