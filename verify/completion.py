"""What a partial schedule leaves out and the equations of the problem determine.

States follow from decisions by the models of their units (:mod:`engiagent.verify.case`). Beyond
that an equation that holds in each period says what its only unknown is: the import from a balance,
the electricity of a heater from its heat, what is curtailed from what is used. Equations are taken
one unknown at a time, again and again; nothing is chosen.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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

    @property
    def places(self) -> list[int]:
        """The elements that exist."""
        found = range(self.size) if self.exists is None else np.flatnonzero(self.exists).tolist()
        return list(found)


@dataclass(eq=False)
class _Row:
    """An equation ``constant + sum(terms * unknowns) == 0`` of which ``left`` are not yet known."""

    constant: float
    terms: dict[Entry, float]
    source: str
    left: int


@dataclass
class _Solving:
    """Unknown elements in SI as they become known, and from which equations."""

    rows: Sequence[_Row]
    found: dict[Entry, float] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    signed: set[str] = field(default_factory=set)
    """What came by the sign of a sum."""

    def __post_init__(self) -> None:
        self.rows_of: dict[Entry, list[_Row]] = defaultdict(list)
        for row in self.rows:
            for entry in row.terms:
                self.rows_of[entry].append(row)
        self.waiting = deque(row for row in self.rows if row.left == 1)

    def unknown(self, row: _Row) -> list[Entry]:
        return [entry for entry in row.terms if entry not in self.found]

    def solved(self, row: _Row, entry: Entry) -> float:
        """Return what an element is with all that is known."""
        known = sum(f * self.found[e] for e, f in row.terms.items() if e in self.found)
        return -(row.constant + known) / row.terms[entry]

    def settle(self, entry: Entry, value: float, row: _Row) -> None:
        self.found[entry] = value
        self.used[entry[0]].add(row.source)
        for touched in self.rows_of[entry]:
            touched.left -= 1
            if touched.left == 1:
                self.waiting.append(touched)

    def one_by_one(self) -> None:
        """Settle what is the only unknown of a row, again and again."""
        while self.waiting:
            row = self.waiting.popleft()
            left = self.unknown(row)
            value = self.solved(row, left[0]) if len(left) == 1 else np.nan
            if np.isfinite(value):
                self.settle(left[0], value, row)

    def by_sign(self, pairs: Mapping[str, str]) -> None:
        """Settle import and export where they are all that a balance does not know."""
        for row in self.rows:
            left = self.unknown(row) if row.left == 2 else []
            for into, out in (left, left[::-1]) if left else ():
                alike = into[1] == out[1] and row.terms[into] == -row.terms[out]
                net = self.solved(row, into) if alike and pairs.get(into[0]) == out[0] else np.nan
                if np.isfinite(net):
                    self.signed |= {into[0], out[0]}
                    self.settle(into, max(net, 0.0), row)
                    self.settle(out, max(-net, 0.0), row)
                    self.one_by_one()
                    break


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
        work = _Solving([row for one in equations for row in _rows_of(bench, one, unknown)])
    finally:
        bench.forget()
    work.one_by_one()
    imports, exports = (
        {n.removesuffix(way): one.names[0] for one in unknown for n in one.names if n.endswith(way)}
        for way in (".import", ".export")
    )
    work.by_sign({imports[owner]: exports[owner] for owner in imports.keys() & exports.keys()})
    return _determined(unknown, work)


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
                yield _Row(float(difference.data[row]), there, identifier, len(there))


def _determined(unknown: Sequence[Unknown], work: _Solving) -> tuple[dict[str, Series], list[str]]:
    """Return the unknowns that are determined everywhere."""
    added: dict[str, Series] = {}
    notes = []
    for one in unknown:
        places, name = one.places, one.names[0]
        if not places or any((name, place) not in work.found for place in places):
            continue
        data = np.full(one.size, np.nan)
        data[places] = [work.found[name, place] for place in places]
        added |= dict.fromkeys(one.names, one.series(data))
        by = ", ".join(sorted(work.used[name]))
        how = ", import and export by the sign of their sum" if name in work.signed else ""
        notes.append(f"{one.names[-1]} is not in the schedule: recomputed from {by}{how}")
    return added, notes


def listed(given: Iterable[str], recomputed: Iterable[str]) -> str:
    """Return the note that says what a schedule gave and what was recomputed."""
    return (
        f"given in the schedule: {', '.join(sorted(set(given))) or 'nothing'}; "
        f"recomputed: {', '.join(sorted(set(recomputed)))}"
    )
