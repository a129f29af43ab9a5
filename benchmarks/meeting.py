"""Give wrong copies of right blueprints to a second reading that is right; count what is confirmed.

The second reading is made **by rule** from the reference blueprint (`tests/readings/rewriting.py`):
other symbols, numbers and units inlined, components as algebra, rows turned and scaled. Nobody has
read a text for it, so this measures the comparison, not how often two readers agree.

A wrong copy that is *confirmed* counts as an error only where its plan is not allowed, not the best
or not honest about its objective by the matrices of the reference blueprint.

    python benchmarks/meeting.py            # every honest pair and 1 500 wrong copies
    python benchmarks/meeting.py --quick    # an even sample, about a minute
    python benchmarks/meeting.py --json     # one JSON object; --store writes the result beside it
"""

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

import xarray as xr

sys.path.insert(0, str(Path(__file__).parents[1]))

from engiagent.agents.meeting import Meeting, Side, meet, nomenclature, solve_reading
from engiagent.agents.meeting.judging import rows_of
from engiagent.blueprint import Blueprint
from engiagent.blueprint.grammar import references
from engiagent.errors import EngiagentError
from engiagent.verify.series import Series
from tests.mutants.judging import OPERATORS, mutants
from tests.mutants.runs import Run, judged, run_of, truth
from tests.readings.rewriting import OPTIONS, rewritten

LABEL = "the second reading is made by rule from the reference blueprint; nobody has read it"
RESULT = Path(__file__).parent / "results" / "meeting.json"
ABOUT, QUICK = 1_500, 160
LARGEST = {True: 130, False: 600}
"""Columns of the programs in a quick and in a full run."""
OTHER_WAY = 5
"""Every so manieth wrong copy is given as the second reading too."""
WORKERS = max(1, min(2, os.cpu_count() or 1))
ON_BLUEPRINTS = tuple(operator for operator in OPERATORS if operator.on == "blueprint")


def changed_rows(run: Run, wrong: Blueprint) -> tuple[set[frozenset[str]], bool]:
    """Return the quantities of each row and bound that differs, and whether the goal differs."""
    before, after = (
        {row.id: row for row in rows_of(Side(b, run.problem.folder, run.program, run.schedule))}
        for b in (run.blueprint, wrong)
    )
    differ = [key for key in {*before, *after} if before.get(key) != after.get(key)]
    names = {side[key].names for key in differ for side in (before, after) if key in side}
    old, new = run.blueprint.core, wrong.core
    changed = {p.name for p, q in zip(old.parameters, new.parameters, strict=False) if p != q}
    for row in old.constraints:
        if any(ref.name in changed for ref in references(row.expression)):
            names.add(before[row.constraint_id].names)
    goal = str(old.objective_function)
    other = old.objective_function != new.objective_function
    return names, other or any(name in goal for name in changed)


def located(run: Run, wrong: Blueprint, found: Meeting) -> bool:
    """Whether the first difference is the goal or a row over the quantities of a changed row."""
    names, goal = changed_rows(run, wrong)
    if not found.differences:
        return False
    first = found.differences[0]
    if first.kind == "goals":
        return goal
    known = [entry.name for entry in found.names.entries]
    said = [
        frozenset(n for n in known if n in stated.formula) for stated in (first.first, first.second)
    ]
    return any(shown in names for shown in said)


def as_dataset(plan: Mapping[str, Series]) -> xr.Dataset:
    """Return the plan that a meeting took as a schedule."""
    return xr.Dataset(
        {
            name: ([f"{name}_{k}" for k in range(s.data.ndim)], s.data, {"units": str(s.unit)})
            for name, s in plan.items()
        }
    )


def one(run: Run, second: Blueprint, operator: Any, what: str, wrong: Blueprint) -> dict[str, Any]:
    """Return what became of one wrong copy."""
    entry = {"problem": run.name, "operator": operator.name, "what": what}
    try:
        side = solve_reading(wrong, run.problem.folder, OPTIONS, isolate=False)
    except EngiagentError:
        return entry | {"state": "refused"}
    names = nomenclature(run.blueprint, run.problem.folder)
    found = meet(side, second, names=names, options=OPTIONS, isolate=False)
    if found.outcome == "met":
        real = truth(run, side.schedule if found.schedule is None else as_dataset(found.schedule))
        if not (real.feasible and real.optimal and real.honest):
            return entry | {"state": "confirmed though wrong"}
        another = "confirmed with another plan"
        return entry | {"state": "equivalent" if found.plan == "first" else another}
    if found.confirmed:
        return entry | {"state": "confirmed though wrong"}
    state = "located" if located(run, wrong, found) else "detected"
    return entry | {"state": state, "outcome": found.outcome, "reason": found.reason[:160]}


