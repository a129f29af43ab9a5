"""What a partial schedule leaves out and the equations of the problem determine.

States follow from decisions by the models of their units (:mod:`engiagent.verify.case`). Beyond
that an equation that holds in each period says what its only unknown is: the import from a balance,
the electricity of a heater from its heat, what is curtailed from what is used. Equations are taken
one unknown at a time, again and again; nothing is chosen.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass
class _System:
    """Rows ``constant + sum(coefficients * unknowns) == 0``."""

    constants: list[float] = field(default_factory=list)
    entries: list[dict[Entry, float]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


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
    system = _system(declarations, equations, unknown, series)
    found, used, signed = _solved(system, unknown)
    return _as_series(unknown, found, used, signed)


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


def _system(
    declarations: Declarations,
    equations: Sequence[Equation],
    unknown: Sequence[Unknown],
    series: Mapping[str, Series],
) -> _System:
    """Return all rows in which something unknown stands, the unknowns taken as nought."""
    noughts: dict[str, Series] = {}
    for one in unknown:
        shape = tuple(dim.size for dim in one.dims)
        zero = -one.unit.origin / one.unit.scale  # SI nought
        empty = Series(one.name, np.full(shape, zero), one.unit, tuple(d.name for d in one.dims))
        noughts |= dict.fromkeys(one.names, empty)
    bench = Bench(declarations, {**series, **noughts})
    system = _System()
    try:
        for equation in equations:
            _add_rows(system, bench, equation, unknown)
    finally:
        bench.forget()
    return system


def _add_rows(
    system: _System, bench: Bench, equation: Equation, unknown: Sequence[Unknown]
) -> None:
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
            name = by_order.get(order)
            if name is None:
                continue
            for row, at, factor in zip(
                rows.tolist(), places.tolist(), factors.tolist(), strict=True
            ):
                entries[row][name, at] += factor
        for row, terms in entries.items():
            kept = {entry: factor for entry, factor in terms.items() if factor != 0.0}
            if kept:
                system.constants.append(float(difference.data[row]))
                system.entries.append(kept)
                system.sources.append(equation.id)


def _solved(
    system: _System, unknown: Sequence[Unknown]
) -> tuple[dict[Entry, float], dict[str, set[str]], set[str]]:
    """Return values of unknown elements in SI, from which equations, and which came by sign."""
    rows_of: dict[Entry, list[int]] = defaultdict(list)
    for row, terms in enumerate(system.entries):
        for entry in terms:
            rows_of[entry].append(row)
    found: dict[Entry, float] = {}
    used: dict[str, set[str]] = defaultdict(set)
    signed: set[str] = set()
    left = [len(terms) for terms in system.entries]
    waiting = deque(row for row, count in enumerate(left) if count == 1)
    pairs = {
        one.name: other.name
        for one in unknown
        for other in unknown
        for into, out in SIGNED
        if _owner(one, into) is not None and _owner(one, into) == _owner(other, out)
    }

    def settle(entry: Entry, value: float, row: int) -> None:
        found[entry] = value
        used[entry[0]].add(system.sources[row])
        for touched in rows_of[entry]:
            left[touched] -= 1
            if left[touched] == 1:
                waiting.append(touched)

    def work() -> None:
        while waiting:
            row = waiting.popleft()
            open_terms = [e for e in system.entries[row] if e not in found]
            if len(open_terms) == 1:
                value = _rest(system, row, found) / -system.entries[row][open_terms[0]]
                if np.isfinite(value):
                    settle(open_terms[0], value, row)

    work()
    for row in range(len(left)):
        pair = _pair(system, row, found, pairs) if left[row] == 2 else None
        if pair is None:
            continue
        into, out = pair
        net = _rest(system, row, found) / -system.entries[row][into]
        if np.isfinite(net):
            signed |= {into[0], out[0]}
            settle(into, max(net, 0.0), row)
            settle(out, max(-net, 0.0), row)
            work()
    return found, used, signed


def _owner(unknown: Unknown, word: str) -> str | None:
    owner, _, last = (unknown.quantity or unknown.name).rpartition(".")
    return owner if owner and last == word else None


def _rest(system: _System, row: int, found: Mapping[Entry, float]) -> float:
    terms = system.entries[row].items()
    return system.constants[row] + sum(f * found[e] for e, f in terms if e in found)


def _pair(
    system: _System, row: int, found: Mapping[Entry, float], pairs: Mapping[str, str]
) -> tuple[Entry, Entry] | None:
    """Return import and export of one period where they are all that a balance does not know."""
    terms = [e for e in system.entries[row] if e not in found]
    for into, out in (terms, terms[::-1]):
        opposite = system.entries[row][into] == -system.entries[row][out]
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
