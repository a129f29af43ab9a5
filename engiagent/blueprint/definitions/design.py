"""A design: every point of a grid, or of a seeded sample of a box, and the best of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.definitions.draws import probabilities
from engiagent.blueprint.definitions.engine import Engine, dependants
from engiagent.blueprint.definitions.model import Model, refuse
from engiagent.blueprint.definitions.results import Chosen
from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.document import ChoiceDef, DesignDef
from engiagent.blueprint.elaborate import PATH
from engiagent.blueprint.grammar import parse
from engiagent.blueprint.grid import EMPTY_GRID
from engiagent.blueprint.indexing import Table
from engiagent.units.unit import parse_unit

Floats = npt.NDArray[np.float64]

MAX_POINTS = 100_000
MAX_WORK = 500_000_000
DESIGN = f"{PATH}.design"


@dataclass(frozen=True)
class Points:
    """The points of a design: one array of values for every choice."""

    values: Mapping[str, Floats]
    exhaustive: bool

    @property
    def count(self) -> int:
        """How many points there are."""
        return len(next(iter(self.values.values())))


def points_of(design: DesignDef) -> Points:
    """Return the points of a design, the last choice varying fastest.

    Raises
    ------
    BlueprintError
        When a choice has neither values nor bounds, or there are too many points.
    """
    if design.samples is not None:
        return _sampled(design)
    axes = [_values(choice, f"{DESIGN}.choices[{k}]") for k, choice in enumerate(design.choices)]
    count = 1
    for axis in axes:
        count *= len(axis)
    _refuse_many(count)
    grid = np.meshgrid(*axes, indexing="ij")
    names = [choice.name for choice in design.choices]
    return Points({n: part.reshape(-1) for n, part in zip(names, grid, strict=True)}, True)


def _values(choice: ChoiceDef, path: str) -> Floats:
    if choice.values:
        if (choice.lower, choice.upper, choice.points) != (None, None, None):
            text = "a choice has either values, or lower, upper and points"
            raise refuse("EB045", path, text, None, choice.name)
        return np.array(choice.values, dtype=np.float64)
    low, high = _bounds(choice, path)
    if choice.points is None:
        text = "between two bounds lie endlessly many values"
        hint = 'give "points", or "samples", "generator" and "seed" to the design'
        raise refuse("EB045", path, text, hint, choice.name)
    _refuse_many(choice.points)
    return np.linspace(low, high, choice.points)


def _bounds(choice: ChoiceDef, path: str) -> tuple[float, float]:
    if choice.values or choice.lower is None or choice.upper is None:
        text = "a choice between bounds needs lower and upper, and no values"
        raise refuse("EB045", path, text, None, choice.name)
    if choice.lower > choice.upper:
        text = f"lower {choice.lower:g} lies above upper {choice.upper:g}"
        raise refuse("EB045", path, text, None, choice.name)
    return float(choice.lower), float(choice.upper)


def _refuse_many(count: int) -> None:
    if count > MAX_POINTS:
        text = f"the design has {count} points; at most {MAX_POINTS}"
        raise refuse("EB047", DESIGN, text, "use fewer values, or samples")


def _sampled(design: DesignDef) -> Points:
    if design.generator is None or design.seed is None or design.samples is None:
        raise refuse("EB045", DESIGN, "samples need a generator and a seed")
    _refuse_many(design.samples)
    values = {}
    for position, choice in enumerate(design.choices):
        low, high = _bounds(choice, f"{DESIGN}.choices[{position}]")
        chances = probabilities(design.generator, design.seed, choice.name, design.samples)
        values[choice.name] = low + (high - low) * chances
    return Points(values, False)


def engine_at(model: Model, base: Engine, choices: Mapping[str, float]) -> Engine:
    """Return the evaluation of what the choices change, on top of what they do not."""
    fixed = {**base.tables, **{n: Table(np.array(v), ()) for n, v in choices.items()}}
    engine = Engine(model, base.refine, fixed)
    engine.groups = base.groups
    engine.fingerprints |= base.fingerprints
    engine.run(dependants(model, choices))
    return engine


def search(model: Model, base: Engine) -> tuple[Engine, Chosen]:
    """Return the evaluation at the best point, and the account of all points.

    Raises
    ------
    BlueprintError
        When there are too many points, or none is admissible.
    """
    design = model.core.design
    assert design is not None
    points = points_of(design)
    work = sum(model.items[name].size for name in dependants(model, points.values)) + 1
    if work * points.count > MAX_WORK:
        text = f"{points.count} points of {work} values each; at most {MAX_WORK} values in all"
        raise refuse("EB047", DESIGN, text, "use fewer points")
    merits = np.full(points.count, np.nan)
    best: tuple[float, int, Engine] | None = None
    for place, choices in _each(points):
        engine = engine_at(model, base, choices)
        merit = merit_of(model, engine)
        if merit is None:
            continue
        merits[place] = merit
        rank = merit if design.sense == "minimize" else -merit
        if best is None or rank < best[0]:
            best = (rank, place, engine)
    if best is None:
        text = f"none of the {points.count} points passes the filter"
        raise refuse("EB045", f"{DESIGN}.where", text)
    _, place, engine = best
    chosen = Chosen(
        {name: float(values[place]) for name, values in points.values.items()},
        float(merits[place]),
        merit_unit(model),
        design.sense,
        merits,
        points.values,
        points.exhaustive,
    )
    return engine, chosen


def _each(points: Points) -> Iterator[tuple[int, dict[str, float]]]:
    for place in range(points.count):
        yield place, {name: float(values[place]) for name, values in points.values.items()}


def merit_unit(model: Model) -> str:
    """Return the unit in which the merit is given."""
    design = model.core.design
    assert design is not None
    with located(f"{DESIGN}.merit"):
        return design.unit or str(model.checker().number(parse(design.merit), {}).unit)


def merit_of(model: Model, engine: Engine) -> float | None:
    """Return the merit of a point, None where the design's filter forbids it."""
    design = model.core.design
    assert design is not None
    checker = model.checker()
    if design.where is not None:
        with located(f"{DESIGN}.where"):
            condition = checker.condition(parse(design.where), {})
            if not np.all(engine.evaluator.condition(condition.node, EMPTY_GRID)):
                return None
    with located(f"{DESIGN}.merit"):
        unit = parse_unit(design.unit) if design.unit is not None else None
        typed = checker.number(parse(design.merit), {}, unit)
        value = float(np.asarray(engine.evaluator.number(typed.node, EMPTY_GRID)).reshape(-1)[0])
    if not np.isfinite(value):
        raise refuse("EB016", f"{DESIGN}.merit", "the merit is not a finite number")
    return value
