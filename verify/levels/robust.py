"""Uncertain parameters: whether a schedule withstands whatever they come to.

At a fixed schedule every constraint is a function of the uncertain parameters. They are made the
variables of the checker's own derivatives, the decisions its constants; where the function is
affine, as the language demands, its slopes times the deviations give the worst case exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import Core, VariableDef
from engiagent.blueprint.grammar import names_in
from engiagent.blueprint.uncertainty import Uncertainty, reached_names, uncertainties
from engiagent.units.unit import parse_unit
from engiagent.verify import values
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.frames import EvaluationError, Symbol
from engiagent.verify.levels.algebra import Outcome, check_rule, rules_of_core
from engiagent.verify.levels.goals import Objective, evaluate_declared, soft_costs
from engiagent.verify.values import Floats, Value, triplets


@dataclass(frozen=True, eq=False)
class Swung:
    """The uncertain parameters of a blueprint, and a bench on which they are the variables."""

    parameters: tuple[Uncertainty, ...]
    bench: Bench
    orders: Mapping[int, Uncertainty]

    def growth(self, value: Value) -> Floats:
        """Return by how much each row can grow at most."""
        if value.degree > 1:
            raise EvaluationError("this is not affine in the uncertain parameters")
        total = np.zeros(value.data.size)
        for order, (rows, places, slopes) in triplets(value).items() if value.degree else ():
            item = self.orders[order]
            size = item.unit.difference().scale
            count = item.deviation.size
            unique, which = np.unique(rows * count + places, return_inverse=True)
            swings = np.abs(np.bincount(which, weights=slopes)) * (
                item.deviation.reshape(-1)[unique % count] * size
            )
            total += _worst(unique // count, swings, item.budget, total.size)
        return total


def _worst(rows: values.Ints, swings: Floats, budget: float | None, size: int) -> Floats:
    """Return the sum of the swings of each row; with a budget only the largest, the last in part.

    A budget of 2.5 lets two elements deviate in full and a third by half.
    """
    if budget is None:
        return np.asarray(np.bincount(rows, weights=swings, minlength=size))
    order = np.lexsort((-swings, rows))
    rows, swings = rows[order], swings[order]
    first = np.searchsorted(rows, rows, side="left")
    shares = np.clip(budget - (np.arange(rows.size) - first), 0.0, 1.0)
    return np.asarray(np.bincount(rows, weights=swings * shares, minlength=size))


class _Declarations(Declarations):
    def parameter(self, name: str) -> Symbol | None:
        """Return a parameter in SI units, an uncertain one as a variable."""
        found = super().parameter(name)
        if found is None or found.value is None or found.value.degree:
            return found
        definition = next(p for p in self.core.parameters if p.name == name)
        if definition.uncertain is None:
            return found
        value = replace(found.value, degree=1, order=values.new_order())
        self._cache[name] = replace(found, value=value)
        return self._cache[name]


class _Bench(Bench):
    def _variable(self, definition: VariableDef) -> Symbol:
        return _constant(super()._variable(definition))

    def _quantity(self, name: str) -> Symbol | None:
        found = super()._quantity(name)
        return None if found is None else _constant(found)


def _constant(symbol: Symbol) -> Symbol:
    assert symbol.value is not None
    return replace(symbol, value=replace(symbol.value, degree=0))


def swung(bench: Bench, core: Core) -> Swung | None:
    """Return what is uncertain, None where nothing is."""
    if not any(parameter.uncertain is not None for parameter in core.parameters):
        return None
    declarations = _Declarations(core, bench.declarations.folder)
    found = uncertainties(Elaboration(core, bench.declarations.folder))
    other = _Bench(declarations, bench.series)
    orders = {}
    for item in found:
        symbol = other.evaluator.environment.symbol(item.name)
        assert symbol.value is not None
        orders[symbol.value.order] = item
    return Swung(found, other, orders)


def check_robust(uncertain: Swung, core: Core) -> Iterator[Outcome]:
    """Yield, for each constraint in which something uncertain stands, how its worst case is."""
    reached = reached_names(core)
    names = ", ".join(item.name for item in uncertain.parameters)
    for plain in rules_of_core(core):
        if not plain.hard or not names_in(plain.expression) & reached:
            continue
        title = f"{plain.name or plain.id}, whatever {names} comes to"
        rule = replace(plain, id=f"robust:{plain.id}", name=title)
        yield check_rule(uncertain.bench, rule, "algebra", uncertain.growth)


def declared_objective(bench: Bench, core: Core) -> Objective:
    """Return the objective of a blueprint, at its worst where it depends on what is uncertain."""
    nominal, uncertain = evaluate_declared(bench, core), swung(bench, core)
    if uncertain is None:
        return nominal
    hard = tuple(c for c in core.constraints if c.hard is not False)
    plain = evaluate_declared(uncertain.bench, replace(core, constraints=hard))
    unit = parse_unit(nominal.unit)
    worst = plain.value * unit.scale
    sign = 1.0 if nominal.sense == "minimize" else -1.0
    worst += sign * float(uncertain.growth(plain.node)[0])
    soft = []
    if not nominal.terms:
        for cost, entry in soft_costs(uncertain.bench, core, unit, uncertain.growth):
            soft.append(entry)
            worst += sign * float(cost.data[0])
    return replace(nominal, value=worst / unit.scale, soft=tuple(soft))


def nominal_only(blueprint: Blueprint) -> list[str]:
    """Return a note for what is said to be uncertain and modelled nowhere."""
    extended, core = blueprint.extended_analysis_and_robustness, blueprint.core
    modelled = any(p.uncertain is not None for p in core.parameters)
    modelled |= any(index_set.kind == "scenario" for index_set in core.sets)
    sources = extended.uncertainty_sources if extended is not None and not modelled else ()
    if not sources:
        return []
    keys, unnamed = ("name", "source", "content", "description"), "a source without a name"
    given = [s if isinstance(s, Mapping) else {"name": s} for s in sources]
    shown = ", ".join(str(next((s[k] for k in keys if s.get(k)), unnamed)) for s in given)
    return [f"the certificate holds for the nominal values only; said to be uncertain: {shown}"]
