r"""Level 4: how far from the best, from multipliers that nobody has to trust.

For a minimisation with rows :math:`g_r(x) \ge b_r` and multipliers :math:`y_r` of the right sign,

.. math:: f(x) \ge f(x_0) - \sum_r y_r (g_r(x_0) - b_r)
    + \sum_j \min_{l_j \le x_j \le u_j} d_j (x_j - x_{0,j}), \qquad d = \nabla f - A^T y

holds for every allowed :math:`x`, whatever the multipliers are: wrong ones only make the bound
weak. Rounding is subtracted by an a-priori error bound, in the manner of A. Neumaier and
O. Shcherbina, doi:10.1007/s10107-003-0433-3. The derivatives come from the checker's own backward
sweep. A Farkas ray is the same statement about :math:`0 \ge` something positive.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.blueprint.grammar import Call, parse
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.algebra import Rule, rules_of_core
from engiagent.verify.levels.bands import part
from engiagent.verify.levels.implied import NoWorse, implied_bounds
from engiagent.verify.levels.shifted import Weighted, shifted, without_noise
from engiagent.verify.levels.variables import Bounds, box_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.sweeps import contributions, gradients
from engiagent.verify.values import EPSILON, Floats, Value, blocks

METHOD = "dual bound recomputed from the multipliers"
SAFETY = 4.0  # the a-priori constants count each rounding once; the sums around them add a few
PLAINLY = 1e-9  # by how much of its terms a comparison of numbers has to fail to be a contradiction


@dataclass(frozen=True)
class Row:
    """The rows of one comparison as ``value >= 0``, ``<= 0`` or ``== 0``, with multipliers."""

    rule: Rule
    value: Value
    kind: str
    multipliers: Floats


@dataclass(frozen=True)
class DualBound:
    """A bound of the objective that holds for every allowed plan.

    Attributes
    ----------
    value
        In SI; None when the bound is lost.
    error
        What was subtracted for rounding, in SI.
    reason
        Why there is none.
    cut
        Whether it holds for plans only that are no worse than the one at hand.
    """

    value: float | None
    error: float = 0.0
    reason: str | None = None
    cut: bool = False


def only_affine(bench: Bench, core: Core) -> bool:
    """Whether every constraint compares what is affine in the variables."""
    for rule in rules_of_core(core):
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame)
        except EvaluationError:
            return False
        if any(max(left.degree, right.degree) > 1 for _, left, right in compared):
            return False
    return True


def rows_of(
    bench: Bench,
    core: Core,
    multipliers: Mapping[str, Multipliers],
    scale: Unit | None,
    sign: float,
    make: Callable[[Rule, Value, str, Floats], Row] | None = None,
) -> Iterator[Row]:
    """Yield all rows that carry a multiplier, each clipped to the side on which it is valid.

    Parameters
    ----------
    multipliers
        By constraint id; those of a chain's n-th comparison may be named ``id__n``.
    scale
        The unit of the objective, None for a ray.
    sign
        -1 for a maximisation, whose multipliers have the other sign.
    make
        What makes a row of a comparison and its multipliers; :func:`row_of` if nothing else does.

    Raises
    ------
    EvaluationError
        When a constraint cannot be evaluated or the multipliers do not fit its rows.
    """
    made = row_of if make is None else make
    for rule in rules_of_core(core):
        if not rule.hard:
            continue
        whole = multipliers.get(rule.id)
        parts = {n: multipliers.get(f"{rule.id}__{n}") for n in (1, 2, 3)}
        if whole is None and not any(part is not None for part in parts.values()):
            continue
        frame = bench.evaluator.frame(rule.forall, rule.where)
        if frame.size == 0 or not _comparable(rule):
            continue
        pairs = bench.evaluator.compared(rule.expression, frame)
        unit = pairs[0][1].unit.difference()
        alike = len({op for op, _, _ in pairs}) == 1
        if len(pairs) == 2 and alike and whole is not None and parts[2] is None:
            y = sign * _fit(whole, frame.size, scale, unit)
            yield from _range(rule, pairs[0][0], [*pairs[0][1:], pairs[1][2]], y, made)
            continue
        for number, (op, left, right) in enumerate(pairs, 1):
            chosen = parts[number] or (whole if number == 1 else None)
            if chosen is None:
                continue
            y = sign * _fit(chosen, frame.size, scale, unit)
            yield made(rule, arithmetic.add(left, right, -1.0), op, y)


def _comparable(rule: Rule) -> bool:
    """Whether a rule compares; what states something else is left out, which loosens a bound."""
    return not isinstance(parse(rule.expression), Call)


def row_of(rule: Rule, value: Value, op: str, y: Floats) -> Row:
    """Return rows with multipliers, clipped to the side on which they are valid."""
    if value.degree > 1:
        # Without a statement about all plans, its multiplier counts for nothing.
        return Row(rule, values.constant(np.zeros(y.size), value.unit), op, np.zeros(y.size))
    clipped = y if op == "==" else np.maximum(y, 0.0) if op == ">=" else np.minimum(y, 0.0)
    return Row(rule, value, op, clipped)


def _range(
    rule: Rule,
    op: str,
    sides: Sequence[Value],
    y: Floats,
    made: Callable[[Rule, Value, str, Floats], Row],
) -> Iterator[Row]:
    """Yield the two ends of ``low <= middle <= high``, whose multiplier is that of the middle."""
    low, middle, high = sides if op != ">=" else (sides[2], sides[1], sides[0])
    above, below = (">=", "<=") if op != "==" else ("==", "==")
    positive, negative = np.maximum(y, 0.0), np.minimum(y, 0.0)
    yield made(rule, arithmetic.add(middle, low, -1.0), above, positive)
    yield made(rule, arithmetic.add(middle, high, -1.0), below, negative)


def _fit(multipliers: Multipliers, size: int, scale: Unit | None, unit: Unit) -> Floats:
    """Return multipliers for the rows of a frame, in SI; NaN marks rows that do not exist."""
    data = multipliers.data
    if data.size != size:
        data = data[~np.isnan(data)]
    if data.size != size:
        raise EvaluationError(f"{multipliers.data.size} multipliers for {size} rows")
    # A multiplier that is no finite number proves nothing; zero is always valid.
    if not np.isfinite(data.sum()):
        data = np.where(np.isfinite(data), data, 0.0)
    if multipliers.unit is not None:
        return data * multipliers.unit.scale
    return data * (scale.scale if scale is not None else 1.0) / unit.scale


def dual_bound(
    bench: Bench, core: Core, multipliers: Mapping[str, Multipliers], objective: Value, sense: str
) -> DualBound:
    """Return a bound of the objective from below (from above when maximising), in SI."""
    sign = 1.0 if sense == "minimize" else -1.0
    if objective.degree > 1:
        return DualBound(None, reason="the objective is not affine in the variables")
    try:
        rows = list(rows_of(bench, core, multipliers, objective.unit, sign))
        boxes = {v.name: box_of(bench, v) for v in core.decision_variables}
    except EngiagentError as problem:
        return DualBound(None, reason=str(problem))
    return bound_of_rows(bench, core, rows, boxes, objective, sign)


def bound_of_rows(
    bench: Bench,
    core: Core,
    rows: Sequence[Row],
    boxes: Mapping[str, Bounds],
    objective: Value,
    sign: float,
) -> DualBound:
    """Return the bound that rows with multipliers prove over a box; see :func:`dual_bound`.

    Parameters
    ----------
    core
        For its variables, and for its constraints where bounds have to be implied.
    sign
        1 for a minimisation, -1 for a maximisation.
    """
    found = _bound_of_rows(bench, core, rows, boxes, objective, sign)
    if found.value is not None:
        return found
    clear = without_noise([row.multipliers for row in rows])
    weighted = [Weighted(r.value, r.kind, y) for r, y in zip(rows, clear, strict=True)]
    for multipliers in (clear, shifted(bench, boxes, objective, weighted, sign)):
        if multipliers is None:
            continue
        again = [replace(r, multipliers=y) for r, y in zip(rows, multipliers, strict=True)]
        better = _bound_of_rows(bench, core, again, boxes, objective, sign)
        if better.value is not None:
            return better
    return found


def _bound_of_rows(
    bench: Bench,
    core: Core,
    rows: Sequence[Row],
    boxes: Mapping[str, Bounds],
    objective: Value,
    sign: float,
) -> DualBound:
    """Return the bound of these very multipliers."""
    seeds = [(objective, np.full(1, sign))]
    seeds += [(row.value, -row.multipliers) for row in rows]
    constant = sign * float(objective.data[0])
    error = float(objective.error()[0])
    for row in rows:
        constant -= _dot(row.multipliers, row.value.data)
        weight = _dot(np.abs(row.multipliers), row.value.size)
        error += EPSILON * (row.multipliers.size + 2 + row.value.roundings) * weight
    reach = _reach(bench, core, boxes, seeds, NoWorse(objective, sign))
    if reach.value is None:
        return reach
    total = constant + reach.value
    error = SAFETY * (error + reach.error + EPSILON * (abs(constant) + abs(reach.value)))
    if not np.isfinite(total - error):
        return DualBound(None, reason="the multipliers overflow")
    # Of plans that are worse than this one nothing may have been counted, and nothing need be.
    bound = min(total - error, sign * float(objective.data[0])) if reach.cut else total - error
    return DualBound(sign * bound, error)


def _reach(
    bench: Bench,
    core: Core,
    boxes: Mapping[str, Bounds],
    seeds: Sequence[tuple[Value, Floats]],
    better: NoWorse | None = None,
) -> DualBound:
    """Return the least of ``d (x - x0)`` over the box, with its rounding error.

    Where the box is open, it is that of the plans which are no worse than the one at hand.
    """
    slopes, sizes = gradients(seeds), gradients(seeds, "absolute")
    counts = contributions([seed for seed, _ in seeds])
    roundings = max([seed.roundings for seed, _ in seeds], default=0)
    total, error = 0.0, 0.0
    implied: dict[str, Bounds] | None = None
    for definition in core.decision_variables:
        value = bench.variables.get(definition.name)
        if value is None or value.order not in slopes:
            continue
        box = boxes[definition.name]
        d, size = slopes[value.order], sizes[value.order]
        many = EPSILON * (counts[value.order] + roundings + 8.0)
        near = _near(d, size, many, box, value.data)
        if near is not None:
            total, error = total + near[0], error + EPSILON * (len(d) + 4) * near[1]
            continue
        noise = many * size
        # A slope may have either sign within its noise, so both ends of the box count then.
        needed = np.where(
            d > noise, box.lower, np.where(d < -noise, box.upper, box.upper - box.lower)
        )
        if (box.exists & (size > 0) & ~np.isfinite(needed)).any():
            if implied is None:
                implied = implied_bounds(bench, core, boxes, better)
            box = implied[definition.name]
        down, up = (_least_change(d, noise, end, value.data) for end in (box.lower, box.upper))
        least = np.where(d > noise, down, np.where(d < -noise, up, np.minimum(down, up)))
        least = np.where(box.exists & (size > 0), least, 0.0)
        if not np.isfinite(least).all():
            row = int(np.argmin(np.isfinite(least)))
            return DualBound(
                None,
                reason=f"{definition.name} (element {row}) has no bound on the side to which its "
                f"reduced cost of {d[row]:.3g} (SI) points; give it physical bounds",
            )
        total += float(least.sum())
        error += EPSILON * (len(least) + 4) * float(np.abs(least).sum())
    return DualBound(total, error, cut=implied is not None and better is not None)


def _near(
    slope: Floats, size: Floats, many: float, box: Bounds, start: Floats
) -> tuple[float, float] | None:
    """Return the least change over a finite box, less its doubt, and the sum of its sizes.

    With a slope that is ``slope`` up to ``many * size``, the change is at least that of ``slope``
    less the doubt times the largest distance. None where an end is infinite or does not exist.
    """
    lower, upper = values.thin(box.lower), values.thin(box.upper)
    finite = all(math.isfinite(e) for end in (lower, upper) if end.size for e in _ends_of(end))
    if not (finite and values.thin(box.exists).all()):
        return None
    change, reach = np.empty_like(start), np.empty_like(start)
    for rows in blocks(start.size):
        low, high, here = part(lower, rows), part(upper, rows), change[rows]
        np.subtract(np.where(slope[rows] > 0, low, high), start[rows], out=here)
        here *= slope[rows]
        np.abs(start[rows], out=reach[rows])
        reach[rows] += np.maximum(np.abs(low), np.abs(high))
    doubt = many * _dot(size, reach)
    least = float(change.sum())
    if not np.isfinite(least - doubt):
        return None
    return least - doubt, float(np.abs(change, out=change).sum()) + doubt


def _ends_of(numbers: Floats) -> tuple[float, float]:
    """Return the least and the greatest number, of which one is not finite if any is not."""
    return float(numbers.min()), float(numbers.max())


def _dot(left: Floats, right: Floats) -> float:
    """Return the scalar product, with the same bits whatever BLAS and threads do."""
    return float(np.einsum("i,i->", left, right))


def _least_change(slope: Floats, noise: Floats, end: Floats, start: Floats) -> Floats:
    """Return ``slope * (end - start)`` less its rounding; not finite where the end is infinite."""
    with np.errstate(invalid="ignore"):
        change = np.where(slope == 0, 0.0, slope * (end - start))
        doubt = np.where(noise == 0, 0.0, noise * (np.abs(end) + np.abs(start)))
        return np.asarray(change - doubt)


@dataclass(frozen=True)
class Proof:
    """The outcome of a claim that nothing is allowed.

    Attributes
    ----------
    margin
        By how much the weighted rows exceed what the box can reach, in the ray's own measure;
        above zero it is a proof.
    weights
        The share of each constraint in the proof, largest first.
    """

    margin: float | None
    weights: tuple[tuple[str, float], ...] = ()
    reason: str | None = None

    @property
    def proven(self) -> bool:
        """Whether nothing can be allowed."""
        return self.margin is not None and self.margin > 0


def farkas_proof(bench: Bench, core: Core, rays: Mapping[str, Multipliers]) -> Proof:
    """Return whether the rows, weighted by a ray, contradict the bounds of the variables.

    The bench needs a value for every variable, of any size: zeros will do.
    """
    plain = plain_contradiction(bench, core)
    if plain is not None:
        return plain
    if not rays:
        return Proof(None, reason="no ray came with the claim")
    try:
        rows = list(rows_of(bench, core, rays, None, 1.0))
        boxes = {v.name: box_of(bench, v) for v in core.decision_variables}
    except EngiagentError as problem:
        return Proof(None, reason=str(problem))
    if not rows:
        return Proof(None, reason="no constraint carries weight")
    # Were x allowed, y (g(x) - b) >= 0 on every row; so the largest value of the sum must be < 0.
    seeds = [(row.value, -row.multipliers) for row in rows]
    constant, error = 0.0, 0.0
    shares: dict[str, float] = {}
    for row in rows:
        weight = np.abs(row.multipliers)
        constant -= _dot(row.multipliers, row.value.data)
        error += _dot(weight, row.value.error())
        error += EPSILON * (len(weight) + 2) * _dot(weight, row.value.size)
        share = _dot(weight, row.value.size)
        shares[row.rule.id] = shares.get(row.rule.id, 0.0) + share
    reach = _reach(bench, core, boxes, seeds)
    if reach.value is None:
        return Proof(None, reason=reach.reason)
    total = constant + reach.value - SAFETY * (error + reach.error)
    total -= SAFETY * EPSILON * (abs(constant) + abs(reach.value))
    most = sum(shares.values())
    listed = [(name, share / most) for name, share in shares.items() if share > 1e-9 * most]
    ordered = tuple(sorted(listed, key=lambda item: (-item[1], item[0])))
    if not np.isfinite(total) or most == 0.0:
        return Proof(None, ordered, "the ray overflows or is zero")
    # Relative to the weighted rows: a proof by less than rounding of the data is no proof.
    return Proof(total / most, ordered, None if total > 0 else "the ray proves nothing")


def plain_contradiction(bench: Bench, core: Core) -> Proof | None:
    """Return the proof by bounds that cross or a false comparison of numbers, which need no ray.

    None where there is neither, beyond what rounding of the data explains.
    """
    for definition in core.decision_variables:
        box = box_of(bench, definition)
        if definition.type in ("integer", "binary"):
            box = box.with_whole_ends(parse_unit(definition.unit or "1"))
        crossing = (box.lower - box.upper)[box.exists]
        size = np.maximum(np.abs(box.lower), np.abs(box.upper))[box.exists]
        proof = _beyond(f"bounds of {definition.name}", crossing, size)
        if proof is not None:
            return proof
    for rule in rules_of_core(core):
        if not rule.hard or not _comparable(rule):
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame) if frame.size else ()
        except EngiagentError:
            continue  # a row that cannot be read contradicts nothing
        for op, left, right in (*compared, *_ends(compared)):
            excess = arithmetic.add(left, right, -1.0)
            if excess.degree == 0:
                signed = {"<=": excess.data, ">=": -excess.data}.get(op, np.abs(excess.data))
                proof = _beyond(rule.id, signed, excess.size)
                if proof is not None:
                    return proof
    return None


def _ends(compared: Sequence[tuple[str, Value, Value]]) -> list[tuple[str, Value, Value]]:
    """Return what a chain of one operator says of its ends."""
    if len(compared) < 2 or len({op for op, _, _ in compared}) > 1:
        return []
    return [(compared[0][0], compared[0][1], compared[-1][2])]


def _beyond(name: str, excess: Floats, size: Floats) -> Proof | None:
    """Return the proof that an excess is positive, None where it may be rounding."""
    size = np.broadcast_to(size, excess.shape) if np.size(size) == 1 else size[: excess.size]
    if not excess.size:
        return None
    with np.errstate(invalid="ignore"):  # an end that is infinite is never crossed
        relative = excess / np.maximum(size, 1e-300)
    worst = float(np.max(np.where(np.isfinite(relative), relative, -np.inf)))
    return Proof(worst, ((name, 1.0),)) if worst > PLAINLY else None


def gap_of(value: float, bound: float, sense: str) -> float:
    """Return by how much a plan may be worse than the best, relative to its objective.

    Below one unit of the objective the gap is absolute: a plan that costs nothing has no scale.
    """
    difference = value - bound if sense == "minimize" else bound - value
    return difference / max(abs(value), abs(bound), 1.0)