def other_way(run: Run, operator: Any, what: str, wrong: Blueprint) -> dict[str, Any]:
    """Return what a wrong second reading does to a right first one: doubt, or none."""
    names = nomenclature(run.blueprint, run.problem.folder)
    side = solve_reading(run.blueprint, run.problem.folder, OPTIONS, isolate=False)
    found = meet(side, wrong, names=names, options=OPTIONS, isolate=False)
    state = "no doubt" if found.confirmed else found.outcome
    return {"problem": run.name, "operator": operator.name, "what": what, "second": state}


def part_of(task: tuple[Path, int, int, int]) -> list[dict[str, Any]]:
    """Judge one part of the wrong copies of one problem; the first part also the honest pair."""
    folder, first, step, part = task
    warnings.simplefilter("ignore")
    run = run_of(folder)
    names = nomenclature(run.blueprint, folder)
    second = rewritten(run.written, folder, names)
    found = []
    if part == 0:
        side = solve_reading(run.blueprint, folder, OPTIONS, isolate=False)
        pair = meet(side, second, problem=run.problem, options=OPTIONS, isolate=False)
        found.append(
            {
                "problem": run.name,
                "operator": "honest pair",
                "state": pair.outcome,
                "grade": pair.grade,
                "reason": pair.reason,
            }
        )
    for number, mutant in enumerate(sampled(run, first, step)):
        if number % WORKERS == part:
            found.append(one(run, second, *mutant))
            if number // WORKERS % OTHER_WAY == 0:
                found.append(other_way(run, *mutant))
    return found


def sampled(run: Run, first: int, step: int) -> Iterator[tuple[Any, str, Any]]:
    """Yield every ``step``-th wrong copy of a run, of each operator from another place on."""
    for number, operator in enumerate(ON_BLUEPRINTS):
        yield from islice(mutants(run, [operator]), (first + number) % step, None, step)


def report(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts, every error and every honest pair that does not meet."""
    pairs = [f for f in found if f["operator"] == "honest pair"]
    doubts = Counter(f["second"] for f in found if "second" in f)
    wrong = [f for f in found if f["operator"] != "honest pair" and "second" not in f]
    states = Counter(f["state"] for f in wrong)
    seen = states["located"] + states["detected"] + states["refused"]
    errors = [f for f in wrong if f["state"] == "confirmed though wrong"]
    differing = states["located"] + states["detected"]
    return {
        "label": LABEL,
        "honest_pairs": len(pairs),
        "honest_pairs_met": sum(f["state"].startswith("met") for f in pairs),
        "grades": dict(sorted(Counter(str(f["grade"]) for f in pairs).items())),
        "honest_pairs_not_met": [f for f in pairs if not f["state"].startswith("met")],
        "wrong_copies": len(wrong),
        "states": dict(sorted(states.items())),
        "detected_of_not_equivalent": seen / (seen + len(errors)) if seen + len(errors) else None,
        "located_of_differing": states["located"] / differing if differing else None,
        "confirmed_though_wrong": errors,
        "wrong_second_readings": dict(sorted(doubts.items())),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; return 1 when a wrong copy was confirmed though its plan is not the best."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="an even sample, about a minute")
    parser.add_argument("--about", type=int, metavar="N", help="about N wrong copies")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--store", action="store_true", help=f"write {RESULT.name}")
    options = parser.parse_args(arguments)
    begun, about = monotonic(), options.about or (QUICK if options.quick else ABOUT)
    folders = [folder for folder, size in judged() if size <= LARGEST[options.quick]]
    total = sum(1 for folder in folders for _ in mutants(run_of(folder), ON_BLUEPRINTS))
    step = max(1, total // about)
    tasks = [(f, k, step, part) for k, f in enumerate(folders) for part in range(WORKERS)]
    with ProcessPoolExecutor(WORKERS) as pool:
        found = [entry for part in pool.map(part_of, tasks) for entry in part]
    result = {"of": total, **report(found), "seconds": round(monotonic() - begun)}
    if options.store:
        RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key}: {value}")
    return 1 if result["confirmed_though_wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
