"""A design: every point of a grid, or of a seeded sample of a box, and the best of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.definitions.draws import probabilities
from engiagent.blueprint.definitions.engine import Engine, dependants
from engiagent.blueprint.definitions.model import Model
from engiagent.blueprint.definitions.results import Chosen
from engiagent.blueprint.diagnostics import located, refused
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

    def __iter__(self) -> Iterator[dict[str, float]]:
        for place in range(self.count):
            yield {name: float(values[place]) for name, values in self.values.items()}


def points_of(design: DesignDef) -> Points:
    """Return the points of a design, the last choice varying fastest.

    Raises BlueprintError when a choice has neither values nor bounds, or there are too many points.
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
            raise refused("EB045", path, text, None, choice.name)
        return np.array(choice.values, dtype=np.float64)
    low, high = _bounds(choice, path)
    if choice.points is None:
        text = "between two bounds lie endlessly many values"
        hint = 'give "points", or "samples", "generator" and "seed" to the design'
        raise refused("EB045", path, text, hint, choice.name)
    _refuse_many(choice.points)
    return np.linspace(low, high, choice.points)


def _bounds(choice: ChoiceDef, path: str) -> tuple[float, float]:
    if choice.values or choice.lower is None or choice.upper is None:
        text = "a choice between bounds needs lower and upper, and no values"
        raise refused("EB045", path, text, None, choice.name)
    if choice.lower > choice.upper:
        text = f"lower {choice.lower:g} lies above upper {choice.upper:g}"
        raise refused("EB045", path, text, None, choice.name)
    return float(choice.lower), float(choice.upper)


def _refuse_many(count: int) -> None:
    if count > MAX_POINTS:
        text = f"the design has {count} points; at most {MAX_POINTS}"
        raise refused("EB047", DESIGN, text, "use fewer values, or samples")


def _sampled(design: DesignDef) -> Points:
    if design.generator is None or design.seed is None or design.samples is None:
        raise refused("EB045", DESIGN, "samples need a generator and a seed")
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


class Design:
    """A design whose merit and filter are checked.

    Raises BlueprintError when the merit is no single number of its unit, or the filter no
    condition.
    """

    def __init__(self, model: Model, definition: DesignDef) -> None:
        self.model, self.definition = model, definition
        unit = parse_unit(definition.unit) if definition.unit is not None else None
        with located(f"{DESIGN}.merit"):
            merit = model.checker().number(parse(definition.merit), {}, unit)
        self.merit, self.unit = merit.node, definition.unit or str(merit.unit)
        self.where = None
        if definition.where is not None:
            with located(f"{DESIGN}.where"):
                self.where = model.checker().condition(parse(definition.where), {}).node

    def merit_at(self, engine: Engine) -> float | None:
        """Return the merit of a point, None where the filter forbids it."""
        if self.where is not None:
            with located(f"{DESIGN}.where"):
                if not np.all(engine.evaluator.condition(self.where, EMPTY_GRID)):
                    return None
        with located(f"{DESIGN}.merit"):
            value = float(
                np.asarray(engine.evaluator.number(self.merit, EMPTY_GRID)).reshape(-1)[0]
            )
        if not np.isfinite(value):
            raise refused("EB016", f"{DESIGN}.merit", "the merit is not a finite number")
        return value

    def search(self, base: Engine) -> tuple[Engine, Chosen]:
        """Return the evaluation at the best point, and the account of all points.

        Raises BlueprintError when there are too many points, or none is admissible.
        """
        points = points_of(self.definition)
        changed = dependants(self.model, points.values)
        work = sum(self.model.items[name].size for name in changed) + 1
        if work * points.count > MAX_WORK:
            text = f"{points.count} points of {work} values each; at most {MAX_WORK} values in all"
            raise refused("EB047", DESIGN, text, "use fewer points")
        merits = np.full(points.count, np.nan)
        best: tuple[float, float, Engine, dict[str, float]] | None = None
        for place, choices in enumerate(points):
            engine = engine_at(self.model, base, choices)
            merit = self.merit_at(engine)
            if merit is None:
                continue
            merits[place] = merit
            rank = merit if self.definition.sense == "minimize" else -merit
            if best is None or rank < best[0]:
                best = (rank, merit, engine, choices)
        if best is None:
            text = f"none of the {points.count} points passes the filter"
            raise refused("EB045", f"{DESIGN}.where", text)
        _, merit, engine, choices = best
        sense = self.definition.sense
        values, whole = points.values, points.exhaustive
        return engine, Chosen(choices, merit, self.unit, sense, merits, values, whole)
