"""What a site does when its decisions are kept and something else turns out another way.

States and results follow by physics. What then lacks or is left over on a bus with one grid is
taken from it or given to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from engiagent.blueprint.grammar import Compare, GrammarError, Node, Ref, parse, walk
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.algebra import Outcome, Rule, check_rules
from engiagent.verify.levels.buses import buses_of, sides_of, total
from engiagent.verify.levels.execution import Plant, as_series
from engiagent.verify.levels.judgement import (
    LEVEL,
    Findings,
    check_excess,
    check_limits,
    check_states,
)
from engiagent.verify.plants.run import Run
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.values import Floats


def reacted(plant: Plant, runs: Sequence[Run]) -> dict[str, Series]:
    """Return by quantity what differs from the plan: states, results, imports and exports."""
    found = {name: as_series(item) for run in runs for item in run.found for name in item.names}
    for grid, net in _nets(plant):
        over = plant.periods(grid).name
        for word, data in (("import", np.maximum(net, 0.0)), ("export", np.maximum(-net, 0.0))):
            name = f"{grid.name}.{word}"
            found[name] = Series(name, data, parse_unit("kW"), (over,))
    return found


def _nets(plant: Plant) -> Iterator[tuple[Dynamics, Floats]]:
    """Yield every grid that balances something with what it has to give. [kW]."""
    for bus, units in buses_of(plant).items():
        grids = [unit for unit in units if unit.model == "grid"]
        if len(grids) != 1:
            continue
        others = [unit for unit in units if unit.model != "grid"]
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, others))
        except EngiagentError:
            continue  # the balance is unchecked already
        yield grids[0], np.broadcast_to(demand - supply, (plant.periods(grids[0]).size,))


def judge_limits(
    plant: Plant, runs: Sequence[Run], series: dict[str, Series], findings: Findings
) -> None:
    """Hold units that have reacted against their own limits, whatever the plan says of states."""
    for run in runs:
        for trajectory in run.trajectories:
            check_states(replace(trajectory, claimed=None, defect=None), findings)
        for excess in run.excesses:
            check_excess(plant.bench, excess, findings)
    bench = Bench(plant.bench.declarations, {**plant.bench.series, **series})
    after = Plant(bench, plant.units, noise=plant.noise)
    for unit in plant.units:
        if unit.model in COMPONENTS:
            try:
                check_limits(after if unit.model == "grid" else plant, unit, findings)
            except EngiagentError:
                continue  # said of the plan itself
    bench.forget()


def judge_rules(
    declarations: Declarations,
    bench: Bench,
    rules: Sequence[Rule],
    series: dict[str, Series],
    changed: frozenset[str],
) -> list[Outcome]:
    """Return how the limits among the rules stand that speak of what has changed.

    Parameters
    ----------
    declarations
        With the parameters as they turned out.
    bench
        Of the plan.
    series
        What reacted, by quantity.
    changed
        Parameters that turned out another way.
    """
    known, moved = {**bench.series, **series}, {*series, *changed}
    for definition in declarations.core.decision_variables:
        if definition.quantity in series:
            known[definition.name] = series[definition.quantity]
            moved.add(definition.name)
    moved |= {e.name for e in declarations.core.expressions if _names(e.expression) & moved}
    chosen = [r for r in rules if r.hard and _limits(r) and _names(r.expression) & moved]
    other = Bench(declarations, known)
    found = check_rules(other, chosen, LEVEL)
    other.forget()
    return found


def _names(expression: str) -> set[str]:
    return {node.name for node in _nodes(expression) if isinstance(node, Ref)}


def _nodes(expression: str) -> list[Node]:
    try:
        return list(walk(parse(expression)))
    except GrammarError:
        return []  # the algebra level says so


def _limits(rule: Rule) -> bool:
    """Whether a rule is a limit: an equation says how things hang together."""
    return not any(isinstance(n, Compare) and "==" in n.ops for n in _nodes(rule.expression))
