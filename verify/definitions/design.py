"""Whether the design is the best of its points: every point is evaluated and checked again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from engiagent.blueprint.definitions import evaluate_points
from engiagent.blueprint.document import Blueprint, DesignDef
from engiagent.blueprint.grammar import parse
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.definitions.bench import Bench, answers_of
from engiagent.verify.definitions.chances import stream
from engiagent.verify.definitions.residuals import check_values
from engiagent.verify.documents import Declarations
from engiagent.verify.findings import Report, Violation
from engiagent.verify.frames import EvaluationError, Frame

LEVEL = "optimality"


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
    if not sign * merit <= ranking.best + slack:
        better = ", ".join(f"{n} = {v:g}" for n, v in ranking.at.items())
        message = f"the point {better} has a better merit than the one that is called the best"
        return Report("fail", body, (Violation(LEVEL, "design", "design", message),)), objective
    if not any(_same(place, point) for point in points(design)):
        message = "the chosen point is none of the design's points"
        return Report("fail", body, (Violation(LEVEL, "design", "design", message),)), objective
    for column in _other_table(chosen, ranking.table):
        message = f"the column {column} of the design's points is not what the design gives"
        return Report("fail", body, (Violation(LEVEL, "design", "design", message),)), objective
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
                ranking.wrong.append(f"{outcome.check['id']} is not reproduced at {place}")
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
