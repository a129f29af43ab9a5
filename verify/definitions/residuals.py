"""Whether values are what their definitions say, and whether claims hold on them.

Nothing is stepped through here: the numbers as computed are put into every right-hand side at once,
and what comes out is compared with the left-hand side. Numbers that agree everywhere are a solution
of all recursions, however they were found.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engiagent.blueprint.document import ClaimDef, DefinitionDef, DrawDef, EquationDef
from engiagent.blueprint.grammar import parse
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.definitions.bench import Bench, computed, in_unit
from engiagent.verify.definitions.chances import misfit
from engiagent.verify.definitions.flow import carried
from engiagent.verify.findings import Violation
from engiagent.verify.frames import EvaluationError, Frame, label_of
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats, Value

LEVEL = "algebra"


@dataclass(frozen=True)
class Outcome:
    """What one check found, as the certificate lists it."""

    check: dict[str, object]
    violation: Violation | None = None

    @property
    def status(self) -> str:
        """``pass``, ``fail`` or ``unchecked``."""
        return str(self.check["status"])


def check_values(bench: Bench, refine: int = 1) -> Iterator[Outcome]:
    """Yield the outcome for every draw, definition and equation."""
    for item in computed(bench.core):
        try:
            if isinstance(item, DrawDef):
                yield _draw(bench, item)
            elif isinstance(item, DefinitionDef):
                yield _definition(bench, item)
            else:
                yield _equation(bench, item, refine)
        except EngiagentError as error:
            text = f"{item.name}: {error}"
            yield Outcome({"id": item.name, "status": "unchecked", "reason": text})


def _definition(bench: Bench, item: DefinitionDef) -> Outcome:
    frame = bench.frame(item.index)
    evaluator = bench.evaluator()
    stored = bench.data(item.name)
    value = in_unit(evaluator.number(parse(item.expression), frame), stored.unit)
    return _compared(item.name, item.expression, value, stored, frame, evaluator.close_calls)


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
    """Compare computed with stored numbers, row by row."""
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
    allowed = _tolerance(bench, claim, steps)
    factor = steps.scale
    if amounts.size == 0:
        text = f"{claim.claim_id}: the claim speaks of nothing: its filter leaves no row"
        return Outcome({"id": claim.claim_id, "status": "unchecked", "reason": text})
    worst = int(np.argmax(amounts))
    amount = float(amounts[worst])
    change = 0.0
    if finer is not None:
        change = float(np.max(np.abs(_claim_excess(finer, claim)[1] - amounts)))
    where = frame.labels(worst)
    check: dict[str, object] = {
        "id": claim.claim_id,
        "name": claim.name or claim.claim_id,
        "text": claim.expression,
        "quote": _quote(claim.source_reference),
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


def _tolerance(bench: Bench, claim: ClaimDef, unit: Unit) -> float:
    value = in_unit(bench.evaluator().number(parse(str(claim.tolerance)), Frame(1)), unit)
    found = float(value.data[0])
    if not (np.isfinite(found) and found >= 0.0):
        raise EvaluationError("a tolerance is a number from 0")
    return found


def _quote(reference: object) -> str | None:
    if isinstance(reference, Mapping):
        quote = reference.get("quote")
        return str(quote) if quote is not None else None
    return None
