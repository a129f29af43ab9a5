"""What rational arithmetic says of a plan or of a claim, added to its certificate."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elements import VariableDef
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic
from engiagent.verify.case import Case
from engiagent.verify.certificate import Certificate
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact.bench import Fractions, fraction, listed, written
from engiagent.verify.exact.linear import (
    ZERO,
    ExactBound,
    ExactProgramme,
    Linear,
    linear_of,
    programme_of,
    proposed,
    proposed_ray,
    read_weights,
    repaired,
)
from engiagent.verify.findings import Violation
from engiagent.verify.frames import Frame
from engiagent.verify.levels import stated
from engiagent.verify.levels.algebra import judge_of, shown_place
from engiagent.verify.levels.relaxed import weights_of
from engiagent.verify.levels.variables import bound_tolerance
from engiagent.verify.relations import parts_of
from engiagent.verify.requirements import Requirements
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import ONE, Floats

EXACT: Final = "exact"
MOST_COLUMNS: Final = 500_000
SAME: Final = Fraction(1, 10**6)
METHOD: Final = "exact dual bound of the linear relaxation"


def with_exact(certificate: Certificate, case: Case) -> Certificate:
    """Return a certificate with what rational arithmetic says of its levels, objective and bound.

    A plan that exactness finds to break a limit is ``violated``; nothing is upgraded but a claim of
    infeasibility, which an exact ray proves.
    """
    if case.schedule.status == "infeasible":
        return _of_a_claim(certificate, case)
    if not case.series:
        return _noted(certificate, "optimality", _floating("there is no schedule"))
    benches = [case.bench(True), case.bench(False)]
    try:
        return _of_schedule(certificate, case, *benches)
    finally:
        for bench in benches:
            if bench is not None:
                bench.forget()


def _of_schedule(
    certificate: Certificate, case: Case, by_text: Bench | None, by_blueprint: Bench | None
) -> Certificate:
    found: list[Finding] = []
    left_out: list[str] = []
    programme: ExactProgramme | None = None
    if by_text is not None and case.requirements is not None:
        core = replace(case.requirements.core, decision_variables=())
        of_rows = programme_of(by_text, core, None, rules=case.requirements.requirements)
        left_out += of_rows.left_out
        found += findings_of(of_rows)
    if by_blueprint is not None and case.blueprint is not None:
        goal, sense, why = stated.plain_objective(by_blueprint, case.blueprint.core)
        programme = programme_of(by_blueprint, case.blueprint.core, goal, sense)
        left_out += [*programme.left_out, *([] if why is None else [why])]
        found += findings_of(programme)
    certificate = _with_findings(certificate, found, left_out)
    if by_text is not None and case.requirements is not None:
        programme = _stated_exactly(by_text, case.requirements)
    if programme is None or programme.objective is None:
        why = "; ".join(left_out[:3]) or "there is no objective"
        return _noted(certificate, "optimality", _floating(why))
    return _with_bound(certificate, case, programme)


def _stated_exactly(bench: Bench, requirements: Requirements) -> ExactProgramme | None:
    goal = requirements.objective
    if goal is None:
        return None
    programme = stated.stated_programme(bench, requirements)
    found = programme_of(programme.bench, programme.core, goal.expression, goal.sense)
    return replace(found, rows=stated.without_repeats(found.rows, requirements))


# --- feasibility -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """How one rule, or the bounds or the integrality of a variable, came out.

    ``worst``: the largest violation in SI beside its tolerance; ``row`` is where it is.
    """

    id: str
    rows: int
    broken: int
    worst: Fraction
    tolerance: Fraction
    row: int
    unit: Unit
    frame: Frame

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, figures as text, in the unit of the rule."""
        return {
            "id": self.id,
            "rows": self.rows,
            "broken": self.broken,
            "violation": written(self.worst / self.unit.factor),
            "tolerance": written(self.tolerance / self.unit.factor),
            "unit": str(self.unit),
            "where": self.frame.labels(self.row),
        }

    def violation(self) -> Violation:
        """Return what is wrong, for the certificate."""
        amount = self.worst / self.unit.factor
        where = self.frame.labels(self.row)
        text = f"{self.id} is broken by exactly {written(amount)} {self.unit}{shown_place(where)}"
        allowed = float(self.tolerance / self.unit.factor)
        return Violation(
            "algebra", self.id, self.id, text, where, float(amount), str(self.unit), allowed
        )


