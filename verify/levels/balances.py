"""States executed by the balances that a document states itself, where no model declares them.

An equation such as ``e[t+1] == e[t] + (take[t] - give[t])*dt(t)`` is the declaration of its state:
starting from the first instant, every value follows from the one before and from the decisions.
They are computed so, one after another, and the plan's own values are held against them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from engiagent.blueprint.document import VariableDef
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench
from engiagent.verify.levels.algebra import rules_of_core
from engiagent.verify.levels.judgement import largest
from engiagent.verify.plants.run import Trajectory
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import Floats, Value
from engiagent.verify.vocabulary import is_state


@dataclass
class _Row:
    """One row of an equation: how its state's elements enter it, and by how much it is off."""

    excess: float
    coefficients: dict[int, float] = field(default_factory=dict)


def states_of(bench: Bench) -> list[VariableDef]:
    """Return the variables that a document calls states."""
    return [v for v in bench.declarations.core.decision_variables if v.role == "state"]


def computed_states(bench: Bench) -> list[str]:
    """Return the states that a document defines as expressions over its decisions."""
    return [
        f"{e.quantity} is computed from the decisions by the expression {e.name}"
        for e in bench.declarations.core.expressions
        if e.quantity is not None and is_state(e.quantity)
    ]


def execute_balances(bench: Bench) -> Iterator[tuple[VariableDef, Trajectory | None]]:
    """Yield every state with what its balance makes of the decisions, None without a balance."""
    states = states_of(bench)
    equations = list(_equations(bench))
    orders = {bench.variables[v.name].order for v in states if v.name in bench.variables}
    for definition in states:
        own = bench.variables.get(definition.name)
        if own is None:
            yield definition, None
            continue
        rows = [row for value in equations for row in _rows(value, own.order, orders)]
        yield definition, _executed(bench, definition, own, rows)


def _equations(bench: Bench) -> Iterator[Value]:
    """Yield the excess of every hard equation that can be evaluated."""
    for rule in rules_of_core(bench.declarations.core):
        if not rule.hard:
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame) if frame.size else []
            excesses = [arithmetic.add(a, b, -1.0) for op, a, b in compared if op == "=="]
        except EngiagentError:
            continue  # the algebra level says what is wrong with it
        yield from excesses


def _rows(value: Value, order: int, states: set[int]) -> Iterator[_Row]:
    """Yield the rows of an equation in which a state is the only one, and enters by itself."""
    found = triplets(value)
    if order not in found or (states - {order}) & set(found):
        return
    rows: dict[int, _Row] = {}
    for row, element, factor in zip(*(part.tolist() for part in found[order]), strict=True):
        own = rows.setdefault(row, _Row(float(value.data[row])))
        own.coefficients[element] = own.coefficients.get(element, 0.0) + factor
    yield from rows.values()


def _executed(
    bench: Bench, definition: VariableDef, own: Value, rows: list[_Row]
) -> Trajectory | None:
    """Return a state computed step by step; None where some step has no equation of its own."""
    dims = bench.evaluator.environment.symbol(definition.name).dims
    if len(dims) != 1 or dims[0].kind not in ("instants", "time", "periods"):
        return None
    steps: dict[int, _Row] = {}
    for row in rows:
        used = sorted(k for k, factor in row.coefficients.items() if factor)
        if used in ([0], [used[-1] - 1, used[-1]] if used else []):
            steps.setdefault(used[-1], row)
    count = own.data.size
    if any(k not in steps for k in range(1, count)):
        return None
    change, defect = np.zeros(count), np.zeros(count)  # the start may be the plan's own choice
    for k in range(count):
        if k not in steps:
            continue
        row = steps[k]
        before = row.coefficients.get(k - 1, 0.0) * change[k - 1] if k else 0.0
        defect[k] = row.excess / row.coefficients[k]
        change[k] = -(row.excess + before) / row.coefficients[k]
    unit = own.unit
    claimed = np.array([unit.from_si(x) for x in own.data])
    declared = np.array([unit.from_si(x) for x in own.data + change])
    name = definition.quantity or definition.name
    return Trajectory(
        names=(name,),
        quantity=name,
        unit=str(unit),
        declared=declared,
        exact=declared,
        claimed=claimed,
        defect=defect[1:] / unit.scale,
        scale=_scale(bench, definition, declared),
        instants=dims[0],
    )


def _scale(bench: Bench, definition: VariableDef, declared: Floats) -> float:
    """Return what an error is measured by: the range that is declared, else what it comes to."""
    sizes = []
    for bound in (definition.lower, definition.upper):
        try:
            value = bench.evaluator.evaluate(str(bound)) if bound is not None else None
        except EngiagentError:
            value = None
        if value is not None and value.data.size and not value.degree:
            sizes.append(largest(value.data) / (1.0 if value.bare else value.unit.scale))
    return max([size for size in sizes if np.isfinite(size)], default=0.0) or largest(declared)
