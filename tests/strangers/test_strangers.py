"""Texts of a stranger as a language model read them, replayed: see README.md for what they show."""

import json
from pathlib import Path

import pytest

from tests.cli.asking import answer, invoke

HERE = Path(__file__).parent
VERDICTS = {
    "optimal": "certified",
    "missing": "ill-posed",
    "contradictory": "ill-posed",
    "infeasible": "proven infeasible",
}


@pytest.mark.parametrize(
    "folder", sorted(HERE.glob("*/expected.json")), ids=lambda p: p.parent.name
)
def test_a_reading_of_a_strangers_text_ends_as_his_own_programme(
    folder: Path, tmp_path: Path
) -> None:
    recording, expected = folder.parent, json.loads(folder.read_text("utf-8"))
    asked = ("--replay", recording, "--memory", "none", "--out", tmp_path / "run", "--json")
    found = answer(invoke("run", recording / "problem", *asked))
    assert found["verdict"] == VERDICTS[expected["kind"]], found["reading"]["open"]
    if expected["objective"] is not None:
        assert found["objective"]["value"] == pytest.approx(expected["objective"], rel=2e-6)
