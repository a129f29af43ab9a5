"""Level 3: whether the plan works when somebody executes it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from engiagent.blueprint.grammar import Binary, Call, Compare, Ref, names_in, parse, walk
from engiagent.blueprint.occurrences import linked_names
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Report, finite_or_none
from engiagent.verify.frames import MissingQuantity, label_of
from engiagent.verify.levels.algebra import Rule, check_rules
from engiagent.verify.levels.balances import computed_states, execute_balances
from engiagent.verify.levels.buses import buses_of, sides_of, total
from engiagent.verify.levels.execution import Plant, recomputed_series
from engiagent.verify.levels.judgement import (
    LEVEL,
    Findings,
    check_excess,
    check_limits,
    check_result,
    check_states,
    difference,
    largest,
    tolerance_of,
)
from engiagent.verify.plants.run import Result, Run, Trajectory
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.vocabulary import SERIES


def check_physics(
    units: Sequence[Dynamics],
    bench: Bench,
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
    claims_states: bool,
    states: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Return the outcome of executing the plan.

    ``units``: the declared units. ``bench``: where their parameters and the schedule's decisions
    are evaluated. ``benches``: documents with their rules, to be held against the recomputed
    states. ``claims_states``: whether the blueprint has states, which somebody has to recompute.
    ``states``: the quantities of variables that are states, by variable: each needs dynamics, or
    equations that link it to the instant before.
    """
    if not units:
        return _by_balances(benches, claims_states, states)
    plant, findings = Plant(bench, units), Findings()
    runs = tuple(plant.run())
    judge(plant, runs, findings)
    trajectories = [trajectory for run in runs for trajectory in run.trajectories]
    judged = [r for run in runs for r in run.results if r.declared is not None]
    followed: list[Trajectory | Result] = [*trajectories, *judged]
    series = recomputed_series(followed, units)
    replayed = _replay(series, benches, findings)
    recomputed = recomputed_series(trajectories, units)
    plant.unchecked += _without_dynamics(states, recomputed, benches)
    status = "fail" if findings.violations else "unchecked" if plant.unchecked else "pass"
    stateful = {
        u.name: u.scheme or "exact"
        for u in units
        if any(meaning.kind == "state" for meaning in SERIES.get(u.model, {}).values())
    }
    body = {
        "schemes": stateful,
        "states": [_summary(trajectory) for trajectory in trajectories],
        "results": [gap for run in runs for result in run.results for gap in _gap(result)],
        "checks": findings.records,
        "rules_on_recomputed_states": replayed,
        "notes": [*plant.unchecked, *plant.notes],
    }
    return Report(status, body, tuple(findings.violations))


def _without_dynamics(
    states: Mapping[str, str],
    recomputed: Collection[str],
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
) -> list[str]:
    """Return a note on every state that neither executing the plan nor an equation gives."""
    linked = {
        name
        for bench, rules in benches
        for name in (
            *linked_names(rule.expression for rule in rules if "==" in rule.expression),
            *linked_names(e.expression for e in bench.declarations.core.expressions),
        )
    }
    return [
        f"{quantity} was not executed: no dynamics link it to the instant before"
        for name, quantity in states.items()
        if quantity not in recomputed and not {name, quantity} & linked
    ]


def _by_balances(
    benches: Sequence[tuple[Bench, Sequence[Rule]]], claims_states: bool, states: Mapping[str, str]
) -> Report:
    """Return the outcome of executing a plan by the balances that it is stated with."""
    findings = Findings()
    executed = [one for bench, _ in benches for one in execute_balances(bench)]
    recomputed = {one.series.name: one.series for one in executed if one.series is not None}
    missing = [e.definition.quantity or e.definition.name for e in executed if e.series is None]
    notes = [note for bench, _ in benches for note in computed_states(bench)]
    notes += [
        f"the state {name} has no dynamics and no balance that could recompute it step by step"
        for name in missing
    ]
    trajectories = [part for one in executed for part in one.trajectories]
    for trajectory in trajectories:
        check_states(trajectory, findings)
    without = _without_dynamics(states, recomputed, benches)
    notes += without
    left_open = bool(without) or (bool(missing) if executed else claims_states)
    body: dict[str, Any] = {}
    default = "the plan has states, but no dynamics are declared that could recompute them"
    if not left_open:
        default = "no dynamics are declared"
        replayed = _replay(recomputed, benches, findings)
        if trajectories:
            body["states"] = [_summary(trajectory) for trajectory in trajectories]
            body["rules_on_recomputed_states"] = replayed
            notes.append("executed by the balances that are stated")
    body |= {"notes": notes or [default], "checks": findings.records}
    status = "fail" if findings.violations else "unchecked" if left_open else "pass"
    return Report(status, body, tuple(findings.violations))


