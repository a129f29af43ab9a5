"""Change right problems in every way that an analyst may get them wrong; count what is believed.

For every certified problem of the corpus that is small enough, operators over four classes of
error (altered data, vague, violated physics, over-constrained) change the blueprint, which is then
solved, or the schedule. The checker judges the result. A mutant has *survived* when it gets a
verdict that is false by the matrices of the reference blueprint; it is *equivalent* when the
verdict claims something that these confirm. Harmless changes show whether anybody is accused
falsely. Each is judged once more without ``expert/``, as a blueprint beside its text: how many are
detected at a level, and how many certified all the same, is reported apart.

    python benchmarks/mutation.py                # every mutant, a table by operator
    python benchmarks/mutation.py --quick        # an even sample, under a minute
    python benchmarks/mutation.py --about 4000   # an even sample of all problems
    python benchmarks/mutation.py --json         # one JSON object
"""

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.mutants.judging import HARMLESS, OPERATORS, Outcome, judge, mutants
from tests.mutants.runs import Run, certified, judged, run_of, sizes, without_experts

QUICK = 640
"""Changes in a quick run, harmless ones too, spread evenly over problems and operators."""
FAMILY = 2
"""Problems of each family in a quick run, the smallest."""
WORKERS = max(1, min(2, os.cpu_count() or 1))
LEVELS = ("language", "data", "algebra", "physics", "optimality")


def chosen(run: Run, first: int, step: int) -> Iterator[tuple[Any, str, Any]]:
    """Yield every ``step``-th change of a run, of each operator from another place on."""
    for number, operator in enumerate(OPERATORS + HARMLESS):
        yield from islice(mutants(run, [operator]), (first + number) % step, None, step)


def verdicts(task: tuple[Path, int, int, int]) -> list[Outcome]:
    """Judge one part of the mutants of one problem."""
    folder, first, step, part = task
    warnings.simplefilter("ignore")
    run = run_of(folder)
    with TemporaryDirectory() as beside:
        alone = without_experts(run, Path(beside))
        return [
            judge(run, *mutant, alone)
            for number, mutant in enumerate(chosen(run, first, step))
            if number % WORKERS == part
        ]


def outcomes(quick: bool, about: int | None = None) -> list[Outcome]:
    """Return what the checker says to the mutants of all problems, or to about so many of them."""
    runs = certified(FAMILY if quick else None)
    total = sum(1 for run in runs for _ in mutants(run, OPERATORS + HARMLESS))
    step = max(1, total // about) if about else 1
    tasks = [
        (run.problem.folder, first, step, part)
        for first, run in enumerate(runs)
        for part in range(WORKERS)
    ]
    with ProcessPoolExecutor(WORKERS) as pool:
        return [outcome for found in pool.map(verdicts, tasks) for outcome in found]


def report(found: Sequence[Outcome]) -> dict[str, Any]:
    """Return the counts, every survivor and every false accusation."""
    wrong = [o for o in found if o.kind != "harmless"]
    harmless = [o for o in found if o.kind == "harmless"]
    states = Counter(o.state for o in wrong)
    accused = [o for o in found if o.state == "accused"]
    judged_ = states["caught"] + states["survived"]
    return {
        "problems": sorted({o.problem for o in found}),
        "left_out": [
            f"{folder.name}: {kind}, {size} columns"
            for folder, size, kind in sizes()
            if (folder, size) not in judged()
        ],
        "mutants": len(wrong),
        "equivalent": states["equivalent"],
        "caught": states["caught"],
        "detection_rate": states["caught"] / judged_ if judged_ else None,
        "survivors": [asdict(o) for o in wrong if o.state == "survived"],
        "alone": _alone(wrong),
        "harmless": len(harmless),
        "false_accusations": len(accused),
        "accused": [asdict(o) for o in accused],
        "not_certified_though_harmless": sum(o.verdict != "certified" for o in harmless),
        "operators": list(_operators(found)),
    }


def _alone(wrong: Sequence[Outcome]) -> dict[str, Any]:
    """Return the counts of the same mutants beside the text alone, without annotations.

    ``detected`` ones do not pass at some level or are refused; ``certified`` ones are vouched for.
    A level may pass what is equivalent, so that both are counted apart for what is wrong.
    """
    both = [(o, o.alone) for o in wrong if o.alone is not None]
    false = [(o, alone) for o, alone in both if o.state != "equivalent"]
    detected = [alone for _, alone in false if alone.levels]
    return {
        "mutants": len(both),
        "wrong": len(false),
        "detected": len(detected),
        "detection_rate": len(detected) / len(false) if false else None,
        "detected_at": dict(Counter(level for alone in detected for level in alone.levels)),
        "verdicts": dict(Counter(alone.verdict for _, alone in false)),
        "certified": sum(alone.verdict == "certified" for _, alone in false),
    }


def _operators(found: Sequence[Outcome]) -> Iterator[dict[str, Any]]:
    for operator in OPERATORS + HARMLESS:
        own = [o for o in found if o.operator == operator.name]
        if not own:
            continue
        states = Counter(o.state for o in own)
        levels = Counter(level for o in own if o.state == "caught" for level in o.levels)
        yield {
            "operator": operator.name,
            "kind": operator.kind,
            "on": operator.on,
            "mutants": len(own),
            **{s: states[s] for s in STATES},
            "levels": {level: levels[level] for level in LEVELS if levels[level]},
        }


STATES = ("caught", "equivalent", "survived", "passed", "accused")


def table(result: dict[str, Any]) -> str:
    """Return the counts by operator as Markdown."""
    lines = [
        "| operator | class | on | mutants | caught | equivalent | survived | levels |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    for row in result["operators"]:
        levels = ", ".join(f"{name} {number}" for name, number in row["levels"].items())
        lines.append(
            f"| {row['operator']} | {row['kind']} | {row['on']} | {row['mutants']} | "
            f"{row['caught'] or row['passed']} | {row['equivalent']} | "
            f"{row['survived'] or row['accused']} | {levels} |"
        )
    lines.append("")
    rate = result["detection_rate"]
    lines.append(
        f"{result['mutants']} mutants: {result['caught']} caught, {result['equivalent']} "
        f"equivalent, {len(result['survivors'])} survived ({100 * rate:.2f} % of those that are "
        f"not equivalent are caught); {result['harmless']} harmless changes, "
        f"{result['false_accusations']} false accusations; {result['seconds']:.0f} s"
    )
    alone = result["alone"]
    share = 100 * (alone["detection_rate"] or 0.0)
    lines.append(
        f"without expert/: of {alone['wrong']} wrong mutants {alone['detected']} detected at a "
        f"level ({share:.2f} %: {alone['detected_at']}), {alone['certified']} certified "
        f"(verdicts {alone['verdicts']})"
    )
    lines.append(f"{len(result['problems'])} problems; left out: {result['left_out'] or 'none'}")
    for name in ("survivors", "accused"):
        for one in result[name]:
            lines.append(
                f"* {name}: {one['problem']}, {one['operator']}: {one['what']} "
                f"({one['verdict']}) {one['reason']}"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; return 1 when something survived or was accused falsely."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="an even sample, under a minute")
    parser.add_argument("--about", type=int, metavar="N", help="an even sample of about N changes")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    begun = monotonic()
    result = report(outcomes(options.quick, QUICK if options.quick else options.about))
    result["seconds"] = monotonic() - begun
    print(json.dumps(result) if options.json else table(result))
    return 1 if result["survivors"] or result["false_accusations"] else 0


if __name__ == "__main__":
    sys.exit(main())
