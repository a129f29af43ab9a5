"""From a blueprint of kind ``definitions`` to its results, at the best point of its design.

A design is every point of a grid, or of a seeded sample of a box; the best has the best merit.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engiagent.blueprint.definitions.draws import probabilities
from engiagent.blueprint.definitions.engine import Engine, dependants
from engiagent.blueprint.definitions.model import Model
from engiagent.blueprint.definitions.schedule import schedule
from engiagent.blueprint.diagnostics import (
    BlueprintError,
    Diagnostic,
    MissingDataError,
    located,
    refused,
)
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH
from engiagent.blueprint.elements import ChoiceDef, DesignDef
from engiagent.blueprint.grammar import parse
from engiagent.blueprint.grid import EMPTY_GRID
from engiagent.blueprint.indexing import Table
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Floats
from engiagent.units.unit import parse_unit

if TYPE_CHECKING:
    import xarray

MAX_POINTS = 100_000
MAX_WORK = 500_000_000
DESIGN = f"{PATH}.design"


@dataclass(frozen=True, eq=False)
class Series:
    """One computed quantity: its values over the product of its sets, in its own unit."""

    values: Floats
    sets: tuple[IndexSet, ...]
    unit: str
    quantity: str | None = None
    description: str | None = None


@dataclass(frozen=True, eq=False)
class Chosen:
    """The outcome of a design."""

    choices: Mapping[str, float]  # the value of each choice at the best point
    merit: float  # the merit there, in ``unit``
    unit: str
    sense: str
    merits: Floats  # the merit of every point, NaN where the design's filter forbids it
    points: Mapping[str, Floats]  # the value of each choice at every point
    exhaustive: bool  # whether the points are all there are: a grid and no sample of a box

    @property
    def wording(self) -> str:
        """What may be said of the best point."""
        count = int(np.isfinite(self.merits).sum())
        if self.exhaustive:
            return f"best of all {count} admissible points of the grid"
        return f"best of {count} evaluated"


@dataclass(frozen=True, eq=False)
class Results:
    """Computed quantities by name, the hashes of the draws, and the design's outcome."""

    series: Mapping[str, Series]
    draws: Mapping[str, str] = field(default_factory=dict)
    design: Chosen | None = None

    def __getitem__(self, name: str) -> Floats:
        return self.series[name].values

    def to_dataset(self) -> "xarray.Dataset":
        """Return the results laid out as ``solution.nc`` is."""
        import xarray

        variables: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        for name, series in self.series.items():
            dims: list[str] = []
            for index_set in series.sets:
                count = sum(d.split("__")[0] == index_set.name for d in dims)
                dims.append(f"{index_set.name}__{count + 1}" if count else index_set.name)
                coordinates[dims[-1]] = _coordinate(dims[-1], index_set)
            about = {"units": series.unit, "quantity": series.quantity, "role": "definition"}
            about["long_name"] = series.description
            attributes = {key: text for key, text in about.items() if text is not None}
            variables[name] = (tuple(dims), np.asarray(series.values), attributes)
        attributes = {"kind": "definitions", "status": "computed"}
        attributes |= {f"draw_sha256__{name}": text for name, text in self.draws.items()}
        if self.design is not None:
            chosen = self.design
            about = {"units": chosen.unit, "sense": chosen.sense, "wording": chosen.wording}
            variables["design__merit"] = (("design__point",), chosen.merits, about)
            for name, values in chosen.points.items():
                variables[f"design__{name}"] = (("design__point",), values, {})
        return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _coordinate(dim: str, index_set: IndexSet) -> tuple[tuple[str], Any, dict[str, str]]:
    """Return labels: dates as UTC where there is a zone, whole numbers, or texts."""
    axis = index_set.axis
    if axis is not None and axis.dated and index_set.root.kind in ("time", "instants"):
        zone = {"zone": axis.zone} if axis.zone is not None else {}
        return (dim,), axis.stamps[index_set.in_root], zone
    labels = index_set.labels
    if labels and all(isinstance(label, int) for label in labels):
        return (dim,), np.array(labels, dtype=np.int64), {}
    texts = [",".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels]
    return (dim,), np.array(texts, dtype=object), {}


