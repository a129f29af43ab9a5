"""``engiagent runs``: what was run, what came of it, and in what runs differ."""

from itertools import groupby
from pathlib import Path
from typing import Final

import click

from engiagent import report
from engiagent.cli import exit_codes, options
from engiagent.cli.options import RUN
from engiagent.cli.output import WORST, clean, number, print_json, say
from engiagent.io.files import write_atomic
from engiagent.report.sides import flexibility_figures
from engiagent.run.listing import RunSummary, find_runs
from engiagent.run.scenarios import RECOVERY, Change

FOLDER: Final = "runs"


@click.group()
def runs() -> None:
    """List runs and compare some; 'run --resume RUN' goes on with one."""


@runs.command("list")
@click.argument("folder", type=options.FOLDER, default=FOLDER, required=False)
@options.as_json
def list_runs(folder: Path, as_json: bool) -> None:
    """List the runs in FOLDER, the latest first; FOLDER is runs/ when it is not given."""
    unused = str(folder) == FOLDER and not folder.exists()  # before the first run
    found = () if unused else find_runs(folder)
    if as_json:
        rows = [run.to_json() for run in found]
        print_json({"schema": "engiagent-runs/1", "folder": str(folder), "runs": rows})
        return
    width = max((len(run.name) for run in found), default=0)
    for run in found:
        click.echo(clean(line_of(run, width)))
    say(f"{len(found)} runs")


def line_of(run: RunSummary, width: int = 0) -> str:
    """Return a run on one line: its name, state, verdict and objective."""
    state = run.verdict or run.state if run.state == "done" else run.state
    value = "" if run.objective is None else number(run.objective, run.unit)
    started = (run.started or "")[:16].replace("T", " ")
    return f"{run.name:<{width}}  {started}  {state:<18} {value}".rstrip()


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
@options.as_json
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
            amount = number(item.largest, item.unit)
            lines.append(f"series: {item.label}: up to {amount} at {item.where}")
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
