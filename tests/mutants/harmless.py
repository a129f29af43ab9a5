"""Copies of right runs that are right too: whoever accuses one of them accuses falsely."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.grammar import Compare, parse
from engiagent.units.unit import conversion, parse_unit
from tests.mutants.models import Change, _added, _expressions, _with_variable
from tests.mutants.numbers import Blueprints, with_parameter
from tests.mutants.runs import Run
from tests.mutants.schedules import Schedules, _copy

OTHERS = {"kW": "W", "MW": "kW", "kWh": "Wh", "MWh": "kWh", "degC": "degF"}


def in_other_units(run: Run) -> Schedules:
    """Give a series in another unit, converted and labelled."""
    for definition in run.blueprint.core.decision_variables:
        series = run.schedule[definition.name]
        unit = series.attrs.get("units")
        if unit in OTHERS:
            factor, shift = conversion(parse_unit(unit), parse_unit(OTHERS[unit]))
            other = _copy(run)
            attrs = {**series.attrs, "units": OTHERS[unit]}
            other[definition.name] = (series.dims, series.values * factor + shift, attrs)
            yield f"{definition.name} in {OTHERS[unit]}", other


def rounded_to_what_a_table_shows(run: Run) -> Schedules:
    """Round all series to nine digits, as a file does."""
    other = _copy(run)
    for definition in run.blueprint.core.decision_variables:
        series = other[definition.name]
        values = np.array([float(f"{v:.12g}") for v in series.values.reshape(-1)])
        other[definition.name] = (series.dims, values.reshape(series.shape), series.attrs)
    yield "twelve digits", other


def state_left_to_the_checker(run: Run) -> Schedules:
    """Leave out a state, which follows from the decisions."""
    for definition in run.having("state_of_charge"):
        other = _copy(run)
        related = [n for n in other.data_vars if str(n).endswith(f"__{definition.name}")]
        yield definition.name, other.drop_vars([definition.name, *related])


def in_another_order(run: Run) -> Schedules:
    """Give the series in another order."""
    names = list(run.schedule.data_vars)[::-1]
    yield "reversed", xr.Dataset({n: run.schedule[n] for n in names}, attrs=run.schedule.attrs)


def without_claims(run: Run) -> Schedules:
    """Claim nothing: no status, no objective, no bound."""
    other = _copy(run)
    other.attrs = {}
    yield "no claims", other


def sides_exchanged(run: Run) -> Blueprints:
    """Write the right side first."""

    def change(text: str) -> Iterator[tuple[str, str]]:
        node = parse(text)
        if isinstance(node, Compare) and len(node.ops) == 1 and node.ops[0] in TURNED:
            left, right = (text[slice(*part.span)] for part in node.operands)
            yield "turned", f"({right}) {TURNED[node.ops[0]]} ({left})"

    yield from _expressions(run, change)


TURNED = {"<=": ">=", ">=": "<=", "==": "=="}


def _scaled(factor: str) -> Change:
    def change(text: str) -> Iterator[tuple[str, str]]:
        node = parse(text)
        if isinstance(node, Compare) and len(node.ops) == 1 and node.ops[0] in TURNED:
            left, right = (text[slice(*part.span)] for part in node.operands)
            yield f"times {factor}", f"{factor}*({left}) {node.ops[0]} {factor}*({right})"

    return change


def both_sides_doubled(run: Run) -> Blueprints:
    """Multiply both sides by two; the language refuses it where a side is a temperature."""
    yield from _expressions(run, _scaled("2"))


def constraints_in_another_order(run: Run) -> Blueprints:
    """Write the constraints from the last to the first."""
    yield "reversed", run.blueprint.with_core(constraints=run.blueprint.core.constraints[::-1])


def equation_as_two(run: Run) -> Blueprints:
    """Write an equation as two inequalities."""
    for constraint in run.blueprint.core.constraints:
        node = parse(constraint.expression)
        if isinstance(node, Compare) and node.ops == ("==",):
            text = constraint.expression
            left, right = (text[slice(*part.span)] for part in node.operands)
            two: list[ConstraintDef] = [
                replace(
                    constraint,
                    constraint_id=f"{constraint.constraint_id}_{k}",
                    expression=f"{left} {op} {right}",
                )
                for k, op in enumerate(("<=", ">="))
            ]
            rest = tuple(
                item
                for c in run.blueprint.core.constraints
                for item in (two if c is constraint else [c])
            )
            yield constraint.constraint_id, run.blueprint.with_core(constraints=rest)


def parameter_in_another_unit(run: Run) -> Blueprints:
    """Write a parameter in another unit, converted."""
    for definition in run.blueprint.core.parameters:
        if definition.unit in OTHERS and isinstance(definition.value, int | float):
            other = OTHERS[str(definition.unit)]
            factor, shift = conversion(parse_unit(str(definition.unit)), parse_unit(other))
            changed = replace(definition, value=definition.value * factor + shift, unit=other)
            yield f"{definition.name} in {other}", with_parameter(run, changed)


def redundant_constraint(run: Run) -> Blueprints:
    """Say a bound once more as a constraint."""
    for definition in run.blueprint.core.decision_variables:
        if definition.lower == 0 and len(definition.index) == 1 and definition.where is None:
            binder = definition.index[0]
            name, _, over = binder.partition(" in ")
            if not over:
                name, over = "e", binder
            text = f"{definition.name}[{name}] >= 0"
            word, made = _added(run, f"bound_{definition.name}", (f"{name} in {over}",), text)
            yield word, made


def needless_limit_dropped(run: Run) -> Blueprints:
    """Drop a bound beyond which nothing could ever go: a million times the scale."""
    for definition in run.blueprint.core.decision_variables:
        bare = definition.upper is None and definition.source_reference is None
        if bare and definition.role == "decision" and definition.unit:
            changed: Any = replace(definition, upper=1e9)
            yield definition.name, _with_variable(run, definition, changed)
