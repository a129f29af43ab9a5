"""Exemplars: the cut-off by hand, copies kept out, ranking, structure and the limit of tokens."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.agents.retrieval import (
    Exemplar,
    archive,
    body,
    cutoff,
    exemplars,
    segment_error,
    strangers,
    structurally_alike,
    weighted_error,
)
from engiagent.text import Problem, corpus_root

pytest.importorskip("bm25s")


@pytest.fixture(scope="module")
def known() -> tuple[Exemplar, ...]:
    return archive(corpus_root())


def test_the_error_of_a_line_is_the_one_by_hand() -> None:
    # 0, 1, 0: the line is the mean 1/3; residuals -1/3, 2/3, -1/3; RMSE sqrt((1+4+1)/9/3).
    assert segment_error([0.0, 1.0, 0.0]) == pytest.approx(math.sqrt(2) / 3)
    assert segment_error([0.9, 0.7]) == pytest.approx(0.0, abs=1e-15)
    assert segment_error([0.9]) == 0.0


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1.0, 0.9, 0.8, 0.2, 0.1, 0.0], 3),  # two lines fit exactly, broken after 3
        ([1.0, 0.98, 0.3, 0.2, 0.1], 2),
        ([1.0, 0.9, 0.8, 0.7, 0.6], 2),  # one line: no break is better, the earliest counts
        ([1.0, 1.0, 1.0, 1.0, 0.2, 0.1], 4),
        ([0.5, 0.5, 0.5], 3),  # too few for two lines
        ([], 0),
    ],
)
def test_the_cut_off_is_where_two_lines_fit_best(scores: list[float], expected: int) -> None:
    assert cutoff(scores) == expected


@given(st.lists(st.floats(0, 1), min_size=4, max_size=12), st.floats(0.1, 10), st.floats(-5, 5))
def test_no_other_break_is_better_and_scale_does_not_matter(
    scores: list[float], factor: float, shift: float
) -> None:
    falling = sorted((round(s, 3) for s in scores), reverse=True)
    chosen = cutoff(falling)
    assert 2 <= chosen <= len(falling) - 2
    least = min(weighted_error(falling, m) for m in range(2, len(falling) - 1))
    assert weighted_error(falling, chosen) == pytest.approx(least, abs=1e-8)
    # polyfit is another way to the same lines
    n = np.arange(chosen, dtype=float)
    line = np.polyval(np.polyfit(n, falling[:chosen], 1), n)
    left = math.sqrt(float(np.mean((np.asarray(falling[:chosen]) - line) ** 2)))
    assert segment_error(falling[:chosen]) == pytest.approx(left, abs=1e-9)
    moved = [factor * s + shift for s in falling]
    assert weighted_error(moved, cutoff(moved)) == pytest.approx(factor * least, abs=1e-7)


@pytest.mark.parametrize("scores", [[0.1, 0.2, 0.3, 0.4], [1.0, math.nan, 0.5, 0.2]])
def test_scores_that_are_no_ranking_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="must not rise"):
        cutoff(scores)


def test_a_problem_is_never_its_own_exemplar(known: tuple[Exemplar, ...]) -> None:
    for exemplar in known:
        names = {e.name for e in strangers(known, exemplar.text)}
        assert exemplar.name not in names


def test_a_copy_with_other_figures_and_name_is_left_out(
    known: tuple[Exemplar, ...], tmp_path: Path
) -> None:
    source = corpus_root() / "battery" / "merchant_day"
    shutil.copytree(source, tmp_path / "other", ignore=shutil.ignore_patterns("expert"))
    file = tmp_path / "other" / "problem.md"
    text = file.read_text(encoding="utf-8")
    for old, new in (("20 MWh", "35 MWh"), ("Kaltenbach", "Rosenau"), ("merchant_day", "another")):
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    problem = Problem.load(tmp_path / "other")
    kept = strangers(known, body(problem))
    assert "battery/merchant_day" not in {e.name for e in kept}
    shown = exemplars(problem, corpus_root())
    assert shown
    assert not any("Kaltenbach" in text for text in shown)


def test_what_is_shown_is_made_of_the_same(known: tuple[Exemplar, ...]) -> None:
    thermal = next(e for e in known if e.name.startswith("thermal/"))
    alike = structurally_alike((thermal, *known))
    assert alike[0] == thermal
    assert 1 < len(alike) < len(known)


def test_tokens_are_bounded_and_the_same_question_gives_the_same_answer() -> None:
    problem = Problem.load(corpus_root() / "thermal" / "office_heat_pump")
    one = exemplars(problem, corpus_root(), most_tokens=4000)
    assert one == exemplars(problem, corpus_root(), most_tokens=4000)
    assert sum(map(len, one)) <= 4 * 4000
    assert exemplars(problem, corpus_root(), most_tokens=10) == ()
