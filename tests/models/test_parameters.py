"""Numbers and shapes that do not fit are named, never a traceback of numpy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.ranges import ParameterError, fraction, increasing, series, steps, within
from engiagent.models.recursion import linear_recursion


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: series(np.ones(3), 4, "the load"), r"shape \(3,\); give one value or 4"),
        (lambda: steps([1.0, 0.0], 2), "a number above 0 h"),
        (lambda: within("full", "the load", "kW"), "give a number"),
        (lambda: within([1.0, np.nan], "the load", "kW"), "nan at place 1; give finite"),
        (lambda: increasing([[1.0, 2.0]], "the points"), "give at least 2 numbers"),
        (lambda: fraction(95.0, "the share"), "95.0 % is 0.95"),
    ],
)
def test_what_does_not_fit_is_named(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_the_recursion_is_the_loop_over_time(seed: int, length: int, keeps: bool) -> None:
    rng = np.random.default_rng(seed)
    factor = np.ones((length, 3)) if keeps else rng.uniform(0, 1, (length, 3))
    driven, value = rng.normal(size=(length, 3)), rng.normal(size=3)
    path = linear_recursion(factor, driven, value)
    for place in range(length):
        assert path[place] == pytest.approx(value, rel=1e-9, abs=1e-12)
        value = factor[place] * value + driven[place]
    assert path[-1] == pytest.approx(value, rel=1e-9, abs=1e-12)
