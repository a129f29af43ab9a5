"""Claims: what the answer asserts, judged on the numbers, their rounding and half the step."""

from collections.abc import Mapping

import numpy as np

from engiagent.blueprint.document import ClaimDef
from engiagent.blueprint.grammar import parse
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit
from engiagent.verify.definitions.bench import Bench, in_unit
from engiagent.verify.definitions.residuals import LEVEL, Outcome
from engiagent.verify.findings import Violation
from engiagent.verify.frames import EvaluationError, Frame
from engiagent.verify.values import Floats, Value


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
    frame, amounts, roundings, left = _excess(bench, claim)
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
        change = float(np.max(np.abs(_excess(finer, claim)[1] - amounts)))
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


def _excess(bench: Bench, claim: ClaimDef) -> tuple[Frame, Floats, Floats, Value]:
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
