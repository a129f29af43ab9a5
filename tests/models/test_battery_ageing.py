from typing import Any

import numpy as np
import pytest

from engiagent.models.battery import lost_share
from engiagent.models.ranges import ParameterError


def test_a_year_of_full_cycles_uses_the_life_that_the_curve_promises() -> None:
    soc = np.tile([0.1, 0.9], 365)
    lost = lost_share(soc, 12.0, cycles_at_full_depth=2000.0, cycle_exponent=1.2)
    assert lost[-1] == pytest.approx(0.2 * 364.5 * 0.8**1.2 / 2000.0, rel=1e-12)


def test_a_half_cycle_counts_when_it_ends() -> None:
    lost = lost_share([0.0, 1.0, 1.0, 0.0], 1.0, cycles_at_full_depth=100.0)
    assert lost == pytest.approx([0.0, 0.001, 0.001, 0.002])


def test_rest_costs_the_root_of_time_whatever_the_step() -> None:
    for step in (24.0, 6.0):
        periods = round(400 * 24 / step)
        lost = lost_share(np.full(periods + 1, 0.5), step, calendar_rate=0.002)
        assert lost[-1] == pytest.approx(0.002 * 20.0, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cycles_at_full_depth": 0.0}, "above 0"),
        ({"calendar_rate": float("nan")}, "nan"),
        ({"end_of_life_loss": 20.0}, "20.0 % is 0.2"),
        ({"charge": [0.5, 1.5]}, "1.5"),
        ({"charge": [0.5]}, "one for each instant"),
    ],
)
def test_what_means_nothing_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        lost_share(**{"charge": [0.5, 0.6], "hours": 1.0, **change})
