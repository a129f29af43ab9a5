"""Tests of an executed plan: states, limits, results, each with its tolerance."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.units.unit import parse_unit
from engiagent.verify.declared import declared_of
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Violation, finite_or_none
from engiagent.verify.frames import label_of
from engiagent.verify.levels.algebra import Outcome
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants import entry_of
from engiagent.verify.plants.run import Excess, Result, Trajectory
from engiagent.verify.requirements import Dynamics
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


def largest(off: Floats) -> float:
    """Return the largest magnitude, NaN when there is one."""
    return float(np.max(np.abs(off), initial=0.0))


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
    tolerance: Floats | float | None = excess.tolerance
    if tolerance is None:
        tolerance = tolerance_of(bench, excess.unit, excess.scale)
    findings.test(
        excess.check,
        excess.name,
        excess.amount,
        tolerance,
        difference(excess.unit),
        excess.over,
        excess.words,
    )


def check_result(bench: Bench, result: Result, findings: Findings) -> None:
    """Test what the plan says of a result, where it says anything."""
    if result.claimed is None:
        return
    off = np.abs(result.claimed - result.values)
    if result.declared is not None:
        off = np.minimum(off, np.abs(result.claimed - result.declared))
    findings.test(
        f"output:{result.names[-1]}",
        result.names[-1],
        off,
        tolerance_of(bench, result.unit, np.abs(result.values)),
        difference(result.unit),
        result.over,
        f"not what {result.why} gives, off",
    )
