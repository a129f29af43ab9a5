"""What a language model answered once, replayed: whole runs, held against the experts' answers."""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from engiagent.agents.bench import places_by_id, recordings, replay
from engiagent.text import corpus_root
from tests.cli.asking import answer, invoke

HERE = Path(__file__).parent


@cache
def places() -> dict[str, str]:
    return places_by_id(corpus_root())


@pytest.mark.parametrize("recording", recordings(HERE), ids=lambda path: path.name)
def test_a_recording_ends_with_the_answer_of_the_experts(recording: Path) -> None:
    found = replay(recording, corpus_root(), places())
    assert not found.false, found.reason
    assert found.right, found.reason
    if found.expected == "certified":
        assert found.verdict == "certified", found.reason


def test_a_text_that_two_readers_read_is_followed_by_rule(tmp_path: Path) -> None:
    problem = tmp_path / "problem"
    shutil.copytree(HERE / "merchant_day/problem", problem)
    asked = ("--replay", HERE / "merchant_day", "--memory", "none", "--out", tmp_path / "run")
    assert answer(invoke("run", problem, *asked, "--json"))["reading"]["grade"] == "confirmed"
    assert invoke("accept", tmp_path / "run").exit_code == 0
    text = problem / "problem.md"
    text.write_text(text.read_text("utf-8").replace("stores 20 MWh", "stores 25 MWh"), "utf-8")
    found = answer(invoke("run", problem, "--out", tmp_path / "again", "--json"))
    assert (found["verdict"], found["reading"]["grade"]) == ("certified", "confirmed")
    assert found["objective"]["value"] > 3866.6


def test_no_recording_names_a_machine() -> None:
    for path in HERE.rglob("*.json"):
        assert not {"/root", "/home", "/tmp"} & set(path.read_text("utf-8").split('"'))


def test_a_recording_of_another_version_of_the_text_is_no_proof(tmp_path: Path) -> None:
    found = invoke("bench", "recorded", tmp_path)
    assert found.exit_code == 2
    assert "no recorded runs here" in found.stderr
    shutil.copytree(HERE / "merchant_day", tmp_path / "merchant_day")
    one = tmp_path / "merchant_day/exchanges/0001.json"
    content = json.loads(one.read_text("utf-8"))
    one.write_text(json.dumps({**content, "key": "0" * 64}), "utf-8")
    found = invoke("bench", "recorded", tmp_path, "--json")
    result = json.loads(found.stdout)
    assert (result["problems"], result["certified"], result["wrong"]) == (1, 0, 0)
