"""Figures of a suite: rates with Wilson's intervals, pass@k and pass^k, means with theirs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from engiagent.agents.memory import wilson
from engiagent.bench.suite import Cell, Measured

RATES: Final = ("numerical", "feasible", "certified", "right", "false")
MEANS: Final = ("turns", "tokens", "cost", "seconds")
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
    import csv
    import io

    out = io.StringIO()
    table = rows(found)
    writer = csv.DictWriter(out, list(table[0]) if table else ["problem"], lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({key: _harmless(value) for key, value in row.items()})
    return out.getvalue()


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def table(found: Mapping[Cell, Measured]) -> list[str]:
    """Return the figures as lines of Markdown."""
    lines = [
        "| engine | coordination | runs | numerical | feasible | certified | right | false "
        "| pass@1 | pass^k | turns | tokens | cost (USD) | time (s) |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in figures(found):
        every = next(v for k, v in reversed(row.items()) if k.startswith("pass^"))
        shares = " | ".join(
            _share(row[f"{name}_rate"], row[f"{name}_interval"])
            for name in ("numerical", "feasible", "certified", "right")
        )
        cost = "-" if row["cost"] is None else f"{row['cost']:.4f}"
        lines.append(
            f"| {row['engine']} | {row['coordination']} | {row['runs']} | {shares} "
            f"| {row['false_certificates']} | {row['pass@1']:.2f} | {every:.2f} "
            f"| {row['turns']:.1f} | {row['tokens']:.0f} | {cost} | {row['seconds']:.1f} |"
        )
    return lines


def _share(rate: float, interval: Sequence[float]) -> str:
    return f"{100 * rate:.0f} % ({100 * interval[0]:.0f} to {100 * interval[1]:.0f})"


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ name }}</title>
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}
table{border-collapse:collapse}th,td{padding:.25rem .6rem;border-bottom:1px solid #8888;
text-align:left}</style></head><body><main><h1>{{ name }}</h1>
{% for head, body in tables %}<h2>{{ head }}</h2><table><thead><tr>
{% for cell in body[0] %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead><tbody>
{% for line in body[1:] %}<tr>{% for cell in line %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>{% endfor %}</main></body></html>
"""


def to_html(name: str, found: Mapping[Cell, Measured]) -> str:
    """Return a page of the figures and of every run, without scripts."""
    from jinja2 import Environment

    lines = [[c.strip() for c in line.strip("|").split("|")] for line in table(found)]
    summary = [lines[0], *lines[2:]]
    every = rows(found)
    head = list(every[0]) if every else ["problem"]
    body = [head, *[[_shown(row[key]) for key in head] for row in every]]
    page = Environment(autoescape=True).from_string(_PAGE)
    return page.render(name=name, tables=[("Figures", summary), ("Runs", body)]) + "\n"


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
