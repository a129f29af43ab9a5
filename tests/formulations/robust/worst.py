"""The worst case of uncertain parameters, found by letting one value deviate at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engiagent.blueprint.elements import Core, FrozenMap
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.uncertainty import Uncertainty
from engiagent.formulations.values import Floats


def worst_swing(swings: Floats, budget: float | None) -> Floats:
    """Return the greatest ``swings @ z`` of each row over the values z of one parameter."""
    sizes = np.sort(np.abs(swings), axis=1)[:, ::-1]
    if budget is None:
        total: Floats = sizes.sum(axis=1)
        return total
    shares = np.clip(budget - np.arange(sizes.shape[1]), 0.0, 1.0)
    worst: Floats = sizes @ shares
    return worst


def worst_change(
    core: Core, parameters: Sequence[Uncertainty], evaluate: Callable[[Core], Floats]
) -> Floats:
    """Return by how much each number that ``evaluate`` gives can grow at most, shape (rows,)."""
    nominal = evaluate(core)
    total = np.zeros_like(nominal)
    for item in parameters:
        swings = [
            evaluate(deviated(core, item, int(element))) - nominal
            for element in np.flatnonzero(item.deviation)
        ]
        if swings:
            total = total + worst_swing(np.column_stack(swings), item.budget)
    return total


def deviated(core: Core, item: Uncertainty, element: int) -> Core:
    """Return the model with one element of a parameter above its value by its deviation."""
    values = np.array(item.nominal, dtype=np.float64)
    values.reshape(-1)[element] += item.deviation.reshape(-1)[element]
    parameters = tuple(
        replace(
            p,
            value=_written(values, item.sets),
            data=None,
            keys=(),
            unit=str(item.unit),
            unit_override=None,
            uncertain=None,
        )
        if p.name == item.name
        else p
        for p in core.parameters
    )
    return replace(core, parameters=parameters)


def _written(values: Floats, sets: tuple[IndexSet, ...]) -> Any:
    """Return values as a blueprint has them, nested by label."""
    if not sets:
        return float(values)
    if len(sets) == 1 and not sets[0].root.factors:
        return tuple(map(float, values))
    nested: dict[str, Any] = {}
    for label, part in zip(sets[0].labels, values, strict=True):
        *outer, last = map(str, label if isinstance(label, tuple) else (label,))
        place = nested
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = _written(part, sets[1:])
    return FrozenMap(nested)
