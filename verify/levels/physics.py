"""Level 3: whether the plan works when somebody executes it."""

from collections.abc import Iterator, Mapping, Sequence
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
from engiagent.verify.levels.execution import DEMANDS, SUPPLIES, Plant, Trajectory, as_series
from engiagent.verify.levels.physical import LIMITS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

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
    trajectories = plant.run()
    for trajectory in trajectories:
        _check_states(trajectory, findings)
    for unit in units:
        try:
            _check_unit(plant, unit, findings)
        except MissingQuantity as missing:
            plant.unchecked.append(f"{unit.name}: {missing}")
        except EngiagentError as error:
            plant.unchecked.append(f"{unit.name} was not checked: {error}")
    _check_buses(plant, findings)
    replayed = _replay(plant, trajectories, benches, findings)
    status = "fail" if findings.violations else "unchecked" if plant.unchecked else "pass"
    body = {
        "schemes": {u.name: u.scheme or "exact" for u in units if u.model in _STATEFUL},
        "states": [_summary(trajectory) for trajectory in trajectories],
        "checks": findings.records,
        "rules_on_recomputed_states": replayed,
        "notes": plant.unchecked,
    }
    return Report(status, body, tuple(findings.violations))


_STATEFUL = ("battery", "thermal_zone")


def _summary(trajectory: Trajectory) -> dict[str, Any]:
    gap = float(np.max(np.abs(trajectory.declared - trajectory.exact)))
    drift = None
    if trajectory.claimed is not None:
        drift = float(np.max(np.abs(trajectory.claimed - trajectory.declared)))
    return {
        "quantity": trajectory.quantity,
        "unit": _difference(trajectory),
        "drift": finite_or_none(drift),
        "declared_against_exact": finite_or_none(gap),
    }


def _difference(trajectory: Trajectory) -> str:
    return str(parse_unit(trajectory.unit).difference())


def _check_states(trajectory: Trajectory, findings: Findings) -> None:
    name, unit = trajectory.quantity, _difference(trajectory)
    over = trajectory.instants
    per_step = max(
        TOLERANCES["floor_K" if unit == "K" else "floor_kWh"],
        TOLERANCES["step_of_capacity"] * trajectory.scale,
    )
    allowed = TOLERANCES["drift_K"] if unit == "K" else TOLERANCES["drift"] * trajectory.scale
    off: Floats | float = 0.0
    if trajectory.claimed is not None and trajectory.defect is not None:
        words = "the state does not follow from the state before and the decisions"
        findings.test(
            f"step:{name}", f"steps of {name}", np.abs(trajectory.defect), per_step, unit, over,
            f"{words}, off",
        )  # fmt: skip
        off = np.abs(trajectory.claimed - trajectory.declared)
        findings.test(
            f"drift:{name}", f"drift of {name}", off, allowed, unit, over,
            "the schedule's state is not the one that its decisions lead to, off",
        )  # fmt: skip
    tolerance = per_step + np.minimum(off, allowed)
    for bound, excess, words in (
        (trajectory.lower, trajectory.lower - trajectory.declared, "below its minimum"),
        (trajectory.upper, trajectory.declared - trajectory.upper, "above its maximum"),
    ):
        if np.isfinite(bound):
            findings.test(
                f"{words.split()[0]}:{name}", f"{name} when executed", excess, tolerance, unit,
                over, words,
            )  # fmt: skip


def _check_unit(plant: Plant, unit: Dynamics, findings: Findings) -> None:
    over = plant.periods(unit)
    for word, limit in LIMITS.get(unit.model, ()):
        series = plant.decision(unit, word, required=unit.model != "generator_profile")
        if series is None:
            continue
        most = plant.slot(unit, limit, "kW")
        scale = float(np.max(np.abs(series), initial=0.0))
        tolerance = max(TOLERANCES["floor_kW"], TOLERANCES["of_scale"] * scale)
        name = f"{unit.name}.{word}"
        findings.test(f"sign:{name}", name, -series, tolerance, "kW", over, "negative")
        if most is not None:
            findings.test(
                f"limit:{name}", name, series - most, tolerance, "kW", over, "above its limit"
            )
    if unit.model == "battery":
        _check_one_direction(plant, unit, findings)
    if unit.model in ("heater", "cooler"):
        _check_output(plant, unit, findings)