def findings_of(programme: ExactProgramme) -> Iterator[Finding]:
    """Yield how every rule and every variable of a programme comes out.

    What is allowed is the tolerance in doubles, compared exactly.
    """
    bench = programme.bench.floating
    for row in programme.rows:
        rule = row.rule
        excess: Any = row.excess.data
        parts = parts_of(bench.evaluator, rule.expression, row.frame, judge_of(bench, rule))
        amounts = abs(excess) if row.equal else listed(max(number, ZERO) for number in excess)
        part = parts[row.number - 1]
        yield _finding(rule.id, amounts, part.tolerance, part.unit, row.frame)
    for definition in programme.core.decision_variables:
        if definition.name in programme.boxes:
            yield from _of_box(programme, definition)


def _of_box(programme: ExactProgramme, definition: VariableDef) -> Iterator[Finding]:
    bench, name, kind = programme.bench.floating, definition.name, definition.type
    frame, x = bench.grid(definition.index), programme.bench.variables[name].data
    box, value = programme.boxes[name], bench.variables[name]
    unit = parse_unit(definition.unit or "1")
    zero: Any = unit.zero or ZERO
    if any(isinstance(end, Fraction) for end in (*box.lower, *box.upper)):
        beyond = [
            max(low - number if low > number else ZERO, number - high if number > high else ZERO)
            for low, number, high in zip(box.lower, x, box.upper, strict=True)
        ]
        if kind == "semicontinuous":
            beyond = [min(abs(number - zero), far) for number, far in zip(x, beyond, strict=True)]
        title = "semicontinuous" if kind == "semicontinuous" else "bounds"
        amounts = np.where(box.exists, listed(beyond), ZERO)
        allowed = bound_tolerance(bench, name, value)
        yield _finding(f"{title}:{name}", amounts, allowed, value.unit.difference(), frame)
    if kind in ("integer", "binary"):
        shown = np.where(box.exists, (x - zero) / unit.factor, ZERO)
        off = listed(abs(number - round(number)) for number in shown)
        yield _finding(
            f"integer:{name}", off, np.full(x.size, TOLERANCES["integrality"]), ONE, frame
        )


def _finding(name: str, amounts: Fractions, tolerance: Floats, unit: Unit, frame: Frame) -> Finding:
    places = [place for place, amount in enumerate(amounts) if amount > 0]
    excess = {place: amounts[place] - Fraction(float(tolerance[place])) for place in places}
    broken = sum(over > 0 for over in excess.values())
    row = max(excess, key=lambda place: excess[place], default=0)
    allowed = Fraction(float(tolerance[row])) if len(tolerance) else ZERO
    worst = amounts[row] if len(amounts) else ZERO
    return Finding(name, len(amounts), broken, worst, allowed, row, unit, frame)


def _with_findings(
    certificate: Certificate, found: Sequence[Finding], left_out: Sequence[str]
) -> Certificate:
    body: dict[str, Any] = {
        "arithmetic": EXACT if found else "floating point",
        "rules": len(found),
        "rows": sum(one.rows for one in found),
        "broken": sum(one.broken for one in found),
        "zero_violation": bool(found) and all(one.worst == 0 for one in found),
        "in_floating_point": list(dict.fromkeys(left_out)),
    }
    off = [one for one in found if one.worst > 0]
    # The one that is closest to its tolerance, or furthest beyond it, in parts of it.
    worst = max(
        off, key=lambda one: one.worst / max(one.tolerance, Fraction(1, 10**18)), default=None
    )
    if worst is not None:
        body["worst"] = worst.to_dict()
    certificate = _noted(certificate, "algebra", body)
    known = {(v["level"], v["check"]) for v in certificate.violations}
    fresh = [one.violation() for one in found if one.broken]
    fresh = [one for one in fresh if (one.level, one.check) not in known]
    if not fresh:
        return certificate
    levels = dict(certificate.levels)
    levels["algebra"] = {**levels["algebra"], "status": "fail"}
    violations = (*certificate.violations, *(one.to_dict() for one in fresh))
    return certificate.judged(levels=levels, violations=violations)


# --- the bound ---------------------------------------------------------------------------------


