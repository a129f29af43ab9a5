r"""Bounds of a programme: from multipliers that came with a plan, else from the checker's own.

Every nonlinear part :math:`m_k = \varphi_k(u)` is replaced by affine pieces that lie on the side
on which it is needed (:mod:`engiagent.verify.levels.minorants`); what then is left is a linear
programme whose optimum bounds that of the problem from below. Tangents are added where its solution
lies, until they are sharp (J. E. Kelley, doi:10.1137/0108053). A linear solver only proposes
multipliers; the bound that they prove is recomputed (:mod:`engiagent.verify.levels.relaxed`). For a
convex programme it reaches the optimum; for any other it is the bound of a convex relaxation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.blueprint.elements import Core
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import Bools, EvaluationError
from engiagent.verify.levels.algebra import DualBound, Proof, Row, rows_of
from engiagent.verify.levels.forms import Columns, Form, implied_ends, netted_ends, stacked, widened
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.minorants import blocks_of, pieces_of, resized
from engiagent.verify.levels.relaxed import Proposer, Relaxation, proven_bound, weights_of
from engiagent.verify.levels.variables import Bounds, box_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.values import Floats, Value, atoms_of

GIVEN: Final = "dual bound recomputed from the duals"
METHOD: Final = "bound of a convex relaxation, recomputed from duals of the checker's own"
MAX_COLUMNS: Final = 500_000
ROUNDS: Final = 25
CLOSED_GAP: Final = 2e-7
"""How small a gap, relative to the objective, is closed."""


@dataclass(frozen=True, eq=False)
class Programme:
    """A core with an objective as a relaxation, without pieces yet.

    ``rows``: those at the top of the relaxation's rows, in their order. ``point``: the plan, one
    number for each column. ``whole``: steps of integers in SI; zero where a column need not be
    whole, and where its unit counts from a zero of its own. ``open``: variables without a limit on
    some side, also by what the rows imply.
    """

    relaxation: Relaxation
    rows: tuple[Row, ...]
    columns: Columns
    point: Floats
    whole: Floats
    objective: Objective
    open: tuple[str, ...]

    @property
    def no_bound(self) -> str:
        """Why there is no bound: which variables have no limits of their own."""
        shown = ", ".join(self.open[:3]) or "a function of a variable"
        more = f" and {len(self.open) - 3} more" if len(self.open) > 3 else ""
        return (
            f"the relaxation has no bound: {shown}{more} has no limit on the side where it pays; "
            "give it physical bounds"
        )

    @property
    def sign(self) -> float:
        """1 for a minimisation, -1 for a maximisation."""
        return 1.0 if self.objective.sense == "minimize" else -1.0

    @property
    def value(self) -> float:
        """What the plan comes to, of a minimisation, in SI."""
        return self.sign * float(self.objective.node.data[0])

    def given_bound(self, y: Floats) -> float | None:
        """Return the bound that multipliers of the rows prove of a minimisation, None without."""
        more = np.zeros(self.relaxation.rows.size - y.size)
        return proven_bound(self.relaxation, np.concatenate([y, more]))

    def weights(
        self, given: Mapping[str, Multipliers], scale: Unit | None, sign: float
    ) -> Floats | None:
        """Return multipliers of the rows, None where they do not fit."""
        try:
            return weights_of(self.rows, given, scale, sign)
        except EngiagentError:
            return None


class NoProgrammeError(EvaluationError):
    """Why there is no relaxation, in words for the certificate."""


def programme_of(
    bench: Bench,
    core: Core,
    objective: Objective,
    boxes: Mapping[str, Bounds] | None = None,
    rows: Sequence[Row] | None = None,
) -> Programme:
    """Return a core and an objective as a programme.

    ``boxes``, ``rows``: the variables' bounds and the hard rows; None takes those that the core
    declares.
    """
    try:
        return _built(bench, core, objective, boxes, rows)
    except NoProgrammeError:
        raise
    except (EngiagentError, KeyError) as error:
        raise NoProgrammeError(f"the relaxation cannot be built: {error}") from None


def relaxed_bound(built: Programme, duals: Mapping[str, Multipliers] | None = None) -> DualBound:
    """Return a bound of the objective from below (from above when maximising), in SI.

    The multipliers that came with a schedule are tried first; they may save the linear programme.
    """
    given: float | None = None
    objective = built.objective
    if duals and not objective.terms and objective.node.degree < 2:
        y = built.weights(duals, objective.node.unit, built.sign)
        given = None if y is None else built.given_bound(y)
        if given is not None and enough(built.value, given):
            return DualBound(built.sign * given, method=GIVEN)
    found = _tightened(built.relaxation, built.point, built.value)
    best = max((b for b in (given, found) if b is not None), default=None)
    if best is None:
        return DualBound(None, reason=built.no_bound)
    return DualBound(built.sign * best, method=GIVEN if best == given else METHOD)


def infeasibility(
    bench: Bench,
    core: Core,
    rays: Mapping[str, Multipliers] | None = None,
    boxes: Mapping[str, Bounds] | None = None,
) -> Proof:
    """Return whether bounds and rows contradict one another, by a given ray or one of its own.

    The bench needs a value for every variable, at which the nonlinear terms exist.
    """
    nothing = Objective(0.0, "1", "minimize", values.constant(np.zeros(1), values.ONE))
    try:
        built = programme_of(bench, core, nothing, boxes)
    except NoProgrammeError as error:
        return Proof(None, reason=str(error))
    y = built.weights(rays, None, 1.0) if rays else None
    if y is not None and y.any():
        margin = built.given_bound(y)
        if margin is not None and margin > 0:
            return _by_ray(built, y, margin)
    least = least_violation(built.relaxation, built.point)
    if least is None:
        return Proof(None, reason=built.no_bound)
    return Proof(least, reason=None if least > 0 else "no ray proves that nothing is allowed")


def _by_ray(built: Programme, y: Floats, margin: float) -> Proof:
    """Return a proof relative to the weighted rows, with the share of each constraint in them."""
    shares: dict[str, float] = {}
    at = 0
    for row in built.rows:
        size = row.excess.data.size
        share = float(np.abs(y[at : at + size]) @ row.excess.size)
        shares[row.rule.id] = shares.get(row.rule.id, 0.0) + share
        at += size
    most = sum(shares.values())
    listed = [(name, share / most) for name, share in shares.items() if share > 1e-9 * most]
    return Proof(margin / most, tuple(sorted(listed, key=lambda item: (-item[1], item[0]))))


def least_violation(relaxation: Relaxation, point: Floats) -> float | None:
    """Return a lower bound of the largest relative violation of a row; None when there is none.

    Bounds that cross, all of them rounded outwards, are a violation too.
    """
    crossing = relaxation.lower - relaxation.upper
    if (crossing > 0).any():
        ends = np.maximum(np.abs(relaxation.lower), np.abs(relaxation.upper))
        return float(np.max(crossing[crossing > 0] / ends[crossing > 0]))
    return _tightened(*elastic(relaxation, point), np.inf)


def elastic(relaxation: Relaxation, point: Floats) -> tuple[Relaxation, Floats]:
    """Return the task to make the largest relative violation of a row, a new column, small."""
    import scipy.sparse as sp

    rows, count = relaxation.rows, relaxation.lower.size
    back = rows.take(np.flatnonzero(relaxation.equal)).times(-np.ones(int(relaxation.equal.sum())))
    both = stacked([rows, back], count)
    reach = np.maximum(np.abs(relaxation.lower), np.abs(relaxation.upper))
    sizes = abs(both.matrix) @ np.where(np.isfinite(reach), reach, np.abs(point))
    sizes = np.maximum(sizes + np.abs(both.constant), 1e-300)
    matrix = sp.hstack([both.matrix, sp.csr_matrix(-sizes[:, None])], format="csr")
    goal = sp.csr_matrix(([1.0], ([0], [count])), shape=(1, count + 1))
    blocks = tuple(resized(block, count + 1) for block in relaxation.blocks)
    elastic = Relaxation(
        Form(goal, np.zeros(1), np.zeros(1)),
        Form(matrix, both.constant, both.error),
        np.zeros(both.size, dtype=bool),
        blocks,
        np.append(relaxation.lower, -2.0),
        np.append(relaxation.upper, 2.0),
    )
    return elastic, np.append(point, 0.0)


# --- building ----------------------------------------------------------------------------------


def _built(
    bench: Bench,
    core: Core,
    objective: Objective,
    boxes: Mapping[str, Bounds] | None,
    rows: Sequence[Row] | None,
) -> Programme:
    goal = objective.node if objective.sense == "minimize" else arithmetic.negate(objective.node)
    rows = tuple(rows_of(bench, core) if rows is None else rows)
    # A nonlinear equation is one inequality and, further down, the other.
    curved = [row.excess for row in rows if row.equal and row.excess.degree > 1]
    excesses = [row.excess for row in rows] + [arithmetic.negate(value) for value in curved]
    excesses += _limits(objective)
    affine = [value.degree < 2 for value in excesses]
    equal = [row.equal and row.excess.degree < 2 for row in rows]
    equal += [False] * (len(excesses) - len(rows))
    if boxes is None:
        boxes = {v.name: box_of(bench, v, whole=True) for v in core.decision_variables}
    own = {name: value for name, value in bench.variables.items() if name in boxes}
    atoms = atoms_of([goal, *excesses])
    every = [*own.values(), *atoms]
    places = np.cumsum([0, *(value.data.size for value in every)]).tolist()
    starts = {value.order: place for value, place in zip(every, places, strict=False)}
    point = [np.asarray(value.data, dtype=np.float64) for value in every]
    columns = Columns(starts, point)
    if columns.point.size > MAX_COLUMNS:
        text = f"there are more than {MAX_COLUMNS} variables and nonlinear terms: not recomputed"
        raise NoProgrammeError(text)
    if not np.isfinite(columns.point).all():
        raise NoProgrammeError("a nonlinear term has no value at the plan")
    limits = np.repeat([[-np.inf], [np.inf]], columns.point.size, axis=1)
    whole = np.zeros(columns.point.size)
    kinds = {v.name: v.type for v in core.decision_variables}
    spans = {name: slice(starts[v.order], starts[v.order] + v.data.size) for name, v in own.items()}
    for name, span in spans.items():
        box, unit = boxes[name], own[name].unit
        limits[:, span] = np.where(box.exists, [box.lower, box.upper], 0.0)
        if kinds.get(name) in ("integer", "binary") and not unit.zero:
            whole[span] = unit.scale
    below = columns.form(*excesses)
    sizes = [value.data.size for value in excesses]
    exactly = np.repeat(np.array(equal, dtype=bool), sizes)
    if not np.isfinite(limits[:, : places[len(own)]]).all():
        plain = np.flatnonzero(np.repeat(np.array(affine, dtype=bool), sizes))
        order = np.concatenate([np.zeros(0, int), *(np.arange(size) for size in sizes)])
        walked = below.take(plain), exactly[plain], order[plain]
        limits = np.stack(implied_ends(*walked, columns.point, *limits))
        inner = [part for v in atoms for part in (v.atom.parents if v.atom else ())]
        bent = np.append(columns.form(*inner).matrix.indices, np.flatnonzero(whole))
        limits[1] = netted_ends(columns.form(goal), below, exactly, bent, *limits)
    open_ = tuple(name for name, span in spans.items() if not np.isfinite(limits[:, span]).all())
    form, blocks, limits, wide = blocks_of(columns, atoms, goal, below, limits)
    whole = np.append(whole, np.zeros(limits.shape[1] - whole.size))
    below = widened(below, limits.shape[1])
    relaxation = Relaxation(form, below, exactly, tuple(blocks), limits[0], limits[1])
    return Programme(relaxation, rows, columns, wide, whole, objective, open_)


def _limits(objective: Objective) -> list[Value]:
    found = []
    for term in objective.terms:
        if term.limit is not None:
            limit = values.constant(np.array([term.limit]), parse_unit(term.unit))
            sides = (term.node, limit) if term.sense == "minimize" else (limit, term.node)
            found.append(arithmetic.add(*sides, -1.0))
    return found


def needs_of(relaxation: Relaxation) -> Bools:
    """Return for every column whether something from below, and from above, can be asked of it."""
    count = relaxation.lower.size
    needs = np.zeros((2, count), dtype=bool)
    for form in (relaxation.objective, relaxation.rows):
        _mark(needs, form, 1)
    low = np.where(np.isfinite(relaxation.lower), relaxation.lower, -1.0)
    high = np.where(np.isfinite(relaxation.upper), relaxation.upper, low + 2.0)
    for block in reversed(relaxation.blocks):
        span = slice(block.start, block.start + block.size)
        for side in (1, -1):
            wanted = needs[0 if side == 1 else 1, span]
            for point in (None, 0.5 * (low + high)):
                for piece in pieces_of(block, side, point) if wanted.any() else ():
                    part = piece.where(wanted)
                    if part is not None:
                        _mark(needs, part.form, side)
            if not wanted.any():
                continue
            if block.kind == "tail":  # whichever scenarios are the worst
                _mark(needs, block.forms[0], side)
            even = block.kind == "power" and not block.numbers[0][0] % 2
            for form in block.forms if even or block.kind == "norm" else ():
                _mark(needs, form, 1)  # slopes of both signs
                _mark(needs, form, -1)
    return needs


def _mark(needs: Bools, form: Form, side: int) -> None:
    below, above = (0, 1) if side == 1 else (1, 0)
    matrix = form.matrix
    needs[below, matrix.indices[matrix.data > 0]] = True
    needs[above, matrix.indices[matrix.data < 0]] = True


# --- tightening --------------------------------------------------------------------------------


def _tightened(relaxation: Relaxation, point: Floats, value: float) -> float | None:
    """Return the best bound that the pieces and others at the relaxation's optima give."""
    needs = needs_of(relaxation)
    for at in (None, point):
        relaxation.add_pieces(needs, at)
    best: float | None = None
    stalled = 0
    propose = Proposer(relaxation, point)
    for _ in range(ROUNDS if relaxation.blocks else 1):
        solved = propose.bounded(relaxation)
        if solved is None:
            break
        optimum, bound = solved
        if bound is not None and (best is None or bound > best):
            worth = CLOSED_GAP * max(abs(value), 1e-300) if np.isfinite(value) else 1e-6
            stalled = 0 if best is None or bound - best > worth else stalled + 1
            best = bound
        else:
            stalled += 1
        if (best is not None and enough(value, best)) or stalled > 2:
            break
        if not relaxation.add_pieces(needs, optimum):
            break
    return best


def enough(value: float, best: float) -> bool:
    """Whether a bound closes the gap to a value; to an infinite one, whether it is positive."""
    if not np.isfinite(value):
        return best > 0
    return value - best <= CLOSED_GAP * max(abs(value), abs(best))
