"""Whether values are what their definitions say, and whether claims hold on them.

Nothing is stepped through here: the numbers as computed are put into every right-hand side at once,
and what comes out is compared with the left-hand side. Numbers that agree everywhere are a solution
of all recursions, however they were found.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from engiagent.blueprint.elements import ClaimDef, DefinitionDef, DrawDef, EquationDef
from engiagent.blueprint.grammar import Ref, parse, walk
from engiagent.blueprint.timeaxis import parse_step
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.definitions.bench import Bench, computed, in_unit, misfit
from engiagent.verify.findings import Violation
from engiagent.verify.frames import EvaluationError, Frame, label_of
from engiagent.verify.levels.algebra import Outcome
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats, Value

LEVEL = "algebra"


def check_values(bench: Bench, refine: int = 1) -> Iterator[Outcome]:
    """Yield the outcome for every draw, definition and equation."""
    for item in computed(bench.core):
        try:
            if isinstance(item, DrawDef):
                yield _draw(bench, item)
            elif isinstance(item, DefinitionDef):
                evaluator, stored = bench.evaluator(), bench.data(item.name)
                frame, text = bench.frame(item.index), item.expression
                value = in_unit(evaluator.number(parse(text), frame), stored.unit)
                yield _compared(item.name, text, value, stored, frame, evaluator.close_calls)
            else:
                yield _equation(bench, item, refine)
        except EngiagentError as error:
            text = f"{item.name}: {error}"
            yield Outcome({"id": item.name, "status": "unchecked", "reason": text})


def _equation(bench: Bench, item: EquationDef, refine: int) -> Outcome:
    periods = bench.declarations.dims(item.index)[0][-1]
    stored = bench.data(item.name)
    first = bench.frame(item.index[:-1])
    start = in_unit(bench.evaluator().number(parse(str(item.initial)), first), stored.unit)
    edges = stored.data.reshape(-1, periods.size + 1)
    begun = replace(stored, data=edges[:, 0], sizes=np.abs(edges[:, 0]))
    outcome = _compared(item.name, str(item.initial), start, begun, first, 0)
    if outcome.status != "pass":
        return outcome
    value, calls = carried(bench, item, refine)
    after = edges[:, 1:].reshape(-1)
    kept = replace(stored, data=after, sizes=np.abs(after))
    text = f"{item.rate} by {item.scheme}"
    return _compared(item.name, text, value, kept, bench.frame(item.index), calls)


def _compared(
    name: str, text: str, value: Value, stored: Value, frame: Frame, calls: int
) -> Outcome:
    defect = np.abs(value.data - stored.data)
    allowed = TOLERANCES["of_terms"] * (value.size + np.abs(stored.data))
    allowed += 1e-15 * stored.unit.scale  # nothing at all in its unit
    good = defect <= allowed  # NaN is no good
    worst = (
        int(np.argmax(np.where(np.isfinite(defect), defect - allowed, np.inf)))
        if defect.size
        else 0
    )
    amount = float(defect[worst]) if defect.size else 0.0
    steps = stored.unit.difference() if stored.unit.is_point else stored.unit
    names = frame.names.items() if defect.size else ()
    where = {n: label_of(e.set, int(e.positions[worst])) for n, e in names}
    shown = amount / steps.scale
    check: dict[str, object] = {
        "id": name,
        "text": text,
        "rows": int(defect.size),
        "worst": {"where": where, "defect": shown, "unit": str(steps)},
        "tolerance": float(allowed[worst]) / steps.scale if defect.size else None,
        "status": "pass",
    }
    if bool(np.all(good)):
        return Outcome(check)
    if calls:
        reason = f"{name}: {calls} decisions lie within rounding of their limit"
        return Outcome({**check, "status": "unchecked", "reason": reason})
    found = float(stored.shown[worst])
    wanted = float(replace(value, unit=stored.unit).shown[worst])
    place = ", ".join(f"{n} = {label}" for n, label in where.items())
    message = f"{name}{f' at {place}' if place else ''} is {found:.9g} {stored.unit}, "
    message += f"but evaluating it again gives {wanted:.9g} {stored.unit}"
    tolerance = float(allowed[worst]) / steps.scale
    violation = Violation(LEVEL, name, name, message, where, shown, str(steps), tolerance)
    return Outcome({**check, "status": "fail"}, violation)


def _draw(bench: Bench, item: DrawDef) -> Outcome:
    stored = bench.data(item.name)
    unit = parse_unit(item.unit or "1")
    amount: Floats = misfit(bench, item, in_unit(stored, unit))
    wrong = np.flatnonzero(~(amount <= 0.0))
    check: dict[str, object] = {
        "id": item.name,
        "text": f"{item.distribution}, {item.generator}, seed {item.seed}",
        "rows": int(amount.size),
        "status": "fail" if wrong.size else "pass",
    }
    if not wrong.size:
        return Outcome(check)
    frame = bench.frame(item.index)
    where = frame.labels(int(wrong[0])) if frame.names else {}
    message = f"{item.name}: {wrong.size} samples are not those of {item.generator} and the seed"
    return Outcome(check, Violation(LEVEL, item.name, item.name, message, where))


def check_claim(bench: Bench, claim: ClaimDef, finer: Bench | None) -> Outcome:
    """Return the outcome of one claim.

    ``finer``: the same with half the step of the differential equations; None where there is none.
    """
    try:
        return _checked(bench, claim, finer)
    except EngiagentError as error:
        text = f"{claim.claim_id}: {error}"
        return Outcome({"id": claim.claim_id, "status": "unchecked", "reason": text})


def _checked(bench: Bench, claim: ClaimDef, finer: Bench | None) -> Outcome:
    frame, amounts, roundings, left = _claim_excess(bench, claim)
    steps = left.unit.difference() if left.unit.is_point else left.unit
    stated = bench.evaluator().number(parse(str(claim.tolerance)), Frame(1))
    allowed = float(in_unit(stated, steps).data[0])
    if not (np.isfinite(allowed) and allowed >= 0.0):
        raise EvaluationError("a tolerance is a number from 0")
    factor = steps.scale
    if amounts.size == 0:
        text = f"{claim.claim_id}: the claim speaks of nothing: its filter leaves no row"
        return Outcome({"id": claim.claim_id, "status": "unchecked", "reason": text})
    worst = int(np.argmax(amounts))
    amount = float(amounts[worst])
    change = 0.0
    if finer is not None:
        change = float(np.max(np.abs(_claim_excess(finer, claim)[1] - amounts)))
    where, source = frame.labels(worst), claim.source_reference
    quote = source.get("quote") if isinstance(source, Mapping) else None
    check: dict[str, object] = {
        "id": claim.claim_id,
        "name": claim.name or claim.claim_id,
        "text": claim.expression,
        "quote": None if quote is None else str(quote),
        "rows": int(amounts.size),
        "worst": {"where": where, "excess": amount / factor, "unit": str(steps)},
        "value": float(left.shown[worst]),
        "tolerance": allowed / factor,
        "half_step_change": change / factor if finer is not None else None,
        "status": "pass",
    }
    rounding = float(roundings[worst])
    holds = bool(np.all(amounts <= allowed))
    surely = amount - change - rounding > allowed
    if not change <= allowed and not surely:
        reason = f"{claim.claim_id}: half the step changes it by {change / factor:.3g} {steps}, "
        reason += f"more than its tolerance of {allowed / factor:.3g} {steps}"
        return Outcome({**check, "status": "unchecked", "reason": reason})
    if abs(amount - allowed) <= rounding and amount != 0.0 and not surely:
        reason = f"{claim.claim_id}: rounding leaves open whether it holds"
        return Outcome({**check, "status": "unchecked", "reason": reason})
    if holds:
        return Outcome(check)
    place = ", ".join(f"{n} = {label}" for n, label in where.items())
    message = f"{claim.claim_id}{f' at {place}' if place else ''}: {claim.expression} is off by "
    message += f"{amount / factor:.6g} {steps}; the left side is "
    message += f"{float(left.shown[worst]):.9g} {left.unit}"
    name = claim.name or claim.claim_id
    violation = Violation(
        LEVEL, claim.claim_id, name, message, where, amount / factor, str(steps), allowed / factor
    )
    return Outcome({**check, "status": "fail"}, violation)


def _claim_excess(bench: Bench, claim: ClaimDef) -> tuple[Frame, Floats, Floats, Value]:
    """Return rows, by how much each is off, how far rounding may have moved that, the left side.

    Amounts are in SI.
    """
    frame = bench.frame(claim.forall, claim.where)
    compared = bench.evaluator().compared(claim.expression, frame)
    amount = np.full(frame.size, -np.inf)
    rounding = np.zeros(frame.size)
    for op, left, right in compared:
        gap = left.data - right.data
        if not np.isfinite(gap).all():
            raise EvaluationError("a side is not a finite number")
        off = {"<=": gap, ">=": -gap, "==": np.abs(gap)}[op]
        amount = np.maximum(amount, off)
        rounding = np.maximum(rounding, left.error() + right.error())
    return frame, amount, rounding, compared[0][1]


# --- one period of every differential equation at once, from the stored states at its start -----


MAX_PARTS = 20_000
TERMS = 24


class _Coupled:
    """All equations over one set of instants, as one field of rates over all periods.

    States are held as one array per name, shape (other indices, periods), in SI.
    """

    def __init__(self, bench: Bench, item: EquationDef) -> None:
        self.bench = bench
        self.items = _needed(bench.core.equations, item)
        self.frames: dict[str, Frame] = {e.name: bench.frame(e.index) for e in self.items}
        periods = bench.declarations.dims(item.index)[0][-1]
        if periods.axis is None:
            raise EvaluationError(f"{periods.name} has no periods with a length")
        self.count = periods.size
        self.lengths = periods.axis.steps * parse_unit(periods.axis.step_unit).scale
        self.second = parse_unit(periods.axis.step_unit)
        self.close_calls = 0
        self.sizes: dict[str, Floats] = {}

    def start(self) -> dict[str, Floats]:
        """Return the stored states at the start of every period."""
        return {
            e.name: self.bench.data(e.name).data.reshape(-1, self.count + 1)[:, :-1]
            for e in self.items
        }

    def rates(self, states: dict[str, Floats]) -> dict[str, Floats]:
        """Return the rates of all states, in SI per second."""
        changed = {}
        for name, data in states.items():
            symbol = self.bench.symbols[name]
            assert symbol.value is not None
            # The last instant begins no period: no rate may look at it.
            flat = np.concatenate([data, np.full((len(data), 1), np.nan)], axis=1).reshape(-1)
            value = replace(symbol.value, data=flat, sizes=np.abs(flat))
            changed[name] = replace(symbol, value=value)
        evaluator = self.bench.evaluator(changed)
        found = {}
        for item in self.items:
            unit = self.bench.data(item.name).unit
            steps = (unit.difference() if unit.is_point else unit) / self.second
            value = in_unit(evaluator.number(parse(item.rate), self.frames[item.name]), steps)
            found[item.name] = value.data.reshape(-1, self.count)
            self.sizes.setdefault(item.name, value.size.reshape(-1, self.count))
        self.close_calls += evaluator.close_calls
        return found


States = dict[str, Floats]


def _needed(equations: tuple[EquationDef, ...], item: EquationDef) -> list[EquationDef]:
    """Return an equation and all others whose states its rate needs, at first or second hand."""
    found, waiting = [item], [item]
    while waiting:
        names = {n.name for n in walk(parse(waiting.pop().rate)) if isinstance(n, Ref)}
        for other in equations:
            if other.name in names and other.instants == item.instants and other not in found:
                found.append(other)
                waiting.append(other)
    return found


def carried(bench: Bench, item: EquationDef, refine: int) -> tuple[Value, int]:
    """Return a state at the end of every period, and how many decisions were close calls."""
    field = _Coupled(bench, item)
    start = field.start()
    cuts = _cuts(item, field.lengths) * refine
    step = field.lengths / cuts
    states = {name: data.copy() for name, data in start.items()}
    with np.errstate(all="ignore"):
        if item.scheme == "exact":
            states = _series(field, states, field.lengths)
        else:
            euler = item.scheme == "euler"
            for turn in range(int(cuts.max(initial=0))):
                after = (
                    _moved(states, step, field.rates(states))
                    if euler
                    else _runge_kutta(field, states, step)
                )
                going = cuts > turn
                states = {n: np.where(going, after[n], states[n]) for n in states}
    data = states[item.name].reshape(-1)
    size = np.abs(start[item.name]) + field.lengths * field.sizes[item.name]
    unit = bench.data(item.name).unit
    return Value(data, unit, size.reshape(-1)), field.close_calls


def _cuts(item: EquationDef, lengths: Floats) -> Floats:
    if item.step is None:
        return np.ones_like(lengths)
    seconds, _ = parse_step(item.step)
    ratio = lengths / seconds
    cuts = np.rint(ratio)
    if not np.all((cuts >= 1) & (np.abs(ratio - cuts) <= 1e-9 * ratio)):
        raise EvaluationError(f"the step {item.step} of {item.name} divides no period")
    return cuts


def _moved(x: States, by: Floats, along: States) -> States:
    return {name: x[name] + by * along[name] for name in x}


def _runge_kutta(field: _Coupled, x: States, h: Floats) -> States:
    first = field.rates(x)
    second = field.rates(_moved(x, 0.5 * h, first))
    third = field.rates(_moved(x, 0.5 * h, second))
    fourth = field.rates(_moved(x, h, third))
    mean = {n: (first[n] + 2 * second[n] + 2 * third[n] + fourth[n]) / 6 for n in x}
    return _moved(x, h, mean)


def _series(field: _Coupled, x: States, lengths: Floats) -> States:
    """Sum the Taylor series of a linear flow: each term is the last one put through the matrix."""
    zero = field.rates({name: np.zeros_like(data) for name, data in x.items()})

    def through(v: States) -> States:
        image = field.rates({name: data * 2.0**20 for name, data in v.items()})
        return {name: (image[name] - zero[name]) * 2.0**-20 for name in v}

    parts = 1
    while parts <= MAX_PARTS:
        found = _summed(field, x, lengths / parts, parts, through)
        if found is not None:
            return found
        parts *= 2
    raise EvaluationError(f"the exact solution would take more than {MAX_PARTS} parts of a period")


def _summed(
    field: _Coupled, x: States, h: Floats, parts: int, through: Callable[[States], States]
) -> States | None:
    """Return the sum of the series over all parts, None where it has not converged."""
    for _ in range(parts):
        term = {name: h * rate for name, rate in field.rates(x).items()}
        largest = {name: np.abs(data) for name, data in x.items()}
        for order in range(2, TERMS):
            x = {name: x[name] + term[name] for name in x}
            term = {name: h / order * image for name, image in through(term).items()}
            largest = {n: np.maximum(largest[n], np.abs(term[n])) for n in x}
        small = (np.abs(term[n]) <= 1e-16 * (largest[n] + 1e-300) for n in x)
        calm = (np.all(largest[n] <= 8.0 * (np.abs(x[n]) + np.max(np.abs(x[n])))) for n in x)
        if not (all(bool(np.all(part)) for part in small) and all(map(bool, calm))):
            return None
    return x
