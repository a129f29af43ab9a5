"""The tolerance of a row is made of its own terms and of what is declared for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.units.unit import parse_unit
from engiagent.verify import values
from engiagent.verify.tolerances import TOLERANCES, floor_of, row_tolerance
from tests.verify.small import document, judged, rule

KILOWATT = parse_unit("kW")
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=6)


@given(NUMBERS, st.one_of(st.none(), st.floats(1e-6, 10.0)), st.booleans())
def test_against_one_number_there_is_one_tolerance_for_each_row(
    numbers: list[float], stated: float | None, declares: bool
) -> None:
    value = values.variable(np.array(numbers), KILOWATT)
    limit = values.constant(np.array([5.0]), KILOWATT)
    reach = values.constant(np.full(len(numbers), 40.0), KILOWATT)
    sizes = [1000.0 * (abs(number) + 5.0) for number in numbers]
    floor = floor_of(KILOWATT)
    found = row_tolerance(value, limit, stated, (lambda: (reach, limit)) if declares else None)
    assert found.shape == (len(numbers),)
    wanted = []
    for size in sizes:
        scale = min(45_000.0, max(sizes)) if declares else size
        part = min(TOLERANCES["of_scale"] * scale, TOLERANCES["cap_of_floor"] * floor)
        absolute = max(floor, part) if stated is None else stated
        wanted.append(absolute + TOLERANCES["of_terms"] * size)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=5), st.integers(0, 4))
def test_no_row_is_judged_more_mildly_because_of_another(numbers: list[float], row: int) -> None:
    """A larger number in one row leaves the tolerance of every other row as it was, or smaller."""
    row %= len(numbers)
    larger = [*numbers[:row], 1e15, *numbers[row + 1 :]]
    limit = values.constant(np.array([5.0]), KILOWATT)
    before, after = (
        row_tolerance(values.variable(np.array(some), KILOWATT), limit, None)
        for some in (numbers, larger)
    )
    others = np.arange(len(numbers)) != row
    assert (after[others] <= before[others]).all()


@pytest.mark.parametrize(("below", "holds"), [(4.6e-6, True), (5e-3, False)])
def test_both_ends_of_a_chain_have_the_scale_of_their_quantity(below: float, holds: bool) -> None:
    # About 1e-9 of the content, lost to rounding over the steps of a year.
    energy = {"name": "e", "index": ["t in T"], "unit": "kWh", "quantity": "store.energy"}
    blueprint = document([energy], [rule("0 <= e[t] <= 4[MWh]")])
    found = judged(blueprint, {"e": [4000.0, 0.0, -below]})
    assert (found.violations == ()) == holds
