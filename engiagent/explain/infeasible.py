"""Why there is no plan, or no best one: requirements that clash, or a direction without end.

Proposals are the least by which limits are relaxed for a plan to exist, limit by limit and in
total. Each is rounded up to four digits, put into the model and solved again; and a solve shows
that a hundredth less is not enough. What could not be shown in the time given says so.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.explain.conflicts import Statements
from engiagent.explain.explanation import (
    Change,
    Clash,
    Explanation,
    Growth,
    Member,
    Proposal,
    Unbounded,
)
from engiagent.explain.labels import difference_unit, is_point, shown, where_of
from engiagent.explain.limits import Limit, Limits
from engiagent.explain.places import Text
from engiagent.explain.relaxed import without_gaps
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.elastic import Elastic, Give, demands_of, elastic, widened
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.iis import Conflict, irreducible_set, without
from engiagent.solvers.narrowing import narrowed, of_elements
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve

DIGITS: Final = 4
NEGLIGIBLE: Final = 1e-7
"""A change by less than this, relative to the limit and to 1, is within a solver's tolerance."""


def rounded_up(amount: float) -> float:
    """Return an amount rounded away from zero, so that it is still enough.

    >>> rounded_up(0.78341), rounded_up(-12.00001), rounded_up(0.4)
    (0.7835, -12.01, 0.4)
    """
    if amount == 0 or not math.isfinite(amount):
        return amount
    unit = 10.0 ** (math.floor(math.log10(abs(amount))) - DIGITS + 1)
    # What the last bits say is no reason for another digit.
    steps = math.ceil(abs(amount) / unit - 1e-6)
    return math.copysign(float(f"{steps * unit:.{DIGITS + 1}g}"), amount)


def change_text(limit: Limit, amounts: Floats, limits: Limits) -> str:
    """Return how a limit gives way, in words.

    ``amounts``: signed, in the unit of the quantity, (1,) for a shift of all elements or (k,).
    """
    shift = amounts.size == 1
    first = float(amounts[0]) if shift else 0.0
    at = f" at {limit.where}" if limit.where else ""
    if limit.side == "both" and limit.plain:
        if shift:
            return f"set {limit.title}{at} to {_range(limit, limit.values + first)} " + (
                f"instead of {_range(limit, limit.values)}"
            )
        old = _range(limit, limit.values)
        return f"change {limit.title} from {old} by {_by_element(limit, amounts, limits)}"
    rises = bool(np.any(amounts > 0))
    verb, name = ("raise" if rises else "lower"), f"the {limit.side} limit of {limit.title}{at}"
    if not limit.plain:
        verb, name = "loosen", f"“{limit.subject}”"
    if not shift:
        return f"{verb} {name} only where needed: {_by_element(limit, amounts, limits)}"
    by = f"{verb} {name} by {shown(abs(first), limit.step_unit)}"
    if not limit.plain:
        return by
    on = " while it is switched on" if limit.gated and limit.active else ""
    return f"{by}{on}, from {_range(limit, limit.values)} to {_range(limit, limit.values + first)}"


def _by_element(limit: Limit, amounts: Floats, limits: Limits) -> str:
    """Return amounts by element, runs of equal ones together."""
    pieces = [
        f"{shown(abs(amount), limit.step_unit)} {f'at {where}' if where else 'everywhere'}"
        for where, amount in by_amount(limit, amounts, limits)
    ]
    more = f"; and {len(pieces) - 6} more" if len(pieces) > 6 else ""
    return "; ".join(pieces[:6]) + more


def by_amount(limit: Limit, amounts: Floats, limits: Limits) -> Sequence[tuple[str, float]]:
    """Return the elements at which a limit moves by each amount, in their order."""
    if amounts.size == 1:
        return [(limit.where, float(amounts[0]))]
    found: dict[float, list[int]] = {}
    for place, amount in zip(limit.places.tolist(), amounts.tolist(), strict=True):
        if amount != 0:
            found.setdefault(amount, []).append(place)
    return [(limits.where(limit, np.array(places)), amount) for amount, places in found.items()]


def _range(limit: Limit, values: Floats) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        return shown(low, limit.unit)
    return f"{shown(low, None)} to {shown(high, limit.unit)}"


TOLERANCE: Final = 0.01  # how near to the least a proposal is shown to be, relative to it
KELVINS: Final = 10.0
"""The change of a quantity with an arbitrary zero that counts like a limit in full."""
LEAST: Final = 1e-2


