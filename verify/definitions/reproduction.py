"""The check of computed answers, and whether a design is the best of its points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from engiagent.blueprint.definitions import check_definitions, evaluate_definitions, evaluate_points
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ConstraintDef, DesignDef
from engiagent.blueprint.grammar import parse
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.certificate import LEVELS, Certificate, certificate_of
from engiagent.verify.claims import AUTHOR_ONLY, ONLY_AUTHOR, Reading
from engiagent.verify.definitions.bench import Bench, answers_of, stream
from engiagent.verify.definitions.residuals import check_claim, check_values
from engiagent.verify.documents import Bench as PlainBench
from engiagent.verify.documents import Declarations
from engiagent.verify.findings import Report, Violation
from engiagent.verify.frames import EvaluationError, Frame
from engiagent.verify.levels.algebra import Outcome
from engiagent.verify.levels.data import check_data
from engiagent.verify.levels.sources import ProblemLike

UNCHECKED = Report("unchecked", {"findings": ["not reached"]})


def reproduce(
    problem: ProblemLike, results: Any, blueprint: Blueprint, reading: Reading = AUTHOR_ONLY
) -> Certificate:
    """Return the certificate of a computed answer.

    ``problem``: the problem, whose text and data the blueprint must rest on. ``results``: what was
    computed, or the dataset that it was written to; None to compute it here. ``reading``: who has
    read the text besides the author of the blueprint.

    Returns the certificate, with the verdict ``reproduced``, ``violated``, ``ill-posed`` or
    ``undecided``.
    """
    core, found = blueprint.core, _Found()
    findings = [str(d) for d in check_definitions(blueprint, problem.folder)]
    missing = tuple(p.name for p in core.parameters if p.status == "missing")
    if missing or findings:
        found.levels["algebra"] = Report("unchecked", {"findings": findings, "checks": []})
        found.notes += findings
    else:
        plain = _as_programme(blueprint)
        bench = PlainBench(Declarations(plain.core, problem.folder), {})
        found.levels["data"], found.not_understood = check_data(problem, plain, bench)
        try:
            _judge(problem, results, blueprint, found)
        except EngiagentError as error:
            found.notes.append(str(error))
            unchecked = Report("unchecked", {"findings": [str(error)], "checks": []})
            found.levels.setdefault("algebra", unchecked)
        if not core.claims:
            found.notes.append(
                "nothing is claimed; the computed values were reproduced or not as they are"
            )
    return certificate_of(
        problem,
        blueprint,
        "answer",
        {name: found.levels.get(name, UNCHECKED) for name in LEVELS},
        [v for report in found.levels.values() for v in report.violations],
        _what_is_open(reading, found.levels.get("data", UNCHECKED)),
        inputs=found.inputs,
        objective=found.objective,
        missing=missing,
        not_understood=tuple(found.not_understood),
        notes=tuple(found.notes),
    )


@dataclass
class _Found:
    levels: dict[str, Report] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    not_understood: list[str] = field(default_factory=list)
    objective: dict[str, Any] | None = None


def _judge(problem: ProblemLike, results: Any, blueprint: Blueprint, found: _Found) -> None:
    """Fill in the levels beyond data, and the objective where there is a design."""
    if results is None:
        results = evaluate_definitions(blueprint, problem.folder)
        found.notes.append("no results were given: they were computed for this check")
    core, levels = blueprint.core, found.levels
    declarations = Declarations(core, problem.folder)
    bench = Bench(declarations, answers_of(results))
    found.inputs["schedule"] = bench.sha256()
    finer = None
    if any(e.scheme != "exact" for e in core.equations):
        chosen = () if core.design is None else core.design.choices
        choices = {c.name: float(bench.answers[c.name].values) for c in chosen} or None
        halved = evaluate_definitions(blueprint, problem.folder, refine=2, choices=choices)
        finer = Bench(declarations, answers_of(halved))
        bad = [str(o.record["id"]) for o in check_values(finer, refine=2) if o.status != "pass"]
        findings = [f"{name} is not reproduced with half the step" for name in bad]
        # Only the claims can fail by it.
        levels["physics"] = Report("unchecked" if bad else "pass", {"findings": findings})
    else:
        text = "no differential equation is approximated, so there is no step to halve"
        levels["physics"] = Report("pass", {"findings": [text]})
    claims = (check_claim(bench, claim, finer) for claim in core.claims)
    levels["algebra"] = _algebra([*check_values(bench), *claims])
    if core.design is None:
        body = {"findings": ["nothing was chosen"], "evidence": "no goal"}
        levels["optimality"] = Report("unchecked", body)
        return
    report, objective = check_design(blueprint, problem.folder, bench)
    # A sample of a box proves no best, yet what is stated of it ("best of n") is recomputed.
    sampled = core.design.samples is not None and report.body.get("findings") == []
    evidence = "recomputed" if report.status == "pass" or sampled else "open"
    levels["optimality"] = replace(report, body={**report.body, "evidence": evidence})
    found.objective = objective or None


def _algebra(outcomes: Sequence[Outcome]) -> Report:
    statuses = {outcome.status for outcome in outcomes}
    status = "fail" if "fail" in statuses else "unchecked" if "unchecked" in statuses else "pass"
    findings = [str(o.record["reason"]) for o in outcomes if "reason" in o.record]
    body = {"source": "blueprint", "checks": [o.record for o in outcomes], "findings": findings}
    return Report(status, body, tuple(o.violation for o in outcomes if o.violation is not None))


def _as_programme(blueprint: Blueprint) -> Blueprint:
    """Return the same numbers and sources as rules of a programme, so that they can be traced."""
    core = blueprint.core
    rules = [_rule(d.name, d.expression, d.source_reference) for d in core.definitions]
    for equation in core.equations:
        name = equation.name
        rules.append(_rule(f"{name}.rate", equation.rate, equation.source_reference))
        rules.append(_rule(f"{name}.initial", str(equation.initial), equation.source_reference))
    for draw in core.draws:
        for key, text in draw.arguments.items():
            rules.append(_rule(f"{draw.name}.{key}", str(text), draw.source_reference))
    for claim in core.claims:
        rules.append(_rule(claim.claim_id, claim.expression, claim.source_reference, claim.where))
    if core.design is not None:
        design = core.design
        rules.append(_rule("merit", design.merit, design.source_reference, design.where))
        for choice in design.choices:
            source = choice.source_reference or design.source_reference
            unit = f"[{choice.unit}]" if choice.unit else ""
            bounds = [v for v in (choice.lower, choice.upper) if v is not None]
            for value in (*choice.values, *bounds):
                rules.append(_rule(choice.name, f"{value}{unit}", source))
    nothing: dict[str, Any] = dict.fromkeys(("draws", "definitions", "equations", "claims"), ())
    plain = replace(core, constraints=tuple(rules), design=None, **nothing)
    return replace(blueprint, kind="programme", core_model_elements=plain)


def _rule(name: str, text: str, source: Any, where: str | None = None) -> ConstraintDef:
    return ConstraintDef(
        constraint_id=name,
        expression=text,
        where=where,
        category="Physical Laws",
        source_reference=source,
    )


def _what_is_open(reading: Reading, data: Report) -> Reading:
    if reading.grade == "stated" or reading.open:
        return reading
    findings = () if data.status == "pass" else data.body.get("findings", ())
    return reading.leaving(ONLY_AUTHOR, *map(str, findings))


@dataclass
class _Ranking:
    """The best merit met so far, in SI, and what could not be reproduced."""

    best: float = np.inf
    at: dict[str, float] = field(default_factory=dict)
    admissible: int = 0
    points: int = 0
    wrong: list[str] = field(default_factory=list)
    table: dict[str, list[float]] = field(default_factory=dict)


def check_design(blueprint: Blueprint, folder: Any, chosen: Bench) -> tuple[Report, dict[str, Any]]:
    """Return the outcome of the level, and the objective for the certificate.

    ``chosen``: the results at the point that is called the best.
    """
    design = blueprint.core.design
    assert design is not None
    declarations = chosen.declarations
    sign = 1.0 if design.sense == "minimize" else -1.0
    try:
        merit, shown, unit = _merit(chosen, design)
        if merit is None:
            raise EvaluationError("the chosen point does not pass the design's own filter")
        ranking = _ranked(blueprint, folder, declarations, design, sign)
    except EngiagentError as error:
        return Report("unchecked", {"findings": [f"the design: {error}"]}), {}
    objective = {"value": shown, "unit": unit, "sense": design.sense, "claimed": None}
    exhaustive = design.samples is None
    wording = f"best of {ranking.admissible} evaluated"
    if exhaustive:
        wording = f"best of all {ranking.admissible} admissible points of the grid"
    body = {"wording": wording, "points": ranking.points, "findings": ranking.wrong}
    if ranking.wrong:
        return Report("unchecked", body), objective
    place = {c.name: float(chosen.answers[c.name].values) for c in design.choices}
    slack = 1e-9 * max(abs(merit), abs(ranking.best))
    message = None
    if not sign * merit <= ranking.best + slack:
        better = ", ".join(f"{n} = {v:g}" for n, v in ranking.at.items())
        message = f"the point {better} has a better merit than the one that is called the best"
    elif not any(_same(place, point) for point in points(design)):
        message = "the chosen point is none of the design's points"
    else:
        for column in _other_table(chosen, ranking.table):
            message = f"the column {column} of the design's points is not what the design gives"
    if message is not None:
        wrong = Violation("optimality", "design", "design", message)
        return Report("fail", body, (wrong,)), objective
    return Report("pass" if exhaustive else "unchecked", body), objective


def _other_table(chosen: Bench, table: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the columns of the points that were handed over and differ from the table."""
    for name, numbers in table.items():
        answer = chosen.answers.get(f"design__{name}")
        if answer is None:
            continue  # nobody has to hand the points over
        theirs, own = np.ravel(answer.values), np.array(numbers)
        if theirs.shape != own.shape or not np.allclose(
            theirs, own, rtol=1e-9, atol=0.0, equal_nan=True
        ):
            yield f"design__{name}"