def judge(plant: Plant, runs: Sequence[Run], findings: Findings) -> None:
    """Hold what executing a plan gave against the plan and the limits of its units."""
    for run in runs:
        for trajectory in run.trajectories:
            check_states(trajectory, findings)
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        try:
            check_limits(plant, unit, findings)
        except MissingQuantity as missing:
            plant.unchecked.append(f"{unit.name}: {missing}")
        except EngiagentError as error:
            plant.unchecked.append(f"{unit.name} was not checked: {error}")
    for run in runs:
        for excess in run.excesses:
            check_excess(plant.bench, excess, findings)
        for result in run.results:
            check_result(plant.bench, result, findings)
    _check_buses(plant, findings)


def _summary(trajectory: Trajectory) -> dict[str, Any]:
    gap = largest(trajectory.declared - trajectory.exact)
    drift = None
    if trajectory.claimed is not None:
        drift = largest(trajectory.claimed - trajectory.declared)
    return {
        "quantity": trajectory.quantity,
        "unit": difference(trajectory.unit),
        "drift": finite_or_none(drift),
        "declared_against_exact": finite_or_none(gap),
    }


def _gap(result: Result) -> Iterator[dict[str, Any]]:
    """Yield how far the better solution of a result is from the declared one, where it is."""
    simple = result.values if result.declared is None else result.declared
    better = result.values if result.exact is None else result.exact
    gap = better - simple
    if (gap == 0.0).all():
        return
    row = int(np.argmax(np.where(np.isfinite(gap), np.abs(gap), np.inf)))
    yield {
        "quantity": result.names[0],
        "unit": difference(result.unit),
        "worst": finite_or_none(float(gap[row])),
        "mean": finite_or_none(float(gap.mean())),
        "at": label_of(result.over, row),
        "planned": finite_or_none(float(simple[row])),
        "executed": finite_or_none(float(better[row])),
        "judged": "declared" if result.declared is None else "executed",
    }


def _check_buses(plant: Plant, findings: Findings) -> None:
    """Test that on every bus with a grid or a load, what comes in goes out."""
    for bus, units in buses_of(plant).items():
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, units))
        except EngiagentError as error:
            plant.unchecked.append(f"the balance of {bus} was not checked: {error}")
            continue
        linear = [u.name for u in units if u.model == "feeder" and u.scheme == "linear"]
        losses = f" (the linear scheme leaves out the losses of {', '.join(linear)})"
        findings.test(
            f"balance:{bus}",
            f"power balance of {bus}",
            np.abs(supply - demand),
            tolerance_of(plant.bench, "kW", np.abs(supply) + np.abs(demand)),
            "kW",
            plant.of(units[0]).periods,
            f"supply and demand differ{losses if linear else ''}",
        )


def _replay(
    recomputed: Mapping[str, Series],
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
    findings: Findings,
) -> list[dict[str, Any]]:
    """Hold all rules against what was recomputed, except those that are the dynamics."""
    records = []
    for bench, rules in benches:
        states, series = set(recomputed), {**bench.series, **recomputed}
        for definition in bench.declarations.core.decision_variables:
            for name in states & {definition.quantity}:
                states = states | {definition.name}
                series[definition.name] = recomputed[name]
        for expression in bench.declarations.core.expressions:
            if expression.quantity in recomputed:
                states = states | {expression.name}
        other = Bench(bench.declarations, series, recomputed)
        chosen = [
            rule
            for rule in rules
            if rule.hard and names_in(rule.expression) & states and not _steps(rule, states)
        ]
        for outcome in check_rules(other, chosen, LEVEL):
            records.append(dict(outcome.record))
            findings.violations += outcome.violations
        other.forget()
    return records


def _steps(rule: Rule, states: set[str]) -> bool:
    """Whether a rule is an equality that links a state at two instants next to one another."""
    node = parse(rule.expression)
    if not isinstance(node, Compare) or "==" not in node.ops:
        return False
    return any(
        isinstance(part, Ref)
        and part.name in states
        and any(isinstance(i, Binary) and i.op in "+-" for i in part.indices)
        for part in walk(node)
    ) or any(isinstance(part, Call) and part.function == "prev" for part in walk(node))
