"""Compiled passes against their twins in numpy, on chains and on what only looks like one."""

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.solvers.chain.local import Local, step_cost
from engiagent.solvers.chain.model import build_model
from engiagent.solvers.chain.proof import prove, reduced_costs
from engiagent.solvers.structure.chain import Kernel, find_chain
from engiagent.solvers.structure.entries import entries_of
from engiagent.solvers.structure.paths import order_rows
from tests.solvers.structure.instances import INF, storage

if importlib.util.find_spec("numba") is None:
    pytest.skip("numba is optional", allow_module_level=True)

Rng = np.random.Generator


@given(st.integers(0, 2**31))
def test_recognition_finds_the_same_parts(seed: int) -> None:
    program = storage(seed)
    plain, compiled = (find_chain(program, name) for name in ("plain", "numba"))
    assert plain is not None
    assert compiled is not None
    for name in ("couplers", "fixed", "chain_rows", "balance_rows", "states", "local", "alone"):
        assert np.array_equal(getattr(plain, name), getattr(compiled, name)), name
    assert len(plain.passes) == len(compiled.passes)
    for one, two in zip(plain.passes, compiled.passes, strict=True):
        assert np.array_equal(one.rows, two.rows)
        assert np.array_equal(one.columns, two.columns)


def _graph(random: Rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and columns of an odd graph: paths, pendants, rings, forks, double edges."""
    size = int(random.integers(2, 14))
    place = random.permutation(size) if random.random() < 0.5 else np.arange(size)
    edges = [(t, t + 1) for t in range(size - 1) if random.random() < 0.8]
    for _ in range(int(random.integers(0, 4))):
        one, two = random.integers(0, size, 2)
        edges.append((one, two))
    ends = np.sort(place[np.array(edges, dtype=np.int64).reshape(-1, 2)], axis=1)
    ends[random.random(len(ends)) < 0.1] = -1
    core = np.zeros(size, dtype=bool)
    core[ends[ends >= 0]] = True
    return core, ends[:, 0], ends[:, 1]


@given(st.integers(0, 2**31))
def test_odd_graphs_are_ordered_the_same_way(seed: int) -> None:
    core, first, last = _graph(np.random.default_rng(seed))
    plain = order_rows(core, first, last)
    # As the compiled ones take them.
    short: tuple[Any, Any] = first.astype(np.int32), last.astype(np.int32)
    compiled = order_rows(core, *short, compiled=True)
    assert (plain is None) == (compiled is None)
    if plain is not None and compiled is not None:
        for name in ("rows", "states", "pendants", "rings"):
            assert np.array_equal(getattr(plain, name), getattr(compiled, name)), name


@given(st.integers(0, 2**31))
def test_both_models_have_the_same_coefficients(seed: int) -> None:
    program = storage(seed)
    chain = find_chain(program)
    assert chain is not None
    plain, compiled = (build_model(program, chain, name) for name in ("plain", "numba"))
    used = plain.columns[plain.columns >= 0]
    for name in ("scale", "ratio", "turn"):
        assert np.array_equal(getattr(plain.rows, name), getattr(compiled.rows, name)), name
    for name in ("alpha", "beta"):
        one, two = getattr(plain.rows, name), getattr(compiled.rows, name)
        assert np.array_equal(one[used], two[used]), name
    rows = np.concatenate((chain.chain_rows, chain.balance_rows[chain.balance_rows >= 0]))
    assert np.allclose(plain.rows.constant[rows], compiled.rows.constant[rows], rtol=1e-13)


def _local(random: Rng, width: int, steps: int) -> Local:
    """Return columns of steps of every kind: ties, fixed columns, columns in no balance."""
    shape = width, steps
    cost = random.integers(-3, 4, shape) * random.choice([1.0, 0.37])
    alpha = random.choice([0.0, 0.0, 0.95, -1.25, 1.0], shape)
    beta = random.choice([0.0, 1.0, -1.0, 2.0], shape) * (random.random(steps) < 0.7)
    lower = random.choice([0.0, 0.0, -1.0], shape)
    upper = lower + random.choice([0.0, 1.0, 2.0, 0.5], shape)
    point = lower + random.choice([0.0, 0.3, 1.0], shape) * (upper - lower)
    return Local(cost, alpha, beta, lower, upper, (beta * point).sum(axis=0))


@given(st.integers(0, 2**31), st.integers(1, 6))
def test_walking_and_probing_find_the_same_step_costs(seed: int, width: int) -> None:
    from engiagent.solvers.chain.compiled_local import segments

    random, steps = np.random.default_rng(seed), 12
    local = _local(random, width, steps)
    probed = step_cost(local)
    assert probed is not None
    columns = np.arange(width * steps, dtype=np.int32).reshape(width, steps)
    flat = [
        np.ascontiguousarray(part).ravel()
        for part in (local.cost, local.lower, local.upper, local.alpha, local.beta)
    ]
    balances = np.where(local.beta.any(axis=0), 0, -1).astype(np.int32)
    starts, least, most = np.empty(steps + 1, np.int64), np.empty(steps), np.empty(steps)
    scaling = np.ones(steps), np.zeros(steps)
    stuck, room = steps, 4 * width * width - 1
    while stuck == steps:  # what it answers when the segments have too little room
        slopes, lengths = np.empty(room), np.empty(room)
        found = starts, least, most, slopes, lengths
        stuck = segments(columns, tuple(flat), balances, local.demand, scaling, *found)
        room *= 2
    assert stuck == -1
    assert room > 8 * width * width - 2
    assert np.allclose(least, probed.changes[0], atol=1e-12)
    assert np.allclose(most, probed.changes[-1], atol=1e-12)
    pieces = np.diff(probed.changes, axis=0)
    for price in (-4.1, -2.003, -0.71, -0.01, 0.003, 0.35, 1.01, 3.3):
        for t in range(steps):
            walked = slice(starts[t], starts[t + 1])
            below = lengths[walked][-slopes[walked] < price].sum()
            assert below == pytest.approx(pieces[probed.slopes[:, t] < price, t].sum(), abs=1e-12)
            assert (np.diff(slopes[walked]) <= 0).all()


@given(st.integers(0, 2**31))
def test_both_proofs_say_the_same(seed: int) -> None:
    program, random = storage(seed), np.random.default_rng(seed)
    entries = entries_of(program)
    low, high = np.maximum(program.column_lower, -9.0), np.minimum(program.column_upper, 9.0)
    x = low + random.choice([-0.1, 0.0, 0.5, 1.0], len(low)) * (high - low)
    free = np.isinf(program.row_lower) | np.isinf(program.row_upper)
    y = np.where(free & (random.random() < 0.8), 0.0, random.normal(size=len(free)))
    reduced = reduced_costs(program.cost, entries, y, "plain")
    assert np.allclose(reduced, reduced_costs(program.cost, entries, y, "numba"), atol=1e-12)
    endless = np.isinf(program.column_upper) & (random.random() < 0.8)
    reduced[endless] = np.maximum(reduced[endless], -1e-14)  # rounding, not a ray
    point = x, y, reduced
    one, two = (prove(program, entries, program.cost, point, name) for name in ("plain", "numba"))
    assert two.objective == pytest.approx(one.objective, rel=1e-12, abs=1e-12)
    assert two.bound == pytest.approx(one.bound, rel=1e-11, abs=1e-9)
    assert two.residual == pytest.approx(one.residual, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kernel", ["plain", "numba"])
@pytest.mark.parametrize("wrong", [np.nan, INF])
def test_what_is_no_number_proves_nothing(kernel: Kernel, wrong: float) -> None:
    program = storage(3)
    entries = entries_of(program)
    x, y = program.column_lower.copy(), np.zeros(program.row_count)
    reduced = program.cost.copy()
    x[1] = wrong
    with np.errstate(invalid="ignore"):
        proof = prove(program, entries, program.cost, (x, y, reduced), kernel)
    assert not (proof.gap <= 1e-9 and proof.residual <= 1e-9)
