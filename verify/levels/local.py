r"""Conditions of a local optimum, for programmes of which no bound closes the gap.

With multipliers :math:`y` of the rows :math:`g(x) \ge 0` and the reduced costs
:math:`d = \nabla f - J^T y`, a point is stationary when :math:`d_j` is zero inside the bounds of
:math:`x_j`, not negative at its lower and not positive at its upper bound (W. Karush; H. W. Kuhn
and A. W. Tucker). It is a strict local minimum when besides the Lagrangian curves upwards in every
direction that the rows with a multiplier leave open (J. Nocedal and S. J. Wright, Numerical
Optimization, section 12.5). Nothing here says that no better plan exists elsewhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.blueprint.grammar import Call, parse
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.findings import finite_or_none
from engiagent.verify.frames import Bools
from engiagent.verify.levels.algebra import Rule, rules_of_core
from engiagent.verify.levels.optimality import Row, rows_of
from engiagent.verify.levels.variables import box_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.sweeps import gradients, triplets
from engiagent.verify.tolerances import row_tolerance
from engiagent.verify.values import Floats, Value

NAME: Final = "local optimum: KKT residuals"
SMALL: Final = 1e-6
"""A relative residual up to which a condition counts as met."""
MOST_ACTIVE: Final = 2000
MOST_ROWS: Final = 200_000
Goal = Callable[[Bench], Value]


@dataclass(frozen=True, eq=False)
class Point:
    """A plan as columns: where each variable stands, its value, bounds and whether it may move."""

    starts: Mapping[int, int]
    x: Floats
    lower: Floats
    upper: Floats
    free: Bools


def local_optimality(
    bench: Bench, core: Core, goal: Goal, sense: str, duals: Mapping[str, Multipliers]
) -> dict[str, Any]:
    """Return the residuals of the first-order conditions and what curvature says, as JSON.

    Parameters
    ----------
    goal
        The objective on a bench, in SI.
    duals
        Multipliers that came with the plan; where they do not fit, the checker finds its own.
    """
    try:
        return _conditions(bench, core, goal, sense, duals)
    except EngiagentError as error:
        return {"name": NAME, "holds": None, "reason": str(error)}


def _conditions(
    bench: Bench, core: Core, goal: Goal, sense: str, duals: Mapping[str, Multipliers]
) -> dict[str, Any]:
    sign = 1.0 if sense == "minimize" else -1.0
    node = goal(bench)
    logical = [
        r.id for r in rules_of_core(core) if r.hard and isinstance(parse(r.expression), Call)
    ]
    if logical:
        reason = f"{logical[0]} is a logical statement, which has no derivative"
        return {"name": NAME, "holds": None, "reason": reason}
    rows = list(_rows(bench, core))
    point = _point(bench, core)
    if sum(row.value.data.size for row in rows) > MOST_ROWS:
        return {"name": NAME, "holds": None, "reason": f"more than {MOST_ROWS} rows"}
    seeds = [(node, np.ones(1)), *((r.value, np.ones(r.value.data.size)) for r in rows)]
    if not all(np.isfinite(size).all() for size in gradients(seeds, "absolute").values()):
        reason = "a function has no finite derivative here, as a root at zero"
        return {"name": NAME, "holds": None, "reason": reason}
    found = []

    def given(there: Bench) -> list[Row]:
        return list(rows_of(there, core, duals, node.unit, sign, _keep))

    def plain(there: Bench) -> list[Row]:
        return list(_rows(there, core))

    if duals:
        found.append(("the solver's", given, *_residuals(given(bench), node, sign, point)))
    if not found or not found[0][2]["stationarity"] <= SMALL:
        own = _least_squares(rows, node, sign, point)
        if own is not None:
            whose = "the checker's own, by least squares"
            found.append((whose, plain, *_residuals(own, node, sign, point)))
    if not found:
        return {"name": NAME, "holds": None, "reason": "there are no multipliers"}
    whose, again, residuals, used = min(found, key=lambda item: item[2]["stationarity"])
    residuals["primal"] = _primal(rows)
    holds = all(value <= SMALL for name, value in residuals.items() if name != "primal")
    holds = holds and residuals["primal"] <= 1.0
    body: dict[str, Any] = {
        "name": NAME,
        "holds": bool(holds),
        "multipliers": whose,
        "residuals": {name: finite_or_none(value) for name, value in residuals.items()},
        "tolerance": SMALL,
    }
    if any(v.type != "continuous" for v in core.decision_variables):
        body["whole_numbers"] = "as they are in the plan: fixed"
    if holds:
        from engiagent.verify.levels.curvature import Lagrangian, second_order

        lagrangian = Lagrangian(bench, goal, sign, tuple(used), again, point)
        body["second_order"] = second_order(lagrangian, rows)
    return body


# --- rows and columns --------------------------------------------------------------------------


def _rows(bench: Bench, core: Core) -> Iterator[Row]:
    """Yield every comparison of the hard rules, without multipliers."""
    for rule in rules_of_core(core):
        if not rule.hard:
            continue
        frame = bench.evaluator.frame(rule.forall, rule.where)
        for op, left, right in bench.evaluator.compared(rule.expression, frame):
            excess = arithmetic.add(left, right, -1.0)
            yield Row(rule, excess, op, np.zeros(excess.data.size))


def _keep(rule: Rule, value: Value, op: str, y: Floats) -> Row:
    """Return a row with its multipliers as they are, whatever its degree."""
    return Row(rule, value, op, np.where(np.isfinite(y), y, 0.0))


def _point(bench: Bench, core: Core) -> Point:
    starts: dict[int, int] = {}
    kinds = {v.name: v for v in core.decision_variables}
    parts: list[tuple[Floats, Floats, Floats, Bools]] = []
    total = 0
    for name, value in bench.variables.items():
        starts[value.order] = total
        size = value.data.size
        total += size
        low, high, free = np.full(size, -np.inf), np.full(size, np.inf), np.ones(size, bool)
        definition = kinds.get(name)
        if definition is not None:
            box = box_of(bench, definition)
            low, high = np.asarray(box.lower), np.asarray(box.upper)
            free = np.asarray(box.exists & (low < high))
            free = free & (definition.type == "continuous")
        parts.append((value.data, low, high, free))
    columns = [np.concatenate([part[k] for part in parts] or [np.zeros(0)]) for k in range(4)]
    return Point(starts, columns[0], columns[1], columns[2], columns[3].astype(bool))


def flat(by_order: Mapping[int, Floats], point: Point) -> Floats:
    """Return derivatives by variable as one number per column."""
    result = np.zeros(point.x.size)
    for order, part in by_order.items():
        if order in point.starts:
            result[point.starts[order] : point.starts[order] + part.size] += part
    return result


def _tolerance(row: Row) -> Floats:
    zero = values.constant(np.zeros(1), row.value.unit)
    return np.broadcast_to(row_tolerance(row.value, zero, None), row.value.data.shape)


def at_bounds(point: Point) -> tuple[Bools, Bools]:
    """Return which columns are at their lower and at their upper bound, within a millionth."""
    reach = np.maximum(
        np.where(np.isfinite(point.lower), np.abs(point.lower), 0.0),
        np.where(np.isfinite(point.upper), np.abs(point.upper), 0.0),
    )
    room = SMALL * np.maximum(np.abs(point.x), reach)
    return point.x - point.lower <= room, point.upper - point.x <= room


# --- first order -------------------------------------------------------------------------------


def _residuals(
    rows: Sequence[Row], node: Value, sign: float, point: Point
) -> tuple[dict[str, float], list[Row]]:
    """Return relative residuals of stationarity, of signs and of complementarity."""
    wrong = [_wrong_sign(row) for row in rows]
    most = max((float(np.abs(row.multipliers).max(initial=0.0)) for row in rows), default=0.0)
    kept = [
        replace(row, multipliers=row.multipliers - off)
        for row, off in zip(rows, wrong, strict=True)
    ]
    seeds = [(node, np.full(1, sign)), *((row.value, -row.multipliers) for row in kept)]
    slope, size = (flat(gradients(seeds, mode), point) for mode in ("value", "absolute"))
    at_low, at_high = at_bounds(point)
    left = np.where(at_low, np.minimum(slope, 0.0), slope)
    left = np.where(at_high, np.maximum(left, 0.0), left)
    left = np.where(point.free, left, 0.0)
    # By its own terms, or those of its fellows of the same size: a nought among noughts is none.
    scale = np.maximum(size, 1e-9 * float(np.max(size, initial=0.0)))
    with np.errstate(all="ignore"):
        relative = np.where(left == 0, 0.0, np.abs(left) / scale)
    own = max(abs(float(node.data[0])), float(node.size[0]), 1e-300)
    gaps = sum(
        float(np.abs(row.multipliers * row.value.data).sum()) for row in kept if row.kind != "=="
    )
    worst = max((float(np.abs(off).max(initial=0.0)) for off in wrong), default=0.0)
    return {
        "stationarity": float(np.max(relative, initial=0.0)),
        "dual": worst / most if most > 0 else 0.0,
        "complementarity": gaps / own,
    }, kept


def _wrong_sign(row: Row) -> Floats:
    """Return what of multipliers is on the side on which they mean nothing."""
    if row.kind == "==":
        return np.zeros_like(row.multipliers)
    bound = np.minimum if row.kind == ">=" else np.maximum
    return np.asarray(bound(row.multipliers, 0.0))


def _primal(rows: Sequence[Row]) -> float:
    """Return the largest violation of a row in parts of its tolerance."""
    worst = 0.0
    for row in rows:
        data = row.value.data
        over = {"<=": data, ">=": -data}.get(row.kind, np.abs(data))
        worst = max(worst, float(np.max(over / _tolerance(row), initial=0.0)))
    return worst


def _least_squares(rows: Sequence[Row], node: Value, sign: float, point: Point) -> list[Row] | None:
    """Return rows with the multipliers, of the right sign, that leave the least slope."""
    from scipy.optimize import lsq_linear

    there = [active(row) for row in rows]
    derivatives = jacobian(rows, there, point)
    slope = flat(gradients([(node, np.full(1, sign))]), point)
    at_low, at_high = at_bounds(point)
    inside = np.flatnonzero(point.free & ~at_low & ~at_high)
    if derivatives.shape[0] == 0 or not inside.size:
        return list(rows)
    if derivatives.shape[0] > MOST_ACTIVE or inside.size > 2 * MOST_ACTIVE:
        return None
    matrix = derivatives[:, inside].T.toarray()
    norms = np.linalg.norm(matrix, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    kinds = np.concatenate(
        [np.full(int(mask.sum()), row.kind) for row, mask in zip(rows, there, strict=True)]
    )
    low = np.where((kinds == ">="), 0.0, -np.inf)
    high = np.where((kinds == "<="), 0.0, np.inf)
    size = float(np.abs(slope[inside]).max(initial=0.0)) or 1.0
    found = lsq_linear(
        matrix / norms,
        slope[inside] / size,
        bounds=(low, high),
        tol=1e-14,
        method="bvls" if inside.size < 400 else "trf",
    )
    y = found.x * size / norms
    result, at = [], 0
    for row, mask in zip(rows, there, strict=True):
        own = np.zeros(mask.size)
        count = int(mask.sum())
        own[mask] = y[at : at + count]
        at += count
        result.append(replace(row, multipliers=own))
    return result


def active(row: Row) -> Bools:
    """Return which rows hold with equality, within their tolerance."""
    if row.kind == "==":
        return np.ones(row.value.data.size, dtype=bool)
    return np.asarray(np.abs(row.value.data) <= _tolerance(row))


def jacobian(rows: Sequence[Row], chosen: Sequence[Bools], point: Point) -> Any:
    """Return the derivatives of chosen rows as a sparse matrix."""
    import scipy.sparse as sp

    parts = []
    for row, mask in zip(rows, chosen, strict=True):
        size = row.value.data.size
        rs, cs, fs = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        derivatives = triplets(row.value, through=True) if row.value.degree else {}
        for order, (r, place, factor) in derivatives.items():
            if order in point.starts:
                rs, cs, fs = [*rs, r], [*cs, place + point.starts[order]], [*fs, factor]
        entries = (np.concatenate(fs), (np.concatenate(rs), np.concatenate(cs)))
        parts.append(sp.csr_matrix(entries, shape=(size, point.x.size))[np.flatnonzero(mask)])
    return sp.vstack(parts, format="csr") if parts else sp.csr_matrix((0, point.x.size))
