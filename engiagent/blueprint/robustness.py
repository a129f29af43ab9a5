"""What a robust schedule has to withstand, for whoever checks one.

Nothing here knows how the compiler builds robust rows: the worst case is found by letting one
value deviate at a time, which tells all there is to know of what stands linearly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint, Core, FrozenMap
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.uncertain_places import goal_texts
from engiagent.blueprint.uncertainty import Uncertainty, names_in, reached_names, uncertainties

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RobustRequirements:
    """What a schedule has to withstand.

    Attributes
    ----------
    parameters
        The uncertain parameters. Every constraint in ``constraints`` has to hold for all of their
        values, and with ``objective`` the objective is the worst value over them.
    constraints
        Ids of the constraints in which one of them occurs, directly or through others.
    nominal_only
        What is said to be uncertain (in ``uncertainty_sources``) while the model has neither
        uncertain parameters nor scenarios: a certificate of it holds for the nominal values only.
    """

    parameters: tuple[Uncertainty, ...]
    constraints: tuple[str, ...]
    objective: bool
    nominal_only: tuple[str, ...]


def robust_requirements(
    blueprint: Blueprint, folder: Path | str | None = None
) -> RobustRequirements:
    """Return what a schedule of a blueprint (with its components expanded) has to withstand.

    Raises
    ------
    BlueprintError
        When an uncertain parameter is declared wrongly.
    """
    core = blueprint.core
    reached = reached_names(core)
    elaboration = Elaboration(core, Path(folder) if folder is not None else None)
    found = uncertainties(elaboration)
    extended = blueprint.extended_analysis_and_robustness
    modelled = bool(found) or any(s.kind == "scenario" for s in core.sets)
    sources = extended.uncertainty_sources if extended is not None and not modelled else ()
    goal = core.objective_function
    return RobustRequirements(
        found,
        tuple(c.constraint_id for c in core.constraints if names_in(c.expression) & reached),
        goal is not None and any(names_in(text) & reached for _, text in goal_texts(core)),
        tuple(_source_name(source, k) for k, source in enumerate(sources, 1)),
    )


def worst_swing(swings: Floats, budget: float | None) -> Floats:
    """Return the greatest value of ``swings @ z`` over the values z of one uncertain parameter.

    Parameters
    ----------
    swings
        What each row changes by when one element deviates in full, shape (rows, elements).
    budget
        As in :class:`Uncertainty`.

    Returns
    -------
    The worst change of each row, at least 0, shape (rows,).

    Examples
    --------
    >>> worst_swing(np.array([[3.0, -2.0, 1.0]]), 1.5)
    array([4.])
    """
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
    """Return by how much numbers can grow at most when uncertain parameters deviate.

    Parameters
    ----------
    core
        The model.
    parameters
        Its uncertain parameters.
    evaluate
        Returns numbers, shape (rows,), that depend linearly on the uncertain values: the excess of
        a constraint's rows at a schedule, or the objective. It is called once for every element of
        every uncertain parameter that deviates.

    Returns
    -------
    The largest growth of each number, at least 0, shape (rows,). How much a number can fall is
    the growth of its negative, which is the same, since deviations are symmetric.
    """
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
    """Return the model in which one element of a parameter lies above its value by its deviation.

    ``element`` counts through the parameter's grid, the last index fastest.
    """
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


def _source_name(source: object, number: int) -> str:
    if isinstance(source, str):
        return source
    values = dict(source) if hasattr(source, "keys") else {}  # type: ignore[call-overload]
    named = values.get("name") or values.get("source") or values.get("description")
    return str(named or f"source {number}")
