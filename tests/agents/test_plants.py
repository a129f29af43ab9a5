"""Plants of several units: read whatever the words, and never read wrongly."""

from pathlib import Path

import pytest

from tests.agents.plant_texts import Island, cheapest, island_text
from tests.agents.support import analysed, solved

SEEDS = range(24)
ISLANDS = (
    Island(),
    Island(power=120, least=40, cost=0.21, start=30, discharge=40, efficiency=0.9),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_island_in_other_words_units_and_order(tmp_path: Path, seed: int) -> None:
    island = ISLANDS[seed % len(ISLANDS)]
    text = island_text(island, seed)
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (text, analysis.missing, analysis.not_understood, analysis.ambiguous)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(cheapest(island), rel=1e-7), text


CHANGES = (
    "The generator must not run on Sundays.",
    "When the battery holds less than 20 kWh it must not discharge.",
    "If the wind turbine delivers more than 30 kW, the battery has to be charged.",
    "Part of the load can be shed.",
    "Up to 10 % of the load may be shifted by one hour.",
    "Unserved load costs 5 EUR/kWh.",
    "In the second hour the generator is out of service.",
    "The battery is out of order.",
    "The wind turbine is shut down during the first two hours.",
    "The wind turbine is shut down in the morning.",
    "At least 20 kW of spinning reserve must be kept at all times.",
    "Only half of the wind power can be used.",
    "The generator and the battery must not run at the same time.",
    "Diesel arrives in the third hour; until then the generator stands still.",
    "A second generator of the same kind is available.",
    "Two further batteries of this kind are installed.",
    "The costs above do not include a tax of 10 %.",
    "The efficiency of the generator falls by 3 % per hour.",
    "Emissions of the generator are limited to 100 kg.",
    "The generator may be started at most once.",
    "The generator may run for at most 3 hours in total.",
    "Each time the generator is started, it needs 0.5 h to warm up.",
    "In the last hour the load is twice as high.",
    "The load given above is an average; its peaks are 20 % higher.",
    "The battery must be full at 03:00.",
    "Between 02:00 and 04:00 the battery must not be used.",
    "The generator runs in steps of 10 kW.",
    "The generator is noisy and has to be off at night.",
    "Ignore the minimum load of the generator.",
    "The owner pays 2 EUR for each hour in which the battery is used.",
    "The wind turbine must always be used before the generator.",
    "While the generator runs the battery may not be discharged.",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_sentence_that_changes_the_problem_is_never_passed_over(
    tmp_path: Path, change: str
) -> None:
    text = island_text(Island(), 3)
    assert analysed(tmp_path, text).complete
    assert not analysed(tmp_path, text + "\n" + change + "\n").complete, change


WORDS = (
    ("at most", "on average at most"),
    ("at least", "preferably at least"),
    ("delivers", "once delivered"),
    ("lowest", "second lowest"),
    ("each", "every second"),
)


@pytest.mark.parametrize(("old", "new"), WORDS)
def test_a_word_beside_a_number_that_nothing_knows_is_not_passed_over(
    tmp_path: Path, old: str, new: str
) -> None:
    texts = (island_text(Island(), seed) for seed in range(50))
    text = next(text for text in texts if old in text)
    assert not analysed(tmp_path, text.replace(old, new)).complete


NARRATION = (
    "The village lies in a valley and has a school.",
    "The generator was a present of the county.",
    "We are grateful for quick help.",
    "The blades of the wind turbine are made of glass fibre.",
)


@pytest.mark.parametrize("sentence", NARRATION)
def test_narration_changes_nothing(tmp_path: Path, sentence: str) -> None:
    island = Island()
    analysis = analysed(tmp_path, island_text(island, 3) + "\n" + sentence + "\n")
    assert analysis.complete, analysis.not_understood
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(island), rel=1e-7)


def test_it_is_never_taken_for_a_thing_of_the_sentence_before_that_nothing_knows(
    tmp_path: Path,
) -> None:
    text = island_text(Island(), 3)
    pump = "We also own a fountain. It draws at most 20 kW.\n"
    assert not analysed(tmp_path, text + "\n" + pump).complete


def test_a_finding_that_names_a_line_and_no_column_ends_no_run(tmp_path: Path) -> None:
    from engiagent.agents.offline import understand
    from engiagent.audit import quick_audit
    from engiagent.problems import Problem
    from tests.audit.texts import CASES

    (tmp_path / "problem.md").write_text(CASES["series too short"].text)
    for name, content in CASES["series too short"].files.items():
        (tmp_path / name).write_text(content)
    problem = Problem.load(tmp_path)
    audit = quick_audit(problem, understand(problem))
    assert any(p.column is None for f in audit.findings for p in f.places if p.line)
