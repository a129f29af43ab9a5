"""Present values against closed forms; rates of return against rates that were built in."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.errors import InputError
from engiagent.study.economics import (
    annuity_factor,
    annuity_payment,
    break_even_capital,
    internal_rates,
    levelised_cost,
    net_present_value,
)

RATES = st.floats(-0.5, 2.0)


def with_rates(*rates: Fraction) -> list[float]:
    """Return cash flows that have exactly these internal rates; the fractions keep floats exact."""
    flows = [Fraction(1)]
    for rate in rates:
        # (1 + i) - x with x = 1 + rate, in powers of v = 1/(1 + i): c_0 + c_1 v.
        grown = [Fraction(0)] * (len(flows) + 1)
        for k, value in enumerate(flows):
            grown[k] -= value
            grown[k + 1] += value * (1 + rate)
        flows = grown
    return [float(value) for value in flows]


@given(RATES, st.integers(0, 60))
def test_an_annuity_is_the_sum_of_its_payments(rate: float, years: int) -> None:
    flows = [0.0] + [1.0] * years
    assert annuity_factor(rate, years) == pytest.approx(net_present_value(rate, flows), rel=1e-9)


def test_known_values() -> None:
    assert annuity_factor(0.0, 20) == 20
    assert annuity_factor(1e-12, 20) == pytest.approx(20 * (1 - 10.5e-12), rel=1e-14)
    assert annuity_payment(200_000, 0.075 / 12, 180) == pytest.approx(1854.0247200054619, rel=1e-12)
    assert net_present_value(0.08, [-40_000, 5_000, 8_000, 12_000, 30_000]) == pytest.approx(
        3065.22266, abs=1e-4
    )
    # Equal years: the levelised cost is the annuity of the capital over a year's energy.
    costs, made = [1000.0] + [20.0] * 25, [0.0] + [1500.0] * 25
    expected = (annuity_payment(1000, 0.06, 25) + 20) / 1500
    assert levelised_cost(0.06, costs, made) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("flows", "rates"),
    [
        ([-150_000, 15_000, 25_000, 35_000, 45_000, 60_000], [0.05243288885]),
        ([-100, 0, 0, 74], [0.74 ** (1 / 3) - 1]),
        ([-100, 230, -132], [0.1, 0.2]),
        ([-100, 220, -121], [0.1]),  # a double root
        ([100, -150, 100], []),  # worth something at every rate
        ([5.0, 1.0], []),
        ([0.0, -100, 0.0, 121, 0.0], [0.1]),
        ([-1, 1e-9], [1e-9 - 1]),
        ([-1e-6, 1e6], [1e12 - 1]),
    ],
)
def test_rates_of_return(flows: list[float], rates: list[float]) -> None:
    found = internal_rates(flows)
    assert found.rates == pytest.approx(rates, rel=1e-6)
    assert found.is_unique == (len(rates) == 1)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-14, 64), min_size=1, max_size=6))
def test_no_rate_is_missed(numerators: list[int]) -> None:
    rates = [Fraction(n, 16) for n in numerators]
    found = internal_rates(with_rates(*rates))
    assert found.rates == pytest.approx(sorted({float(rate) for rate in rates}), abs=1e-12)
    assert found.sign_changes >= len(found.rates)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30))
def test_the_value_changes_its_sign_only_at_rates(flows: list[int]) -> None:
    if not any(flows):
        return
    found = internal_rates(flows)
    grid = [Fraction(k, 64) for k in range(1, 513)]
    values = [sum(c * v**k for k, c in enumerate(flows)) for v in grid]
    signs = [value > 0 for value in values if value]
    changes = sum(a != b for a, b in itertools.pairwise(signs))
    assert changes <= sum(1 / (1 + rate) < 8.001 for rate in found.rates) <= found.sign_changes


def test_several_rates_are_told() -> None:
    with pytest.raises(InputError, match=r"2 times and have 2 internal rates .* 0\.1, 0\.2"):
        _ = internal_rates([-100, 230, -132]).rate
    with pytest.raises(InputError, match="no internal rate"):
        _ = internal_rates([100, 1]).rate


@given(
    st.lists(st.floats(1, 1e6), min_size=1, max_size=20),
    st.floats(0.01, 0.5),
    st.integers(1, 30),
    st.floats(0, 0.05),
    st.floats(0, 0.3),
)
@settings(deadline=None, max_examples=60)
def test_the_break_even_capital_earns_the_target(
    earnings: list[float], target: float, years: int, fade: float, residual: float
) -> None:
    found = break_even_capital(earnings, target, years, fade=fade, residual=residual)
    assert found.rates.rate == pytest.approx(target, rel=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: annuity_factor(-1.0, 3),
        lambda: annuity_factor(float("nan"), 3),
        lambda: annuity_payment(100, 0.1, 0),
        lambda: net_present_value(0.1, [1.0, float("nan")]),
        lambda: net_present_value(0.1, []),
        lambda: levelised_cost(0.1, [1.0, 1.0], [0.0, 0.0]),
        lambda: levelised_cost(0.1, [1.0], [0.0, 1.0]),
        lambda: internal_rates([0.0, 0.0]),
        lambda: break_even_capital([1.0], 0.1, 0),
        lambda: break_even_capital([1.0], 0.1, 3, fade=1.0),
        lambda: break_even_capital([1.0], 0.1, 3, residual=float("nan")),
    ],
)
def test_numbers_out_of_range_are_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError):
        wrong()
