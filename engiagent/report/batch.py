"""A folder of runs on one page: what came of each, with a link to its own report."""

from collections import Counter
from pathlib import Path
from typing import Final
from urllib.parse import quote

from engiagent.io.files import write_atomic
from engiagent.report import words
from engiagent.report.sections import (
    Cell,
    DataTable,
    Fact,
    Section,
    csv_text,
    data_uri,
    page_of_tables,
)
from engiagent.run.folder import REPORT
from engiagent.run.listing import RunSummary, find_runs

_HEAD: Final = ("Problem", "Verdict", "Objective", "Gap", "Took", "Started (UTC)", "Read by")
_PLAIN: Final = (
    *("name", "problem", "engine", "state", "verdict", "objective", "unit", "sense"),
    *("bound", "gap", "seconds", "started", "reason"),
)
"""What the CSV file has of each run."""


def render_batch(folder: Path | str) -> str:
    """Return the report of every run in a folder or below it as HTML."""
    base = Path(folder)
    runs = find_runs(base)
    counted = Counter(words.verdict(run.verdict, run.state) for run in runs)
    numbers = [
        Fact(verdict.word, str(count), is_lead=True, tone=verdict.tone, symbol=verdict.symbol)
        for verdict, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0].word))
    ]
    plain = [[_text(getattr(run, name)) for name in _PLAIN] for run in runs]
    title, rows, csv = (
        "What came of each run, the latest first",
        map(_row, runs),
        csv_text(_PLAIN, plain),
    )
    table = DataTable(title, _HEAD, tuple(rows), data_uri(csv[0]), "runs.csv")
    section = Section(f"{len(runs)} runs", tables=(table,), kind="values cards", is_folded=False)
    return page_of_tables(
        f"Runs in {base.resolve().name or base}",
        "engiagent batch report",
        [section] if runs else [],
        lead="" if runs else "There is no run in this folder.",
        numbers=numbers,
    )


def write_batch(folder: Path | str) -> Path:
    """Write ``report.html`` into a folder of runs and return its path."""
    target = Path(folder) / REPORT
    write_atomic(target, render_batch(folder))
    return target


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else " ".join(str(value).split())


def _row(run: RunSummary) -> tuple[Cell, ...]:
    verdict = words.verdict(run.verdict, run.state)
    shown = verdict.word if run.verdict else words.state(run.state, run.stage)
    objective = "" if run.objective is None else words.quantity(run.objective, run.unit, 8)
    has_report = (run.folder / REPORT).is_file() and run.name != "."
    href = f"{quote(run.name, errors='surrogateescape')}/{REPORT}" if has_report else ""
    reason = " ".join((run.reason or "").split())
    reason = reason if len(reason) <= 160 else f"{reason[:159]}…"
    return (
        Cell(run.problem, href=href, note=run.name if run.name != run.problem else ""),
        Cell(shown, tone=verdict.tone, symbol=verdict.symbol, note=reason),
        Cell(objective, note=words.sense(run.sense) if objective else "", is_number=True),
        Cell(words.percent(run.gap), is_number=True),
        Cell(words.duration(run.seconds), is_number=True),
        Cell((run.started or "")[:16].replace("T", "\u00a0")),
        Cell(run.engine or ""),
    )
