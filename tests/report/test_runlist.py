"""A list of runs: everything that ran is in it, whatever state its folder is in."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engiagent.run.listing import find_runs

GONE = 2**22 + 1  # above the kernel's largest process number


def put(folder: Path, **record: Any) -> Path:
    folder.mkdir(parents=True)
    whole = {"schema": "engiagent-run/1", "problem": folder.name, "state": "done"} | record
    (folder / "run.json").write_text(json.dumps(whole), encoding="utf-8")
    return folder


def test_the_latest_comes_first_with_what_it_found(tmp_path: Path) -> None:
    put(tmp_path / "old", started="2026-01-01T00:00:00+00:00", verdict="undecided")
    new = put(
        tmp_path / "week" / "new",
        started="2026-01-02T00:00:00+00:00",
        finished="2026-01-02T00:01:30+00:00",
        verdict="certified",
        asked={"engine": "offline"},
    )
    goal = {"value": 12.5, "unit": "EUR", "sense": "minimize"}
    text = json.dumps({"objective": goal, "bound": {"value": 12.25, "gap": 0.02}})
    (new / "certificate.json").write_text(text, encoding="utf-8")
    first, second = find_runs(tmp_path)
    assert (first.name, second.name) == ("week/new", "old")
    assert (first.seconds, second.seconds) == (90.0, None)
    written = {"objective": goal, "bound": 12.25, "gap": 0.02, "engine": "offline", "seconds": 90.0}
    assert first.to_json().items() >= written.items()


def test_a_run_whose_process_is_gone_has_stopped(tmp_path: Path) -> None:
    put(tmp_path / "here", state="running", pid=os.getpid())
    put(tmp_path / "gone", state="running", pid=GONE)
    assert {run.name: run.state for run in find_runs(tmp_path)} == {
        "here": "running",
        "gone": "stopped",
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "other/1"}', '{"a": NaN}', "\udcff"])
def test_a_damaged_record_is_listed_as_such(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_bytes(text.encode("utf-8", errors="surrogateescape"))
    (run,) = find_runs(tmp_path)
    assert run.state == "unreadable"
    assert run.reason
    assert run.to_json()["verdict"] is None


def test_links_hidden_folders_and_the_inside_of_a_run_are_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    outside = put(tmp_path / "outside")
    run = put(root / "run")
    put(run / "problem" / "inner")
    put(root / ".cache" / "hidden")
    (root / "link").symlink_to(outside, target_is_directory=True)
    assert [run.name for run in find_runs(root)] == ["run"]
