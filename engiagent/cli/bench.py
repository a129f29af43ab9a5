"""``engiagent bench``: what an engine makes of a corpus, held against the experts' answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engiagent.cli import exit_codes
from engiagent.cli.output import clean, print_json, say

if TYPE_CHECKING:
    from engiagent.bench.corpus import Row

RESULTS = Path("benchmarks") / "results"


@click.group()
def bench() -> None:
    """Measure engiagent itself."""


@bench.command("corpus")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--engine", type=click.Choice(["offline"]), default="offline", help="Who reads.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--store", is_flag=True, help=f"Write the result with machine to {RESULTS}.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), default=120.0,
              metavar="S", help="Wall-clock limit of each solve.")  # fmt: skip
def corpus(folder: Path | None, engine: str, as_json: bool, store: bool, time_limit: float) -> int:
    """Run the problems in FOLDER from their text and data alone and judge the verdicts.

    FOLDER is by default the corpus that comes with engiagent. The exit code is 0 when no verdict
    is wrong, whatever stays undecided.
    """
    from engiagent.bench.corpus import Tally, bench_corpus, report
    from engiagent.problems import corpus_root
    from engiagent.solvers.result import SolveOptions

    rows = bench_corpus(
        folder or corpus_root(), engine, SolveOptions(time_limit=time_limit), on_row=_say_row
    )
    found = report(rows, engine)
    if store:
        _store(found)
    if as_json:
        print_json(found)
    else:
        for line in table(rows):
            click.echo(line)
    return int(exit_codes.ExitCode.VIOLATED if Tally.of(rows).wrong else 0)


def _say_row(row: "Row") -> None:
    reason = f": {' '.join(row.reason.split())[:300]}" if row.reason else ""
    say(f"{row.judgement:<10} {row.problem} ({row.verdict}, {row.seconds:.1f} s){clean(reason)}")


def table(rows: Sequence["Row"]) -> list[str]:
    """Return the table per domain as lines of Markdown."""
    from engiagent.bench.corpus import Tally

    lines = [
        "| domain | problems | numerical | right | wrong | undecided | time (s) |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    domains = sorted({row.domain for row in rows})
    groups = [(d or "-", [r for r in rows if r.domain == d]) for d in domains]
    for name, group in [*groups, ("all", list(rows))]:
        t = Tally.of(group)
        lines.append(
            f"| {name} | {t.problems} | {t.numerical} | {t.right} | {t.wrong} | {t.undecided} "
            f"| {t.seconds:.1f} |"
        )
    return lines


def _store(found: dict[str, Any]) -> None:
    from engiagent.bench.machine import machine, versions
    from engiagent.files import write_atomic

    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"corpus_{found['engine']}.json"
    content = {"machine": machine(), "versions": versions(), **found}
    write_atomic(path, json.dumps(content, indent=1) + "\n")
    say(f"stored in {path}")
