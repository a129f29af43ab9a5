"""What a language model answered once, replayed: the readings met, and data that lack are named."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engiagent.text import corpus_root
from tests.cli.asking import answer, invoke

HERE = Path(__file__).parent
CORPUS = {"merchant_day": "battery", "missing_fuel_price": "der", "office_heat_pump": "thermal"}


def replayed(name: str, folder: Path) -> tuple[int, dict[str, Any]]:
    shutil.copytree(HERE / name / "problem", folder / "problem")
    result = invoke(
        "run",
        folder / "problem",
        "--replay",
        HERE / name,
        "--memory",
        "none",
        "--out",
        folder / "run",
        "--json",
    )
    return result.exit_code, answer(result)


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_a_recording_ends_with_the_answer_of_the_experts(name: str, tmp_path: Path) -> None:
    expert = corpus_root() / CORPUS[name] / name / "expert" / "answer.json"
    expected = json.loads(expert.read_text("utf-8"))
    _, found = replayed(name, tmp_path)
    assert found["verdict"] == expected["verdict"]
    if expected["verdict"] == "certified":
        assert found["reading"]["grade"] == "confirmed"
        assert found["objective"]["value"] == pytest.approx(expected["objective"]["value"])


def test_a_text_that_two_readers_read_is_followed_by_rule(tmp_path: Path) -> None:
    assert replayed("merchant_day", tmp_path)[0] == 0
    assert invoke("accept", tmp_path / "run").exit_code == 0
    text = tmp_path / "problem/problem.md"
    text.write_text(text.read_text("utf-8").replace("stores 20 MWh", "stores 25 MWh"), "utf-8")
    found = answer(invoke("run", tmp_path / "problem", "--out", tmp_path / "again", "--json"))
    assert (found["verdict"], found["reading"]["grade"]) == ("certified", "confirmed")
    assert found["objective"]["value"] > 3866.6


def test_no_recording_names_a_machine() -> None:
    for path in HERE.rglob("*.json"):
        assert not {"/root", "/home", "/tmp"} & set(path.read_text("utf-8").split('"'))