def _check_one_direction(plant: Plant, unit: Dynamics, findings: Findings) -> None:
    charge, discharge = plant.decision(unit, "charge"), plant.decision(unit, "discharge")
    assert charge is not None
    assert discharge is not None
    ratings = [plant.slot(unit, f"{w}_power_max", "kW") for w in ("charge", "discharge")]
    known = [float(r.max()) for r in ratings if r is not None and np.isfinite(r).all()]
    rating = max(known) if known else float(max(charge.max(initial=0), discharge.max(initial=0)))
    findings.test(
        f"both:{unit.name}",
        f"{unit.name} in one direction at a time",
        np.minimum(charge, discharge),
        TOLERANCES["both_directions"] * rating,
        "kW",
        plant.periods(unit),
        "it charges and discharges at once",
    )


def _check_output(plant: Plant, unit: Dynamics, findings: Findings) -> None:
    word = "heat" if unit.model == "heater" else "cooling"
    series = plant.bench.series.get(f"{unit.name}.{word}")
    if series is None:
        return
    claimed = series.converted(parse_unit("kW")).reshape(-1)
    derived = plant.output(unit, word)
    if claimed.shape != derived.shape:
        return
    scale = float(np.max(np.abs(derived), initial=0.0))
    findings.test(
        f"output:{unit.name}.{word}",
        f"{unit.name}.{word}",
        np.abs(claimed - derived),
        max(TOLERANCES["floor_kW"], TOLERANCES["of_scale"] * scale),
        "kW",
        plant.periods(unit),
        "not what its electric power gives, off",
    )


def _check_buses(plant: Plant, findings: Findings) -> None:
    """Test that on every bus with a grid or a load, what comes in goes out."""
    buses: dict[str, list[Dynamics]] = {}
    for unit in plant.units:
        bus = unit.connections.get("bus")
        if bus is not None:
            buses.setdefault(str(bus), []).append(unit)
    for bus, units in buses.items():
        if not any(unit.model in ("grid", "load") for unit in units):
            continue
        try:
            supply = sum((s for u in units for s in _flows(plant, u, SUPPLIES)), np.zeros(1))
            demand = sum((s for u in units for s in _flows(plant, u, DEMANDS)), np.zeros(1))
        except EngiagentError as error:
            plant.unchecked.append(f"the balance of {bus} was not checked: {error}")
            continue
        scale = float(np.max(np.abs(supply) + np.abs(demand)))
        findings.test(
            f"balance:{bus}",
            f"power balance of {bus}",
            np.abs(supply - demand),
            max(TOLERANCES["floor_kW"], TOLERANCES["of_scale"] * scale),
            "kW",
            plant.periods(units[0]),
            "supply and demand differ",
        )


def _flows(plant: Plant, unit: Dynamics, words: Mapping[str, str]) -> Iterator[Floats]:
    word = words.get(unit.model)
    if word is None:
        return
    if unit.model == "load":
        power = plant.slot(unit, "power", "kW")
        yield power if power is not None else plant.decision(unit, "power")  # type: ignore[misc]
        return
    series = plant.decision(unit, word, required=unit.model != "generator_profile")
    if series is None:
        available = plant.slot(unit, "available_power", "kW")
        curtailed = plant.decision(unit, "curtailed", required=False)
        if available is None:
            raise MissingQuantity(f"{unit.name}.power")
        series = available if curtailed is None else available - curtailed
    yield series


def _replay(
    plant: Plant,
    trajectories: Sequence[Trajectory],
    benches: Sequence[tuple[Bench, Sequence[Rule]]],
    findings: Findings,
) -> list[dict[str, Any]]:
    """Hold all rules against the recomputed states, except those that are the dynamics."""
    recomputed: dict[str, Series] = {
        name: as_series(t, parse_unit(t.unit)) for t in trajectories for name in t.names
    }
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
