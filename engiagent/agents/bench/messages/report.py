"""What came of runs over HTTP, as JSON and as tables."""

import statistics
from collections.abc import Sequence
from typing import Any, Final

from engiagent.agents.bench.messages.runs import Row, Stop, to_dict

LABEL: Final = (
    "a scripted Messages server that says what the experts wrote; not a language model's figures"
)
MOST_TOKENS: Final = 12_000
"""Of the median solved problem, prompts, schemas, exemplars and replies together."""


def report(rows: Sequence[Row], stops: Sequence[Stop] = ()) -> dict[str, Any]:
    """Return the bench as JSON has it.

    ``median_tokens`` is over problems that were solved rightly behind a server without trouble;
    what trouble costs stands in ``troubles``.
    """
    calm = [row for row in rows if row.trouble == "none"]
    return {
        "label": LABEL,
        "problems": len({row.problem for row in rows}),
        "runs": len(rows),
        "right": sum(row.right for row in rows),
        "false_certificates": sum(row.false for row in rows),
        "leaked": sum(row.leaked for row in rows),
        "miscounted": sum(row.counted > row.tokens for row in rows),
        "median_tokens": _median(calm),
        "domains": {
            d: _group([r for r in calm if r.domain == d]) for d in sorted({r.domain for r in calm})
        },
        "troubles": {
            t: _group([r for r in rows if r.trouble == t])
            for t in dict.fromkeys(r.trouble for r in rows)
        },
        "budgets": [to_dict(stop) for stop in stops],
        "rows": [to_dict(row) for row in rows],
    }


def good(found: dict[str, Any]) -> bool:
    """Whether nothing claims what is false, no key leaked, and every budget ended its run."""
    budgets = all(stop["named"] and not stop["again"] for stop in found["budgets"])
    return budgets and not (found["false_certificates"] or found["leaked"])


def _group(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "runs": len(rows),
        "right": sum(row.right for row in rows),
        "median_tokens": _median(rows),
        "requests": round(statistics.mean(r.requests for r in rows), 2) if rows else None,
    }


def _median(rows: Sequence[Row]) -> float | None:
    solved = [row.tokens for row in rows if row.right]
    return statistics.median(solved) if solved else None


def table(found: dict[str, Any]) -> list[str]:
    """Return the report as lines of Markdown."""
    lines = [found["label"], ""]
    for head, part in (("domain", "domains"), ("what the server does first", "troubles")):
        lines += [
            f"| {head} | runs | right | median tokens | requests a run |",
            "|---|---:|---:|---:|---:|",
        ]
        lines += [
            f"| {name} | {g['runs']} | {g['right']} | {_shown(g['median_tokens'])} "
            f"| {_shown(g['requests'])} |"
            for name, g in found[part].items()
        ]
        lines.append("")
    if found["budgets"]:
        lines += [
            "| budget | ended the run with | after resuming | asked twice |",
            "|---|---|---|---:|",
        ]
        lines += [
            f"| {s['budget']} | {s['said']} | {s['resumed']} | {s['again']} |"
            for s in found["budgets"]
        ]
        lines.append("")
    lines.append(
        f"median {_shown(found['median_tokens'])} tokens a solved problem, {found['right']} of "
        f"{found['runs']} runs right, {found['false_certificates']} false certificates, "
        f"{found['leaked']} runs with the key in a file"
    )
    return lines


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if value < 1000 else f"{value:.0f}"
