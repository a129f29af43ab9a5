"""A folder of runs on one page: what came of each, with a link to its own report."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from engiagent.io.files import write_atomic
from engiagent.report import words
from engiagent.report.sections import Fact, Section, page_of_tables
from engiagent.report.tables import Cell, DataTable, csv_text, data_uri
from engiagent.run.folder import REPORT
from engiagent.run.listing import RunSummary, find_runs

HEAD: Final = ("Problem", "Verdict", "Objective", "Gap", "Took", "Started (UTC)", "Read by")
_CSV_HEAD: Final = (
    *("run", "problem", "engine", "state", "verdict", "objective", "unit", "sense"),
    *("bound", "gap", "seconds", "started", "reason"),
)


def render_batch(folder: Path | str) -> str:
    """Return the report of every run in a folder or below it as HTML."""
    base = Path(folder)
    runs = find_runs(base)
    lead = "" if runs else "There is no run in this folder."
    rows = [run_row(run, _beside(run)) for run in runs]
    title, plain = "What came of each run, the latest first", map(_csv_row, runs)
    table = DataTable(title, HEAD, tuple(rows), data_uri(csv_text(_CSV_HEAD, plain)[0]), "runs.csv")
    sections = [Section(f"{len(runs)} runs", tables=(table,), kind="values cards")] if runs else []
    return page_of_tables(
        f"Runs in {base.resolve().name or base}",
        "engiagent batch report",
        sections,
        lead=lead,
        numbers=tallies(runs),
    )


def write_batch(folder: Path | str) -> Path:
    """Write ``report.html`` into a folder of runs and return its path."""
    target = Path(folder) / REPORT
    write_atomic(target, render_batch(folder))
    return target


def run_row(run: RunSummary, href: str) -> tuple[Cell, ...]:
    """Return a run as a row of :data:`HEAD`."""
    verdict = words.verdict(run.verdict, run.state)
    shown = verdict.word if run.verdict else words.state(run.state, run.stage)
    objective = "" if run.objective is None else words.quantity(run.objective, run.unit, 8)
    return (
        Cell(run.problem, href=href, note=run.name if run.name != run.problem else ""),
        Cell(shown, tone=verdict.tone, symbol=verdict.symbol, note=shortened(run.reason)),
        Cell(objective, note=words.sense(run.sense) if objective else "", is_number=True),
        Cell(words.percent(run.gap), is_number=True),
        Cell(words.duration(run.seconds), is_number=True),
        Cell((run.started or "")[:16].replace("T", "\u00a0")),
        Cell(run.engine or ""),
    )


def tallies(runs: Sequence[RunSummary]) -> list[Fact]:
    """Return how many runs came to each verdict."""
    counted = Counter(words.verdict(run.verdict, run.state) for run in runs)
    return [
        Fact(verdict.word, str(count), is_lead=True, tone=verdict.tone, symbol=verdict.symbol)
        for verdict, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0].word))
    ]


def shortened(text: str | None, most: int = 160) -> str:
    """Return the beginning of a reason on one line."""
    line = " ".join((text or "").split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _beside(run: RunSummary) -> str:
    """Return where a run's report is, seen from the batch's; empty where there is none."""
    has_report = (run.folder / REPORT).is_file() and run.name != "."
    return f"{quote(run.name, errors='surrogateescape')}/{REPORT}" if has_report else ""


def _csv_row(run: RunSummary) -> list[str]:
    found = run.to_json()
    goal = found.pop("objective")
    values = {**found, "objective": goal["value"], "unit": goal["unit"], "sense": goal["sense"]}
    return ["" if values[name] is None else _plain(values[name]) for name in _CSV_HEAD]


def _plain(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else " ".join(str(value).split())
