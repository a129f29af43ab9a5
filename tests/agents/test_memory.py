"""What runs remember: rates, lessons, several processes at a time."""

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from engiagent.agents.memory import Memory, default_path
from engiagent.errors import InputError

EACH = 60


def _learn(path: Path, run: str) -> None:
    store = Memory(path, run=run, engine="scripted")
    for n in range(EACH):
        store.learn("modeler", "syntax", f"syntax:{run}", n % 3 == 0, "try", f"repair {n}")
        assert 0.0 < store.estimate("modeler", "syntax", 0.5) < 1.0


def test_two_processes_that_start_a_memory_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "memory.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_learn, args=(path, run)) for run in ("one", "two")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    (rate,) = Memory(path).rates()
    assert (rate.attempts, rate.mended) == (2 * EACH, 2 * (EACH // 3))
    assert rate.low < 1 / 3 < rate.high
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_an_estimate_starts_at_the_prior_and_moves_with_what_happened(tmp_path: Path) -> None:
    store = Memory(tmp_path / "m.sqlite", engine="scripted")
    assert store.estimate("modeler", "index", 0.8) == pytest.approx(0.8)
    for _ in range(4):
        store.learn("modeler", "index", "s", False, "", "")
    assert store.estimate("modeler", "index", 0.8) == pytest.approx(0.4)  # (0.8*4 + 0) / (4 + 4)
    other = Memory(store.path, engine="another")
    assert other.estimate("modeler", "index", 0.8) == pytest.approx(0.8)


def test_lessons_are_repairs_that_helped_the_newest_first(tmp_path: Path) -> None:
    store = Memory(tmp_path / "m.sqlite")
    for repair, mended in (("a", True), ("b", False), ("c", True), ("a", True), ("", True)):
        store.learn("modeler", "syntax", "sig", mended, "", repair)
    assert store.lessons("sig") == ("a", "c")
    assert store.lessons("another") == ()


def test_a_memory_of_a_newer_version_and_a_file_that_is_none_are_refused(tmp_path: Path) -> None:
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="newer"):
        Memory(newer).rates()
    other = tmp_path / "text.sqlite"
    other.write_text("no database at all, whatever its name says\n" * 40)
    with pytest.raises(InputError, match="cannot be used"):
        Memory(other).rates()


def test_the_place_of_the_memory_can_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGIAGENT_MEMORY", str(tmp_path / "here"))
    assert default_path() == tmp_path / "here"
    monkeypatch.delenv("ENGIAGENT_MEMORY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_path() == tmp_path / "engiagent" / "memory.sqlite"
