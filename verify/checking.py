"""The check: problem, schedule, blueprint and requirements in, a certificate out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.units.unit import parse_unit
from engiagent.verify.case import (
    Case,
    build_case,
    declared_units,
    find_requirements,
    missing_parameters,
)
from engiagent.verify.certificate import UNCHECKED, Certificate, certificate_of
from engiagent.verify.claims import ONLY_AUTHOR, Claim
from engiagent.verify.claims import Reading as TextReading
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.findings import Report, Violation, finite_or_none
from engiagent.verify.foreign import Reading
from engiagent.verify.judging import optimality_level
from engiagent.verify.levels import algebra, goals, relaxation, robust, stated, variables
from engiagent.verify.levels.algebra import Outcome
from engiagent.verify.levels.data import check_data
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.physics import check_physics
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.requirements import Requirements, Rule, quote_findings
from engiagent.verify.series import Series
from engiagent.verify.vocabulary import is_state

TEXTS, BLUEPRINTS = "the text's objective", "the blueprint's objective"


def check(
    problem: ProblemLike,
    solution: Any,
    blueprint: Blueprint | None = None,
    requirements: Requirements | str | Path | None = None,
    mapping: Mapping[str, str] | Reading | None = None,
    reading: TextReading | None = None,
    *,
    generated: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> Certificate:
    """Check a schedule against its problem.

    ``problem``: as :class:`engiagent.problems.Problem`. ``solution``: an ``xarray.Dataset`` or
    arrays of its form, a table, a mapping of arrays, or the path of a file, made by anybody; None
    for a check of the data alone. ``blueprint``: that the schedule came from; None for a schedule
    from elsewhere. ``requirements``: annotated ones or their path; by default
    ``requirements.yaml`` among the problem's expert files. ``mapping``: quantity or variable to
    column, or how an external schedule is to be read altogether. ``reading``: who has read the text
    besides the author of the blueprint; by default requirements count as annotated by experts, and
    a blueprint without any as read by its author only. ``generated``: parameters, variables and
    rows that writing out the blueprint's components has made: execution judges them. ``overrides``:
    the values that the user has set, as recorded; None where nothing records them.

    Raises InputError when an input is unreadable; all else that is wrong stands in the certificate.
    """
    annotated = find_requirements(problem, requirements)
    if blueprint is None and annotated is None:
        raise InputError(
            "there is nothing to check against", expected="a blueprint or annotated requirements"
        )
    case = build_case(problem, solution, blueprint, annotated, mapping)
    if reading is not None:
        case.reading = reading
    elif annotated is not None:
        case.reading = TextReading("annotated", "experts", annotated.file or "requirements")
    case.generated, case.overrides = generated, overrides
    if blueprint is not None:
        case.notes += robust.nominal_only(blueprint)
    missing = missing_parameters(case)
    if case.schedule.status == "infeasible":
        return _infeasible(case, missing)
    if not case.series:
        data, not_understood = _data_level(case, case.bench(False))
        case.notes.append("there is no schedule to check")
        found = list(data.violations)
        return _certificate(case, "nothing", {"data": data}, found, missing, not_understood)
    case.hash_beside()
    by_text, by_blueprint = case.bench(True), case.bench(False)
    try:
        return _checked(case, missing, by_text, by_blueprint)
    finally:
        for bench in (by_text, by_blueprint):
            if bench is not None:
                bench.forget()


# --- a schedule --------------------------------------------------------------------------------


def _checked(
    case: Case, missing: list[str], by_text: Bench | None, by_blueprint: Bench | None
) -> Certificate:
    violations: list[Violation] = []
    data, not_understood = _data_level(case, by_blueprint)
    outcomes, benches = _rules(case, by_text, by_blueprint)
    objective, own, stated, found = _objective(case, by_text, by_blueprint)
    violations += [*data.violations, *[v for o in outcomes for v in o.violations], *found]
    statuses = {outcome.status for outcome in outcomes}
    failed = "fail" in statuses or bool(found)
    algebra_status = "fail" if failed else "unchecked" if "unchecked" in statuses else "pass"
    algebra_report = Report(
        algebra_status if outcomes else "unchecked",
        {
            "source": "annotated" if case.requirements is not None else "blueprint",
            "checks": [dict(outcome.record) for outcome in outcomes],
        },
    )
    physics = _physics_level(case, by_text, by_blueprint, benches)
    violations += physics.violations
    best, bound = optimality_level(
        case, by_blueprint, own, by_text, stated, broken=bool(violations)
    )
    violations += best.violations
    reports = {"data": data, "algebra": algebra_report, "physics": physics, "optimality": best}
    if objective is not None and own is not None and objective.sense == own.sense:
        # Annotated goals are written without scenarios: those of the blueprint are shown.
        objective = replace(objective, scenarios=objective.scenarios or own.scenarios)
    goal = None if objective is None else _stated(objective, case.schedule.number("objective"))
    return _certificate(case, "plan", reports, violations, missing, not_understood, goal, bound)


def _stated(objective: Objective, claimed: float | None) -> dict[str, Any]:
    """Return an objective as the certificate has it; goals and penalties where there are any."""
    stated = {**_figures(objective, "value", "unit", "sense"), "claimed": finite_or_none(claimed)}
    if objective.terms:
        stated["terms"] = [_figures(t, "name", "value", "unit", "sense") for t in objective.terms]
    if objective.scenarios and objective.worst is not None:
        worst, known = objective.worst, objective.scenarios
        stated["scenarios"] = {
            "expected": finite_or_none(objective.expected),
            "worst": {"scenario": worst.name, "value": finite_or_none(worst.value)},
            "values": {s.name: finite_or_none(s.value) for s in known},
        }
    if objective.soft:
        stated["soft"] = [
            _figures(s, "constraint", "slack", "unit", "cost") for s in objective.soft
        ]
    return stated


def _figures(item: Any, *names: str) -> dict[str, Any]:
    values = ((name, getattr(item, name)) for name in names)
    return {name: v if isinstance(v, str) else finite_or_none(v) for name, v in values}


def _data_level(case: Case, bench: Bench | None) -> tuple[Report, list[str]]:
    quotes: list[str] = []
    if case.requirements is not None:
        quotes = quote_findings(case.requirements, case.problem.text)
    if case.blueprint is None or bench is None:
        return Report("unchecked", {"findings": [*quotes, "there is no blueprint to trace"]}), []
    report, sentences = check_data(
        case.problem, case.blueprint, bench, case.generated, case.overrides, case.reading.settled
    )
    if quotes:
        body = {**report.body, "findings": [*report.body["findings"], *quotes]}
        status = "unchecked" if report.status == "pass" else report.status
        report = replace(report, status=status, body=body)
    return report, sentences


def _rules(
    case: Case, by_text: Bench | None, by_blueprint: Bench | None
) -> tuple[list[Outcome], list[tuple[Bench, Sequence[Rule]]]]:
    outcomes: list[Outcome] = []
    benches: list[tuple[Bench, Sequence[Rule]]] = []
    if by_text is not None and case.requirements is not None:
        rules: Sequence[Rule] = case.requirements.requirements
        outcomes += algebra.check_rules(by_text, rules)
        outcomes += variables.check_counted(by_text, case.requirements.counted)
        benches.append((by_text, rules))
    if by_blueprint is not None and case.blueprint is not None:
        rules = algebra.rules_of_core(case.blueprint.core)
        uncertain: list[Outcome] = []
        try:
            swung = robust.swung(by_blueprint, case.blueprint.core)
            if swung is not None:
                uncertain += robust.check_robust(swung, case.blueprint.core)
        except EngiagentError as error:
            case.notes.append(f"the uncertain parameters were not read: {error}")
        own = [
            *algebra.check_rules(by_blueprint, rules),
            *uncertain,
            *variables.check_variables(by_blueprint, case.blueprint.core),
            *variables.check_expressions(by_blueprint, case.blueprint.core),
        ]
        if outcomes:
            # The text decides; what the blueprint adds and a foreign schedule lacks is no gap.
            own = [outcome for outcome in own if outcome.status != "unchecked"]
        outcomes += own
        benches.append((by_blueprint, rules))
    return outcomes, benches


def _objective(
    case: Case, by_text: Bench | None, by_blueprint: Bench | None
) -> tuple[Objective | None, Objective | None, Objective | None, list[Violation]]:
    """Return the objective that counts, the blueprint's, the text's, and what is wrong."""
    found: list[Violation] = []
    objectives: list[tuple[str, Objective]] = []
    claimed = case.schedule.number("objective")
    ways: list[tuple[str, Bench, Callable[[], Objective]]] = []
    own = None if case.requirements is None else case.requirements.objective
    if own is not None and by_text is not None:
        ways.append((TEXTS, by_text, partial(goals.evaluate_objective, by_text, own)))
    core = None if case.blueprint is None else case.blueprint.core
    if core is not None and core.objective_function is not None and by_blueprint is not None:
        declared = partial(robust.declared_objective, by_blueprint, core)
        ways.append((BLUEPRINTS, by_blueprint, declared))
    for name, bench, evaluate in ways:
        bench.evaluator.faults = []  # the rules have told theirs
        try:
            objective = evaluate()
        except EngiagentError as error:
            case.notes.append(f"{name} was not evaluated: {error}")
            continue
        faults, bench.evaluator.faults = bench.evaluator.faults, []
        found += goals.check_objective(objective, faults)
        objectives.append((name, objective))
    for _, objective in objectives:
        if claimed is not None:
            same = _in_unit(claimed, case.schedule.claims.get("objective_unit"), objective.unit)
            found += goals.compare_objectives("the objective claimed", same, objective)
    if len(objectives) == 2:
        (_, first), (name, second) = objectives
        if first.sense != second.sense:
            text = f"the text wants to {first.sense}, the blueprint to {second.sense}"
            found.append(Violation("algebra", "objective", "objective", text))
        elif claimed is None or not found:
            try:
                value = _in_unit(second.value, second.unit, first.unit)
                found += goals.compare_objectives(name, value, first)
            except EngiagentError as error:
                found.append(Violation("algebra", "objective", "objective", str(error)))
    by_name = dict(objectives)
    counts = objectives[0][1] if objectives else None
    return counts, by_name.get(BLUEPRINTS), by_name.get(TEXTS), found


def _in_unit(value: float, unit: Any, wanted: str) -> float:
    if unit is None or str(unit) == wanted:
        return value
    source, target = parse_unit(str(unit)), parse_unit(wanted)
    if source.dimension != target.dimension:
        what = "the objective measures something else"
        raise InputError(what, "the schedule", found=str(unit), expected=wanted)
    return value * float(source.factor / target.factor)


def _physics_level(
    case: Case,
    by_text: Bench | None,
    by_blueprint: Bench | None,
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
) -> Report:
    from_text = case.requirements is not None and bool(case.requirements.dynamics)
    bench = by_text if from_text or by_blueprint is None else by_blueprint
    has_states = case.blueprint is not None and any(
        v.role == "state" for v in case.blueprint.core.decision_variables
    )
    units, _ = declared_units(case.blueprint, case.requirements, case.problem.folder)
    if bench is None:
        return UNCHECKED
    core = None if case.blueprint is None else case.blueprint.core
    states: dict[str, str] = {}
    instants = set() if core is None else {s.name for s in core.sets if s.kind == "instants"}
    for variable in () if core is None else core.decision_variables:
        quantity = variable.quantity or ""
        over = {binder.rpartition(" in ")[2].strip() for binder in variable.index}
        if is_state(quantity) and (over & instants or quantity.endswith(".state_of_charge")):
            states[variable.name] = quantity
    return check_physics(units, bench, benches, has_states, states)


# --- a claim that there is none ----------------------------------------------------------------


def _infeasible(case: Case, missing: list[str]) -> Certificate:
    reports = {"data": UNCHECKED, "algebra": UNCHECKED, "physics": UNCHECKED}
    if case.blueprint is None:
        finding = "a claim of infeasibility needs its blueprint"
        reports["optimality"] = Report("unchecked", {"findings": [finding]})
        return _certificate(case, "no plan", reports, [], missing, [])
    core = case.blueprint.core
    declarations = case.known.declared(core)
    bench = Bench(declarations, _middles(declarations))
    for variable in core.decision_variables:
        bench.evaluator.environment.symbol(variable.name)
    data, not_understood = _data_level(case, bench)
    proof = relaxation.infeasibility(bench, core, case.schedule.farkas)
    if proof.proven and case.requirements is not None:
        proof = _of_the_text(case, bench, proof)
    body: dict[str, Any] = {
        "findings": [] if proof.reason is None else [proof.reason],
        "margin": finite_or_none(proof.margin),
        "conflict": [{"constraint": name, "share": share} for name, share in proof.weights],
    }
    body["evidence"] = "recomputed" if proof.proven else "open"
    reports |= {"data": data, "optimality": Report("pass" if proof.proven else "unchecked", body)}
    return _certificate(case, "no plan", reports, list(data.violations), missing, not_understood)


def _of_the_text(case: Case, bench: Bench, own: algebra.Proof) -> algebra.Proof:
    """Return the proof that the requirements themselves allow nothing."""
    assert case.blueprint is not None
    assert case.requirements is not None
    points: dict[str, Series] = {}
    for variable in case.blueprint.core.decision_variables:
        series = bench.series.get(variable.name)
        if series is not None and variable.quantity is not None:
            points[variable.quantity] = replace(series, name=variable.quantity)
    declarations = case.known.declared(case.requirements.core)
    points = stated.with_points(declarations, case.requirements, points)
    programme = stated.stated_programme(Bench(declarations, points), case.requirements)
    found = relaxation.infeasibility(programme.bench, programme.core, None, programme.boxes)
    if found.proven:
        return replace(own, margin=found.margin)
    reason = "the blueprint allows nothing, but that the requirements allow nothing is not proven"
    return algebra.Proof(None, own.weights, reason)


def _middles(declarations: Declarations) -> dict[str, Series]:
    """Return a point in the box of every variable: zero where it has no bounds."""
    points: dict[str, Series] = {}
    for variable in declarations.core.decision_variables:
        dims, _ = declarations.dims(variable.index)
        shape = tuple(dim.size for dim in dims)
        unit = parse_unit(variable.unit or "1")
        names = tuple(dim.name for dim in dims)
        box = variables.bounds_of(Bench(declarations, {}), variable)
        ends = np.stack([box.lower, box.upper])
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(ends).all(axis=0), 0.5 * ends.sum(axis=0), 0.0)
        inside = np.clip(middle, np.where(np.isfinite(ends[0]), ends[0], middle), None)
        shown = unit.from_si(inside)
        points[variable.name] = Series(variable.name, shown.reshape(shape), unit, names)
    return points


def _certificate(
    case: Case,
    claim: Claim,
    reports: Mapping[str, Report],
    violations: Sequence[Violation],
    missing: Sequence[str],
    not_understood: Sequence[str],
    objective: Mapping[str, Any] | None = None,
    bound: Mapping[str, Any] | None = None,
) -> Certificate:
    inputs = {"schedule": case.digest()}
    if case.requirements is not None:
        inputs["requirements"] = case.requirements.sha256
    return certificate_of(
        case.problem,
        case.blueprint,
        claim,
        reports,
        violations,
        _what_is_open(case, claim, reports.get("data", UNCHECKED), not_understood),
        inputs=inputs,
        objective=objective,
        bound=bound,
        missing=tuple(missing),
        not_understood=tuple(not_understood),
        notes=tuple(case.notes),
    )


def _what_is_open(
    case: Case, claim: Claim, data: Report, not_understood: Sequence[str]
) -> TextReading:
    """Return the reading with the numbers and requirements of the text that remain open."""
    reading, blueprint = case.reading, case.blueprint
    sentences = [f"not accounted for: {text!r}" for text in not_understood]
    findings = [] if data.status == "pass" else [str(f) for f in data.body.get("findings", ())]
    if reading.grade == "stated" or claim == "nothing":
        return reading.leaving(*sentences)
    if reading.grade == "author only":
        # Where the text is not there, nothing of it can be named.
        return reading if reading.open else reading.leaving(ONLY_AUTHOR, *findings)
    goal = None if blueprint is None else blueprint.core.objective_function
    experts = case.requirements if reading.grade == "annotated" else None
    if claim == "plan" and experts is not None and (goal is None or experts.objective is not None):
        return reading.leaving(*quote_findings(experts, case.problem.text), *sentences)
    return reading.leaving(*findings)
