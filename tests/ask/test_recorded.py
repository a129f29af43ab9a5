"""Questions that a language model planned and answered, replayed: see recorded/README.md."""

import shutil
from pathlib import Path

import pytest

from engiagent.agents.engines.asking import Asking
from engiagent.ask.bench import load_suite, run_suite, summary
from engiagent.ask.planning import PLANNINGS

HERE = Path(__file__).parent / "recorded"
MARKETS = Path(__file__).parent / "recorded_markets"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """Every recorded question, answered again from its exchanges without a model."""
    place = tmp_path_factory.mktemp("ask") / "recorded"
    shutil.copytree(HERE, place)  # a suite keeps its checkpoints beside its runs
    return run_suite(load_suite(HERE / "suite.yaml"), place, Asking(None, None), replay=True)


def test_the_right_calls_are_made_with_the_right_values(runs: list[dict[str, object]]) -> None:
    found = summary(runs)["two-stage"]
    for rate in ("tool_recall", "agent_recall", "plan_steps", "argument_keys", "argument_values"):
        assert found[rate] >= 0.97, rate
    assert found["median_tokens"] <= 15_000


def test_other_ways_of_planning_are_replayed_as_they_were_answered(
    runs: list[dict[str, object]],
) -> None:
    found = summary(runs)
    assert {way: rates["cases"] for way, rates in found.items()} == dict.fromkeys(PLANNINGS, 16)
    assert found["one-stage"]["argument_values"] > 0.99
    assert found["decentralised"]["tool_recall"] == pytest.approx(0.9375)


def test_no_figure_comes_from_anything_but_a_call(runs: list[dict[str, object]]) -> None:
    for way, found in summary(runs).items():
        assert found["criteria"]["no_hallucination"] == 1.0, way
        assert found["accuracy"] == 1.0, way  # of the questions whose numbers a second route gives


def test_questions_on_markets_are_answered_with_their_figures(tmp_path: Path) -> None:
    place = tmp_path / "recorded"
    shutil.copytree(MARKETS, place)
    suite = load_suite(MARKETS / "suite.yaml")
    found = summary(run_suite(suite, place, Asking(None, None), replay=True))["two-stage"]
    for rate in ("tool_recall", "agent_recall", "plan_steps", "argument_keys", "argument_values"):
        assert found[rate] == 1.0, rate
    assert found["accuracy"] == found["criteria"]["no_hallucination"] == 1.0
    assert found["pass_at_1"] == pytest.approx(5 / 6)  # no call gives the difference asked for
