r"""Bounds of a programme: from multipliers that came with a plan, else from the checker's own.

Every nonlinear part :math:`m_k = \varphi_k(u)` is replaced by affine pieces that lie on the side
on which it is needed (:mod:`engiagent.verify.levels.minorants`); what then is left is a linear
programme whose optimum bounds that of the problem from below. Tangents are added where its solution
lies, until they are sharp (J. E. Kelley, doi:10.1137/0108053). A linear solver only proposes
multipliers; the bound that they prove is recomputed (:mod:`engiagent.verify.levels.relaxed`). For a
convex programme it reaches the optimum; for any other it is the bound of a convex relaxation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import Bools
from engiagent.verify.levels.forms import Columns, Form, stacked, widened
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.implied import implied_bounds
from engiagent.verify.levels.minorants import blocks_of, pieces_of, resized
from engiagent.verify.levels.optimality import DualBound, Proof, plain_contradiction
from engiagent.verify.levels.proposing import Proposer
from engiagent.verify.levels.relaxed import Relaxation, safe_bound, weights_of
from engiagent.verify.levels.rows import Row, rows_of
from engiagent.verify.levels.variables import Bounds, box_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.sweeps import atoms_of
from engiagent.verify.values import Floats, Value

GIVEN: Final = "dual bound recomputed from the multipliers"
METHOD: Final = "bound of a convex relaxation, recomputed from multipliers of the checker's own"
MAX_COLUMNS: Final = 500_000
ROUNDS: Final = 25
CLOSE: Final = 2e-7
"""How small a gap, relative to the objective, is closed."""


@dataclass(frozen=True, eq=False)
class Programme:
    """A core with an objective as a relaxation, without pieces yet.

    Attributes
    ----------
    rows
        Those at the top of the relaxation's rows, in their order.
    point
        The plan, one number for each column.
    whole
        Steps of integers in SI; zero where a column need not be whole, and where its unit counts
        from a zero of its own.
    open
        Variables without a limit on some side, also by what the rows imply.
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
        return safe_bound(self.relaxation, np.concatenate([y, more]))

    def weights(
        self, given: Mapping[str, Multipliers], scale: Unit | None, sign: float
    ) -> Floats | None:
        """Return multipliers of the rows, None where they do not fit."""
        try:
            return weights_of(self.rows, given, scale, sign)
        except EngiagentError:
            return None


def programme_of(
    bench: Bench, core: Core, objective: Objective, boxes: Mapping[str, Bounds] | None = None
) -> Programme | str:
    """Return a core and an objective as a programme; a text says why there is none.

    ``boxes`` are the variables' bounds; None takes those that they declare.
    """
    try:
        return _built(bench, core, objective, boxes)
    except (EngiagentError, KeyError) as error:
        return f"the relaxation cannot be built: {error}"


def relaxed_bound(
    bench: Bench,
    core: Core,
    objective: Objective,
    duals: Mapping[str, Multipliers] | None = None,
    boxes: Mapping[str, Bounds] | None = None,
) -> DualBound:
    """Return a bound of the objective from below (from above when maximising), in SI.

    The multipliers that came with a schedule are tried first; they may save the linear programme.
    """
    built = programme_of(bench, core, objective, boxes)
    if isinstance(built, str):
        return DualBound(None, reason=built)
    given: float | None = None
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
    plain = plain_contradiction(bench, core) if boxes is None else None
    if plain is not None:
        return plain
    nothing = Objective(0.0, "1", "minimize", values.constant(np.zeros(1), values.ONE))
    built = programme_of(bench, core, nothing, boxes)
    if isinstance(built, str):
        return Proof(None, reason=built)
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
    bench: Bench, core: Core, objective: Objective, boxes: Mapping[str, Bounds] | None
) -> Programme | str:
    sign = 1.0 if objective.sense == "minimize" else -1.0
    goal = objective.node if sign == 1.0 else arithmetic.negate(objective.node)
    rows = tuple(rows_of(bench, core))
    # A nonlinear equation is one inequality and, further down, the other.
    curved = [row.excess for row in rows if row.equal and row.excess.degree > 1]
    excesses = [row.excess for row in rows] + [arithmetic.negate(value) for value in curved]
    excesses += _limits(objective)
    equal = [row.equal and row.excess.degree < 2 for row in rows]
    equal += [False] * (len(excesses) - len(rows))
    if boxes is None:
        boxes = {v.name: box_of(bench, v) for v in core.decision_variables}
    if any(not (np.isfinite(b.lower) & np.isfinite(b.upper)).all() for b in boxes.values()):
        boxes = implied_bounds(bench, rows, boxes)
    kinds = {v.name: v for v in core.decision_variables}
    starts: dict[int, int] = {}
    box: list[tuple[Floats, Floats, Floats]] = []
    point: list[Floats] = []
    for name, value in bench.variables.items():
        if name not in boxes:
            continue
        starts[value.order] = sum(part.size for part in point)
        known = boxes[name]
        low, high = (np.where(known.exists, end, 0.0) for end in (known.lower, known.upper))
        unit, definition = value.unit, kinds.get(name)
        counted = definition is not None and definition.type in ("integer", "binary")
        step = unit.scale if counted and not unit.zero else 0.0
        box.append((low, high, np.full(value.data.size, step)))
        point.append(value.data)
    own = sum(part.size for part in point)
    atoms = atoms_of([goal, *excesses])
    for atom in atoms:
        starts[atom.order] = sum(part.size for part in point)
        point.append(np.asarray(atom.data, dtype=np.float64))
    columns = Columns(starts, point)
    if columns.point.size > MAX_COLUMNS:
        return f"there are more than {MAX_COLUMNS} variables and nonlinear terms: not recomputed"
    if not np.isfinite(columns.point).all():
        return "a nonlinear term has no value at the plan"
    limits = np.full((2, columns.point.size), np.inf) * np.array([[-1.0], [1.0]])
    parts = [np.concatenate([part[k] for part in box] or [np.zeros(0)]) for k in range(3)]
    limits[:, :own] = parts[0], parts[1]
    forms = [columns.form(excess) for excess in excesses]
    below = stacked(forms, columns.point.size)
    form, blocks, limits, whole_point = blocks_of(columns, atoms, goal, below, limits)
    below = widened(below, limits.shape[1])
    exactly = np.repeat(np.array(equal, dtype=bool), [form.size for form in forms])
    relaxation = Relaxation(form, below, exactly, tuple(blocks), limits[0], limits[1])
    whole = np.append(parts[2], np.zeros(limits.shape[1] - own))
    limited = {name: np.isfinite(b.lower) & np.isfinite(b.upper) for name, b in boxes.items()}
    lacking = tuple(name for name, finite in limited.items() if not finite.all())
    return Programme(relaxation, rows, columns, whole_point, whole, objective, lacking)


def _limits(objective: Objective) -> list[Value]:
    """Return by how much each of several goals may not exceed its limit."""
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
            worth = CLOSE * max(abs(value), 1e-300) if np.isfinite(value) else 1e-6
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
    return value - best <= CLOSE * max(abs(value), abs(best))