@dataclass(frozen=True, eq=False)
class Repairs:
    """The search for the least changes of one program that has no plan."""

    limits: Limits
    deadline: float

    @property
    def program(self) -> Program:
        """The program that has no plan."""
        return self.limits.program

    def single(self, limit: Limit) -> Iterator[Proposal]:
        """Yield the least shift of one limit, and the least changes of its elements."""
        shift = self._proposal("shift", [limit], shared=True)
        if shift is not None:
            yield shift
        if len(limit.places) == 1:
            return
        each = self._proposal("elements", [limit], shared=False)
        if each is not None:
            yield each

    def total(self, soft: Sequence[Limit]) -> Proposal | None:
        """Return the least total change of several limits, relative to what each is."""
        return self._proposal("total", soft, shared=False)

    # -- one proposal -------------------------------------------------------------------------

    def _proposal(
        self, kind: Literal["shift", "elements", "total"], chosen: Sequence[Limit], *, shared: bool
    ) -> Proposal | None:
        gives = list(_gives(chosen, shared, relative=kind == "total"))
        relaxed = elastic(self.program, gives)
        x = self._point(relaxed.program, LEAST * TOLERANCE)
        if x is None:
            return None
        rounded = [(limit, _rounded(limit, amounts)) for limit, amounts in _net(relaxed, x)]
        rounded = [(limit, amounts) for limit, amounts in rounded if np.any(amounts)]
        if not rounded:
            return None
        least = float(relaxed.program.cost @ x)
        changes = tuple(self._change(limit, amounts) for limit, amounts in rounded)
        return Proposal(
            kind=kind,
            changes=changes,
            text="; and ".join(change.text for change in changes),
            verified=self._holds(rounded),
            minimal=self._impossible(relaxed.within((1.0 - TOLERANCE) * least)),
            tolerance=TOLERANCE,
        )

    def _change(self, limit: Limit, amounts: Floats) -> Change:
        return Change(
            name=limit.family.name,
            kind=limit.family.kind,
            side=limit.side,
            subject=limit.subject,
            unit=limit.step_unit,
            amounts=tuple(by_amount(limit, amounts, self.limits)),
            text=change_text(limit, amounts, self.limits),
        )

    def _holds(self, changes: Sequence[tuple[Limit, Floats]]) -> bool:
        """Whether a plan exists with some changes, in the unit of the quantities."""
        moved = []
        for limit, amounts in changes:
            in_rows = amounts * limit.scale
            up = bool(np.any(in_rows > 0)) or limit.family.side == "both"
            moved.append((Give(limit, up, False), in_rows if up else -in_rows))
        return self._point(demands_of(widened(self.program, moved))) is not None

    # -- solving ------------------------------------------------------------------------------

    def _solved(self, program: Program, gap: float | None = None) -> SolverResult | None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        options = SolveOptions(time_limit=left)
        try:
            options = options if gap is None else replace(options, gap=gap)
            return solve(program, options, isolate=False)
        except EngiagentError:
            return None

    def _point(self, program: Program, gap: float | None = None) -> Floats | None:
        result = self._solved(program, gap)
        found = result is not None and result.status in ("optimal", "feasible")
        return result.x if result is not None and found else None

    def _impossible(self, program: Program) -> bool:
        result = self._solved(program)
        return result is not None and result.status == "infeasible"


def _gives(chosen: Sequence[Limit], shared: bool, *, relative: bool) -> Iterator[Give[Limit]]:
    """Yield the directions in which limits may give way: an equation may in both."""
    for limit in chosen:
        weight = 1.0 / (size_of(limit) * abs(limit.scale)) if relative else 1.0
        for up in (True, False):
            if limit.family.side in ("both", "upper" if up else "lower"):
                yield Give(limit, up, shared, weight)


def size_of(limit: Limit) -> float:
    """Return the change that counts as 1 in a total, in the unit of the quantity."""
    if is_point(limit.unit):
        return KELVINS
    largest = float(np.max(np.abs(limit.values), initial=0.0))
    return largest if largest > 0 else 1.0


