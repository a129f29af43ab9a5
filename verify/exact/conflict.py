"""An irreducible infeasible set, checked: the set allows nothing, and every part of it is needed.

That the members contradict one another is shown by a Farkas ray in rational arithmetic or, where
only whole numbers make them do so, by a tree of cases with a ray at every leaf. That a member is
needed is shown by a point which keeps all the others; it too is evaluated in fractions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from engiagent.verify.exact.bounds import contradiction, infeasible_cases, sizes
from engiagent.verify.exact.numbers import Fractions, floats, listed, read_off, written
from engiagent.verify.exact.programme import ExactProgramme, Linear
from engiagent.verify.levels.proposing import row_balanced, scaled
from engiagent.verify.values import Floats, Ints, grouped

ZERO: Final = Fraction(0)
LARGEST: Final = 200
"""How many members are checked one by one."""
ROOM: Final = Fraction(1, 10**9)
"""By how much of its terms a witness may miss a row, where no ray says that it must."""
Limits = tuple[Ints, Ints, Ints]
"""Which rows, lower and upper bounds of columns are kept."""


@dataclass(frozen=True)
class Member:
    """The rows of a constraint or the bounds of a variable, on one side or on both."""

    kind: str
    name: str
    side: str

    def __str__(self) -> str:
        side = "" if self.side == "both" else f" ({self.side})"
        return f"{self.kind} {self.name}{side}"


def members_of(claim: Any) -> tuple[Member, ...] | None:
    """Return the members that a claim names, None when it is no such list."""
    if not isinstance(claim, Sequence) or isinstance(claim, str):
        return None
    found = []
    for item in claim:
        if not isinstance(item, Mapping) or set(item) != {"kind", "name", "side"}:
            return None
        if item["kind"] not in ("constraint", "bound"):
            return None
        if item["side"] not in ("lower", "upper", "both") or not isinstance(item["name"], str):
            return None
        found.append(Member(item["kind"], item["name"], item["side"]))
    return tuple(found)


def checked(programme: ExactProgramme, system: Linear, members: Sequence[Member]) -> dict[str, Any]:
    """Return what is shown of a set of members, as JSON for the certificate.

    Returns ``members``, ``infeasible`` and ``irreducible`` (true, false, or None when undecided),
    ``proof`` and ``reason``.
    """
    body: dict[str, Any] = {
        "arithmetic": "exact",
        "members": [{"kind": m.kind, "name": m.name, "side": m.side} for m in members],
        "infeasible": None,
        "irreducible": None,
    }
    places = [_places(programme, system, member) for member in members]
    unknown = [str(m) for m, place in zip(members, places, strict=True) if place is None]
    twice = len(set(members)) < len(members)
    if unknown or twice or not members or len(members) > LARGEST:
        reason = (
            f"not affine or not there: {', '.join(unknown)}"
            if unknown
            else (
                "a member is named twice"
                if twice
                else f"between 1 and {LARGEST} members are checked"
            )
        )
        return {**body, "reason": reason}
    kept = [place for place in places if place is not None]
    proof, whole = _shown(_only(system, kept, False)), False
    if proof is None and any(system.whole):
        proof, whole = _shown(_only(system, kept, True), True), True
    if proof is None:
        reason = "the members were not shown to contradict one another"
        return {**body, "infeasible": False, "irreducible": False, "reason": reason}
    body |= {"infeasible": True, "proof": proof}
    for number, member in enumerate(members):
        rest = _only(system, [*kept[:number], *kept[number + 1 :]], whole)
        missed = _witness(rest, whole)
        lost = missed is None or missed > ROOM
        if (lost or missed) and _shown(rest, whole and lost) is not None:
            reason = f"the others contradict one another without {member}"
            return {**body, "irreducible": False, "reason": reason}
        if missed is None or lost:
            reason = f"no point was found that keeps all but {member}"
            return {**body, "irreducible": None, "reason": reason}
        body["members"][number]["witness_violation"] = written(missed)
    return {**body, "irreducible": True}


def _shown(system: Linear, whole: bool = False) -> str | None:
    """Return how a system is shown to allow nothing, None when it is not."""
    proof = contradiction(system)
    if proof is None and whole:
        leaves = infeasible_cases(system)
        proof = None if leaves is None else f"tree of {leaves} cases, each by a ray"
    return proof


# --- parts of a system -------------------------------------------------------------------------


def _places(programme: ExactProgramme, system: Linear, member: Member) -> Limits | None:
    """Return what a member keeps, None when there is no such thing that is affine."""
    none: Ints = np.zeros(0, dtype=np.int64)
    if member.kind == "bound":
        box = next((box for box in programme.boxes if box.name == member.name), None)
        if box is None:
            return None
        columns = np.arange(box.start, box.start + len(box.lower))
        lower = columns if member.side != "upper" else none
        upper = columns if member.side != "lower" else none
        return none, lower, upper
    base, _, digit = member.name.rpartition("__")
    rows = [row for row in programme.rows if row.rule.id == member.name]
    if not rows and digit.isdigit():
        rows = [r for r in programme.rows if r.rule.id == base and r.number == int(digit)]
    if len(rows) == 2 and member.side != "both":
        rising = rows[0].op != ">="
        rows = [rows[0] if (member.side == "lower") == rising else rows[1]]
    spans = [system.spans.get((row.rule.id, row.number)) for row in rows]
    if not spans or any(span is None for span in spans):
        return None
    found = [np.arange(span.start, span.stop) for span in spans if span is not None]
    return np.concatenate(found), none, none


def _only(system: Linear, kept: Sequence[Limits], whole: bool) -> Linear:
    """Return a system of chosen rows and bounds; whole numbers keep theirs if they count."""
    none: Ints = np.zeros(0, dtype=np.int64)
    rows = np.unique(np.concatenate([none, *(part[0] for part in kept)]))
    low = set(np.concatenate([none, *(part[1] for part in kept)]).tolist())
    high = set(np.concatenate([none, *(part[2] for part in kept)]).tolist())
    if whole:
        counted = np.flatnonzero([bool(step) for step in system.whole]).tolist()
        low, high = low | set(counted), high | set(counted)
    place = np.full(system.constant.size, -1)
    place[rows] = np.arange(rows.size)
    own = np.flatnonzero(place[system.rows] >= 0)
    return replace(
        system,
        rows=place[system.rows[own]],
        columns=system.columns[own],
        factors=system.factors[own],
        constant=system.constant[rows],
        equal=system.equal[rows],
        lower=[end if j in low else None for j, end in enumerate(system.lower)],
        upper=[end if j in high else None for j, end in enumerate(system.upper)],
        whole=system.whole if whole else listed([ZERO] * len(system.lower)),
    )


# --- feasible ----------------------------------------------------------------------------------


def _witness(system: Linear, whole: bool) -> Fraction | None:
    """Return by how much a point misses what is left, relative to its terms; None without one."""
    found = _point(system, whole)
    if found is None:
        return None
    missed = (_missed(system, _within(system, read_off(found, n))) for n in (6, 9, 12, 17))
    best = next(missed)
    for other in missed if best else ():
        best = min(best, other)
    return best


def _within(system: Linear, x: Fractions) -> Fractions:
    """Return a point moved into the bounds, its integers exactly whole."""
    moved = x.copy()
    for j, (low, high, step) in enumerate(
        zip(system.lower, system.upper, system.whole, strict=True)
    ):
        if step:
            moved[j] = Fraction(round(x[j] / step)) * step
        if low is not None:
            moved[j] = max(moved[j], low)
        if high is not None:
            moved[j] = min(moved[j], high)
    return moved


def _missed(system: Linear, x: Fractions) -> Fraction:
    """Return the largest violation of a row, relative to its terms, or of a bound that crosses."""
    rows = system.constant.size
    terms = system.factors * x[system.columns]
    values = grouped(terms, system.rows, rows) + system.constant
    sizes = grouped(abs(terms), system.rows, rows) + abs(system.constant)
    worst = ZERO
    for low, high in zip(system.lower, system.upper, strict=True):
        if low is not None and high is not None and low > high:
            worst = Fraction(1)
    for value, size, equal in zip(values, sizes, system.equal, strict=True):
        over = abs(value) if equal else value
        if over > 0:
            worst = max(worst, over / size if size else over)
    return worst


def _point(system: Linear, whole: bool) -> Floats | None:
    """Return a point that a solver finds, None when it finds none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    relaxation = system.relaxation()
    steps = floats(system.whole)
    scale = np.where(steps > 0, steps, sizes(relaxation))
    matrix, factors = row_balanced(scaled(relaxation.rows.matrix, columns=scale))
    right = -relaxation.rows.constant * factors
    lower = np.where(relaxation.equal, right, -np.inf)
    rows = [LinearConstraint(matrix, lower, right)] if system.constant.size else []
    found = milp(
        np.zeros(len(system.lower)),
        integrality=((steps > 0) & whole).astype(np.int64),
        bounds=Bounds(relaxation.lower / scale, relaxation.upper / scale),
        constraints=rows,
    )
    return None if found.x is None else np.asarray(found.x * scale)