def _with_bound(certificate: Certificate, case: Case, programme: ExactProgramme) -> Certificate:
    assert programme.objective is not None
    unit = _declared_unit(case, programme.objective.unit)
    goal = arithmetic.adopt(programme.objective, unit)
    if goal.unit.dimension != unit.dimension:
        return _noted(certificate, "optimality", _floating(f"the objective is in {goal.unit}"))
    value = _shown(goal.data[0], unit)
    if certificate.objective:
        objective = {**certificate.objective, EXACT: written(value)}
        certificate = replace(certificate, objective=objective)
    if goal.degree > 1:
        body = _floating("the objective is not affine in the variables")
        return _noted(certificate, "optimality", {**body, "objective": written(value)})
    sign = programme.sign
    system = linear_of(programme)
    weights = proposed(system) if len(system.lower) <= MOST_COLUMNS else None
    found = ExactBound(None, "there are no duals") if weights is None else repaired(system, weights)
    body = {"arithmetic": EXACT, "objective": written(value), "unit": str(unit)}
    if found.value is None:
        return _noted(certificate, "optimality", {**body, "bound": None, "reason": found.reason})
    bound = _shown(sign * found.value, unit)
    relative = sign * (value - bound) / max(abs(value), abs(bound), Fraction(1))
    body |= {
        "bound": written(bound, up=sign < 0),
        "gap": written(relative, up=True),
        "gap_float": float(relative),
        "method": METHOD,
    }
    if programme.left_out or len(programme.affine) < len(programme.rows):
        body["left_out"] = "rows that are not affine only make the bound weaker"
    shown = (certificate.bound or {}).get("value")
    if shown is not None and abs(fraction(shown) - bound) <= SAME * max(abs(bound), Fraction(1)):
        # Beside another bound, as one over all cases, that of the relaxation would mislead.
        sharper = {**(certificate.bound or {}), EXACT: body["bound"]}
        certificate = replace(certificate, bound=sharper)
    return _noted(certificate, "optimality", body)


def _declared_unit(case: Case, own: Unit) -> Unit:
    if case.requirements is not None and case.requirements.objective is not None:
        return parse_unit(case.requirements.objective.unit or str(own))
    definition = None if case.blueprint is None else case.blueprint.core.objective_function
    return own if definition is None or definition.unit is None else parse_unit(definition.unit)


def _shown(value: Fraction, unit: Unit) -> Fraction:
    return (value - (unit.zero or 0)) / unit.factor


def _floating(reason: str) -> dict[str, Any]:
    return {"arithmetic": "floating point", "reason": reason}


def _noted(certificate: Certificate, level: str, body: Mapping[str, Any]) -> Certificate:
    known = certificate.levels.get(level, {"status": "unchecked"})
    levels = {**certificate.levels, level: {**known, EXACT: dict(body)}}
    return replace(certificate, levels=levels)


# --- a claim that nothing is allowed -----------------------------------------------------------


def _of_a_claim(certificate: Certificate, case: Case) -> Certificate:
    """Return the certificate of a claim of infeasibility with what an exact ray says of it."""
    if case.blueprint is None:
        return certificate
    core = case.blueprint.core
    declarations = Declarations(core, case.problem.folder)
    bench = Bench(declarations, stated.zeros(declarations))
    programme = programme_of(bench, core, None)
    system = linear_of(programme)
    body: dict[str, Any] = {"arithmetic": EXACT, "margin": None, "proven": False}
    for whose, weights in _rays(case, programme, system):
        found = repaired(system, weights, ray=True)
        if found.value is None:
            body["reason"] = found.reason
            continue
        body |= {"margin": written(found.value, up=False), "reason": "the ray proves nothing"}
        if found.value > 0:
            largest = max(read_weights(system, weights), key=abs)
            body |= {"proven": True, "ray": whose, "size": written(abs(largest))}
            body.pop("reason")
            break
    levels = dict(_noted(certificate, "optimality", body).levels)
    if body["proven"] and case.requirements is None:
        levels["optimality"] = {**levels["optimality"], "status": "pass", "evidence": "recomputed"}
    return certificate.judged(levels=levels)


def _rays(case: Case, programme: ExactProgramme, system: Linear) -> Iterator[tuple[str, Floats]]:
    if case.schedule.farkas:
        with suppress(EngiagentError):  # which does not fit the rows
            rays = case.schedule.farkas
            yield "the claim", weights_of(programme.affine, rays, None, programme.sign)
    own = proposed_ray(system)
    if own is not None:
        yield "the checker", own
