"""A run's folder: never over anything else, always with a record of how far the run came."""

import json
from pathlib import Path

import pytest

from engiagent.errors import InputError
from engiagent.run.folder import RunFolder, StageEvent, read_record, read_trace


def create(path: Path | None, force: bool = False) -> RunFolder:
    return RunFolder.create(path, "my problem/1", {"engine": "offline"}, force=force)


def test_default_folders_are_new_and_named_by_the_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = {create(None).path for _ in range(3)}
    assert len(folders) == 3
    for path in folders:
        assert path.parent == Path("runs")
        assert path.name.startswith("my-problem-1-")


@pytest.mark.parametrize("name", ["../../etc", "..", "", "a" * 300, "\x00", "C:\\x"])
def test_a_problems_id_cannot_lead_out_of_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create(None, name, {})
    assert folder.path.resolve().parent == tmp_path / "runs"


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InputError, match="not empty and holds no earlier run"):
            create(tmp_path, force)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_earlier_run_is_replaced_by_request_only(tmp_path: Path) -> None:
    first = create(tmp_path)
    first.write("blueprint.json", "{}")
    first.write("problem/problem.md", "old")
    (tmp_path / "my notes.txt").write_text("keep")
    with pytest.raises(InputError, match="--force"):
        create(tmp_path)
    create(tmp_path, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["my notes.txt", "run.json"]


def test_a_run_that_failed_at_reading_gives_way_to_the_next(tmp_path: Path) -> None:
    """What a model answered, or a blueprint, has to be kept."""
    for kept in ("exchanges/0001.json", "blueprint.json"):
        failed = create(tmp_path / kept)
        failed.write("problem/problem.md", "a typo")
        failed.finish("failed", None, "there is no column 'pric'")
        again = create(tmp_path / kept)
        assert sorted(p.name for p in again.path.iterdir()) == ["run.json"]
        again.write(kept, "{}")
        again.finish("failed", None, "the solver broke")
        with pytest.raises(InputError, match="--force"):
            create(tmp_path / kept)


def test_a_file_or_a_link_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(InputError, match="a file or a link"):
            create(tmp_path / name)


def test_stages_leave_a_trace_however_they_end(tmp_path: Path) -> None:
    events: list[StageEvent] = []
    folder = RunFolder.create(tmp_path / "run", "p", {}, on_event=events.append)
    with folder.stage("load"):
        pass
    with pytest.raises(ZeroDivisionError), folder.stage("solve"):
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt), folder.stage("check"):
        raise KeyboardInterrupt
    lines = [json.loads(line) for line in (tmp_path / "run/trace.jsonl").read_text().splitlines()]
    ends = {line["stage"]: line["outcome"] for line in lines if line["event"] == "end"}
    assert ends == {"load": "done", "solve": "failed", "check": "interrupted"}
    assert [event.kind for event in events] == ["start", "end"] * 3
    assert read_record(tmp_path / "run")["stage"] == "check"


def test_progress_is_written_ever_more_seldom(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", "shop", {})
    with folder.stage("solve"):
        for tenth in range(36_000):  # an hour
            folder.progress(tenth / 10, {"gap": float("inf"), "bound": None, "nodes": tenth})
    lines = [line for line in read_trace(tmp_path / "run") if line["event"] == "progress"]
    assert lines[0].items() >= {"stage": "solve", "nodes": 10}.items()
    assert all(not {"gap", "bound"} & line.keys() for line in lines)
    assert 60 < len(lines) < 200
    assert lines[-1]["nodes"] > 34_000
