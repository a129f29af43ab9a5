"""From a blueprint of kind ``definitions`` to its results."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from engiagent.blueprint.definitions.design import DESIGN, Design, engine_at, points_of
from engiagent.blueprint.definitions.engine import Engine, dependants
from engiagent.blueprint.definitions.model import Model
from engiagent.blueprint.definitions.results import Chosen, Results, Series
from engiagent.blueprint.definitions.schedule import schedule
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, MissingDataError, refused
from engiagent.blueprint.document import Blueprint, DesignDef
from engiagent.blueprint.indexing import Table
from engiagent.units.unit import parse_unit


def check_definitions(
    blueprint: Blueprint, folder: Path | str | None = None
) -> tuple[Diagnostic, ...]:
    """Return all findings of static analysis; nothing is computed.

    Never raises for what the blueprint says.
    """
    try:
        model = Model(blueprint, Path(folder) if folder is not None else None)
        schedule(model.items)
        _ = model.claims
        if blueprint.core.design is not None:
            Design(model, blueprint.core.design)
            points_of(blueprint.core.design)
    except BlueprintError as error:
        return error.diagnostics
    return tuple(
        Diagnostic("EB015", "warning", "core_model_elements.parameters", f"{name} is missing")
        for name in model.missing
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
    model = Model(blueprint, Path(folder) if folder is not None else None)
    _ = model.claims
    definition = blueprint.core.design
    design = Design(model, definition) if definition is not None else None
    if model.missing:
        raise MissingDataError(model.missing)
    engine, chosen = Engine(model, refine), None
    if design is None:
        engine.run()
    elif choices is None:
        engine, chosen = design.search(_without_choices(model, design.definition, refine))
    else:
        _refuse_choices(design.definition, choices)
        engine = engine_at(model, _without_choices(model, design.definition, refine), choices)
    return _results(model, engine, chosen)


def _results(model: Model, engine: Engine, chosen: Chosen | None) -> Results:
    design = model.core.design
    series = {name: _series(model, name, engine.tables[name]) for name in model.items}
    for choice in design.choices if design is not None else ():
        values = np.asarray(engine.tables[choice.name].values)
        series[choice.name] = Series(values, (), choice.unit or "1", None, choice.description)
    return Results(series, dict(sorted(engine.fingerprints.items())), chosen, engine.refine)


def evaluate_points(
    blueprint: Blueprint, folder: Path | str | None = None
) -> Iterator[tuple[dict[str, float], Results]]:
    """Yield the choices and the results at every point of the design, in order.

    Raises BlueprintError as :func:`evaluate_definitions` does; also when there is no design.
    """
    model = Model(blueprint, Path(folder) if folder is not None else None)
    design = blueprint.core.design
    if design is None:
        raise refused("EB045", DESIGN, "there is no design, so there are no points")
    if model.missing:
        raise MissingDataError(model.missing)
    points = points_of(design)
    base = _without_choices(model, design, 1)
    for choices in points:
        yield choices, _results(model, engine_at(model, base, choices), None)


def _without_choices(model: Model, design: DesignDef, refine: int) -> Engine:
    """Compute once what no choice changes."""
    points_of(design)
    engine = Engine(model, refine)
    changed = dependants(model, [choice.name for choice in design.choices])
    engine.run(frozenset(model.items) - changed)
    return engine


def _refuse_choices(design: DesignDef, choices: Mapping[str, float]) -> None:
    wanted = {choice.name for choice in design.choices}
    if wanted != set(choices):
        text = f"choices are {', '.join(sorted(wanted))}; given are {', '.join(sorted(choices))}"
        raise refused("EB045", DESIGN, text)


def _series(model: Model, name: str, table: Table) -> Series:
    item = model.items[name]
    unit = item.definition.unit or str(item.unit)
    parse_unit(unit)
    quantity = getattr(item.definition, "quantity", None)
    return Series(table.values, item.sets, unit, quantity, item.definition.description)
