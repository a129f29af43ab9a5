"""A blueprint over other periods: later ones, more or fewer, of another length."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import Core, ParameterDef, freeze
from engiagent.blueprint.timeaxis import Floats, build_axis
from engiagent.blueprint.values import as_written, unit_of
from engiagent.errors import InputError


def find_moving(elaboration: Elaboration, left_out: Iterable[str] = ()) -> list[str]:
    """Return the numeric parameters with values of their own along a set of time."""
    found = []
    for definition in elaboration.core.parameters:
        plain = (definition.type or "number") == "number" and not isinstance(definition.value, str)
        if not plain or definition.name in left_out or not definition.index:
            continue
        sets = [elaboration.index_set(b.set) for b in elaboration.binders(definition.index)]
        if any(s.root is s and s.kind in ("time", "instants") for s in sets):
            found.append(definition.name)
    return found


def with_periods(
    blueprint: Blueprint,
    folder: Path | None,
    periods: str,
    count: int,
    values: Mapping[str, Floats],
    *,
    ahead: int = 0,
    step: str | None = None,
) -> Blueprint:
    """Return a blueprint over another number of periods, with all its numbers in it.

    ``folder``: where its data files lie. ``count``, ``ahead``: how many periods it is to have, and
    how many later it begins. ``values``: of the parameters along the periods, as long as the new
    horizon, and of any other that is to have another value. ``step``: the length of the periods, as
    ``15 min``, where it is to be another.
    """
    core = blueprint.core
    values = {**_from_files(core, folder, values), **values}
    changes: dict[str, Any] = {"start": start_after(core, periods, ahead)} if ahead else {}
    changes |= {} if step is None else {"step": step}
    sets = tuple(
        replace(s, periods=count, **changes) if s.name == periods else s for s in core.sets
    )
    elaboration = Elaboration(replace(core, sets=sets), folder)

    def changed(given: ParameterDef) -> ParameterDef:
        over = tuple(elaboration.index_set(b.set) for b in elaboration.binders(given.index))
        value = freeze(as_written(np.asarray(values[given.name]), over))
        unit = str(unit_of(given))
        return replace(given, value=value, data=None, keys=(), unit=unit, unit_override=None)

    parameters = tuple(changed(p) if p.name in values else p for p in core.parameters)
    return blueprint.with_core(sets=sets, parameters=parameters, report=None)


def _from_files(core: Core, folder: Path | None, known: Iterable[str]) -> dict[str, Any]:
    """Return the numbers that stand in files and do not move with the periods."""
    whole = Elaboration(core, folder)
    named = {*known, *find_moving(whole)}
    return {
        p.name: whole.table(p.name).values
        for p in core.parameters
        if p.data is not None and p.name not in named and (p.type or "number") == "number"
    }


def has_start(core: Core, periods: str) -> bool:
    """Whether a time set says when it begins."""
    return any(s.name == periods and isinstance(s.start, str) for s in core.sets)


def start_after(core: Core, periods: str, count: int) -> str:
    """Return the start of a time set moved ahead by some periods, as a blueprint writes it."""
    definition = next(s for s in core.sets if s.name == periods)
    step = definition.step[0] if isinstance(definition.step, tuple) else definition.step
    if not isinstance(definition.start, str) or not isinstance(step, str):
        raise InputError(f"{periods} has no start, so that nothing can ask for the clock")
    axis = build_axis(definition.start, step, count + 1, definition.zone)
    return axis.labels[count].partition("+" if not axis.dated else "\n")[0]
