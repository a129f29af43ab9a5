"""The notebooks run from the first cell to the last, and show what they speak of."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engiagent.notebook.run import Run
from engiagent.run.folder import read_trace
from tests.notebook.running import cells, run_notebook

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bundles, _, _ = run_notebook(path)
    for bundle in bundles:
        assert "text/plain" in bundle
    assert any("data:image/svg+xml" in bundle.get("text/html", "") for bundle in bundles)


def test_there_is_one_for_each_domain_and_the_readme_lists_all() -> None:
    readme = (ROOT / "notebooks/README.md").read_text("utf-8")
    assert len(NOTEBOOKS) >= 6
    for path in NOTEBOOKS:
        assert f"]({path.name})" in readme
        assert len(cells(path)) >= 4


def test_a_notebook_that_was_killed_goes_on_where_its_run_was_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_, last = cells(ROOT / "notebooks/battery_day.py")
    assert "problem.run(" in last
    script = tmp_path / "short.py"
    script.write_text(f"\n# %%\n{first}\n# %%\n{last}", encoding="utf-8")
    folder = tmp_path / "runs/battery_day"
    process = subprocess.Popen([sys.executable, script], cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while '"analyse"' not in _text(folder) and time.monotonic() < deadline:
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    cut = Run.open(folder)
    assert cut.state == "running"
    assert cut.resumable
    assert "can be resumed" in cut._repr_html_()

    monkeypatch.chdir(tmp_path)
    _, _, names = run_notebook(script)
    assert names["run"].verdict == "certified"
    assert names["run"].record["started"] == cut.record["started"]
    assert any(line.get("event") == "resumed" for line in read_trace(folder))


def _text(folder: Path) -> str:
    trace = folder / "trace.jsonl"
    return trace.read_text("utf-8") if trace.is_file() else ""
