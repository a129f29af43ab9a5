"""Level 3: whether the plan works when somebody executes it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engiagent.blueprint.grammar import Binary, Call, Compare, GrammarError, Node, Ref, parse, walk
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.units import parse_unit
from engiagent.errors import EngiagentError
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Report, Violation, finite_or_none
from engiagent.verify.frames import MissingQuantity, label_of
from engiagent.verify.levels.algebra import Rule, check_rules
from engiagent.verify.levels.buses import buses_of, sides_of, total
from engiagent.verify.levels.execution import Plant, as_series
from engiagent.verify.plants import MODELS, entry_of
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.requirements import Dynamics
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
        bad = ~np.isfinite(margin)
        row = int(np.argmax(bad)) if bad.any() else int(np.argmin(margin))
        holds = bool(margin[row] >= 0) and not bad.any()
        allowed = float(np.broadcast_to(tolerance, excess.shape)[row])
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


def check_physics(
    units: Sequence[Dynamics],
    bench: Bench,
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
    claims_states: bool,
) -> Report:
    """Return the outcome of executing the plan.

    Parameters
    ----------
    units
        The declared units.
    bench
        Where their parameters and the schedule's decisions are evaluated.
    benches
        Documents with their rules, to be held against the recomputed states.
    claims_states
        Whether the blueprint has states, which somebody has to recompute.
    """
    if not units:
        if claims_states:
            note = "the plan has states, but no dynamics are declared that could recompute them"
            return Report("unchecked", {"notes": [note], "checks": []})
        return Report("pass", {"notes": ["no dynamics are declared"], "checks": []})
    plant, findings = Plant(bench, units), Findings()
    runs = tuple(plant.run())
    judge(plant, runs, findings)
    trajectories = [trajectory for run in runs for trajectory in run.trajectories]
    replayed = _replay(trajectories, benches, findings)
    status = "fail" if findings.violations else "unchecked" if plant.unchecked else "pass"
    stateful = {u.name: u.scheme or "exact" for u in units if _has_states(u)}
    body = {
        "schemes": stateful,
        "states": [_summary(trajectory) for trajectory in trajectories],
        "checks": findings.records,
        "rules_on_recomputed_states": replayed,
        "notes": plant.unchecked,
    }
    return Report(status, body, tuple(findings.violations))


def judge(plant: Plant, runs: Sequence[Run], findings: Findings) -> None:
    """Hold what executing a plan gave against the plan and the limits of its units."""
    for run in runs:
        for trajectory in run.trajectories:
            _check_states(trajectory, findings)
    for unit in plant.units:
        if unit.model not in MODELS:
            continue
        try:
            _check_limits(plant, unit, findings)
        except MissingQuantity as missing:
            plant.unchecked.append(f"{unit.name}: {missing}")
        except EngiagentError as error:
            plant.unchecked.append(f"{unit.name} was not checked: {error}")
    for run in runs:
        for excess in run.excesses:
            _check_excess(excess, findings)
        for result in run.results:
            _check_result(result, findings)
    _check_buses(plant, findings)


def _has_states(unit: Dynamics) -> bool:
    return any(meaning.kind == "state" for meaning in SERIES.get(unit.model, {}).values())


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


def largest(off: Floats) -> float:
    """Return the largest magnitude, NaN when there is one."""
    return float(np.max(np.abs(off), initial=0.0))


def difference(unit: str) -> str:
    """Return the unit of differences of numbers in a unit."""
    return str(parse_unit(unit).difference())


def floor(unit: str) -> float:
    """Return the smallest absolute tolerance of a unit, in that unit."""
    parsed = parse_unit(unit).difference()
    return floor_of(parsed) / float(parsed.factor)


def _check_states(trajectory: Trajectory, findings: Findings) -> None:
    name, unit = trajectory.quantity, difference(trajectory.unit)
    over = trajectory.instants
    per_step = max(floor(trajectory.unit), TOLERANCES["step_of_capacity"] * trajectory.scale)
    allowed = TOLERANCES["drift_K"] if unit == "K" else TOLERANCES["drift"] * trajectory.scale
    off: Floats | float = 0.0
    if trajectory.claimed is not None and trajectory.defect is not None:
        words = "the state does not follow from the state before and the decisions"
        findings.test(
            f"step:{name}", f"steps of {name}", np.abs(trajectory.defect), per_step, unit, over,
            f"{words}, off",
        )  # fmt: skip
    if trajectory.claimed is not None:
        off = np.abs(trajectory.claimed - trajectory.declared)
        findings.test(
            f"drift:{name}", f"drift of {name}", off, allowed, unit, over,
            "the schedule's state is not the one that its decisions lead to, off",
        )  # fmt: skip
    tolerance = per_step + np.minimum(off, allowed)
    for bound, sign, words in (
        (trajectory.lower, -1.0, "below its minimum"),
        (trajectory.upper, 1.0, "above its maximum"),
    ):
        limited = np.isfinite(bound)
        if limited.any():
            excess = sign * (trajectory.declared - np.where(limited, bound, 0.0))
            findings.test(
                f"{words.split()[0]}:{name}", f"{name} when executed",
                np.where(limited, excess, -trajectory.scale), tolerance, unit, over, words,
            )  # fmt: skip


def _check_limits(plant: Plant, unit: Dynamics, findings: Findings) -> None:
    over = plant.periods(unit)
    for word, limit in entry_of(unit.model).limits:
        series, meaning = plant.value(unit, word), SERIES[unit.model][word]
        most = plant.slot(unit, limit, meaning.unit)
        tolerance = _tolerance(meaning.unit, largest(series))
        name = f"{unit.name}.{word}"
        findings.test(f"sign:{name}", name, -series, tolerance, meaning.unit, over, "negative")
        if most is not None:
            findings.test(
                f"limit:{name}", name, series - most, tolerance, meaning.unit, over,
                "above its limit",
            )  # fmt: skip


def _tolerance(unit: str, scale: float) -> float:
    if difference(unit) == "K":
        return TOLERANCES["drift_K"]
    return max(floor(unit), TOLERANCES["of_scale"] * scale)


def _check_excess(excess: Excess, findings: Findings) -> None:
    tolerance = excess.tolerance
    if tolerance is None:
        tolerance = _tolerance(excess.unit, excess.scale)
    findings.test(
        excess.check, excess.name, excess.amount, tolerance, difference(excess.unit), excess.over,
        excess.words,
    )  # fmt: skip


def _check_result(result: Result, findings: Findings) -> None:
    if result.claimed is None:
        return
    findings.test(
        f"output:{result.names[-1]}",
        result.names[-1],
        np.abs(result.claimed - result.values),
        _tolerance(result.unit, largest(result.values)),
        difference(result.unit),
        result.over,
        f"not what {result.why} gives, off",
    )


def _check_buses(plant: Plant, findings: Findings) -> None:
    """Test that on every bus with a grid or a load, what comes in goes out."""
    for bus, units in buses_of(plant).items():
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, units))
        except EngiagentError as error:
            plant.unchecked.append(f"the balance of {bus} was not checked: {error}")
            continue
        findings.test(
            f"balance:{bus}",
            f"power balance of {bus}",
            np.abs(supply - demand),
            _tolerance("kW", largest(np.abs(supply) + np.abs(demand))),
            "kW",
            plant.periods(units[0]),
            "supply and demand differ",
        )


def _replay(
    trajectories: Sequence[Trajectory],
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
    findings: Findings,
) -> list[dict[str, Any]]:
    """Hold all rules against the recomputed states, except those that are the dynamics."""
    recomputed: dict[str, Series] = {name: as_series(t) for t in trajectories for name in t.names}
    records = []
    for bench, rules in benches:
        states, series = set(recomputed), {**bench.series, **recomputed}
        for definition in bench.declarations.core.decision_variables:
            for name in states & {definition.quantity}:
                states = states | {definition.name}
                series[definition.name] = recomputed[name]
        other = Bench(bench.declarations, series)
        chosen = [
            rule
            for rule in rules
            if rule.hard and _names(rule) & states and not _steps(rule, states)
        ]
        for outcome in check_rules(other, chosen, LEVEL):
            records.append(dict(outcome.record))
            findings.violations += outcome.violations
        other.forget()
    return records


def _names(rule: Rule) -> set[str]:
    try:
        nodes = walk(parse(rule.expression))
    except GrammarError:
        return set()  # the algebra level says so
    return {node.name for node in nodes if isinstance(node, Ref)}


def _steps(rule: Rule, states: set[str]) -> bool:
    """Whether a rule is an equality that links a state at two instants next to one another."""
    node = parse(rule.expression)
    if not isinstance(node, Compare) or "==" not in node.ops:
        return False
    return any(
        isinstance(part, Ref)
        and part.name in states
        and any(_is_offset(index) for index in part.indices)
        for part in walk(node)
    ) or any(isinstance(part, Call) and part.function == "prev" for part in walk(node))


def _is_offset(node: Node) -> bool:
    return isinstance(node, Binary) and node.op in "+-"
