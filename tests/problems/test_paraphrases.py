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


RANGES = [
    "Keep it between 20 and 24 °C.",
    "Keep it at 20–24 °C.",
    "from 10 % to 90 %",
    "from 14:00 to 19:00",
    "5 to 7 kW",
    "between 8 am and 6 pm",
    "1 to 3 July 2025",
]


@pytest.mark.parametrize("sentence", RANGES)
def test_both_ends_share_a_range(sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text(sentence, "utf-8")
    low, high = Problem.load(path).quantities
    assert low.range_id is not None
    assert low.range_id == high.range_id


def test_neighbours_that_are_no_range_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text("It charges 5 kW and 7 kW, from 10 to 12 kW and 13 to 14 kW.", "utf-8")
    ids = [q.range_id for q in Problem.load(path).quantities]
    assert ids[:2] == [None, None]
    assert ids[2] == ids[3] != ids[4] == ids[5]
    assert None not in ids[2:]


def test_doubt_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text("It holds 1,5 t, and about 7 t on 01/02/2025. And 1,500 kg.", "utf-8")
    comma, about, date, plain = Problem.load(path).quantities
    assert comma.ambiguous == "read with a decimal comma"
    assert about.approximate
    assert not comma.approximate
    assert "day and month" in date.ambiguous
    assert (plain.value, plain.ambiguous) == (1500, "")
