"""A corpus is checked on several workers with the results of one check after the other."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engiagent.cli.app import app

PROBLEMS = Path(__file__).resolve().parents[2] / "problems"
NAMES = ("merchant_day", "market_hall_infeasible", "missing_efficiency")


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any, str]:
    with pytest.raises(SystemExit) as ended:
        app.main(["check", *words, "--json"])
    said = capsys.readouterr()
    return int(ended.value.code or 0), without_seconds(json.loads(said.out)), said.err


def without_seconds(found: Any) -> Any:
    if isinstance(found, dict):
        return {k: without_seconds(v) for k, v in found.items() if k != "seconds"}
    return [without_seconds(v) for v in found] if isinstance(found, list) else found


def test_the_results_are_those_of_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        shutil.copytree(PROBLEMS / "battery" / name, tmp_path / "corpus" / name)
    shutil.copytree(PROBLEMS / "battery" / NAMES[0], tmp_path / "corpus" / "twin")
    (tmp_path / "corpus" / "unread.yaml").write_text("title: [")
    monkeypatch.chdir(tmp_path)
    one = checked(capsys, "corpus", "--workers", "0")
    assert one == checked(capsys, "corpus", "--workers", "2")
    assert one == checked(capsys, "corpus")  # by default, few targets
    assert "is that of" in one[2] or "is that of" in json.dumps(one[1])  # the twin's id


def test_two_places_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        app.main(["check", "merchant_day", "--workers", "2", "--scheduler", "local:2"])
    assert "exclude each other" in capsys.readouterr().err


def test_disturbed_runs_are_those_of_one_after_the_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = str(PROBLEMS / "battery" / "behind_the_meter_shop")
    words = (place, "--disturb", "demand=5%,runs=30")
    one = checked(capsys, *words)
    assert one == checked(capsys, *words, "--workers", "2")
    assert "30 runs with demand=5%,runs=30: limits hold in" in one[2]
