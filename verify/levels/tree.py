"""Bounds by cases: integers, and which side of a minimum or maximum counts.

The bound of the whole is the least of the bounds of its cases, each recomputed safely from
multipliers, so that nothing hangs on the solver that proposes them. The search is limited by cases,
not seconds: the answer must not depend on the machine.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, NamedTuple

import numpy as np

from engiagent.verify.frames import Bools
from engiagent.verify.levels.algebra import DualBound
from engiagent.verify.levels.forms import Form, stacked
from engiagent.verify.levels.minorants import Block, Pieces, pieces_of
from engiagent.verify.levels.relaxation import CLOSED_GAP, Programme, least_violation, needs_of
from engiagent.verify.levels.relaxed import Proposer, Relaxation
from engiagent.verify.values import Floats

CASES: Final = 400
"""How many cases are solved before the search ends with what it has."""
METHOD: Final = "bound over all cases, each recomputed from duals"
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


class _Solved(NamedTuple):
    """What is shown of a case: no plan in it is better than ``bound``.

    ``optimum`` is where its relaxation has its best, None where it allows nothing.
    """

    bound: float
    optimum: Floats | None


def bound_by_cases(built: Programme) -> DualBound:
    """Return a bound of the objective from below (from above when maximising), in SI."""
    if built.relaxation.lower.size > LARGEST:
        return DualBound(None, reason=f"more than {LARGEST} columns: no cases were tried")
    relaxation, point, value = replace(built.relaxation, pieces=[]), built.point, built.value
    needs = needs_of(relaxation)
    for at in (None, point):
        relaxation.add_pieces(needs, at)
    search = _Search(relaxation, point, built.whole, needs, Proposer(relaxation, point))
    found = search.least(value - CLOSED_GAP * max(abs(value), 1e-9))
    return DualBound(None if found is None else built.sign * found, method=METHOD)


@dataclass(frozen=True, eq=False)
class _Search:
    relaxation: Relaxation
    point: Floats
    whole: Floats
    needs: Bools
    propose: Proposer

    def least(self, enough: float) -> float | None:
        """Return the least bound over all cases; None when one has none.

        ``enough``: a bound that closes a case, as the plan at hand is no better.
        """
        numbers, tried = count(), 0
        waiting: list[tuple[float, int, Case, Floats]] = []
        closed: list[float] = []
        fresh = [Case(self.relaxation.lower, self.relaxation.upper)]
        while fresh:
            for case in fresh:
                tried += 1
                found = self._solved(case, enough)
                if found is None:
                    return None
                if found.bound >= enough or found.optimum is None:
                    closed.append(found.bound)
                else:
                    heapq.heappush(waiting, (found.bound, next(numbers), case, found.optimum))
            if not waiting or tried >= CASES:
                break
            bound, _, case, optimum = heapq.heappop(waiting)
            fresh = list(_halves(self.relaxation, case, optimum, self.whole))
            if not fresh:  # then the relaxation itself is what is weak
                closed.append(bound)
        return min([*closed, *(item[0] for item in waiting)])

    def _solved(self, case: Case, enough: float) -> _Solved | None:
        """Return the safe bound of a case and the optimum of its relaxation.

        Tangents are added where the optimum lies off its curves; they hold in every case, so that
        they stay.
        """
        found = self._once(case)
        for _ in range(SHARPER):
            if found is None or found.optimum is None or found.bound >= enough:
                break
            sharper = self._once(case) if _cut(self.relaxation, self.needs, found.optimum) else None
            if sharper is None:
                break
            gained = sharper.bound - found.bound
            found = _Solved(max(found.bound, sharper.bound), sharper.optimum)
            if not gained > CLOSED_GAP * max(abs(found.bound), 1e-9):
                break
        return found

    def _once(self, case: Case) -> _Solved | None:
        if (case.lower > case.upper).any():
            return _Solved(np.inf, None)
        part = _part(self.relaxation, case)
        solved = self.propose.bounded(part, case.rows)
        if solved is None:
            least = least_violation(part, self.point)
            return _Solved(np.inf, None) if least is not None and least > 0 else None
        return None if solved[1] is None else _Solved(solved[1], solved[0])


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
    """Yield McCormick's planes of the products whose factors have less room in a case."""
    for block in relaxation.blocks:
        if block.kind != "product":
            continue
        ends = tuple(form.interval(case.lower, case.upper) for form in block.forms)
        less = np.zeros(block.size, dtype=bool)
        for (low, high), (least, most) in zip(ends, block.ends, strict=True):
            less |= (low > least) | (high < most)
        for side in (1, -1) if less.any() else ():
            for piece in pieces_of(replace(block, ends=ends), side, None):
                part = piece.where(less)
                if part is not None:
                    yield block, part


def _halves(relaxation: Relaxation, case: Case, x: Floats, whole: Floats) -> Iterator[Case]:
    """Yield the cases into which one falls; none when its optimum already keeps everything."""
    steps = np.where(whole > 0, whole, 1.0)
    count = x / steps
    off = np.where(whole > 0, np.abs(count - np.round(count)), 0.0)
    place = int(np.argmax(off))
    if off[place] > WHOLE:
        down, up = case.upper.copy(), case.lower.copy()
        down[place] = np.floor(count[place]) * steps[place]
        up[place] = np.ceil(count[place]) * steps[place]
        yield replace(case, upper=np.minimum(down, case.upper))
        yield replace(case, lower=np.maximum(up, case.lower))
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
        yield from _settled(relaxation, case, x, whole)
        return
    import scipy.sparse as sp

    pick = sp.csr_matrix(([turn], ([0], [worst[2]])), shape=(1, x.size))
    atom = Form(pick, np.zeros(1), np.zeros(1))
    for form in worst[1]:
        yield replace(case, rows=(*case.rows, form.plus(atom, -1.0)))


def _settled(relaxation: Relaxation, case: Case, x: Floats, whole: Floats) -> Iterator[Case]:
    """Yield cases of a whole number with room in a product that the relaxation has wrong."""
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
