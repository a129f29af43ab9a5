from collections.abc import Callable

import numpy as np
import pytest

from engiagent.models.battery_ageing import BatteryAgeing, CalendarAgeing, WoehlerCurve
from engiagent.models.ranges import ParameterError

# PySAM BatteryStateful 7.1.1.post1, default LFP cell at rest for a year of hourly steps: room
# temperature, then state of charge and relative capacity after 1, 1460, 2920 … 8760 hours. The
# charge rises since SAM refers it to the shrinking capacity.
SAM_REST = [
    (
        20.0,
        [0.50066, 0.506694, 0.509323, 0.511368, 0.51311, 0.51466, 0.516072],
        [99.868256, 98.678807, 98.169491, 97.776996, 97.444969, 97.151576, 96.885619],
    ),
    (
        35.0,
        [0.901682, 0.932671, 0.94705, 0.958648, 0.968841, 0.97816, 0.986877],
        [99.81342, 96.497005, 95.031911, 93.882193, 92.894504, 92.009492, 91.196742],
    ),
    (
        45.0,
        [0.200299, 0.204046, 0.205688, 0.206969, 0.208064, 0.20904, 0.209932],
        [99.850925, 98.017278, 97.234687, 96.632658, 96.1241, 95.675269, 95.26886],
    ),
]


def test_a_year_of_full_cycles_uses_the_life_that_the_curve_promises() -> None:
    soc = np.tile([0.1, 0.9], 365)
    ageing = BatteryAgeing(cycle_life=WoehlerCurve(cycles_at_full_depth=2000.0, exponent=1.2))
    report = ageing.assess(soc, 25.0, 12.0)
    used = 364.5 * 0.8**1.2 / 2000.0
    assert report.cycle_loss[-1] == pytest.approx(0.2 * used, rel=1e-12)
    assert report.capacity[-1] == pytest.approx(1.0 - 0.2 * used)


def test_a_half_cycle_counts_when_it_ends() -> None:
    ageing = BatteryAgeing(cycle_life=WoehlerCurve(cycles_at_full_depth=100.0))
    report = ageing.assess([0.0, 1.0, 1.0, 0.0], 25.0, 1.0)
    assert report.cycle_loss == pytest.approx([0.0, 0.001, 0.001, 0.002])


@pytest.mark.parametrize(("temperature", "charge", "capacity"), SAM_REST)
def test_a_year_of_rest_loses_what_sam_says(
    temperature: float, charge: list[float], capacity: list[float]
) -> None:
    calendar = CalendarAgeing(
        rate=0.0033143,
        activation_temperature=3191.0,
        charge_stress=389.7,
        reference_temperature=22.85,
        reference_charge=1.0,
    )
    places = np.linspace(0, 8759, 7).astype(int)
    soc = np.interp(np.arange(8760) ** 0.5, places**0.5, charge)
    ours = 99.9 - 100 * calendar.loss(soc, temperature, 1.0)[1:]
    # SAM steps dq = k² dt / (2 q) by Euler: 0.003 of 100.
    assert ours[places] == pytest.approx(capacity, abs=0.003)


def test_calendar_loss_does_not_depend_on_the_step_and_continues() -> None:
    calendar = CalendarAgeing(rate=0.002, activation_temperature=4000.0, charge_stress=300.0)
    coarse = calendar.loss([0.3, 0.8], [10.0, 40.0], 240.0)
    fine = calendar.loss(np.repeat([0.3, 0.8], 240), np.repeat([10.0, 40.0], 240), 1.0)
    assert fine[::240] == pytest.approx(coarse, rel=1e-12)
    rest = calendar.loss([0.8], 40.0, 240.0, initial=float(coarse[1]))
    assert rest[-1] == pytest.approx(coarse[-1], rel=1e-12)
    # The definition: dq/dt = k² / (2 q).
    slope = (fine[300] - fine[299]) * 24
    middle = 0.5 * (fine[300] + fine[299])
    assert slope == pytest.approx(calendar.stress(0.8, 40.0) ** 2 / (2 * middle), rel=1e-6)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: WoehlerCurve(cycles_at_full_depth=0.0), "above 0"),
        (lambda: CalendarAgeing(rate=float("nan")), "nan"),
        (lambda: BatteryAgeing(end_of_life_loss=20.0), "at most 1"),
        (lambda: BatteryAgeing().assess([0.5, 1.5], 20.0, 1.0), "1.5"),
        (lambda: BatteryAgeing().assess([0.5], 20.0, 1.0), "one for each instant"),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()
