"""Level 4 as a whole: which bounds there are, which one counts, and whether it closes the gap."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elements import Core
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.case import Case
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Report, Violation, finite_or_none
from engiagent.verify.levels import relaxation, stated, tree
from engiagent.verify.levels.algebra import DualBound, gap_of, only_affine
from engiagent.verify.levels.goals import Objective
from engiagent.verify.tolerances import TOLERANCES

FEW_COLUMNS: Final = 2_000
"""Up to which a blueprint's cases are gone through where nobody annotated the text."""


def optimality_level(
    case: Case,
    bench: Bench | None,
    own: Objective | None,
    by_text: Bench | None = None,
    stated: Objective | None = None,
    *,
    broken: bool = False,
) -> tuple[Report, dict[str, Any] | None]:
    """Return the outcome of level 4, and the bound that the certificate shows.

    ``bench``, ``own``: the blueprint's view of the schedule, and its objective. ``by_text``,
    ``stated``: the annotated requirements' view and objective; where they are there, the bound is
    theirs. ``broken``: whether the schedule breaks something: then no cases are gone through for a
    sharper bound.
    """
    blueprint = case.blueprint
    if by_text is not None and stated is not None:
        return _of_the_text(case, by_text, stated, bench, broken)
    if bench is None or blueprint is None:
        return Report(
            "unchecked", {"findings": ["there is no blueprint whose bound to prove"]}
        ), None
    if blueprint.core.objective_function is None:
        return Report(
            "pass", {"findings": ["there is nothing to optimise"], "evidence": "no goal"}
        ), None
    if own is None:
        return Report("unchecked", {"findings": ["the objective was not evaluated"]}), None
    core = blueprint.core
    findings: list[str] = []
    options = _of_the_blueprint(case, bench, core, own, findings, broken)
    if own.terms and blueprint.core.objective_function.combination != "epsilon":
        findings.append(f"the bound is that of the first goal, {own.terms[0].name}")
    reported = case.schedule.number("bound") if _searched(case, bench, own) else None
    claimed = _claimed_bound(case, bench, own)
    return _judge_gap(case, own, options, reported, claimed, findings)


def _of_the_blueprint(
    case: Case, bench: Bench, core: Core, own: Objective, findings: list[str], broken: bool
) -> list[tuple[float, str]]:
    options: list[tuple[float, str]] = []
    unit = parse_unit(own.unit)
    plain = own.node.degree < 2 and not own.terms and only_affine(bench, core)
    asked = bool(case.schedule.duals) or not plain or not core.constraints
    if not asked:
        findings.append("the schedule comes without shadow prices, which a bound is proven by")
    whole = any(v.type in ("integer", "binary") for v in core.decision_variables)
    size = sum(bench.grid(v.index).size for v in core.decision_variables)
    searched = whole and size <= FEW_COLUMNS and not broken
    if not asked and not searched:
        return options
    try:
        built = relaxation.programme_of(bench, core, own)
        if asked:
            found = relaxation.relaxed_bound(built, case.schedule.duals)
            options += _recomputed(found, found.method, unit, findings)
        if searched and not _closes(options, own):
            options += _recomputed(tree.bound_by_cases(built), tree.METHOD, unit, findings)
    except relaxation.NoProgrammeError as error:
        findings.append(f"no dual bound: {error}")
    return options


def _of_the_text(
    case: Case, by_text: Bench, objective: Objective, bench: Bench | None, broken: bool
) -> tuple[Report, dict[str, Any] | None]:
    """Return level 4 by the annotated requirements: each way only where the last left a gap."""
    assert case.requirements is not None
    asked = stated.stated_programme(by_text, case.requirements)
    unit = parse_unit(objective.unit)
    findings: list[str] = []
    options: list[tuple[float, str]] = []
    try:
        built = relaxation.programme_of(by_text, asked.core, objective, asked.boxes, asked.rows)
        method = f"{relaxation.METHOD}; of the requirements"
        options += _recomputed(relaxation.relaxed_bound(built), method, unit, findings)
        if options and broken and not _closes(options, objective):
            findings.append("the schedule breaks something: no cases were searched for its bound")
        elif options and not _closes(options, objective):
            found = tree.bound_by_cases(built)
            options += _recomputed(found, tree.METHOD, unit, findings)
    except relaxation.NoProgrammeError as error:
        findings.append(f"no dual bound: {error}")
    findings = [] if _closes(options, objective) else findings
    claimed = _claimed_bound(case, bench, objective)
    return _judge_gap(case, objective, options, None, claimed, findings)


