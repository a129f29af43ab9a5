"""What a site does when its decisions are kept and something else turns out another way.

States and results follow by physics. What then lacks or is left over on a bus with one grid is
taken from it or given to it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engiagent.blueprint.grammar import Compare, names_in, tree_of, walk
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench
from engiagent.verify.findings import finite_or_none
from engiagent.verify.frames import label_of
from engiagent.verify.levels.algebra import Outcome, Rule, check_rules
from engiagent.verify.levels.buses import buses_of, sides_of, total
from engiagent.verify.levels.execution import Plant, recomputed_series
from engiagent.verify.levels.judgement import (
    LEVEL,
    Findings,
    check_excess,
    check_limits,
    check_states,
)
from engiagent.verify.levels.repeated import joined
from engiagent.verify.plants.run import Run
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.values import Floats


def reacted(plant: Plant, runs: Sequence[Run]) -> dict[str, Series]:
    """Return by quantity what differs from the plan: states, results, imports and exports."""
    found = recomputed_series((item for run in runs for item in run.found), plant.units)
    nets: dict[str, Series] = {}
    for grid, net in _nets(plant):
        over = plant.of(grid).periods.name
        for word, data in (("import", np.maximum(net, 0.0)), ("export", np.maximum(-net, 0.0))):
            name = f"{grid.name}.{word}"
            nets[name] = Series(name, data, parse_unit("kW"), (over,))
    return found | joined(nets, plant.units)


def _nets(plant: Plant) -> Iterator[tuple[Dynamics, Floats]]:
    """Yield every grid that balances something with what it has to give. [kW]."""
    for bus, units in buses_of(plant).items():
        grids = [unit for unit in units if unit.model == "grid"]
        if len(grids) != 1 or ("[" in bus and grids[0].element is None):
            continue  # what one grid gives in several scenarios at once, no balance of one says
        others = [unit for unit in units if unit.model != "grid"]
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, others))
        except EngiagentError:
            continue  # the balance is unchecked already
        yield grids[0], np.broadcast_to(demand - supply, (plant.of(grids[0]).periods.size,))


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
    bench: Bench, rules: Sequence[Rule], series: dict[str, Series], changed: Collection[str]
) -> list[Outcome]:
    """Return how the limits among the rules stand that speak of what has changed.

    ``bench``: of the plan, with the parameters as they turned out. ``series``: what reacted, by
    quantity. ``changed``: parameters that turned out another way.
    """
    declarations = bench.declarations
    known, moved = {**bench.series, **series}, {*series, *changed}
    for definition in declarations.core.decision_variables:
        if definition.quantity in series:
            known[definition.name] = series[definition.quantity]
            moved.add(definition.name)
    moved |= {e.name for e in declarations.core.expressions if names_in(e.expression) & moved}
    chosen = [r for r in rules if r.hard and _limits(r) and names_in(r.expression) & moved]
    other = Bench(declarations, known)
    found = check_rules(other, chosen, LEVEL)
    other.forget()
    return found


def executed_otherwise(
    plant: Plant,
    runs: Sequence[Run],
    bench: Bench,
    rules: Sequence[Rule],
    changed: Collection[str] = (),
) -> tuple[dict[str, Series], Findings]:
    """Return what reacts where a plant is not as planned, and how limits and rules stand then."""
    series, findings = reacted(plant, runs), Findings()
    judge_limits(plant, runs, series, findings)
    findings.add(judge_rules(bench, rules, series, changed))
    return series, findings


def _limits(rule: Rule) -> bool:
    """Whether a rule is a limit: an equation says how things hang together."""
    tree = tree_of(rule.expression)
    nodes = () if tree is None else walk(tree)
    return not any(isinstance(n, Compare) and "==" in n.ops for n in nodes)


# --- a plant that truly is another one ---------------------------------------------------------

PREFIX = "plant:"


def true_unit(unit: Dynamics) -> Dynamics:
    """Return a unit as it truly is, solved exactly."""
    plant = unit.plant
    if plant is None:
        return unit
    kept = {name: value for name, value in unit.parameters.items() if name not in plant.without}
    return replace(
        unit,
        model=plant.model or unit.model,
        parameters={**kept, **plant.parameters},
        scheme="exact",
        plant=None,
    )


def check_truth(
    declared: Plant, runs: Sequence[Run], rules: tuple[Bench, Sequence[Rule]], findings: Findings
) -> dict[str, Any] | None:
    """Return how the true plant differs from the declared one, None when nobody declares one.

    Violations are added to ``findings`` where a unit's plant is to be judged.
    """
    units = [true_unit(unit) for unit in declared.units]
    if all(unit.plant is None for unit in declared.units):
        return None
    # The plan's states and results are claims about the declared units, not about the true ones.
    plant = Plant(declared.bench, units)
    before = reacted(declared, runs)
    series, own = executed_otherwise(plant, list(plant.run()), *rules)
    judged = any(unit.plant is not None and unit.plant.judge for unit in declared.units)
    if judged:
        findings.violations += [
            replace(v, check=f"{PREFIX}{v.check}", message=f"in the true plant: {v.message}")
            for v in own.violations
        ]
        declared.unchecked += [f"the true plant: {note}" for note in plant.unchecked]
    return {
        "units": {u.name: t.model for u, t in zip(declared.units, units, strict=True) if u.plant},
        "judged": judged,
        "gaps": _gaps(before, series, declared.bench.declarations.sets),
        "broken": [record for record in own.records if record["status"] == "fail"],
        "notes": plant.unchecked,
    }


def _gaps(
    before: Mapping[str, Series], after: Mapping[str, Series], sets: Mapping[str, IndexSet]
) -> list[dict[str, Any]]:
    """Return by quantity how far the true plant is from the declared one, where it is."""
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    for name, series in after.items():
        # A zone's temperature goes by two names.
        if name not in before or id(series) in seen:
            continue
        seen.add(id(series))
        gap = np.abs(series.data - before[name].converted(series.unit))
        if gap.size and not (gap == 0.0).all():
            row = int(np.argmax(np.where(np.isnan(gap), np.inf, gap)))
            over = sets.get(series.dims[0])
            where = {} if over is None else {over.name: label_of(over, row)}
            found.append(
                {
                    "quantity": name,
                    "unit": str(series.unit.difference()),
                    "worst": finite_or_none(float(gap[row])),
                    "mean": finite_or_none(float(gap.mean())),
                    "where": where,
                }
            )
    return found
