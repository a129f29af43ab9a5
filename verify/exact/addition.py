"""What rational arithmetic says of a plan or of a claim, added to its certificate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint, Core
from engiagent.errors import EngiagentError, InputError
from engiagent.io.jsontext import loads_strict
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic
from engiagent.verify.case import Case, build_case, find_requirements
from engiagent.verify.certificate import Certificate
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact import bounds, conflict
from engiagent.verify.exact.bounds import ExactBound
from engiagent.verify.exact.feasibility import Finding, findings_of
from engiagent.verify.exact.numbers import Fractions, fraction, listed, written
from engiagent.verify.exact.programme import (
    ExactProgramme,
    Linear,
    implied,
    linear_of,
    programme_of,
)
from engiagent.verify.foreign import Reading
from engiagent.verify.levels import robust, stated
from engiagent.verify.levels.algebra import rules_of
from engiagent.verify.levels.relaxed import weights_of
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.requirements import Requirements
from engiagent.verify.schedule import Multipliers
from engiagent.verify.series import Series
from engiagent.verify.values import Floats

EXACT: Final = "exact"
FLOATING: Final = "floating point"
MOST_COLUMNS: Final = 500_000
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

    ``certificate``: as :func:`engiagent.verify.check` gave it for the same inputs. ``problem``,
    ``solution``, ``blueprint``, ``requirements``, ``mapping``: as they were given to
    :func:`engiagent.verify.check`; the blueprint expanded.

    Returns the certificate with ``exact`` in the levels of algebra and optimality, in the objective
    and in the bound. A plan that exactness finds to break a limit is ``violated``; nothing is
    upgraded but a claim of infeasibility, which an exact ray proves.
    """
    annotated = find_requirements(problem, requirements)
    case = build_case(problem, solution, blueprint, annotated, mapping)
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
        of_rows = programme_of(by_text, core, None, rules=rules_of(case.requirements))
        left_out += of_rows.left_out
        found += findings_of(of_rows)
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
    return _with_bound(certificate, case, programme, linear_of(programme))


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
    except EngiagentError:
        return None, sense, "what is uncertain was not read"
    return definition.expression, sense, None


def stated_exactly(bench: Bench, requirements: Requirements) -> ExactProgramme | None:
    """Return the programme that annotated requirements state, None without an objective.

    Declared dynamics that requirements state as well are left out: their coefficients are doubles.
    An equation that is repeated with another last digit would leave no plan at all, or prove what
    nobody asked; fewer rows only make a bound weaker.
    """
    goal = requirements.objective
    if goal is None:
        return None
    programme = stated.stated_programme(bench, requirements)
    found = programme_of(programme.bench, programme.core, goal.expression, goal.sense)
    own = {item.id for item in requirements.requirements}
    columns = [
        (row, found.entries(row.excess)[1] if row.equal and row.excess.degree == 1 else None)
        for row in found.rows
    ]
    repeated = [part for row, part in columns if part is not None and row.rule.id in own]
    repeated.append(np.zeros(0, dtype=np.int64))
    covered = np.concatenate(repeated)
    kept = tuple(
        row
        for row, part in columns
        if part is None or row.rule.id in own or not np.isin(part, covered).all()
    )
    return replace(found, rows=kept)


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
    known = {(v["level"], v["check"]) for v in certificate.violations}
    fresh = [one.violation() for one in found if not one.holds]
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
    assert programme.objective is not None
    unit = _declared_unit(case, programme.objective.unit)
    goal = arithmetic.adopt(programme.objective, unit)
    if goal.unit.dimension != unit.dimension:
        return _noted(certificate, "optimality", _floating(f"the objective is in {goal.unit}"))
    value = _shown(goal.data[0], unit)
    objective = dict(certificate.objective or {})
    if objective:
        objective[EXACT] = written(value)
        certificate = replace(certificate, objective=objective)
    if goal.degree > 1:
        body = _floating("the objective is not affine in the variables")
        return _noted(certificate, "optimality", {**body, "objective": written(value)})
    sign, plan = programme.sign, programme.sign * goal.data[0]
    found, whose = _best(case, programme, system, plan)
    body = {"arithmetic": EXACT, "objective": written(value), "unit": str(unit)}
    if found.value is None:
        return _noted(certificate, "optimality", {**body, "bound": None, "reason": found.reason})
    how, best = f"{METHOD}, duals by {whose}", found.value
    if any(system.whole) and plan - best > SAME / 10 * abs(plan):
        lower, upper = implied(programme, system)
        within = replace(system, lower=lower, upper=upper)
        over = bounds.bound_over_cases(within, plan)
        if over is not None and over[0] > best:
            best, how = over[0], f"exact bound over {over[1]} cases"
    bound = _shown(sign * best, unit)
    relative = sign * (value - bound) / max(abs(value), abs(bound), Fraction(1))
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


def _best(
    case: Case, programme: ExactProgramme, system: Linear, plan: Fraction
) -> tuple[ExactBound, str]:
    """Return the first bound that closes the gap, else the best, and whose multipliers it has."""
    best, whose = ExactBound(None, "there are no duals"), "nobody"
    scale = _scale(programme)
    for name, weights in _multipliers(case, programme, system):
        found = bounds.repaired(system, weights, _boxes(programme, system), scale)
        if best.value is None or (found.value is not None and found.value > best.value):
            best, whose = found, name
        if found.value is not None and plan - found.value <= abs(plan) / 10**9:
            break
    return best, whose