# -- what callers ask for -------------------------------------------------------------------------


def check_definitions(
    blueprint: Blueprint, folder: Path | str | None = None
) -> tuple[Diagnostic, ...]:
    """Return all findings of static analysis; nothing is computed, and nothing raised."""
    try:
        model = _model(blueprint, folder)
        schedule(model.items)
        if blueprint.core.design is not None:
            _Design(model, blueprint.core.design)
    except BlueprintError as error:
        return error.diagnostics
    return tuple(
        Diagnostic("EB015", "warning", f"{PATH}.parameters", f"{name} is missing")
        for name in model.elaboration.missing
    )


def evaluate_definitions(
    blueprint: Blueprint,
    folder: Path | str | None = None,
    *,
    refine: int = 1,
    choices: Mapping[str, float] | None = None,
) -> Results:
    """Return everything that a blueprint of kind ``definitions`` computes.

    ``folder``: where data files lie. ``refine``: by how much the steps of the differential
    equations are divided: 2 halves them. ``choices``: the point of the design to evaluate, in the
    choices' own units; None searches the best. Raises BlueprintError with every reason why it
    cannot be computed, each at its place; MissingDataError when the problem does not give a
    parameter.
    """
    model = _model(blueprint, folder)
    definition = blueprint.core.design
    design = None if definition is None else _Design(model, definition)
    if model.elaboration.missing:
        raise MissingDataError(model.elaboration.missing)
    if design is None:
        engine = Engine(model, refine)
        engine.run()
        return _results(engine)
    base = design.without_choices(refine)
    if choices is None:
        return _results(*design.search(base))
    wanted = sorted(design.points)
    if wanted != sorted(choices):
        text = f"choices are {', '.join(wanted)}; given are {', '.join(sorted(choices))}"
        raise refused("EB045", DESIGN, text)
    return _results(design.engine_at(base, choices))


def evaluate_points(
    blueprint: Blueprint, folder: Path | str | None = None
) -> Iterator[tuple[dict[str, float], Results]]:
    """Yield the choices and the results at every point of the design, in order."""
    model = _model(blueprint, folder)
    if blueprint.core.design is None:
        raise refused("EB045", DESIGN, "there is no design, so there are no points")
    if model.elaboration.missing:
        raise MissingDataError(model.elaboration.missing)
    design = _Design(model, blueprint.core.design)
    base = design.without_choices(1)
    for choices in design.each():
        yield choices, _results(design.engine_at(base, choices))


def _model(blueprint: Blueprint, folder: Path | str | None) -> Model:
    return Model(blueprint, Path(folder) if folder is not None else None)


def _results(engine: Engine, chosen: Chosen | None = None) -> Results:
    series = {}
    for name, item in engine.model.items.items():
        d = item.definition
        quantity = getattr(d, "quantity", None)
        values = engine.tables[name].values
        series[name] = Series(values, item.sets, d.unit or str(item.unit), quantity, d.description)
    for choice in engine.model.choices:
        values = np.asarray(engine.tables[choice.name].values)
        series[choice.name] = Series(values, (), choice.unit or "1", None, choice.description)
    return Results(series, dict(sorted(engine.fingerprints.items())), chosen)


# -- points and merits ----------------------------------------------------------------------------


