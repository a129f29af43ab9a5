"""Binding limits and what they cost, in words.

A multiplier is the derivative of the objective, in its own sense, with respect to the right-hand
side of a limit. A positive one means that a higher right-hand side raises the objective; whether
that is good depends on the sense, and so the sentence says "higher" or "lower" and "better".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.blueprint.grammar import Compare, parse
from engiagent.blueprint.units import UnitError, parse_unit
from engiagent.errors import EngiagentError
from engiagent.report import words
from engiagent.report.artefacts import Run
from engiagent.report.series import solution_dimensions
from engiagent.report.timeline import Floats

MOST = 12
_TINY = 1e-9


@dataclass(frozen=True)
class BindingLimit:
    """A limit that holds the objective back.

    Attributes
    ----------
    name
        The limit in the blueprint's words.
    count
        At how many places it binds.
    where
        Where it costs most.
    price
        The change of the objective for one unit there.
    sentence
        What one unit more would bring.
    """

    name: str
    count: int
    where: str
    price: str
    sentence: str


def binding_limits(run: Run) -> list[BindingLimit]:
    """Return the limits with a shadow price, the dearest in total first."""
    if run.solution is None:
        return []
    attrs = run.solution.attrs
    objective_unit, sense = str(attrs.get("objective_unit", "")), str(attrs.get("sense", ""))
    if sense not in ("minimize", "maximize"):
        return []
    found = []
    for name, array, duals in _candidates(run):
        size = np.abs(duals)
        if not np.nanmax(size, initial=0.0) > _TINY:
            continue
        place = int(np.nanargmax(size))
        dual = float(duals.reshape(-1)[place])
        step = _row_unit(objective_unit, str(array.attrs.get("units", "")))
        where = _where(run, array, place)
        price = f"{words.quantity(abs(dual), objective_unit, 4)} per {step}"
        sentence = _sentence(name, dual, step, where, sense, objective_unit)
        total = float(np.nansum(size))
        limit = BindingLimit(name, int(np.sum(size > _TINY)), where, price, sentence)
        found.append((total, limit))
    found.sort(key=lambda pair: -pair[0])
    return [limit for _, limit in found[:MOST]]


def _candidates(run: Run) -> Iterator[tuple[str, Any, Floats]]:
    """Yield inequalities, and bounds of variables away from zero, with their multipliers."""
    assert run.solution is not None
    constraints = _inequalities(run)
    whole = _whole_numbers(run)
    for key, array in run.solution.data_vars.items():
        name = str(key)
        values = np.asarray(array.values, dtype=np.float64)
        if name.startswith("dual__"):
            constraint = constraints.get(name.removeprefix("dual__"))
            if constraint is not None:
                yield _title(constraint), array, values
        elif name.startswith("reduced_cost__"):
            variable = name.removeprefix("reduced_cost__")
            if variable not in run.solution or variable in whole:
                continue
            series = run.solution[variable]
            at_zero = np.abs(np.asarray(series.values, dtype=np.float64)) <= _TINY
            # What a series would bring below zero is nobody's limit.
            label = str(series.attrs.get("quantity") or variable)
            yield f"bound of {label}", array, np.where(at_zero, np.nan, values)


def _inequalities(run: Run) -> Mapping[str, ConstraintDef]:
    """Return the constraints that are limits and not balances, by their multipliers' names."""
    if run.blueprint is None:
        return {}
    result: dict[str, ConstraintDef] = {}
    for constraint in run.blueprint.core.constraints:
        try:
            tree = parse(constraint.expression)
        except EngiagentError:
            continue
        if isinstance(tree, Compare) and "==" not in tree.ops:
            name = constraint.constraint_id.replace("/", "_")
            result[name] = constraint
            result[f"{name}__2"] = constraint
    return result


def _whole_numbers(run: Run) -> set[str]:
    """Return the variables that a small step means nothing to."""
    variables = run.blueprint.core.decision_variables if run.blueprint is not None else ()
    return {variable.name for variable in variables if variable.type != "continuous"}


def _title(constraint: ConstraintDef) -> str:
    return constraint.name or constraint.constraint_id


def _row_unit(objective_unit: str, dual_unit: str) -> str:
    """Return the unit of a limit from that of its price: kW from EUR/kW."""
    try:
        quotient = parse_unit(objective_unit or "1") / parse_unit(dual_unit or "1")
    except UnitError:
        return "unit"
    return words.unit(quotient.text) or "unit"


def _where(run: Run, array: Any, place: int) -> str:
    if not array.dims:
        return "once"
    positions = np.unravel_index(place, array.shape)
    parts = []
    for dimension, position in zip(solution_dimensions(run, array), positions, strict=True):
        at = int(position) if dimension.positions is None else dimension.positions[int(position)]
        parts.append(dimension.axis.short_label(int(at)))
    return ", ".join(parts)


def _sentence(
    name: str, dual: float, step: str, where: str, sense: str, objective_unit: str
) -> str:
    better = dual > 0 if sense == "maximize" else dual < 0
    direction = "higher" if better else "lower"
    gain = "gain" if sense == "maximize" else "save"
    worth = words.quantity(abs(dual), objective_unit, 4)
    place = "" if where == "once" else f" at {where}"
    return f"If “{name}” were 1\u00a0{step} {direction}{place}, it would {gain} {worth}."
