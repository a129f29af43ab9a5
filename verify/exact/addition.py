"""What rational arithmetic says of a plan or of a claim, added to its certificate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint, Core
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.case import Case, build_case, find_requirements
from engiagent.verify.certificate import Certificate
from engiagent.verify.documents import Bench
from engiagent.verify.exact import bounds, proposals
from engiagent.verify.exact.bounds import ExactBound
from engiagent.verify.exact.evaluator import ExactEvaluator
from engiagent.verify.exact.feasibility import Finding, findings_of
from engiagent.verify.exact.forms import Exact, adopt
from engiagent.verify.exact.infeasible import with_exact_ray
from engiagent.verify.exact.numbers import Fractions, NotExactError, fraction, written
from engiagent.verify.exact.programme import (
    UNREADABLE,
    ExactProgramme,
    Linear,
    blocks_of,
    linear_of,
    programme_of,
)
from engiagent.verify.exact.tree import bound_over_cases
from engiagent.verify.foreign import Reading
from engiagent.verify.levels import robust, stated
from engiagent.verify.levels.algebra import rules_of
from engiagent.verify.levels.implied import implied_bounds
from engiagent.verify.levels.rows import rows_of
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.levels.variables import Bounds, box_of
from engiagent.verify.requirements import Requirements

EXACT: Final = "exact"
FLOATING: Final = "floating point"
MOST_COLUMNS: Final = 500_000
TINY: Final = 1e-30
SAME: Final = Fraction(1, 10**6)
METHOD: Final = "exact dual bound of the linear relaxation"


def with_exact(
    certificate: Certificate,
    problem: ProblemLike,
    solution: Any,
    blueprint: Blueprint | None = None,
    requirements: Requirements | None = None,
    mapping: Mapping[str, str] | Reading | None = None,
) -> Certificate:
    """Return a certificate with the findings of rational arithmetic beside those of doubles.

    Parameters
    ----------
    certificate
        As :func:`engiagent.verify.check` gave it for the same inputs.
    problem, solution, blueprint, requirements, mapping
        As they were given to :func:`engiagent.verify.check`; the blueprint expanded.

    Returns
    -------
    The certificate with ``exact`` in the levels of algebra and optimality, in the objective and in
    the bound. A plan that exactness finds to break a limit is ``violated``; nothing is upgraded but
    a claim of infeasibility, which an exact ray proves.
    """
    annotated = find_requirements(problem, requirements)
    case = build_case(problem, solution, blueprint, annotated, mapping)
    if case.schedule.status == "infeasible":
        return with_exact_ray(certificate, case)
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
    system: Linear | None = None
    if by_text is not None and case.requirements is not None:
        evaluator = ExactEvaluator(by_text)
        blocks = tuple(blocks_of(evaluator, rules_of(case.requirements), left_out))
        found += findings_of(ExactProgramme(evaluator, case.requirements.core, blocks, ()))
    if by_blueprint is not None and case.blueprint is not None:
        goal, sense, why = plain_objective(by_blueprint, case.blueprint.core)
        programme = programme_of(by_blueprint, case.blueprint.core, goal, sense)
        left_out += [*programme.left_out, *([] if why is None else [why])]
        found += findings_of(programme)
    certificate = _with_findings(certificate, found, left_out)
    if by_text is not None and case.requirements is not None:
        programme = stated_exactly(by_text, case.requirements)
    if programme is None or programme.objective is None:
        why = "; ".join(left_out[:3]) or "there is no objective"
        return _noted(certificate, "optimality", _floating(why))
    system = linear_of(programme)
    return _with_bound(certificate, case, programme, system)


def plain_objective(bench: Bench, core: Core) -> tuple[str | None, str, str | None]:
    """Return the expression of an objective that is nothing but one, its sense, or why it is not.

    An objective over scenarios, of several goals, with penalties or at its worst under what is
    uncertain has no expression of its own.
    """
    definition = core.objective_function
    if definition is None:
        return None, "minimize", None
    sense = definition.sense
    if definition.expression is None or definition.terms or definition.scenario is not None:
        return None, sense, "the objective is made of several goals or scenarios"
    if any(c.hard is False and c.penalty is not None for c in core.constraints):
        return None, sense, "the objective has penalties for soft constraints"
    try:
        if robust.swung(bench, core) is not None:
            return None, sense, "the objective is that of the worst case"
    except UNREADABLE:
        return None, sense, "what is uncertain was not read"
    return definition.expression, sense, None


def stated_exactly(bench: Bench, requirements: Requirements) -> ExactProgramme | None:
    """Return the programme that annotated requirements state, None without an objective."""
    if requirements.objective is None:
        return None
    programme = stated.stated_programme(bench, requirements)
    goal = requirements.objective
    found = programme_of(programme.bench, programme.core, goal.expression, goal.sense)
    return _without_echoes(found, {item.id for item in requirements.requirements})


def _without_echoes(programme: ExactProgramme, own: set[str]) -> ExactProgramme:
    """Return a programme without declared dynamics that requirements state as well.

    The coefficients of dynamics are doubles. An equation that is repeated with another last digit
    would leave no plan at all, or prove what nobody asked; fewer rows only make a bound weaker.
    """
    stated_columns = [
        block.excess.joined().columns
        for block in programme.blocks
        if block.rule.id in own and block.op == "==" and block.excess.entries
    ]
    covered = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *stated_columns]))
    kept = tuple(
        block
        for block in programme.blocks
        if block.rule.id in own
        or block.op != "=="
        or not block.excess.entries
        or not np.isin(block.excess.joined().columns, covered).all()
    )
    return replace(programme, blocks=kept)


# --- feasibility -------------------------------------------------------------------------------


def _with_findings(
    certificate: Certificate, found: Sequence[Finding], left_out: Sequence[str]
) -> Certificate:
    body: dict[str, Any] = {
        "arithmetic": EXACT if found else FLOATING,
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
    broken = [one for one in found if not one.holds]
    known = {(v["level"], v["check"]) for v in certificate.violations}
    fresh = [one.violation() for one in broken]
    fresh = [one for one in fresh if (one.level, one.check) not in known]
    if not fresh:
        return certificate
    levels = dict(certificate.levels)
    levels["algebra"] = {**levels["algebra"], "status": "fail"}
    violations = (*certificate.violations, *(one.to_dict() for one in fresh))
    return certificate.judged(levels=levels, violations=violations)


# --- the bound ---------------------------------------------------------------------------------


def _with_bound(
    certificate: Certificate, case: Case, programme: ExactProgramme, system: Linear
) -> Certificate:
    goal = programme.objective
    assert goal is not None
    unit = _declared_unit(case, goal.unit)
    goal = adopt(goal, unit)
    if goal.unit.dimension != unit.dimension:
        return _noted(certificate, "optimality", _floating(f"the objective is in {goal.unit}"))
    value = _shown(goal.data[0], unit)
    objective = dict(certificate.objective or {})
    if objective:
        objective[EXACT] = written(value)
        certificate = replace(certificate, objective=objective)
    if goal.entries is None:
        body = _floating("the objective is not affine in the variables")
        return _noted(certificate, "optimality", {**body, "objective": written(value)})
    sign = 1 if programme.sense == "minimize" else -1
    found, whose = _best(case, programme, system, sign, value, unit)
    body = {"arithmetic": EXACT, "objective": written(value), "unit": str(unit)}
    if found.value is None:
        return _noted(certificate, "optimality", {**body, "bound": None, "reason": found.reason})
    how = f"{METHOD}, multipliers by {whose}"
    if _worth_cases(system, goal, found.value, sign):
        lower, upper = implied(programme, system)
        within = replace(system, lower=list(lower), upper=list(upper))
        over = bound_over_cases(within, goal, programme.point, sign)
        if over is not None and sign * (over[0] - found.value) > 0:
            found, how = ExactBound(over[0]), f"exact bound over {over[1]} cases"
    assert found.value is not None
    bound = _shown(found.value, unit)
    gap = sign * (value - bound)
    relative = gap / max(abs(value), abs(bound), Fraction(1))
    body |= {
        "bound": written(bound, up=sign < 0),
        "gap": written(relative, up=True),
        "gap_float": float(relative),
        "method": how,
    }
    if programme.left_out or not programme.is_linear:
        body["left_out"] = "rows that are not affine only make the bound weaker"
    shown = (certificate.bound or {}).get("value")
    if shown is not None and abs(fraction(shown) - bound) <= SAME * max(abs(bound), Fraction(1)):
        # Beside another bound, as one over all cases, that of the relaxation would mislead.
        certificate = replace(
            certificate, bound={**(certificate.bound or {}), EXACT: body["bound"]}
        )
    return _noted(certificate, "optimality", body)


def _worth_cases(system: Linear, goal: Exact, bound: Fraction, sign: int) -> bool:
    """Whether whole numbers may bring a bound nearer to the plan."""
    away = sign * (goal.data[0] - bound)
    return any(system.whole) and away > SAME / 10 * abs(goal.data[0])


def _best(
    case: Case, programme: ExactProgramme, system: Linear, sign: int, value: Fraction, unit: Unit
) -> tuple[ExactBound, str]:
    """Return the first bound that closes the gap, else the best, and whose multipliers it has."""
    goal = programme.objective
    assert goal is not None
    point = programme.point
    boxes = list(_boxes(programme, system))
    best, whose = ExactBound(None, "there are no multipliers"), "nobody"
    for name, read in _readers(case, programme, system, sign):
        try:
            found = bounds.repaired(
                lambda y, ends: bounds.dual_bound(system, goal, point, sign, y, ends), read, boxes
            )
        except NotExactError as error:
            found = ExactBound(None, str(error))
        if found.value is None:
            best = best if best.value is not None else found
            continue
        if best.value is None or sign * (found.value - best.value) > 0:
            best, whose = found, name
        shown = _shown(found.value, unit)
        if abs(value - shown) <= Fraction(1, 10**9) * max(abs(value), abs(shown), Fraction(1)):
            break
    return best, whose


def _readers(
    case: Case, programme: ExactProgramme, system: Linear, sign: int
) -> Iterator[tuple[str, Any]]:
    """Yield who has multipliers, and how they are read to so many digits."""
    goal = programme.objective
    assert goal is not None
    if case.requirements is None and case.schedule.duals:
        yield (
            "the schedule",
            lambda digits: bounds.weights_of(
                programme, system, case.schedule.duals, goal.unit, sign, digits
            ),
        )
    if programme.size <= MOST_COLUMNS:
        proposed = proposals.optimal_weights(system, goal, programme.point, sign)
        if proposed is not None:
            yield "the checker", lambda digits: _array(bounds.read_off(proposed, digits))


def _boxes(programme: ExactProgramme, system: Linear) -> Iterator[bounds.Ends]:
    """Yield the bounds of the columns: declared ones, then with those that rows imply."""
    yield system.lower, system.upper
    if all(end is not None for end in (*system.lower, *system.upper)):
        return
    yield implied(programme, system)


def implied(programme: ExactProgramme, system: Linear) -> bounds.Ends:
    """Return the bounds of the columns, missing ones as rows imply them, rounded outwards."""
    bench = programme.evaluator.bench
    core = programme.core
    boxes: dict[str, Bounds] = {v.name: box_of(bench, v) for v in core.decision_variables}
    try:
        wider = implied_bounds(bench, rows_of(bench, core), boxes)
    except UNREADABLE:
        return system.lower, system.upper
    lower, upper = list(system.lower), list(system.upper)
    for name, box in wider.items():
        start = programme.evaluator.columns.starts.get(name)
        if start is None:
            continue
        for ends, known, side in ((lower, box.lower, -1), (upper, box.upper, 1)):
            for place, number in enumerate(known.tolist(), start):
                if ends[place] is None and np.isfinite(number):
                    ends[place] = _outwards(number, side)
    return lower, upper


def _outwards(number: float, side: int) -> Fraction:
    """Return a bound as a fraction; one beside zero is moved outwards to a figure of some size."""
    if 0 < abs(number) < TINY:
        return Fraction(side, 10**30) if number * side > 0 else Fraction(0)
    return Fraction(number)


def _array(numbers: Sequence[Fraction]) -> Fractions:
    result = np.empty(len(numbers), dtype=object)
    result[:] = numbers
    return result


def _declared_unit(case: Case, own: Unit) -> Unit:
    if case.requirements is not None and case.requirements.objective is not None:
        return parse_unit(case.requirements.objective.unit or str(own))
    definition = None if case.blueprint is None else case.blueprint.core.objective_function
    return own if definition is None or definition.unit is None else parse_unit(definition.unit)


def _shown(value: Fraction, unit: Unit) -> Fraction:
    return (value - (unit.zero or 0)) / unit.factor


def _floating(reason: str) -> dict[str, Any]:
    return {"arithmetic": FLOATING, "reason": reason}


def _noted(certificate: Certificate, level: str, body: Mapping[str, Any]) -> Certificate:
    """Return a certificate in which a level has a section ``exact``."""
    levels = dict(certificate.levels)
    levels[level] = {**levels.get(level, {"status": "unchecked"}), EXACT: dict(body)}
    return replace(certificate, levels=levels)
