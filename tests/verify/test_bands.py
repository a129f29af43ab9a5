"""Rows as bands say what the same rows say as a sparse matrix, to the last bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engiagent.units.unit import parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.levels.bands import banded, bands_of, common_factor, tighten_band
from engiagent.verify.levels.forms import Columns
from engiagent.verify.levels.stated import ALIKE, _factor, _tighten
from engiagent.verify.levels.variables import Bounds
from engiagent.verify.sweeps import triplets
from engiagent.verify.values import BLOCK, Value

ONE = parse_unit("1")
SIZE = 5
NUMBERS = st.floats(-8.0, 8.0).map(lambda x: round(x, 2)).filter(lambda x: x != 0.0)
TERMS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 3),
        st.one_of(NUMBERS, st.lists(NUMBERS, min_size=SIZE, max_size=SIZE)),
    ),
    min_size=1,
    max_size=4,
)
"""Variable, first element and factor of each term."""


def point() -> tuple[Value, Value]:
    rng = np.random.default_rng(3)
    one, two = (values.variable(rng.normal(size=SIZE + 3), ONE) for _ in range(2))
    return one, two


def sum_of(variables: tuple[Value, Value], terms: list[tuple[int, int, object]]) -> Value:
    total = values.repeated(1.5, ONE, SIZE)
    for which, start, factor in terms:
        weight = np.broadcast_to(np.asarray(factor, dtype=np.float64), (SIZE,))
        part = arithmetic.gather(variables[which], slice(start, start + SIZE))
        total = arithmetic.add(total, arithmetic.multiply(values.constant(weight, ONE), part), -1.0)
    return total


@given(TERMS)
def test_bands_are_the_coefficients_that_the_sweep_finds(terms: list) -> None:  # type: ignore[type-arg]
    value = sum_of(point(), terms)
    bands = bands_of(value)
    assert bands is not None
    dense = {order: np.zeros((SIZE, SIZE + 3)) for order in triplets(value)}
    for order, (rows, places, factors) in triplets(value).items():
        np.add.at(dense[order], (rows, places), factors)
    for band in bands:
        rows = np.arange(SIZE)
        dense[band.order][rows, rows + band.start] -= np.broadcast_to(band.factors, (SIZE,))
    assert all(abs(rest).max() < 1e-12 for rest in dense.values())


@given(TERMS, TERMS, NUMBERS, st.booleans())
def test_bands_are_multiples_where_the_matrices_are(
    terms: list,  # type: ignore[type-arg]
    others: list,  # type: ignore[type-arg]
    scale: float,
    alike: bool,
) -> None:
    variables = point()
    one = sum_of(variables, terms)
    chosen = sum_of(variables, terms if alike else others)
    two = arithmetic.multiply(values.repeated(scale, ONE, SIZE), chosen)
    starts = {variables[0].order: 0, variables[1].order: SIZE + 3}
    columns = Columns(starts, [v.data for v in variables])
    first, second = (banded(value, columns.starts) for value in (one, two))
    if first is None or second is None:
        assert len({(which, start) for which, start, _ in terms + others}) < len(terms + others)
        return
    found = common_factor(first, second, columns.at, ALIKE)
    wanted = _factor(columns.form(one), columns.form(two))
    assert (found is None) == (wanted is None)
    if found is not None:
        assert (np.broadcast_to(found, (SIZE,)) == wanted).all()
    if alike:
        assert found is not None


@given(TERMS.map(lambda terms: terms[:1]), st.sampled_from(["<=", ">=", "=="]))
def test_bands_tighten_a_box_as_single_rows_do(terms: list, op: str) -> None:  # type: ignore[type-arg]
    variables = point()
    excess = sum_of(variables, terms)
    here = variables[terms[0][0]]
    (band,) = bands_of(excess) or []
    (part,) = triplets(excess).values()
    boxes = [
        Bounds(np.full(SIZE + 3, -1.0), np.full(SIZE + 3, 0.5), np.ones(SIZE + 3, dtype=bool))
        for _ in range(2)
    ]
    sides = excess, values.repeated(0.0, ONE, SIZE)
    tighten_band(boxes[0], op, sides, here.data, band)
    _tighten(boxes[1], op, excess, here.data, part)
    assert (boxes[0].lower == boxes[1].lower).all()
    assert (boxes[0].upper == boxes[1].upper).all()


def test_a_multiple_is_judged_on_every_block_of_rows() -> None:
    size = 2 * BLOCK + 7
    x = values.variable(np.linspace(0.0, 1.0, size), ONE)
    factors = np.full(size, 2.0)
    one, two = (arithmetic.multiply(values.constant(f, ONE), x) for f in (factors, 3.0 * factors))
    last = factors.copy()
    last[-1] = 2.5
    other = arithmetic.multiply(values.constant(last, ONE), arithmetic.add(x, x, 1.0))
    forms = [banded(value, {x.order: 0}) for value in (one, two, other)]
    assert forms[2] is None
    assert forms[0] is not None
    assert forms[1] is not None
    columns = Columns({x.order: 0}, [x.data])
    found = common_factor(forms[0], forms[1], columns.at, ALIKE)
    assert found is not None
    assert (found == 3.0).all()
    shifted = arithmetic.add(two, values.constant(last - 2.0, ONE), 1.0)
    moved = banded(shifted, {x.order: 0})
    assert moved is not None
    assert common_factor(forms[0], moved, columns.at, ALIKE) is None


def test_a_sum_over_rows_and_what_jumps_are_no_bands() -> None:
    x = values.variable(np.arange(4.0), ONE)
    rows = np.zeros(4, dtype=np.int64)
    assert bands_of(arithmetic.segment_sum(x, rows, 1)) is None
    assert bands_of(arithmetic.gather(x, np.array([2, 0]))) is None
    single = bands_of(arithmetic.gather(x, np.array([2])))
    assert single is not None
    assert [(band.order, band.start) for band in single] == [(x.order, 2)]
