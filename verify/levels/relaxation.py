r"""A bound for programmes with nonlinear parts, whose multipliers the checker finds by itself.

Every nonlinear part :math:`m_k = \varphi_k(u)` is replaced by affine pieces that lie on the side
on which it is needed (:mod:`engiagent.verify.levels.minorants`); what then is left is a linear
programme whose optimum bounds that of the problem from below. Tangents are added where its solution
lies, until they are sharp (J. E. Kelley, doi:10.1137/0108053). A linear solver only proposes
multipliers; with any that have the right signs,

.. math:: f(x) \ge c_0 + y^T h + \min_{l \le x \le u} \lambda^T x

holds, where :math:`\lambda` gathers what objective, rows and pieces say about every variable. This
number is computed here, rounding subtracted, and it is all that counts. For a convex programme it
reaches the optimum; for any other it is the bound of a convex relaxation.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import Bools
from engiagent.verify.levels.algebra import rules_of_core
from engiagent.verify.levels.forms import Columns, Form, stacked, widened
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.implied import implied_bounds
from engiagent.verify.levels.minorants import pieces_of
from engiagent.verify.levels.optimality import DualBound
from engiagent.verify.levels.proposing import Proposer
from engiagent.verify.levels.relaxed import Relaxation, bound_of_better
from engiagent.verify.levels.shortcut import quick_bound
from engiagent.verify.levels.squares import blocks_of, resized
from engiagent.verify.levels.variables import Bounds, box_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.sweeps import atoms_of
from engiagent.verify.values import Floats, Value

METHOD: Final = "bound of a convex relaxation, recomputed from multipliers of the checker's own"
MAX_COLUMNS: Final = 500_000
ROUNDS: Final = 25
CLOSE: Final = 2e-7
"""How small a gap, relative to the objective, is closed."""


def relaxed_bound(
    bench: Bench,
    core: Core,
    objective: Objective,
    duals: Mapping[str, Multipliers] | None = None,
    boxes: Mapping[str, Bounds] | None = None,
) -> DualBound:
    """Return a bound of the objective from below (from above when maximising), in SI.

    The multipliers that came with a schedule are tried first; they may save the linear programme.
    ``boxes`` are the variables' bounds; None takes those that they declare.
    """
    try:
        built = _build(bench, core, objective, boxes)
    except (EngiagentError, KeyError) as error:
        return DualBound(None, reason=f"the relaxation cannot be built: {error}")
    if isinstance(built, str):
        return DualBound(None, reason=built)
    relaxation, point, columns = built
    sign = 1.0 if objective.sense == "minimize" else -1.0
    value = sign * float(objective.node.data[0])
    needs = needs_of(relaxation)
    relaxation.add_pieces(needs, None)
    relaxation.add_pieces(needs, point)
    best = None
    if duals and not objective.terms:
        best = quick_bound(bench, core, objective, duals, columns, relaxation, point)
    if best is None or not _enough(value, best):
        best = _better(best, _tightened(relaxation, needs, point, value))
    if best is None:
        return DualBound(
            None,
            reason="the relaxation has no bound: a variable or a function of "
            "one has no limits on the side where it pays",
        )
    return DualBound(sign * best)


def proven_infeasible(
    bench: Bench, core: Core, boxes: Mapping[str, Bounds] | None = None
) -> DualBound:
    """Return a lower bound of the violation, relative to its row, that every plan has somewhere.

    Above zero it proves that no plan is allowed. The bench needs a value for every variable, at
    which the nonlinear terms exist.
    """
    nothing = Objective(0.0, "1", "minimize", values.constant(np.zeros(1), values.ONE))
    try:
        built = _build(bench, core, nothing, boxes)
    except (EngiagentError, KeyError) as error:
        return DualBound(None, reason=f"the relaxation cannot be built: {error}")
    if isinstance(built, str):
        return DualBound(None, reason=built)
    least = least_violation(*built[:2])
    return DualBound(least, reason=None if least is not None else "the relaxation has no bound")


def least_violation(relaxation: Relaxation, point: Floats) -> float | None:
    """Return a lower bound of the largest relative violation of a row; None when there is none.

    Bounds that cross, all of them rounded outwards, are a violation too.
    """
    crossing = relaxation.lower - relaxation.upper
    if (crossing > 0).any():
        ends = np.maximum(np.abs(relaxation.lower), np.abs(relaxation.upper))
        return float(np.max(crossing[crossing > 0] / ends[crossing > 0]))
    elastic, start = _elastic(relaxation, point)
    needs = needs_of(elastic)
    elastic.add_pieces(needs, None)
    elastic.add_pieces(needs, start)
    return _tightened(elastic, needs, start, np.inf)


def prepared(
    bench: Bench, core: Core, objective: Objective, boxes: Mapping[str, Bounds] | None = None
) -> tuple[Relaxation, Floats, Floats] | str:
    """Return a relaxation with its first pieces, the plan, and the steps of whole numbers in SI.

    A step is zero where a column need not be whole, and where its unit counts from a zero of its
    own. A text says why there is none.
    """
    try:
        built = _build(bench, core, objective, boxes)
    except (EngiagentError, KeyError) as error:
        return f"the relaxation cannot be built: {error}"
    if isinstance(built, str):
        return built
    relaxation, point, columns = built
    needs = needs_of(relaxation)
    relaxation.add_pieces(needs, None)
    relaxation.add_pieces(needs, point)
    whole = np.zeros(relaxation.lower.size)
    for definition in core.decision_variables:
        value = bench.variables.get(definition.name)
        if definition.type in ("integer", "binary") and value is not None:
            unit = parse_unit(definition.unit or "1")
            start = columns.starts[value.order]
            step = 0.0 if unit.zero else unit.scale
            whole[start : start + value.data.size] = step
    return relaxation, point, whole


def _elastic(relaxation: Relaxation, point: Floats) -> tuple[Relaxation, Floats]:
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


def _build(
    bench: Bench, core: Core, objective: Objective, boxes: Mapping[str, Bounds] | None = None
) -> tuple[Relaxation, Floats, Columns] | str:
    sign = 1.0 if objective.sense == "minimize" else -1.0
    goal = objective.node if sign == 1.0 else arithmetic.negate(objective.node)
    rows, equal = _rows(bench, core, objective)
    if boxes is None:
        boxes = {v.name: box_of(bench, v) for v in core.decision_variables}
    if any(not (np.isfinite(b.lower) & np.isfinite(b.upper)).all() for b in boxes.values()):
        boxes = implied_bounds(bench, core, boxes)
    starts: dict[int, int] = {}
    lower: list[Floats] = []
    upper: list[Floats] = []
    point: list[Floats] = []
    for name, value in bench.variables.items():
        if name not in boxes:
            continue
        starts[value.order] = _length(point)
        exists = boxes[name].exists
        lower.append(np.where(exists, boxes[name].lower, 0.0))
        upper.append(np.where(exists, boxes[name].upper, 0.0))
        point.append(value.data)
    own = _length(point)
    atoms = atoms_of([goal, *rows])
    for atom in atoms:
        starts[atom.order] = _length(point)
        point.append(np.asarray(atom.data, dtype=np.float64))
    if _length(point) > MAX_COLUMNS:
        return f"there are more than {MAX_COLUMNS} variables and nonlinear terms: not recomputed"
    columns = Columns(starts, point)
    if not np.isfinite(columns.point).all():
        return "a nonlinear term has no value at the plan"
    limits = np.full((2, columns.point.size), np.inf) * np.array([[-1.0], [1.0]])
    limits[:, :own] = np.concatenate(lower or [np.zeros(0)]), np.concatenate(upper or [np.zeros(0)])
    objective_form, blocks, limits, whole = blocks_of(columns, atoms, goal, rows, limits)
    forms = [widened(columns.form(row), limits.shape[1]) for row in rows]
    below = stacked(forms, limits.shape[1])
    kinds = np.repeat(np.array(equal, dtype=bool), [form.size for form in forms])
    relaxation = Relaxation(objective_form, below, kinds, tuple(blocks), limits[0], limits[1])
    return relaxation, whole, columns


def _length(parts: Sequence[Floats]) -> int:
    return sum(part.size for part in parts)


def _rows(bench: Bench, core: Core, objective: Objective) -> tuple[list[Value], list[bool]]:
    """Return everything that must not be positive, and whether it must not be negative either.

    What cannot be said so, as a choice between rows, is left out: fewer rows, a weaker bound.
    """
    found: list[Value] = []
    equal: list[bool] = []
    for rule in rules_of_core(core):
        if not rule.hard:
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame)
        except EngiagentError:
            continue
        for op, left, right in compared if frame.size else ():
            sides = (right, left) if op == ">=" else (left, right)
            excess = arithmetic.add(*sides, -1.0)
            if op == "==" and excess.degree > 1:
                found += [excess, arithmetic.negate(excess)]
                equal += [False, False]
            else:
                found.append(excess)
                equal.append(op == "==")
    for term in objective.terms:
        if term.limit is not None:
            unit = parse_unit(term.unit)
            limit = values.constant(np.array([term.limit]), unit)
            sides = (term.node, limit) if term.sense == "minimize" else (limit, term.node)
            found.append(arithmetic.add(*sides, -1.0))
            equal.append(False)
    return found, equal


def needs_of(relaxation: Relaxation) -> Bools:
    """Return for every column whether something from below, and from above, can be asked of it."""
    count = relaxation.lower.size
    needs = np.zeros((2, count), dtype=bool)
    for form in (relaxation.objective, relaxation.rows):
        _mark(needs, form, 1)
    for block in reversed(relaxation.blocks):
        span = slice(block.start, block.start + block.size)
        for side in (1, -1):
            wanted = needs[0 if side == 1 else 1, span]
            for point in (None, _middle(relaxation)):
                for piece in pieces_of(block, side, point) if wanted.any() else ():
                    keep = np.flatnonzero(wanted[piece.rows])
                    _mark(needs, piece.form.take(keep), side)
            if not wanted.any():
                continue
            if block.kind == "tail":  # whichever scenarios are the worst
                _mark(needs, block.forms[0], side)
            even = block.kind == "power" and not block.numbers[0][0] % 2
            for form in block.forms if even or block.kind == "norm" else ():
                _mark(needs, form, 1)  # slopes of both signs
                _mark(needs, form, -1)
    return needs


def _middle(relaxation: Relaxation) -> Floats:
    low = np.where(np.isfinite(relaxation.lower), relaxation.lower, -1.0)
    high = np.where(np.isfinite(relaxation.upper), relaxation.upper, low + 2.0)
    return np.asarray(0.5 * (low + high))


def _mark(needs: Bools, form: Form, side: int) -> None:
    below, above = (0, 1) if side == 1 else (1, 0)
    matrix = form.matrix
    needs[below, matrix.indices[matrix.data > 0]] = True
    needs[above, matrix.indices[matrix.data < 0]] = True


# --- tightening --------------------------------------------------------------------------------


def _better(first: float | None, second: float | None) -> float | None:
    known = [bound for bound in (first, second) if bound is not None]
    return max(known, default=None)


def _tightened(relaxation: Relaxation, needs: Bools, point: Floats, value: float) -> float | None:
    """Return the best bound that the pieces and others at the relaxation's optima give."""
    best: float | None = None
    stalled = 0
    propose = Proposer(relaxation, point)
    for _ in range(ROUNDS if relaxation.blocks else 1):
        solved = propose(relaxation.lower, relaxation.upper, relaxation.pieces)
        if solved is None:
            break
        optimum, y, w = solved
        bound = bound_of_better(relaxation, y, w, value)
        if bound is not None and (best is None or bound > best):
            worth = CLOSE * max(abs(value), 1e-300) if np.isfinite(value) else 1e-6
            stalled = 0 if best is None or bound - best > worth else stalled + 1
            best = bound
        else:
            stalled += 1
        if best is not None and _enough(value, best):
            break
        if stalled > 2:
            break
        if not relaxation.add_pieces(needs, optimum):
            break
    return best


def _enough(value: float, best: float) -> bool:
    """Whether a bound closes the gap to a value; to an infinite one, whether it is positive."""
    if not np.isfinite(value):
        return best > 0
    return value - best <= CLOSE * max(abs(value), abs(best))
