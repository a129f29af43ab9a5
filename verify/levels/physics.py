"""Level 3: whether the plan works when somebody executes it."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from engiagent.blueprint.grammar import Binary, Call, Compare, Ref, names_in, parse, walk
from engiagent.blueprint.occurrences import linked_names
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, declared_of
from engiagent.verify.findings import Report, Violation, finite_or_none
from engiagent.verify.frames import MissingQuantity, label_of
from engiagent.verify.levels.algebra import Outcome, check_rules
from engiagent.verify.levels.balances import computed_states, execute_balances, largest
from engiagent.verify.levels.execution import Plant, buses_of, recomputed_series, sides_of, total
from engiagent.verify.plants import entry_of
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.requirements import Dynamics, Rule
from engiagent.verify.series import Series
from engiagent.verify.tolerances import TOLERANCES, floor_of
from engiagent.verify.values import Floats
from engiagent.verify.vocabulary import SERIES

LEVEL = "physics"


@dataclass
class Findings:
    """What the tests of one level collect."""

    records: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Record how rules came out."""
        for outcome in outcomes:
            self.records.append(dict(outcome.record))
            self.violations += outcome.violations

    def test(
        self,
        check: str,
        name: str,
        excess: Floats,
        tolerance: Floats | float,
        unit: str,
        over: IndexSet | None,
        words: str,
    ) -> None:
        """Record a test that passes when ``excess <= tolerance`` everywhere, NaN failing."""
        margin = np.asarray(tolerance - excess)
        row = int(margin.argmin())
        # What is not finite makes the least or the greatest of them not finite.
        bad = not math.isfinite(margin[row]) or not math.isfinite(margin.max())
        if bad:
            row = int(np.isfinite(margin).argmin())
        holds = bool(margin[row] >= 0) and not bad
        one = isinstance(tolerance, float)
        allowed = float(tolerance if one else np.broadcast_to(tolerance, excess.shape)[row])
        where = {} if over is None or row >= over.size else {"time": label_of(over, row)}
        self.records.append(
            {
                "id": check,
                "name": name,
                "worst": {
                    "where": where,
                    "excess": finite_or_none(float(excess[row])),
                    "unit": unit,
                },
                "tolerance": finite_or_none(allowed),
                "status": "pass" if holds else "fail",
            }
        )
        if not holds:
            place = f" at {where['time']}" if where else ""
            text = f"{name}: {words} by {float(excess[row]):.6g} {unit}{place}"
            self.violations.append(
                Violation(LEVEL, check, name, text, where, float(excess[row]), unit, allowed)
            )


def difference(unit: str) -> str:
    """Return the unit of differences of numbers in a unit."""
    return str(parse_unit(unit).difference())


def floor(unit: str) -> float:
    """Return the smallest absolute tolerance of a unit, in that unit."""
    parsed = parse_unit(unit).difference()
    return floor_of(parsed) / parsed.scale


def check_states(trajectory: Trajectory, findings: Findings) -> None:
    """Test the plan's state against the recomputed one, and that against the unit's limits."""
    name, unit = trajectory.quantity, difference(trajectory.unit)
    over = trajectory.instants
    per_step = max(floor(trajectory.unit), TOLERANCES["step_of_capacity"] * trajectory.scale)
    allowed = TOLERANCES["drift_K"] if unit == "K" else TOLERANCES["drift"] * trajectory.scale
    off: Floats | float = 0.0
    if trajectory.claimed is not None:
        words = "the schedule's state is not the one that its decisions lead to, off"
        off = np.abs(trajectory.claimed - trajectory.declared)
        if trajectory.defect is not None:
            follows = "the state does not follow from the state before and the decisions, off"
            steps = np.abs(trajectory.defect)
            findings.test(f"step:{name}", f"steps of {name}", steps, per_step, unit, over, follows)
        findings.test(f"drift:{name}", f"drift of {name}", off, allowed, unit, over, words)
    tolerance = per_step + np.minimum(off, allowed)
    for bound, sign, words in (
        (trajectory.lower, -1.0, "below its minimum"),
        (trajectory.upper, 1.0, "above its maximum"),
    ):
        limited = np.isfinite(bound)
        if limited.any():
            excess = sign * (trajectory.declared - np.where(limited, bound, 0.0))
            excess = np.where(limited, excess, -trajectory.scale)
            check, title = f"{words.split()[0]}:{name}", f"{name} when executed"
            findings.test(check, title, excess, tolerance, unit, over, words)


def check_limits(plant: Plant, unit: Dynamics, findings: Findings) -> None:
    """Test the signs and the declared limits of a unit's quantities."""
    over = plant.of(unit).periods
    for word, limit in entry_of(unit.model).limits:
        series, meaning = plant.value(unit, word), SERIES[unit.model][word]
        most = plant.of(unit).slot(limit, meaning.unit)
        tolerance = tolerance_of(plant.bench, meaning.unit, np.abs(series))
        name = f"{unit.name}.{word}"
        shown = meaning.unit
        findings.test(f"sign:{name}", name, -series, tolerance, shown, over, "negative")
        if most is not None:
            beyond, words = series - most, "above its limit"
            findings.test(f"limit:{name}", name, beyond, tolerance, shown, over, words)


def tolerance_of(bench: Bench, unit: str, scale: Floats | float) -> Floats:
    """Return the tolerance of numbers of a scale, both in a unit.

    The scale is never above the largest number of that dimension which is declared: a plan must
    not widen its own tolerances.
    """
    if difference(unit) == "K":
        return np.full(1, TOLERANCES["drift_K"])
    parsed = parse_unit(unit)
    declared = declared_of(bench).largest(parsed) / parsed.scale
    sizes = np.atleast_1d(scale)
    # Where none is declared each number has its own scale.
    capped = np.minimum(np.max(sizes, initial=0.0), declared) if declared > 0 else sizes
    most = TOLERANCES["cap_of_floor"] * floor(unit)
    return np.maximum(floor(unit), np.minimum(TOLERANCES["of_scale"] * capped, most))


def check_excess(bench: Bench, excess: Excess, findings: Findings) -> None:
    """Test a limit that physics sets."""
    own = excess.tolerance
    allowed = tolerance_of(bench, excess.unit, excess.scale) if own is None else own
    unit, over, words = difference(excess.unit), excess.over, excess.words
    findings.test(excess.check, excess.name, excess.amount, allowed, unit, over, words)


def check_result(bench: Bench, result: Result, findings: Findings) -> None:
    """Test what the plan says of a result, where it says anything."""
    if result.claimed is None:
        return
    off = np.abs(result.claimed - result.values)
    if result.declared is not None:
        off = np.minimum(off, np.abs(result.claimed - result.declared))
    name, unit = result.names[-1], difference(result.unit)
    allowed = tolerance_of(bench, result.unit, np.abs(result.values))
    words = f"not what {result.why} gives, off"
    findings.test(f"output:{name}", name, off, allowed, unit, result.over, words)


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
    for bus, units in buses_of(plant).items():
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, units))
        except EngiagentError as error:
            plant.unchecked.append(f"the balance of {bus} was not checked: {error}")
            continue
        linear = [u.name for u in units if u.model == "feeder" and u.scheme == "linear"]
        losses = f" (the linear scheme leaves out the losses of {', '.join(linear)})"
        words = f"supply and demand differ{losses if linear else ''}"
        allowed = tolerance_of(plant.bench, "kW", np.abs(supply) + np.abs(demand))
        gap, over, name = np.abs(supply - demand), plant.of(units[0]).periods, f"balance of {bus}"
        findings.test(f"balance:{bus}", f"power {name}", gap, allowed, "kW", over, words)


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