def _searched(case: Case, bench: Bench | None, own: Objective) -> bool:
    if case.blueprint is None or bench is None:
        return False
    core = case.blueprint.core
    whole = any(v.type != "continuous" for v in core.decision_variables)
    return whole or own.node.degree > 1 or not only_affine(bench, core)


def _claimed_bound(case: Case, bench: Bench | None, own: Objective) -> dict[str, Any]:
    """Return what the schedule's solver says of the optimum after a search, as said, not shown."""
    bound = case.schedule.number("bound")
    if bound is None or not np.isfinite(bound) or not _searched(case, bench, own):
        return {}
    by = str(case.schedule.claims.get("solver", "the solver"))
    return {"reported_bound": {"value": bound, "by": by, "note": "reported, not recomputed"}}


def _recomputed(
    found: DualBound, how: str, unit: Unit, findings: list[str]
) -> list[tuple[float, str]]:
    if found.reason is not None:
        findings.append(f"no dual bound: {found.reason}")
    if found.value is None:
        return []
    # A temperature counts from the zero of its own scale.
    return [(unit.from_si(found.value), how)]


def _closes(options: Sequence[tuple[float, str]], own: Objective) -> bool:
    gaps = [gap_of(own.value, bound, own.sense) for bound, _ in options]
    return any(abs(gap) <= TOLERANCES["gap"] for gap in gaps)


def _judge_gap(
    case: Case,
    own: Objective,
    options: list[tuple[float, str]],
    reported: float | None,
    claimed: dict[str, Any],
    findings: list[str],
) -> tuple[Report, dict[str, Any] | None]:
    least = own.sense == "minimize"
    options = sorted(options, key=lambda item: item[0], reverse=not least)
    recomputed = options[-1][0] if options else None
    said = claimed.get("reported_bound", {}).get("value")
    near = said is not None and _closes([(said, "")], own)
    if reported is not None and np.isfinite(reported):
        solver = case.schedule.claims.get("solver", "the solver")
        method = f"branch-and-bound bound as reported by {solver}, not recomputed"
        options.append((reported, method))
    if not options:
        evidence = "reported" if near and len(own.terms) < 2 else "open"
        return Report("unchecked", {"findings": findings, "evidence": evidence, **claimed}), None
    # Our own bound counts wherever it closes the gap; only else the reported one.
    gaps = [(gap_of(own.value, bound, own.sense), bound, how) for bound, how in options]
    gap, bound, how = next((item for item in gaps if abs(item[0]) <= TOLERANCES["gap"]), gaps[-1])
    closed = abs(gap) <= TOLERANCES["gap"]
    own_bound = recomputed is not None and not how.endswith("not recomputed")
    evidence = "recomputed" if closed and own_bound else "reported" if near else "open"
    body: dict[str, Any] = {"findings": findings, "evidence": evidence, **claimed}
    if recomputed is not None:
        body["recomputed_bound"] = finite_or_none(recomputed)
    violations: tuple[Violation, ...] = ()
    counted = gaps[: len(gaps) - (reported is not None and closed)]
    better = next((item for item in counted if item[0] < -TOLERANCES["gap"]), None)
    if better is not None:
        # A bound is proof: who is better than it breaks something, or the proof is of another
        # problem. Neither may be vouched for.
        _, beaten, by = better
        text = f"the objective {own.value:.9g} is better than the bound {beaten:.9g} ({by}) allows"
        violations = (Violation("optimality", "bound", "bound", text),)
    status = "fail" if violations else "pass" if evidence == "recomputed" else "unchecked"
    if closed and evidence != "recomputed":
        findings.append(f"the bound is the solver's own word: {how}")
    if recomputed is not None and not closed and better is None and bound == recomputed:
        findings.append(f"the recomputed bound leaves a gap of {gap:.3g}: it is weak")
    goal = None if case.blueprint is None else case.blueprint.core.objective_function
    limited = goal is not None and goal.combination == "epsilon"
    if len(own.terms) > 1 and evidence != "open" and not limited:
        status, body["evidence"] = "unchecked", "open"
        findings.append("how good the later goals can be was not recomputed")
    return (
        Report(status, body, violations),
        {"value": finite_or_none(bound), "gap": finite_or_none(gap), "method": how},
    )
