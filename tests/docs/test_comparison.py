"""The figures of the comparison are those that were measured last."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_the_site_is_that_of_the_readme_and_pypsa_finds_the_same_optimum(tmp_path: Path) -> None:
    page = (ROOT / "docs/comparison.md").read_text("utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")
    code = r"^```python\n(.*?)^```$"
    site, value = re.findall(code, page, re.M | re.S)
    assert site == re.findall(code, readme, re.M | re.S)[0]
    pytest.importorskip("pypsa", reason="PyPSA comes with the extra bench")
    (theirs,) = re.findall(r"^```python depot_pypsa\.py\n(.*?)^```$", page, re.M | re.S)
    script = tmp_path / "depot_pypsa.py"
    script.write_text(theirs, "utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert f"objective: {value.split()[-1]}" in done.stdout, done.stderr