def _multipliers(
    case: Case, programme: ExactProgramme, system: Linear
) -> Iterator[tuple[str, Floats]]:
    """Yield who has multipliers of the affine rows, and these."""
    assert programme.objective is not None
    if case.requirements is None and case.schedule.duals:
        given = _given(programme, case.schedule.duals, programme.objective.unit)
        if given is not None:
            yield "the schedule", given
    if len(system.lower) <= MOST_COLUMNS:
        proposed = bounds.proposed(system)
        if proposed is not None:
            yield "the checker", proposed[1]


def _given(
    programme: ExactProgramme, multipliers: Mapping[str, Multipliers], scale: Unit | None
) -> Floats | None:
    """Return multipliers that came with a schedule or a claim; None where they do not fit."""
    rows = [row for row in programme.rows if row.excess.degree < 2]
    try:
        return weights_of(rows, multipliers, scale, programme.sign)
    except EngiagentError:
        return None


def _scale(programme: ExactProgramme) -> Fractions:
    """Return in what multipliers are figures: the objective's unit by that of each row."""
    goal = Fraction(1) if programme.objective is None else programme.objective.unit.factor
    return listed(
        goal / row.excess.unit.factor
        for row in programme.rows
        if row.excess.degree < 2
        for _ in range(row.excess.data.size)
    )


def _boxes(programme: ExactProgramme, system: Linear) -> Iterator[Any]:
    """Yield the bounds of the columns: declared ones, then with those that rows imply."""
    yield system.lower, system.upper
    if any(end is None for end in (*system.lower, *system.upper)):
        yield implied(programme, system)


def _declared_unit(case: Case, own: Unit) -> Unit:
    if case.requirements is not None and case.requirements.objective is not None:
        return parse_unit(case.requirements.objective.unit or str(own))
    definition = None if case.blueprint is None else case.blueprint.core.objective_function
    return own if definition is None or definition.unit is None else parse_unit(definition.unit)


def _shown(value: Fraction, unit: Unit) -> Fraction:
    return (value - (unit.zero or 0)) / unit.factor


def _floating(reason: str) -> dict[str, Any]:
    return {"arithmetic": FLOATING, "reason": reason}


def _noted(
    certificate: Certificate, level: str, body: Mapping[str, Any], section: str = EXACT
) -> Certificate:
    """Return a certificate in which a level has a section."""
    known = certificate.levels.get(level, {"status": "unchecked"})
    return replace(
        certificate, levels={**certificate.levels, level: {**known, section: dict(body)}}
    )


# --- a claim that nothing is allowed -----------------------------------------------------------


def _of_a_claim(certificate: Certificate, case: Case) -> Certificate:
    """Return the certificate of a claim of infeasibility with what an exact ray says of it."""
    if case.blueprint is None:
        return certificate
    core = case.blueprint.core
    declarations = Declarations(core, case.problem.folder)
    bench = Bench(declarations, zeros(declarations))
    for variable in core.decision_variables:
        bench.evaluator.environment.symbol(variable.name)
    programme = programme_of(bench, core, None)
    system = linear_of(programme)
    body: dict[str, Any] = {"arithmetic": EXACT, "margin": None}
    claimed = _conflict(case)
    if claimed is not None:
        members = conflict.members_of(claimed)
        shown: dict[str, Any] = {"infeasible": None, "irreducible": None}
        if members is None:
            shown["reason"] = "the claim names no members"
        else:
            shown = conflict.checked(programme, system, members)
        certificate = _noted(certificate, "optimality", shown, "irreducible_set")
    for whose, weights in _rays(case, programme, system):
        scale, boxes = _scale(programme), _boxes(programme, system)
        found = bounds.repaired(system, weights, boxes, scale, ray=True)
        if found.value is None:
            body["reason"] = found.reason
            continue
        body["margin"] = written(found.value, up=False)
        if found.value > 0:
            largest = max(bounds.read_weights(weights, scale), key=abs)
            body |= {"proven": True, "ray": whose, "size": written(abs(largest))}
            body.pop("reason", None)
            return _concluded(certificate, case, body)
        body["reason"] = "the ray proves nothing"
    irreducible = certificate.levels.get("optimality", {}).get("irreducible_set") or {}
    return _concluded(certificate, case, {**body, "proven": irreducible.get("infeasible") is True})


def _rays(case: Case, programme: ExactProgramme, system: Linear) -> Iterator[tuple[str, Floats]]:
    if case.schedule.farkas:
        given = _given(programme, case.schedule.farkas, None)
        if given is not None:
            yield "the claim", given
    proposed = bounds.proposed_ray(system)
    if proposed is not None:
        yield "the checker", proposed


def _conflict(case: Case) -> Any:
    """Return the irreducible set that a claim brings, None when it brings none."""
    claim = case.schedule.claims.get("conflict")
    if isinstance(claim, str):
        try:
            return loads_strict(claim, "the schedule")
        except InputError:
            return ()
    return claim


def zeros(declarations: Declarations) -> dict[str, Series]:
    """Return zero for every variable: which number does not matter to what is affine."""
    points: dict[str, Series] = {}
    for variable in declarations.core.decision_variables:
        dims, _ = declarations.dims(variable.index)
        shape, names = tuple(dim.size for dim in dims), tuple(dim.name for dim in dims)
        unit = parse_unit(variable.unit or "1")
        points[variable.name] = Series(variable.name, np.zeros(shape), unit, names)
    return points


def _concluded(certificate: Certificate, case: Case, body: dict[str, Any]) -> Certificate:
    levels = dict(_noted(certificate, "optimality", body).levels)
    if body["proven"] and case.requirements is None:
        levels["optimality"] = {**levels["optimality"], "status": "pass", "evidence": "recomputed"}
    return certificate.judged(levels=levels)
