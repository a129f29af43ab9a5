"""The figures of the comparison are those that were measured last."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = {
    "engiagent, its own method for storage chains": "engiagent: total over floor",
    "engiagent, with HiGHS's simplex method": "engiagent-simplex: total over floor",
    "linopy": "linopy: total over floor",
    "CVXPY": "cvxpy: total over floor",
    "Pyomo": "pyomo: total over floor",
    "PyPSA": "pypsa: total over floor",
    "oemof.solph": "oemof.solph: total over floor",
}


def test_the_times_are_those_of_the_stored_results() -> None:
    page = (ROOT / "docs/comparison.md").read_text("utf-8")
    results = (ROOT / "benchmarks/results/latest.md").read_text("utf-8")
    table = page.partition("## Time")[2]
    for name, row in ROWS.items():
        measured = re.search(
            rf"\| battery LP, T = 8760 \| {re.escape(row)} \| ([\d.]+) \|", results
        )
        assert measured is not None, row
        assert f"| {name} | {measured[1]} |" in table
    for row, words in {"build": "times as long", "memory": "of theirs"}.items():
        measured = re.search(rf"T = 8760 \| engiagent: {row} over floor \| ([\d.]+) \|", results)
        assert measured is not None
        assert f"{measured[1]} {words}" in " ".join(table.split())
