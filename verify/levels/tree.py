r"""Bounds by cases: whole numbers, and which side of a minimum or maximum counts.

A linear relaxation says little where a plan has to choose. So the cases are gone through: a whole
number is at most :math:`k` or at least :math:`k + 1`; of :math:`m = \min(a, b)` either
:math:`a \le m` or :math:`b \le m`. The bound of the whole is the least of the bounds of its cases,
each recomputed safely from multipliers (:mod:`engiagent.verify.levels.relaxed`), so that nothing
hangs on the solver that proposes them. The search is limited by cases, not seconds: the answer must
not depend on the machine.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.verify.documents import Bench
from engiagent.verify.frames import Bools
from engiagent.verify.levels.forms import Form, stacked
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.minorants import Block, Pieces, pieces_of
from engiagent.verify.levels.optimality import DualBound
from engiagent.verify.levels.proposing import Proposer
from engiagent.verify.levels.relaxation import CLOSE, least_violation, needs_of, prepared
from engiagent.verify.levels.relaxed import Relaxation, safe_bound
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.values import Floats

METHOD: Final = "bound over all cases, each recomputed from multipliers"
CASES: Final = 400
LARGEST: Final = 20_000
"""Columns above which no cases are tried."""
WHOLE: Final = 1e-6
SHARPER: Final = 4
"""How often tangents are added where the optimum of one case lies off its curves."""


@dataclass(frozen=True, eq=False)
class Case:
    """A part of what is allowed: a box and further rows ``form <= 0``."""

    lower: Floats
    upper: Floats
    rows: tuple[Form, ...] = ()


@dataclass(order=True, frozen=True)
class _Open:
    bound: float
    number: int
    case: Case = field(compare=False)
    optimum: Floats = field(compare=False)


def bound_by_cases(
    bench: Bench, core: Core, objective: Objective, boxes: Mapping[str, Bounds]
) -> DualBound:
    """Return a bound of the objective from below (from above when maximising), in SI.

    Parameters
    ----------
    core
        Variables of type ``integer`` and ``binary`` have to be whole.
    """
    made = prepared(bench, core, objective, boxes)
    if isinstance(made, str):
        return DualBound(None, reason=made)
    relaxation, point, whole = made
    if relaxation.lower.size > LARGEST:
        return DualBound(None, reason=f"more than {LARGEST} columns: no cases were tried")
    sign = 1.0 if objective.sense == "minimize" else -1.0
    value = sign * float(objective.node.data[0])
    found = _search(relaxation, point, whole, value)
    return DualBound(None if found is None else sign * found)


def _search(relaxation: Relaxation, point: Floats, whole: Floats, value: float) -> float | None:
    """Return the least bound over all cases; None when one has no bound."""
    enough = value - CLOSE * max(abs(value), 1e-9)
    numbers = count()
    waiting: list[_Open] = []
    closed = np.inf
    first = Case(relaxation.lower, relaxation.upper)
    fresh = [first]
    needs, propose = needs_of(relaxation), Proposer(relaxation, point)
    for _ in range(CASES):
        for case in fresh:
            bound, optimum = _sharpened(relaxation, propose, needs, case, point, enough)
            if bound is None:
                return None
            if bound >= enough or optimum is None:
                closed = min(closed, bound)
            else:
                heapq.heappush(waiting, _Open(bound, next(numbers), case, optimum))
        if not waiting:
            break
        worst = heapq.heappop(waiting)
        fresh = list(_halves(relaxation, worst, whole))
        if not fresh:  # nothing left to choose: the relaxation itself is what is weak
            closed = min(closed, worst.bound)
            fresh = []
            break
    else:
        closed = min([closed, *[item.bound for item in waiting]])
        return closed if not fresh or waiting else None
    return float(min([closed, *[item.bound for item in waiting]]))


def _sharpened(
    relaxation: Relaxation,
    propose: Proposer,
    needs: Bools,
    case: Case,
    point: Floats,
    enough: float,
) -> tuple[float | None, Floats | None]:
    """Return what :func:`_solved` does, after tangents where the optimum of the case lies.

    They hold in every case, so that they stay.
    """
    bound, optimum = _solved(relaxation, propose, case, point)
    for _ in range(SHARPER):
        if (
            bound is None
            or optimum is None
            or bound >= enough
            or not _cut(relaxation, needs, optimum)
        ):
            break
        sharper, place = _solved(relaxation, propose, case, point)
        if sharper is None:
            break
        gained = sharper - bound
        bound, optimum = max(bound, sharper), place
        if not gained > CLOSE * max(abs(bound), 1e-9):
            break
    return bound, optimum


def _cut(relaxation: Relaxation, needs: Bools, x: Floats) -> bool:
    """Add the pieces at a point that it is on the wrong side of; returns whether there are any."""
    known = len(relaxation.pieces)
    relaxation.add_pieces(needs, x)
    new = relaxation.pieces[known:]
    del relaxation.pieces[known:]
    for block, piece in new:
        at = x[block.start + piece.rows]
        should = piece.form.at(x)
        off = np.flatnonzero(piece.side * (should - at) > WHOLE * np.maximum(1.0, np.abs(should)))
        if off.size:
            kept = replace(piece, rows=piece.rows[off], form=piece.form.take(off))
            relaxation.pieces.append((block, kept))
    return len(relaxation.pieces) > known


def _part(relaxation: Relaxation, case: Case) -> Relaxation:
    size = relaxation.lower.size
    return replace(
        relaxation,
        rows=stacked([relaxation.rows, *case.rows], size),
        equal=np.concatenate(
            (relaxation.equal, np.zeros(sum(form.size for form in case.rows), dtype=bool))
        ),
        lower=case.lower,
        upper=case.upper,
        pieces=[*relaxation.pieces, *_narrowed(relaxation, case)],
    )


def _narrowed(relaxation: Relaxation, case: Case) -> Iterator[tuple[Block, Pieces]]:
    """Yield McCormick's planes of the products whose factors have less room in a case.

    A product with a whole number is exact where the case fixes that number.
    """
    for block in relaxation.blocks:
        if block.kind != "product":
            continue
        ends = tuple(form.interval(case.lower, case.upper) for form in block.forms)
        less = np.zeros(block.size, dtype=bool)
        for (low, high), (least, most) in zip(ends, block.ends, strict=True):
            less |= (low > least) | (high < most)
        for side in (1, -1) if less.any() else ():
            for piece in pieces_of(replace(block, ends=ends), side, None):
                keep = np.flatnonzero(less[piece.rows])
                if keep.size:
                    yield block, Pieces(side, piece.rows[keep], piece.form.take(keep))


def _solved(
    relaxation: Relaxation, propose: Proposer, case: Case, point: Floats
) -> tuple[float | None, Floats | None]:
    """Return the safe bound of a case and the optimum of its relaxation; infinite for no plan."""
    if (case.lower > case.upper).any():
        return np.inf, None
    part = _part(relaxation, case)
    solved = propose(case.lower, case.upper, part.pieces, case.rows)
    if solved is None:
        least = least_violation(part, point)
        return (np.inf, None) if least is not None and least > 0 else (None, None)
    optimum, y, w = solved
    return safe_bound(part, y, w), optimum


def _halves(relaxation: Relaxation, at: _Open, whole: Floats) -> Iterator[Case]:
    """Yield the cases into which one falls; none when its optimum already keeps everything."""
    x = at.optimum
    steps = np.where(whole > 0, whole, 1.0)
    count = x / steps
    off = np.where(whole > 0, np.abs(count - np.round(count)), 0.0)
    place = int(np.argmax(off))
    if off[place] > WHOLE:
        down, up = at.case.upper.copy(), at.case.lower.copy()
        down[place] = np.floor(count[place]) * steps[place]
        up[place] = np.ceil(count[place]) * steps[place]
        yield replace(at.case, upper=np.minimum(down, at.case.upper))
        yield replace(at.case, lower=np.maximum(up, at.case.lower))
        return
    worst: tuple[float, tuple[Form, ...], int] = (0.0, (), 0)
    for block in relaxation.blocks:
        if block.kind not in ("min", "max") or block.rows is not None:
            continue
        span = slice(block.start, block.start + block.size)
        side = 1.0 if block.kind == "min" else -1.0
        reached = np.min([side * form.at(x) for form in block.forms], axis=0)
        miss = reached - side * x[span]
        row = int(np.argmax(miss))
        scale = max(1.0, abs(float(reached[row])))
        if miss[row] > WHOLE * scale and miss[row] / scale > worst[0]:
            sided = tuple(form.take([row]).times(np.full(1, side)) for form in block.forms)
            worst = (float(miss[row] / scale), sided, block.start + row)
            turn = side
    if not worst[1]:
        yield from _settled(relaxation, at, whole)
        return
    import scipy.sparse as sp

    pick = sp.csr_matrix(([turn], ([0], [worst[2]])), shape=(1, x.size))
    atom = Form(pick, np.zeros(1), np.zeros(1))
    for form in worst[1]:
        yield replace(at.case, rows=(*at.case.rows, form.plus(atom, -1.0)))


def _settled(relaxation: Relaxation, at: _Open, whole: Floats) -> Iterator[Case]:
    """Yield cases of a whole number with room in a product that the relaxation has wrong.

    At its value in the optimum it is fixed in one of them, so that the product becomes exact.
    """
    x, case = at.optimum, at.case
    room = (whole > 0) & (case.lower < case.upper)
    worst, place = WHOLE, -1
    for block in relaxation.blocks:
        if block.kind != "product":
            continue
        should = block.forms[0].at(x) * block.forms[1].at(x)
        miss = np.abs(x[block.start : block.start + block.size] - should)
        miss = miss / np.maximum(1.0, np.abs(should))
        for row in np.flatnonzero(miss > worst):
            columns = np.concatenate([form.matrix[[row]].indices for form in block.forms])
            columns = columns[room[columns]]
            if columns.size and miss[row] > worst:
                worst, place = float(miss[row]), int(columns[0])
    if place < 0:
        return
    step = whole[place]
    number = np.round(x[place] / step)
    fixed = number * step
    for low, high in (
        (case.lower[place], (number - 1) * step),
        (fixed, fixed),
        ((number + 1) * step, case.upper[place]),
    ):
        if low <= high:
            lower, upper = case.lower.copy(), case.upper.copy()
            lower[place], upper[place] = low, high
            yield replace(case, lower=lower, upper=upper)
