"""The true plant behind a simpler plan: how far it goes another way, and whether limits hold there.

A unit with a ``plant`` is declared as the plan was made, as with a constant efficiency, and is
truly something else, as one whose efficiency depends on the power. The plan's decisions are kept;
states and results of the true units, and what grids give then, are compared with the declared ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.verify.documents import Bench
from engiagent.verify.findings import finite_or_none
from engiagent.verify.frames import label_of
from engiagent.verify.levels.algebra import Rule
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.judgement import Findings
from engiagent.verify.levels.reaction import judge_limits, judge_rules, reacted
from engiagent.verify.plants.run import Run
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series

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
    after = list(plant.run())
    series = reacted(plant, after)
    before = reacted(declared, runs)
    own = Findings()
    judge_limits(plant, after, series, own)
    bench, theirs = rules
    for outcome in judge_rules(bench.declarations, bench, theirs, series, frozenset()):
        own.records.append(dict(outcome.record))
        own.violations += outcome.violations
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