def _same(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(abs(one[n] - other[n]) <= 1e-12 * max(abs(one[n]), abs(other[n])) for n in one)


def points(design: DesignDef) -> Iterator[dict[str, float]]:
    """Yield every point of a design, in the order of its choices."""
    names = [choice.name for choice in design.choices]
    if design.samples is not None:
        axes = []
        for choice in design.choices:
            low, high = float(choice.lower or 0.0), float(choice.upper or 0.0)
            chances = stream(
                str(design.generator), int(design.seed or 0), choice.name, design.samples
            )
            axes.append([low + (high - low) * float(u) for u in chances])
        yield from (dict(zip(names, row, strict=True)) for row in zip(*axes, strict=True))
        return
    grids = []
    for choice in design.choices:
        if choice.values:
            grids.append([float(v) for v in choice.values])
            continue
        low, high, count = float(choice.lower or 0), float(choice.upper or 0), choice.points or 2
        grids.append([low + (high - low) * k / (count - 1) for k in range(count)])
    yield from (dict(zip(names, row, strict=True)) for row in product(*grids))


def _ranked(
    blueprint: Blueprint, folder: Any, declarations: Declarations, design: DesignDef, sign: float
) -> _Ranking:
    """Evaluate and check every point; a smaller rank is better."""
    ranking = _Ranking()
    ranking.table = {"merit": [], **{choice.name: [] for choice in design.choices}}
    pairs = zip(points(design), evaluate_points(blueprint, folder), strict=True)
    for wanted, (given, results) in pairs:
        ranking.points += 1
        for name, number in wanted.items():
            ranking.table[name].append(number)
        ranking.table["merit"].append(np.nan)
        if not _same(wanted, given):
            ranking.wrong.append(f"point {ranking.points} is another one than the design says")
            continue
        bench = Bench(declarations, answers_of(results))
        for outcome in check_values(bench):
            if outcome.status != "pass":
                place = ", ".join(f"{n} = {v:g}" for n, v in given.items())
                ranking.wrong.append(f"{outcome.record['id']} is not reproduced at {place}")
        merit, shown, _ = _merit(bench, design)
        if merit is None:
            continue
        ranking.table["merit"][-1] = shown
        ranking.admissible += 1
        if sign * merit < ranking.best:
            ranking.best, ranking.at = sign * merit, given
    ranking.wrong = ranking.wrong[:20]
    return ranking


def _merit(bench: Bench, design: DesignDef) -> tuple[float | None, float, str]:
    """Return the merit in SI (None where the filter forbids the point), in its unit, and that."""
    evaluator = bench.evaluator()
    if design.where is not None and not bool(
        np.all(evaluator.condition(parse(design.where), Frame(1)))
    ):
        return None, 0.0, ""
    value = evaluator.number(parse(design.merit), Frame(1))
    if not np.isfinite(value.data).all():
        raise EvaluationError("the merit is not a finite number")
    unit = value.unit
    if design.unit is not None:
        unit = parse_unit(design.unit)
    merit = float(value.data[0])
    return merit, unit.from_si(merit), design.unit or str(unit)
