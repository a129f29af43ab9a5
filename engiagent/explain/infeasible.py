"""Why there is no plan, or no best one: requirements that clash, or a direction without end."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.explain import explanation as told
from engiagent.explain.conflicts import Statements
from engiagent.explain.explanation import Clash, Growth, Proposal, Unbounded
from engiagent.explain.labels import difference_unit, shown, where_of
from engiagent.explain.limits import Limits
from engiagent.explain.places import Text
from engiagent.explain.proposals import Repairs
from engiagent.explain.relaxed import without_gaps
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.iis import Conflict, irreducible_set, without
from engiagent.solvers.narrowing import narrowed, of_elements

MOST_CLASHES: Final = 4
NOTHING: Final = 1e-9
"""What is less than this, relative to the largest part of a direction, is rounding."""
SHARE_OF_SEARCH: Final = 0.4
"""The share of the time in which the demands that clash are looked for."""


def explain_infeasible(
    blueprint: Blueprint, folder: Path | None, text: Text, *, name: str, seconds: float
) -> told.Explanation:
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
        return told.Explanation(problem=name, kind="infeasible", summary=summary, notes=notes)
    limits = Limits(program, said)
    conflicts = [conflict, *_further(conflict, limits, started + SHARE_OF_SEARCH * seconds)]
    share = SHARE_OF_SEARCH / 2 * seconds / len(conflicts)
    clashes = tuple(_clash(found, limits, seconds=share) for found in conflicts)
    proposals, notes = _proposals(conflict, Repairs(limits, started + seconds))
    count = len(clashes[0].members)
    why = f"these {count} cannot hold together, and each is needed for that"
    why = "one of them cannot hold by itself" if count == 1 else why
    return told.Explanation(
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
            told.Member(
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
