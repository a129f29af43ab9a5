"""The tolerance of a row is made of the size of its own terms and of the largest of all rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.units import parse_unit
from engiagent.verify import values
from engiagent.verify.tolerances import TOLERANCES, floor_of, row_tolerance

KILOWATT = parse_unit("kW")
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=6)


@given(NUMBERS, st.one_of(st.none(), st.floats(1e-6, 10.0)))
def test_against_one_number_there_is_one_tolerance_for_each_row(
    numbers: list[float], stated: float | None
) -> None:
    value = values.variable(np.array(numbers), KILOWATT)
    limit = values.constant(np.array([5.0]), KILOWATT)
    sizes = [1000.0 * (abs(number) + 5.0) for number in numbers]
    absolute = stated
    if absolute is None:
        scale = TOLERANCES["of_scale"] * max(sizes, default=0.0)
        absolute = max(floor_of(KILOWATT), scale)
    found = row_tolerance(value, limit, stated)
    assert found.shape == (len(numbers),)
    wanted = [absolute + TOLERANCES["of_terms"] * size for size in sizes]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
