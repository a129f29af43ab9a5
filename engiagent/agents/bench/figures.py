"""Figures of a suite: rates with Wilson's intervals, pass@k and pass^k, means with theirs."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from engiagent.agents.bench.suite import Cell, Measured
from engiagent.agents.memory import wilson
from engiagent.report import words
from engiagent.report.sections import Fact, Section, page_of_tables
from engiagent.report.tables import Cell as Shown
from engiagent.report.tables import DataTable, csv_text, data_uri, inert

RATES: Final = ("numerical", "feasible", "certified", "right", "false")
MEANS: Final = ("turns", "tokens", "cost", "seconds")
_SHARES: Final = ("numerical", "feasible", "certified", "right")
_JUDGED: Final = {
    (True, False): ("good", "✔", "right"),
    (False, False): ("open", "?", "open"),
    (False, True): ("bad", "✘", "false"),
    (True, True): ("bad", "✘", "false"),
}
_T: Final = 1.959963984540054


def pass_at(runs: int, good: int, k: int) -> float:
    """Return how likely at least one of ``k`` runs is good, without bias.

    Chen et al. (2021): 1 - C(n-c, k) / C(n, k).
    """
    _check(runs, good, k)
    return 1.0 - math.comb(runs - good, k) / math.comb(runs, k)


def pass_all(runs: int, good: int, k: int) -> float:
    """Return how likely all of ``k`` runs are good, without bias: C(c, k) / C(n, k)."""
    _check(runs, good, k)
    return math.comb(good, k) / math.comb(runs, k)


def _check(runs: int, good: int, k: int) -> None:
    if not 0 <= good <= runs or not 1 <= k <= runs:
        raise ValueError(f"{good} good of {runs} runs, k = {k}: no such share")


def figures(found: Mapping[Cell, Measured]) -> list[dict[str, Any]]:
    """Return one row of figures for every engine and coordination."""
    groups: dict[tuple[str, str], dict[str, list[Measured]]] = {}
    for cell, measured in found.items():
        problems = groups.setdefault((cell.engine, cell.coordination), {})
        problems.setdefault(cell.problem, []).append(measured)
    return [
        {"engine": engine, "coordination": coordination, **_row(problems)}
        for (engine, coordination), problems in sorted(groups.items())
    ]


def _row(problems: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    runs = [measured for each in problems.values() for measured in each]
    row: dict[str, Any] = {"problems": len(problems), "runs": len(runs)}
    for name in RATES:
        count = sum(bool(getattr(m, name)) for m in runs)
        label = "false_certificates" if name == "false" else name
        row[label] = count
        row[f"{label}_rate"] = count / len(runs)
        row[f"{label}_interval"] = list(wilson(count, len(runs)))
    most = min(len(each) for each in problems.values())
    for k in sorted({1, most}):
        good = [(len(each), sum(m.right for m in each)) for each in problems.values()]
        row[f"pass@{k}"] = sum(pass_at(n, c, k) for n, c in good) / len(good)
        row[f"pass^{k}"] = sum(pass_all(n, c, k) for n, c in good) / len(good)
    for name in MEANS:
        row |= _mean(name, [getattr(m, name) for m in runs])
    return row


def _mean(name: str, values: Sequence[float | None]) -> dict[str, Any]:
    """Return a mean with its normal interval at 95 %; nothing where a value is not known."""
    known = [float(v) for v in values if v is not None]
    if len(known) < len(values):
        return {name: None, f"{name}_interval": None}
    mean = sum(known) / len(known)
    if len(known) < 2:
        return {name: mean, f"{name}_interval": None}
    variance = sum((v - mean) ** 2 for v in known) / (len(known) - 1)
    half = _T * math.sqrt(variance / len(known))
    return {name: mean, f"{name}_interval": [max(0.0, mean - half), mean + half]}


def rows(found: Mapping[Cell, Measured]) -> list[dict[str, Any]]:
    """Return every run as a flat row, for CSV."""
    return [
        {**asdict(cell), **asdict(measured), "certified": measured.certified}
        for cell, measured in sorted(found.items())
    ]


def to_csv(found: Mapping[Cell, Measured]) -> str:
    """Return every run as CSV; a cell that a spreadsheet would compute is made a text."""
    out = io.StringIO()
    table = rows(found)
    writer = csv.DictWriter(out, list(table[0]) if table else ["problem"], lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({k: inert(v) if isinstance(v, str) else v for k, v in row.items()})
    return out.getvalue()


def table(found: Mapping[Cell, Measured]) -> list[str]:
    """Return the figures as lines of Markdown."""
    lines = [
        "| engine | coordination | runs | numerical | feasible | certified | right | false "
        "| pass@1 | pass^k | turns | tokens | cost (USD) | time (s) |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in figures(found):
        shares = (
            f"{100 * row[f'{name}_rate']:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
            for name in _SHARES
            for low, high in (row[f"{name}_interval"],)
        )
        lines.append(
            f"| {row['engine']} | {row['coordination']} | {row['runs']} | {' | '.join(shares)} "
            f"| {row['false_certificates']} | {row['pass@1']:.2f} | {_pass_all(row):.2f} "
            f"| {row['turns']:.1f} | {row['tokens']:.0f} "
            f"| {'-' if row['cost'] is None else format(row['cost'], '.4f')} "
            f"| {row['seconds']:.1f} |"
        )
    return lines


def _pass_all(row: Mapping[str, Any]) -> float:
    """Return pass^k for the most repetitions."""
    return float([value for name, value in row.items() if name.startswith("pass^")][-1])


def to_html(name: str, found: Mapping[Cell, Measured]) -> str:
    """Return a page of the figures and of every run that stands alone, without scripts."""
    right = sum(measured.right for measured in found.values())
    false = sum(measured.false for measured in found.values())
    tone, mark = ("bad", "✘") if false else ("good", "✔")
    totals = [
        Fact("Runs", str(len(found)), is_lead=True),
        Fact("Right", str(right), is_lead=True),
        Fact("False claims", str(false), is_lead=True, tone=tone, symbol=mark),
    ]
    explained = (
        "Right: verdict and objective are the expert's. False: a claim that the annotations "
        "contradict. pass@1: one run is right; pass^k: all repetitions are."
    )
    sections = [
        Section("Figures", explained, (_figures_table(figures(found)),), kind="values cards"),
        Section("Runs", tables=(_runs_table(found),), kind="values cards"),
    ]
    return page_of_tables(name, "engiagent bench report", sections, numbers=totals)


def _number(value: Any, note: str = "") -> Shown:
    return Shown(str(value), is_number=True, note=note)


def _figures_table(every: Sequence[Mapping[str, Any]]) -> DataTable:
    shares = (share.capitalize() for share in _SHARES)
    head = ("Engine", "Coordination", "Runs", *shares, "False", "pass@1", "pass^k")
    lines = []
    for row in every:
        numbers = [row["pass@1"], _pass_all(row), *(row[name] for name in MEANS)]
        lines.append(
            (
                Shown(row["engine"]),
                Shown(row["coordination"]),
                _number(row["runs"]),
                *(
                    _number(words.percent(row[f"{name}_rate"]), f"{100 * a:.0f} to {100 * b:.0f}")
                    for name in _SHARES
                    for a, b in (row[f"{name}_interval"],)
                ),
                _number(row["false_certificates"]),
                *(_number("–" if v is None else words.number(v, 4)) for v in numbers),
            )
        )
    names = list(dict.fromkeys(name for row in every for name in row))
    text, _ = csv_text(names, ([str(row.get(name, "")) for name in names] for row in every))
    title = "Per engine and coordination, with intervals at 95 %"
    means = ("Turns", "Tokens", "Cost (USD)", "Time (s)")
    return DataTable(title, (*head, *means), tuple(lines), data_uri(text), "figures.csv")


def _runs_table(found: Mapping[Cell, Measured]) -> DataTable:
    head = ("Problem", "Engine", "Coordination", "Repetition", "Verdict", "Judged")
    lines = []
    for cell, measured in sorted(found.items()):
        verdict = words.verdict(measured.verdict, None)
        tone, mark, word = _JUDGED[(measured.right, measured.false)]
        lines.append(
            (
                Shown(cell.problem),
                Shown(cell.engine),
                Shown(cell.coordination),
                _number(cell.repetition),
                Shown(verdict.word, tone=verdict.tone, symbol=verdict.symbol),
                Shown(word, tone=tone, symbol=mark),
                _number(measured.turns),
                _number(measured.tokens),
                _number(words.duration(measured.seconds)),
                Shown("", note=" ".join(measured.reason.split())[:200]),
            )
        )
    every = rows(found)
    names = list(every[0]) if every else ["problem"]
    text, kept = csv_text(names, ([str(row[name]) for name in names] for row in every))
    note = "" if kept == len(every) else f"The CSV file has {kept} of {len(every)}; runs.csv all."
    shown = (*head, "Turns", "Tokens", "Took", "Reason")
    return DataTable("Every run", shown, tuple(lines), data_uri(text), "runs.csv", note)
