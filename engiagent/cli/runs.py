"""``engiagent runs``: what was run, what came of it, and what is kept of it."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click

from engiagent import report
from engiagent.cli import exit_codes, options
from engiagent.cli.engines import ENGINE_OPTIONS
from engiagent.cli.options import RUN
from engiagent.cli.output import WORST, clean, number, print_json, say, say_items
from engiagent.cli.run import resumed
from engiagent.io.files import write_atomic
from engiagent.report.sides_page import flexibility_figures
from engiagent.run.folder import read_record, remove_run
from engiagent.run.listing import RunSummary, find_runs, summarise
from engiagent.run.scenarios import RECOVERY, Change

FOLDER: Final = "runs"
STATES: Final = ("running", "done", "failed", "interrupted", "stopped", "unreadable")
ENDED_BADLY: Final = ("failed", "interrupted", "stopped")
_json = options.as_json
_folder = click.argument(
    "folder", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, required=False
)


@click.group()
def runs() -> None:
    """Look at runs, go on with them, compare them, and clean up."""


@runs.command("list")
@_folder
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only those.")
@click.option("--verdict", "verdicts", multiple=True, help="Only those; repeatable.")
@click.option("--problem", "problems", multiple=True, help="Only of this problem; repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, the latest.")
@_json
def list_runs(
    folder: Path,
    states: tuple[str, ...],
    verdicts: tuple[str, ...],
    problems: tuple[str, ...],
    limit: int | None,
    as_json: bool,
) -> None:
    """List the runs in FOLDER, the latest first; FOLDER is runs/ when it is not given."""
    found = [
        run
        for run in _found(folder)
        if (not states or run.state in states)
        and (not verdicts or run.verdict in verdicts)
        and (not problems or run.problem in problems)
    ][:limit]
    if as_json:
        print_json(
            {
                "schema": "engiagent-runs/1",
                "folder": str(folder),
                "runs": [run.to_json() for run in found],
            }
        )
        return
    width = max((len(run.name) for run in found), default=0)
    for run in found:
        click.echo(clean(line_of(run, width)))
    say(f"{len(found)} runs; see one with: engiagent runs show {folder}/RUN")


def _found(folder: Path) -> tuple[RunSummary, ...]:
    """Return the runs of a folder; there are none in the usual one before the first run."""
    if str(folder) == FOLDER and not folder.exists():
        return ()
    return find_runs(folder)


def line_of(run: RunSummary, width: int = 0) -> str:
    """Return a run on one line: its name, state, verdict and objective."""
    state = run.verdict or run.state if run.state == "done" else run.state
    value = "" if run.objective is None else number(run.objective, run.unit)
    started = (run.started or "")[:16].replace("T", " ")
    return f"{run.name:<{width}}  {started}  {state:<18} {value}".rstrip()


@runs.command("show")
@click.argument("run", type=RUN)
@_json
def show(run: Path, as_json: bool) -> None:
    """Show RUN: what was asked, how it ended, what it found and which files it has."""
    record, found = read_record(run), summarise(run)
    asked = {k: v for k, v in (record.get("asked") or {}).items() if v not in (None, {}, [], "")}
    artefacts = list(record.get("artefacts") or ())
    notes = list(record.get("notes") or ())
    if as_json:
        print_json(
            {
                "schema": "engiagent-run-shown/1",
                **{k: v for k, v in found.to_json().items() if k != "schema"},
                "asked": asked,
                "notes": notes,
                "artefacts": artefacts,
            }
        )
        return
    bound = "" if found.bound is None else f", bound {number(found.bound, found.unit)}"
    goal = (
        "none"
        if found.objective is None
        else (f"{number(found.objective, found.unit)} ({found.sense}){bound}")
    )
    took = "" if found.seconds is None else f" in {found.seconds:.1f} s"
    rows = {
        "problem": found.problem,
        "state": f"{found.state}{took}",
        "verdict": found.verdict,
        "reason": found.reason,
        "objective": goal,
        "started": found.started,
        "asked": ", ".join(f"{name}={value}" for name, value in asked.items()),
        "files": ", ".join(artefacts),
    }
    for name, value in rows.items():
        if value:
            click.echo(clean(f"{name:<10} {value}"))
    say_items("note", notes)


@runs.command("resume", epilog=exit_codes.table())
@click.argument("run", type=RUN)
@_json
def resume(run: Path, as_json: bool) -> int:
    """Go on with RUN where it was cut, as it was asked for; what was answered is kept."""
    asked: dict[str, Any] = {**dict.fromkeys(ENGINE_OPTIONS), "resume": run}
    return resumed(asked, as_json, explain=False)


@runs.command("compare")
@click.argument("chosen", metavar="RUN RUN...", type=RUN, nargs=-1, required=True)
@options.file_option("--html", "Also write a page of them side by side, with charts.")
@click.option(
    "--window",
    "windows",
    multiple=True,
    metavar="A..B",
    help="Hours for what is shed and shifted, as 17:00..20:00 of each day; repeatable. By default "
    "the dear hours of the first run.",
)
@click.option(
    "--recovery",
    type=click.FloatRange(min=0),
    default=RECOVERY,
    show_default=True,
    metavar="HOURS",
    help="How long after a window what is drawn more is a rebound.",
)
@_json
def compare(
    chosen: tuple[Path, ...],
    html: Path | None,
    windows: tuple[str, ...],
    recovery: float,
    as_json: bool,
) -> int:
    """Say what two to six runs differ in: inputs, model, schedule, verdict, key figures.

    Runs are plans, simulations and closed loops. What each sheds, shifts and draws again
    afterwards is against the first.

    Exit code 0 when model, schedule and result are the same, 1 when they are not.
    """
    found = report.side_by_side(chosen, windows, recovery)
    if html is not None:
        write_atomic(html, report.compare(chosen, windows, recovery))
        say(f"written to {html}")
    if as_json:
        print_json(found.to_json())
    else:
        for line in compared_lines(found):
            click.echo(clean(line))
    return int(exit_codes.ExitCode.FEASIBLE if found.same else exit_codes.ExitCode.VIOLATED)


def compared_lines(found: report.SideBySide) -> list[str]:
    """Return a comparison as lines for people; long lists are cut."""
    lines = [f"{n}: {line_of(run)}" for n, run in zip(found.names, found.summaries, strict=True)]
    if found.improvement:
        better = "better" if found.improvement > 0 else "worse"
        amount = number(abs(found.improvement), found.summaries[-1].unit)
        lines.append(f"{found.names[-1]} is {better} by {amount}")
    for kind, items in groupby(found.differences, key=lambda item: item.kind):
        changed = list(items)
        lines += [f"{kind}: {c.name}: {' → '.join(map(_short, c.values))}" for c in changed[:WORST]]
        if len(changed) > WORST:
            lines.append(f"{kind}: and {len(changed) - WORST} more; --json lists all")
    figures = [figure for figure in found.scenarios.changes if figure.differs]
    lines += [_figure_line(figure) for figure in figures[: 2 * WORST]]
    for moved in found.scenarios.flexibility:
        said = "; ".join(f"{n.lower()} {v}" for n, v in flexibility_figures(moved).items())
        said = said.replace("\u00a0", " ")
        lines.append(f"flexibility: {moved.scenario}, {moved.bus}: {said}")
    for item in found.quantities:
        if item.largest is None or not item.is_shared:
            lines.append(f"series: {item.label}: not in all, or on another grid")
        elif item.largest:
            lines.append(
                f"series: {item.label}: up to {number(item.largest, item.unit)} at {item.where}"
            )
    return [*lines, "the same"] if found.same else lines


def _figure_line(item: Change) -> str:
    """Return a figure of all runs, with the change against the first in percent."""
    parts = []
    for value, share in zip(item.values, item.percent, strict=True):
        more = f" ({share:+.1f} %)" if share else ""
        parts.append("–" if value is None else f"{number(float(f'{value:.6g}'), item.unit)}{more}")
    place = " ".join(filter(None, (item.component, item.bus if item.component is None else None)))
    return f"figure: {' '.join((item.name.replace('_', ' '), place)).strip()}: {' → '.join(parts)}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


@runs.command("clean")
@_folder
@click.option(
    "--state",
    "states",
    type=click.Choice([s for s in STATES if s not in ("running", "unreadable")]),
    multiple=True,
    help="Runs in this state; failed, interrupted and stopped if nothing is said.",
)
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="All but the latest N of each problem."
)
@click.option("--older", type=click.FloatRange(min=0), metavar="DAYS", help="Only older ones.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_json
def clean_up(
    folder: Path,
    states: tuple[str, ...],
    keep: int | None,
    older: float | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Remove runs in FOLDER; without options those that did not end well.

    A run that is under way stays, and so does every file in a run's folder that no run wrote.
    """
    chosen = choose(_found(folder), states, keep, older)
    for run in chosen:
        say(clean(f"  {line_of(run)}"))
    if chosen and not dry_run and not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("no terminal to ask at; add --yes, or --dry-run to look")
        click.confirm(f"Remove {len(chosen)} runs?", abort=True, err=True)
    left = [] if dry_run else [run.name for run in chosen if not remove_run(run.folder)]
    verb = "would be removed" if dry_run else "removed"
    say(f"{len(chosen)} runs {verb}")
    say_items("stays", [f"{name} holds files that no run wrote" for name in left])
    if as_json:
        names = [run.name for run in chosen]
        print_json(
            {
                "schema": "engiagent-runs-cleaned/1",
                "folder": str(folder),
                "runs": names,
                "removed": not dry_run,
                "left": left,
            }
        )
    return 0


def choose(
    found: Sequence[RunSummary], states: Sequence[str], keep: int | None, older: float | None
) -> list[RunSummary]:
    """Return the runs to remove; ``found`` has the latest first."""
    wanted = states or ((*ENDED_BADLY, "done") if keep is not None else ENDED_BADLY)
    limit = None if older is None else datetime.now(UTC) - timedelta(days=older)
    seen: dict[str, int] = {}
    chosen = []
    for run in found:
        rank = seen[run.problem] = seen.get(run.problem, 0) + 1
        if run.state not in wanted or (keep is not None and rank <= keep):
            continue
        if limit is None or _before(run.started, limit):
            chosen.append(run)
    return chosen


def _before(stamp: str | None, limit: datetime) -> bool:
    try:
        return stamp is not None and datetime.fromisoformat(stamp) < limit
    except (ValueError, TypeError):
        return False
