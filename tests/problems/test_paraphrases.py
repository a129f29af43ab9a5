"""One sentence each, as engineers write them: which numbers, in which unit, of which kind."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from engiagent.text import Problem, Quantity

CASES: list[tuple[str, list[tuple[float, str, str]]]] = YAML(typ="safe").load(
    Path(__file__).with_name("paraphrases.yaml")
)


def shown(quantity: Quantity) -> tuple[float, str, str]:
    unit = str(quantity.unit) if quantity.unit else ""
    if quantity.unit is None and quantity.unit_text:
        unit = f"?{quantity.unit_text}"
    return quantity.value, unit, quantity.kind


@pytest.mark.parametrize(("sentence", "expected"), CASES, ids=[case[0][:40] for case in CASES])
def test_paraphrase(sentence: str, expected: list[tuple[float, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text(sentence + "\n", "utf-8")
    found = [shown(q) for q in Problem.load(path).quantities]
    assert [(u, k) for _, u, k in found] == [(u, k) for _, u, k in expected]
    assert [v for v, _, _ in found] == pytest.approx([v for v, _, _ in expected], rel=1e-15)


def test_doubt_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text("It holds 1,5 t, and about 7 t on 01/02/2025. And 1,500 kg.", "utf-8")
    comma, about, date, plain = Problem.load(path).quantities
    assert comma.ambiguous == "read with a decimal comma"
    assert about.approximate
    assert not comma.approximate
    assert "day and month" in date.ambiguous
    assert (plain.value, plain.ambiguous) == (1500, "")
