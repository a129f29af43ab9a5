"""An irreducible infeasible set, checked: the set allows nothing, and every part of it is needed.

That the members contradict one another is shown by a Farkas ray in rational arithmetic or, where
only whole numbers make them do so, by a tree of cases with a ray at every leaf. That a member is
needed is shown by a point which keeps all the others; it too is evaluated in fractions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from engiagent.verify.exact import bounds, proposals
from engiagent.verify.exact.cases import halves
from engiagent.verify.exact.forms import Entries
from engiagent.verify.exact.numbers import Fractions, floats, fraction, grouped, written
from engiagent.verify.exact.programme import ExactProgramme, Linear
from engiagent.verify.levels.proposing import row_balanced, scaled
from engiagent.verify.values import Floats, Ints

ZERO: Final = Fraction(0)
CASES: Final = 400
"""How many leaves a tree may have."""
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

    Returns
    -------
    dict
        ``members``, ``infeasible`` and ``irreducible`` (true, false, or None when undecided),
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
    whole = False
    proof = contradiction(_only(system, kept, whole))
    if proof is None and any(system.whole):
        whole = True
        proof = _tree(_only(system, kept, whole))
    if proof is None:
        return {
            **body,
            "infeasible": False,
            "irreducible": False,
            "reason": "the members were not shown to contradict one another",
        }
    body |= {"infeasible": True, "proof": proof}
    for number, member in enumerate(members):
        rest = _only(system, [*kept[:number], *kept[number + 1 :]], whole)
        missed = _witness(rest, whole)
        if missed is None or missed[0] > missed[1]:
            needless = contradiction(rest) is not None or (whole and _tree(rest) is not None)
            return {
                **body,
                "irreducible": False if needless else None,
                "reason": (
                    f"the others contradict one another without {member}"
                    if needless
                    else f"no point was found that keeps all but {member}"
                ),
            }
        body["members"][number]["witness_violation"] = written(missed[0])
        if missed[0] > 0 and contradiction(rest) is not None:
            return {
                **body,
                "irreducible": False,
                "reason": f"the others contradict one another without {member}",
            }
    return {**body, "irreducible": True}


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
    blocks = [block for block in programme.blocks if block.rule.id == member.name]
    if not blocks and digit.isdigit():
        blocks = [b for b in programme.blocks if b.rule.id == base and b.number == int(digit)]
    if len(blocks) == 2 and member.side != "both":
        rising = blocks[0].op != ">="
        blocks = [blocks[0] if (member.side == "lower") == rising else blocks[1]]
    spans = [system.starts.get((block.rule.id, block.number)) for block in blocks]
    if not spans or any(span is None for span in spans):
        return None
    rows = [np.arange(span.start, span.stop) for span in spans if span is not None]
    return np.concatenate(rows), none, none


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
    own = np.flatnonzero(place[system.entries.rows] >= 0)
    entries = Entries(
        place[system.entries.rows[own]], system.entries.columns[own], system.entries.factors[own]
    )
    steps = system.whole if whole else np.array([ZERO] * len(system.lower), dtype=object)
    return Linear(
        entries,
        system.ops[rows],
        system.constant[rows],
        [end if j in low else None for j, end in enumerate(system.lower)],
        [end if j in high else None for j, end in enumerate(system.upper)],
        steps,
        {},
    )


# --- infeasible --------------------------------------------------------------------------------


def contradiction(system: Linear) -> str | None:
    """Return how bounds or a ray contradict one another, None when they were not shown to."""
    for low, high in zip(system.lower, system.upper, strict=True):
        if low is not None and high is not None and low > high:
            return "bounds that cross"
    if not system.constant.size:
        return None
    proposed = proposals.ray(system, _inside(system))
    if proposed is None:
        return None
    most = float(np.abs(proposed).max(initial=0.0))
    for least in (1e-12, 1e-9, 1e-7):
        weights = np.where(np.abs(proposed) > least * most, proposed, 0.0)
        for digits in bounds.DIGITS:
            for read in (weights, _scaled(system, weights)):
                y = np.array(bounds.read_off(read, digits), dtype=object)
                margin = bounds.farkas_margin(system, y, (system.lower, system.upper)).value
                if margin is not None and margin > 0:
                    return "ray"
    mended = _exact_ray(system, np.flatnonzero(np.abs(proposed) > 1e-9 * most), proposed)
    margin = bounds.farkas_margin(system, mended, (system.lower, system.upper)).value
    return "ray" if margin is not None and margin > 0 else None


def _scaled(system: Linear, weights: Floats) -> Floats:
    """Return weights over the largest of them: ratios of whole numbers stay such."""
    most = float(np.abs(weights).max(initial=0.0))
    return weights / most if most > 0 else weights


def _exact_ray(system: Linear, rows: Ints, near: Floats) -> Fractions:
    """Return weights of chosen rows that cancel exactly in every column without a needed bound.

    Columns without bounds need sums that vanish; these are linear equations in the weights, solved
    by elimination in fractions near to weights that a solver proposed.
    """
    entries = system.entries
    places = {int(row): k for k, row in enumerate(rows.tolist())}
    equations: dict[int, dict[int, Fraction]] = {}
    for row, column, factor in zip(
        entries.rows.tolist(), entries.columns.tolist(), entries.factors, strict=True
    ):
        open_ended = system.lower[column] is None or system.upper[column] is None
        if row in places and open_ended:
            equations.setdefault(column, {})[places[row]] = factor
    solved = _eliminated(
        [eq for column, eq in equations.items() if _must_vanish(system, column, eq, rows, near)]
    )
    y = np.array([ZERO] * system.constant.size, dtype=object)
    values: dict[int, Fraction] = {}
    for k in range(rows.size):
        if k not in solved:
            values[k] = fraction(float(near[rows[k]]))
    for k, terms in solved.items():
        values[k] = sum((-f * values[j] for j, f in terms.items()), ZERO)
    for k, value in values.items():
        y[rows[k]] = value
    return y


def _must_vanish(
    system: Linear, column: int, equation: Mapping[int, Fraction], rows: Ints, near: Floats
) -> bool:
    """Whether the weights of a column sum up to nothing within rounding."""
    terms = [float(factor) * float(near[rows[k]]) for k, factor in equation.items()]
    none = system.lower[column] is None and system.upper[column] is None
    return none or abs(sum(terms)) <= 1e-6 * sum(abs(term) for term in terms)


def _eliminated(equations: Sequence[Mapping[int, Fraction]]) -> dict[int, dict[int, Fraction]]:
    """Return by pivot what each solved unknown is of the free ones: ``x_p = -sum(f x)``."""
    solved: dict[int, dict[int, Fraction]] = {}
    for equation in equations:
        row = dict(equation)
        for pivot, terms in solved.items():
            if pivot in row:
                _subtract(row, {pivot: Fraction(1), **terms}, row[pivot])
        if not row:
            continue
        pivot = next(iter(row))
        lead = row.pop(pivot)
        fresh = {k: factor / lead for k, factor in row.items()}
        for terms in solved.values():
            if pivot in terms:
                _subtract(terms, {pivot: Fraction(1), **fresh}, terms[pivot])
        solved[pivot] = fresh
    return solved


def _subtract(row: dict[int, Fraction], other: Mapping[int, Fraction], factor: Fraction) -> None:
    for k, value in other.items():
        left = row.get(k, ZERO) - factor * value
        if left:
            row[k] = left
        else:
            row.pop(k, None)


def _inside(system: Linear) -> Fractions:
    """Return a point within the bounds, for the size of things."""
    point = [
        low if low is not None else high if high is not None else ZERO
        for low, high in zip(system.lower, system.upper, strict=True)
    ]
    return np.array([*point, ZERO], dtype=object)[:-1]


def _tree(system: Linear) -> str | None:
    """Return that all cases of whole numbers are contradictory, None when some was not shown."""
    waiting, leaves = [system], 0
    while waiting:
        part = waiting.pop()
        if contradiction(part) is not None:
            leaves += 1
            continue
        x = _point(part, whole=False)
        if x is None or leaves + len(waiting) > CASES:
            return None
        cases = list(halves(part, x))
        if not cases:
            return None
        waiting += cases
    return f"tree of {leaves} cases, each by a ray"


# --- feasible ----------------------------------------------------------------------------------


def _witness(system: Linear, whole: bool) -> tuple[Fraction, Fraction] | None:
    """Return by how much a point misses what is left, relative to its terms, and what it may.

    Nothing is missed by most points, read off to few digits; equations with long figures are kept
    to the last digit of a double only.
    """
    found = _point(system, whole)
    if found is None:
        return None
    best: Fraction | None = None
    for digits in (6, 9, 12, 17):
        x = np.array([*bounds.read_off(found, digits), ZERO], dtype=object)[:-1]
        x = _within(system, x)
        missed = _missed(system, x)
        best = missed if best is None else min(best, missed)
        if not best:
            break
    return None if best is None else (best, ROOM)


def _within(system: Linear, x: Fractions) -> Fractions:
    """Return a point moved into the bounds, its whole numbers exactly whole."""
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
    entries, rows = system.entries, system.constant.size
    terms = entries.factors * x[entries.columns]
    values = grouped(terms, entries.rows, rows) + system.constant
    sizes = grouped(abs(terms), entries.rows, rows) + abs(system.constant)
    worst = ZERO
    for low, high in zip(system.lower, system.upper, strict=True):
        if low is not None and high is not None and low > high:
            worst = max(worst, Fraction(1))
    for value, size, op in zip(values, sizes, system.ops, strict=True):
        over = abs(value) if op == "==" else value if op == "<=" else -value
        if over > 0:
            worst = max(worst, over / size if size else over)
    return worst


def _point(system: Linear, whole: bool) -> Floats | None:
    """Return a point that a solver finds, None when it finds none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    size = len(system.lower)
    relaxation = proposals.as_relaxation(system, None, _inside(system), 1)
    steps = floats(system.whole)
    scale = np.where(steps > 0, steps, proposals.scales(relaxation))
    matrix, factors = row_balanced(scaled(relaxation.rows.matrix, columns=scale))
    right = -relaxation.rows.constant * factors
    lower = np.where(relaxation.equal, right, -np.inf)
    rows = [LinearConstraint(matrix, lower, right)] if system.constant.size else []
    found = milp(
        np.zeros(size),
        integrality=((steps > 0) & whole).astype(np.int64),
        bounds=Bounds(relaxation.lower / scale, relaxation.upper / scale),
        constraints=rows,
    )
    return None if found.x is None else np.asarray(found.x * scale)