def _net(relaxed: Elastic[Limit], x: Floats) -> Iterator[tuple[Limit, Floats]]:
    """Yield by how much each limit moves in the end, signed, in the unit of its quantity."""
    found: dict[int, tuple[Limit, Floats]] = {}
    for give, amounts in zip(relaxed.gives, relaxed.amounts(x), strict=True):
        signed = amounts / give.limit.scale * (1.0 if give.up else -1.0)
        before = found.get(id(give.limit))
        found[id(give.limit)] = (give.limit, signed if before is None else before[1] + signed)
    yield from found.values()


def _rounded(limit: Limit, amounts: Floats) -> Floats:
    """Return amounts rounded up; those within a solver's tolerance are none."""
    size = np.max(np.abs(limit.values)) if amounts.size == 1 else np.abs(limit.values)
    counts = np.abs(amounts) > NEGLIGIBLE * np.maximum(1.0, size)
    return np.array([rounded_up(a) if k else 0.0 for a, k in zip(amounts, counts, strict=True)])


MOST_CLASHES: Final = 4
NOTHING: Final = 1e-9
"""What is less than this, relative to the largest part of a direction, is rounding."""
SHARE_OF_SEARCH: Final = 0.4
"""The share of the time in which the demands that clash are looked for."""


def explain_infeasible(
    blueprint: Blueprint, folder: Path | None, text: Text, *, name: str, seconds: float
) -> Explanation:
    """Return the demands of a blueprint that clash, and what would let a plan exist.

    ``blueprint``: expanded or not; its wishes (``hard: false``) and its objective do not count;
    ``seconds``: for everything together.
    """
    started = time.monotonic()
    demands = without_gaps(expand(blueprint))
    program: Program = compile_blueprint(demands, folder)
    said = Statements(demands, folder or Path(), text)
    conflict = irreducible_set(program, seconds=SHARE_OF_SEARCH * seconds)
    if conflict is None:
        notes: tuple[str, ...] = (_why_none(program),)
        summary = "no plan meets all requirements"
        return Explanation(problem=name, kind="infeasible", summary=summary, notes=notes)
    limits = Limits(program, said)
    conflicts = [conflict, *_further(conflict, limits, started + SHARE_OF_SEARCH * seconds)]
    share = SHARE_OF_SEARCH / 2 * seconds / len(conflicts)
    clashes = tuple(_clash(found, limits, seconds=share) for found in conflicts)
    proposals, notes = _proposals(conflict, Repairs(limits, started + seconds))
    count = len(clashes[0].members)
    why = f"these {count} cannot hold together, and each is needed for that"
    why = "one of them cannot hold by itself" if count == 1 else why
    return Explanation(
        problem=name,
        kind="infeasible",
        summary=f"no plan meets all requirements: {why}",
        clashes=clashes,
        proposals=proposals,
        notes=notes,
    )


def _further(conflict: Conflict, limits: Limits, deadline: float) -> Iterator[Conflict]:
    """Yield clashes that remain when what could give way in the ones before is left out."""
    found: Conflict | None = conflict
    program = limits.program
    for _ in range(MOST_CLASHES - 1):
        assert found is not None
        soft = [m.family for m in found.members if limits.of(m.family).soft]
        left = deadline - time.monotonic()
        if not soft or left <= 0:
            return
        program = without(program, soft)
        found = irreducible_set(program, seconds=left)
        if found is None:
            return
        yield found


def _why_none(program: Program) -> str:
    if not program.is_linear:
        return (
            "no set of linear requirements clashes, so the products, functions or conditions in "
            "the model are part of why there is no plan; which, was not found out"
        )
    return "no smallest set of requirements that clash was found in the time given"


def _clash(conflict: Conflict, limits: Limits, *, seconds: float) -> Clash:
    """Return a conflict in words, narrowed to the elements that matter."""
    found = narrowed(conflict, seconds=seconds)
    small = of_elements(conflict, found)
    members = []
    for member in small.members:
        limit = limits.of(member.family)
        part = limits.said.part(member, member.family.side, conflict.program)
        members.append(
            Member(
                name=member.family.name,
                kind=member.family.kind,
                side=member.family.side,
                part=part,
                soft=limit.soft,
                reason=limit.reason,
            )
        )
    proof = {**limits.said.proof(small), "elements_least": found.least}
    return Clash(members=tuple(members), proof=proof)


