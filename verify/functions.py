"""Functions of the language on numbers, and what is wrong with numbers outside their domain."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engiagent.blueprint.grammar import Call, Members, Node, Ref
from engiagent.units.unit import Unit, UnitError
from engiagent.verify import arithmetic, frames, values
from engiagent.verify.findings import Violation
from engiagent.verify.frames import Elements, EvaluationError, Frame
from engiagent.verify.tolerances import row_tolerance
from engiagent.verify.values import ONE, Floats, Link, NotExactError, Value

if TYPE_CHECKING:
    from engiagent.verify.evaluate import Evaluator


@dataclass(frozen=True)
class Fault:
    """A number of the schedule at which a function has no value.

    ``amount`` is how far outside the domain it lies, in ``unit``; None where that has no size.
    """

    text: str
    where: dict[str, str]
    amount: float | None = None
    unit: str | None = None
    tolerance: float | None = None

    def violation(self, level: str, check: str, name: str, words: str) -> Violation:
        """Return what is wrong, for the certificate."""
        rest = self.amount, self.unit, self.tolerance
        return Violation(level, check, name, f"{words}: {self.text}", self.where, *rest)


OF_ELEMENTS: dict[str, Callable[[Elements], Value]] = {
    "clock": frames.clock,
    "dt": frames.dt,
    "hour": frames.hour,
    "pos": frames.pos,
    "prob": frames.prob,
    "weekday": frames.weekday,
}

Bend = Callable[[Floats, Floats], Floats]
"""Where a function is convex (1), concave (-1) or neither (0) over intervals."""


@dataclass(frozen=True)
class Function:
    """What the checker knows of a function of one number."""

    # value, slope: the function and its derivative, in SI
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    # its curvature over intervals; None for one that turns again and again
    bend: Bend | None = None
    least: float = -np.inf  # the lowest number at which it has a value


def _downwards(low: Floats, high: Floats) -> Floats:
    return -np.ones_like(low)


def _towards_zero(low: Floats, high: Floats) -> Floats:
    return np.where(high <= 0, 1.0, np.where(low >= 0, -1.0, 0.0))


ELEMENTARY: dict[str, Function] = {
    "cos": Function(np.cos, lambda x: -np.sin(x)),
    "exp": Function(np.exp, np.exp, lambda low, high: np.ones_like(low)),
    "log": Function(np.log, lambda x: 1.0 / x, _downwards, 0.0),
    "sin": Function(np.sin, np.cos),
    "sqrt": Function(np.sqrt, lambda x: 0.5 / np.sqrt(x), _downwards, 0.0),
    "tanh": Function(np.tanh, lambda x: 1.0 - np.tanh(x) ** 2, _towards_zero),
}


def elementary(evaluator: "Evaluator", node: Call, value: Value, frame: Frame) -> Value:
    """Return ``exp``, ``log`` and the like of a pure number, a root of a square of a unit too."""
    if values.is_exact(value.data):
        raise NotExactError(f"{node.function} has no rational value")
    unit, argument = ONE, value
    if node.function == "sqrt":
        try:
            unit = value.unit.root()
        except UnitError:
            raise EvaluationError(
                f"sqrt needs a pure number or a square, not {value.unit}"
            ) from None
    if unit.is_dimensionless:
        (argument,) = arithmetic.align([value, values.constant(np.ones(1), ONE)])[:1]
    inside = argument
    if node.function == "sqrt":
        inside = not_below_zero(evaluator, "sqrt", argument, frame)
    with np.errstate(all="ignore"):
        data = ELEMENTARY[node.function].value(inside.data)
    result = arithmetic.mapped(node.function, argument, data, unit, np.abs(data))
    return finite(evaluator, node.function, result, (argument,), frame)


def finite(
    evaluator: "Evaluator", what: str, result: Value, parts: tuple[Value, ...], frame: Frame
) -> Value:
    """Return the result; note a fault where finite numbers of the schedule give none."""
    if result.degree < 2 or values.is_exact(result.data) or np.isfinite(result.data).all():
        return result
    bad = ~np.isfinite(result.data)
    for part in parts:
        bad &= np.isfinite(np.broadcast_to(part.data, bad.shape))
    if bad.any():
        row = int(np.argmax(bad))
        given = " and ".join(
            f"{float(np.broadcast_to(part.shown, bad.shape)[row]):.6g} {part.unit}".strip()
            for part in parts
        )
        text = f"{what} of {given} is no finite number"
        evaluator.faults.append(Fault(text, frame.labels(row)))
    return result


def not_below_zero(evaluator: "Evaluator", what: str, value: Value, frame: Frame) -> Value:
    """Return a value that is nowhere negative; what is so by more than rounding is a fault."""
    if values.is_exact(value.data) or not value.degree or not (value.data < 0).any():
        return value
    tolerance = row_tolerance(value, values.constant(np.zeros(1), value.unit), None)
    beyond = value.data < -tolerance
    if beyond.any():
        _note(evaluator, f"{what} of a negative number", -value.data, tolerance, value.unit, frame)
    kept = np.where(beyond, value.data, np.maximum(value.data, 0.0))
    return replace(value, data=kept, links=(Link(value, "each"),), atom=None)


def _note(
    evaluator: "Evaluator", text: str, excess: Floats, tolerance: Floats, unit: Unit, frame: Frame
) -> None:
    row = int(np.argmax(excess - tolerance))
    factor = unit.scale
    amount = float(excess[row]) / factor
    measure, allowed = unit.difference(), np.broadcast_to(tolerance, excess.shape)
    shown, limit = f"{text}: {amount:.6g} {measure} outside", float(allowed[row]) / factor
    evaluator.faults.append(Fault(shown, frame.labels(row), amount, str(measure), limit))


def piecewise(evaluator: "Evaluator", node: Call, frame: Frame) -> Value:
    """Interpolate in a table; what lies outside by more than rounding is a fault."""
    at = evaluator.number(node.args[0], frame)
    if values.is_exact(at.data):
        raise NotExactError("a table is interpolated in floating point")
    xs, unit = _points(evaluator, node.args[1], frame, None if at.bare else at)
    if at.bare:
        at = arithmetic.align([values.constant(np.zeros(1), unit), at])[1]
    ys, result = _points(evaluator, node.args[2], frame, None)
    if xs.shape[1] != ys.shape[1] or xs.shape[1] < 2:
        raise EvaluationError(f"{xs.shape[1]} breakpoints and {ys.shape[1]} values are no table")
    if not (np.diff(xs, axis=1) > 0).all() or not np.isfinite(ys).all():
        raise EvaluationError("the breakpoints of a table increase, its values are finite")
    excess = np.maximum(xs[:, 0] - at.data, at.data - xs[:, -1])
    if at.degree or (excess > 0).any():
        scale = np.maximum(np.abs(xs[:, 0]), np.abs(xs[:, -1]))
        limits = Value(xs[:, 0], at.unit, scale)
        tolerance = np.broadcast_to(row_tolerance(at, limits, None), excess.shape)
        if not (excess <= tolerance).all():
            _note(evaluator, "outside the table", excess, tolerance, at.unit, frame)
    return arithmetic.table(at, xs, ys, result)


def _points(
    evaluator: "Evaluator", node: Node, frame: Frame, beside: Value | None
) -> tuple[Floats, Unit]:
    """Return the points of a table in SI, shape (1 or rows, points), and their unit.

    Bare literals take the unit of ``beside``, or that of the first point that has one.
    """
    if isinstance(node, Members):
        items = [evaluator.number(item, Frame(1)) for item in node.items]
        if any(item.degree for item in items):
            raise EvaluationError("the points of a table are no variables")
        first = [] if beside is None else [values.constant(np.zeros(1), beside.unit)]
        aligned = arithmetic.align([*first, *items])
        return np.array([[item.data[0] for item in aligned[len(first) :]]]), aligned[0].unit
    symbol = evaluator.environment.symbol(node.name) if isinstance(node, Ref) else None
    if symbol is None or symbol.value is None or symbol.value.degree or not symbol.dims:
        raise EvaluationError("a table is made of listed numbers or of parameters")
    assert isinstance(node, Ref)
    value = symbol.value
    if beside is not None:
        value = arithmetic.align([beside, value])[1]
    data = value.data.reshape(-1, symbol.dims[-1].size)
    if len(symbol.dims) > 1:
        data = data[evaluator.places.flat(node, replace(symbol, dims=symbol.dims[:-1]), frame)]
    elif node.indices:
        raise EvaluationError(f"{node.name} is named in a table without its last index")
    return data, value.unit