class _Design:
    """A design whose points, merit and filter are checked."""

    def __init__(self, model: Model, definition: DesignDef) -> None:
        self.model, self.definition = model, definition
        unit = parse_unit(definition.unit) if definition.unit is not None else None
        checker = model.checker()
        with located(f"{DESIGN}.merit"):
            merit = checker.number(parse(definition.merit), {}, unit)
        self.merit, self.unit = merit.node, definition.unit or str(merit.unit)
        self.where = None
        if definition.where is not None:
            with located(f"{DESIGN}.where"):
                self.where = checker.condition(parse(definition.where), {}).node
        # the value of each choice at every point, the last choice varying fastest
        self.points = _points(definition)
        self.count = len(next(iter(self.points.values())))

    def each(self) -> Iterator[dict[str, float]]:
        """Yield the choices of every point."""
        for place in range(self.count):
            yield {name: float(values[place]) for name, values in self.points.items()}

    def without_choices(self, refine: int) -> Engine:
        """Compute once what no choice changes."""
        engine = Engine(self.model, refine)
        engine.run(frozenset(self.model.items) - dependants(self.model, self.points))
        return engine

    def engine_at(self, base: Engine, choices: Mapping[str, float]) -> Engine:
        """Return the evaluation of what the choices change, on top of what they do not."""
        fixed = {**base.tables, **{n: Table(np.array(v), ()) for n, v in choices.items()}}
        engine = Engine(self.model, base.refine, fixed)
        engine.groups = base.groups
        engine.fingerprints |= base.fingerprints
        engine.run(dependants(self.model, choices))
        return engine

    def _merit_at(self, engine: Engine) -> float | None:
        """Return the merit of a point, None where the filter forbids it."""
        if self.where is not None:
            with located(f"{DESIGN}.where"):
                if not np.all(engine.evaluator.condition(self.where, EMPTY_GRID)):
                    return None
        with located(f"{DESIGN}.merit"):
            value = np.asarray(engine.evaluator.number(self.merit, EMPTY_GRID)).reshape(-1)[0]
        if not np.isfinite(value):
            raise refused("EB016", f"{DESIGN}.merit", "the merit is not a finite number")
        return float(value)

    def search(self, base: Engine) -> tuple[Engine, Chosen]:
        """Return the evaluation at the best point, and the account of all points."""
        changed = dependants(self.model, self.points)
        work = sum(self.model.items[name].size for name in changed) + 1
        if work * self.count > MAX_WORK:
            text = f"{self.count} points of {work} values each; at most {MAX_WORK} values in all"
            raise refused("EB047", DESIGN, text, "use fewer points")
        sense = self.definition.sense
        merits = np.full(self.count, np.nan)
        best: tuple[float, Engine, dict[str, float]] | None = None
        for place, choices in enumerate(self.each()):
            engine = self.engine_at(base, choices)
            merit = self._merit_at(engine)
            if merit is None:
                continue
            merits[place] = merit
            better = best is None or (merit < best[0] if sense == "minimize" else merit > best[0])
            best = (merit, engine, choices) if better else best
        if best is None:
            text = f"none of the {self.count} points passes the filter"
            raise refused("EB045", f"{DESIGN}.where", text)
        merit, engine, choices = best
        whole = self.definition.samples is None
        return engine, Chosen(choices, merit, self.unit, sense, merits, self.points, whole)


def _points(design: DesignDef) -> dict[str, Floats]:
    names = [choice.name for choice in design.choices]
    paths = [f"{DESIGN}.choices[{k}]" for k in range(len(names))]
    if design.samples is None:
        axes = [_values(choice, path) for choice, path in zip(design.choices, paths, strict=True)]
        _refuse_many(math.prod(map(len, axes)))
        grid = np.meshgrid(*axes, indexing="ij")
        return {n: part.reshape(-1) for n, part in zip(names, grid, strict=True)}
    if design.generator is None or design.seed is None:
        raise refused("EB045", DESIGN, "samples need a generator and a seed")
    _refuse_many(design.samples)
    values = {}
    for choice, path in zip(design.choices, paths, strict=True):
        low, high = _bounds(choice, path)
        chances = probabilities(design.generator, design.seed, choice.name, design.samples)
        values[choice.name] = low + (high - low) * chances
    return values


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