def _proposals(
    conflict: Conflict, repairs: Repairs
) -> tuple[tuple[Proposal, ...], tuple[str, ...]]:
    """Return what each soft member alone would have to give; else the least of all together.

    Whatever makes a plan possible has to touch every set that clashes, so no limit outside this
    one can do so alone.
    """
    chosen = [repairs.limits.of(member.family) for member in conflict.members]
    soft = [limit for limit in chosen if limit.soft]
    found: list[Proposal] = []
    notes: list[str] = []
    for limit in soft:
        try:
            found += repairs.single(limit)
        except EngiagentError as error:
            notes.append(f"what {limit.subject} would have to give was not found out: {error}")
    if not soft:
        notes.append(
            "none of these requirements can be relaxed: they are laws, balances or given data, so "
            "a number in them must be wrong"
        )
    if not found:
        every = [limit for limit in repairs.limits.all() if limit.soft]
        total = repairs.total(every) if every else None
        if total is not None:
            found.append(total)
            notes.append(
                "no single limit is enough; the least total change counts each limit "
                "relative to its size"
            )
        elif time.monotonic() < repairs.deadline:
            notes.append("no change of bounds, capacities and requirements makes a plan possible")
    if time.monotonic() >= repairs.deadline:
        notes.append("time ran out before every way was looked at; --time-limit gives more")
    return tuple(found), tuple(notes)


# -- no best plan ---------------------------------------------------------------------------------


def explain_unbounded(program: Program, ray: Floats) -> Unbounded:
    """Return a direction of endless improvement, shape (n,), in words."""
    ray = np.where(np.abs(ray) > NOTHING * float(np.max(np.abs(ray), initial=0.0)), ray, 0.0)
    gain = float(program.cost @ ray)
    size = float(np.max(np.abs(ray), initial=0.0))
    scaled = ray / size if size > 0 else ray
    parts = [(b, runs) for b in program.columns if (runs := list(_runs(program, b, scaled)))]
    growths = [
        _growth(block, rate, where)
        for block, runs in sorted(parts, key=lambda p: p[0].generated)
        for rate, where in runs
    ]
    return Unbounded(
        gain=gain / size if size > 0 else 0.0,
        unit=program.objective_unit,
        sense=program.sense,
        growths=tuple(growths),
        checked=is_ray(program, ray),
    )


def is_ray(program: Program, ray: Floats) -> bool:
    """Whether a direction stays within every linear limit for ever and improves the objective."""
    size = float(np.max(np.abs(ray), initial=0.0))
    if not (np.isfinite(size) and size > 0):
        return False
    step = ray / size
    counts = np.diff(program.row_starts)
    owner = np.repeat(np.arange(program.row_count), counts)
    terms = program.row_values * step[program.row_columns]
    moved = np.bincount(owner, terms, program.row_count).astype(np.float64)
    room = NOTHING * np.maximum(1.0, np.bincount(owner, np.abs(terms), program.row_count))
    rows = _stays(moved, program.row_lower, program.row_upper, room)
    columns = _stays(step, program.column_lower, program.column_upper, np.full(len(step), NOTHING))
    gain = float(program.cost @ step) * (1.0 if program.sense == "maximize" else -1.0)
    linear = not len(program.products.rows) and not program.nonlinear
    return bool(rows and columns and gain > 0 and linear)


def _stays(moved: Floats, lower: Floats, upper: Floats, room: Floats) -> bool:
    falls = np.isinf(lower) | (moved >= -room)
    rises = np.isinf(upper) | (moved <= room)
    return bool(np.all(falls) and np.all(rises))


def _runs(program: Program, block: ColumnBlock, ray: Floats) -> Iterator[tuple[float, str]]:
    """Yield each rate at which elements of a block grow, with the elements."""
    rates = np.round(ray[block.start : block.stop], 9)
    for rate in dict.fromkeys(rates[rates != 0].tolist()):
        inside = np.flatnonzero(rates == rate)
        positions = inside if block.positions is None else block.positions[inside]
        yield float(rate), where_of(block.sets, block.shape, positions, program)


def _growth(block: ColumnBlock, rate: float, where: str) -> Growth:
    unit, subject = difference_unit(block.unit), block.quantity or block.name
    verb, side = ("grows", "upper") if rate > 0 else ("falls", "lower")
    at = f" at {where}" if where else " everywhere" if block.shape else ""
    text = f"{subject} {verb} by {shown(abs(rate), unit)}{at}"
    if not block.generated:
        text += f"; it has no {side} limit"
    return Growth(
        name=block.name,
        subject=subject,
        unit=unit,
        rate=rate,
        where=where,
        open_side=side,
        text=text,
    )
