"""``engiagent bench``: what an engine makes of a corpus, held against the experts' answers."""

import json
from pathlib import Path
from typing import Any, Final

import click

from engiagent.agents.bench import (
    Replayed,
    machine,
    places_by_id,
    recordings,
    replay,
    summary,
    versions,
)
from engiagent.agents.engines.asking import Asking
from engiagent.ask.bench import CASES
from engiagent.ask.bench import load_suite as load_questions
from engiagent.ask.bench import run_suite as run_questions
from engiagent.ask.bench import summary as summary_of_questions
from engiagent.cli import options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import FILE, FOLDER
from engiagent.cli.output import clean, print_json, say
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import write_atomic
from engiagent.scale import Spread, map_runs
from engiagent.text import corpus_root

RESULTS: Final = Path("benchmarks") / "results" / "recorded.json"
RECORDINGS: Final = Path("tests") / "recorded"
RECORDED_QUESTIONS: Final = Path("tests") / "ask" / "recorded"


@click.group()
def bench() -> None:
    """Measure engiagent itself."""


@bench.command("ask")
@click.argument("path", metavar="[SUITE]", required=False, type=FILE)
@click.option("--replay", is_flag=True, help="Answer from the runs in DIR; asks no model.")
@click.option("--base-url", metavar="URL", help="A server that speaks the Messages API.")
@click.option("--model", metavar="NAME", help="Who plans and answers, for every specialist.")
@options.folder_option(
    "--out", "Where runs and checkpoints are; by default beside the suite, or runs/ask."
)
@options.as_json
def ask(
    path: Path | None,
    replay: bool,
    base_url: str | None,
    model: str | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Ask the questions of SUITE in each way of planning, and score the answers by rule.

    Without SUITE these are the questions on sites that come with engiagent; with --replay those
    that were recorded, in tests/ask/recorded.
    Finished runs are stored in DIR/runs.sqlite; the same suite again asks only what is missing.
    """
    if replay and path is None and out is None:
        path, out = RECORDED_QUESTIONS / "suite.yaml", RECORDED_QUESTIONS
    known, asking = load_questions(path or CASES), Asking(model, base_url)
    folder = out or (Path("runs") / "ask" if path is None else path.with_suffix(""))
    if not replay:
        asking.ready()
    elif not folder.is_dir():
        raise InputError("no recorded runs", str(folder), expected="their folder, by --out")
    found = run_questions(known, folder, asking, replay=replay, on_run=_say_case)
    planning = summary_of_questions(found)
    if as_json:
        content = {"suite": known.name, "planning": planning, "runs": found}
        print_json({"schema": "engiagent-bench-ask/1", **content})
    else:
        for way, values in planning.items():
            click.echo(way)
            _echo(values, "  ")
    return int(ExitCode.FEASIBLE)


@bench.command("recorded")
@click.argument("folder", type=FOLDER, default=RECORDINGS, metavar="[FOLDER]")
@options.places
@options.as_json
@click.option("--store", is_flag=True, help=f"Write the result with machine to {RESULTS}.")
def recorded(
    folder: Path, workers: int | None, scheduler: str | None, as_json: bool, store: bool
) -> int:
    """Replay the recorded exchanges with a language model in FOLDER, by default tests/recorded.

    Each recording is a run of a corpus problem; the model saw the text and its data, nothing of the
    experts. No model is asked: the whole run is done again from the recorded replies, and its
    verdict and objective are held against the experts'. The exit code is 0 when nothing wrong is
    claimed.
    """
    root = corpus_root()
    places = places_by_id(root)
    found = []
    shared, spread = (root.resolve(), places), Spread(scheduler, workers)
    for outcome in map_runs(_replayed, recordings(folder), spread, shared=shared):
        if not outcome.ok:
            raise EngiagentError(outcome.reason)
        found.append(outcome.value)
        row = vars(found[-1])
        state = "WRONG" if row["false"] else "right" if row["right"] else "open"
        said = f": {row['reason'][:200]}" if row["reason"] else ""
        say(
            f"{state:<6} {row['problem']} ({row['verdict']}, {row['requests']} requests, "
            f"{row['tokens']} tokens, {row['seconds']:.1f} s){clean(said)}"
        )
    content = {**summary(found), "runs": [dict(vars(item)) for item in found]}
    if store:
        about = {"machine": machine(), "versions": versions(), **content}
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(RESULTS, json.dumps(about, indent=1) + "\n")
        say(f"stored in {RESULTS}")
    if as_json:
        print_json({"schema": "engiagent-bench-recorded/1", **content})
    else:
        _echo(summary(found))
    return int(ExitCode.VIOLATED if content["wrong"] else ExitCode.FEASIBLE)


def _replayed(shared: tuple[Path, dict[str, str]], recording: Path) -> Replayed:
    return replay(recording, *shared)


def _echo(values: dict[str, Any], margin: str = "") -> None:
    for name, value in values.items():
        click.echo(f"{margin}{name.replace('_', ' '):<18} {value}")


def _say_case(row: dict[str, Any]) -> None:
    state = "right" if row["success"] else "open"
    why = f": {clean(row['reason'])}" if row["reason"] else ""
    say(f"{state:<6} {row['case']} {row['planning']} #{row['repetition']}{why}")
