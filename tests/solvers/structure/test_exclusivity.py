"""Exclusive pairs solved with few binaries, against HiGHS with all of them."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engiagent.formulations.program import Program
from engiagent.solvers.exclusivity import find_exclusivity, solve_exclusive
from engiagent.solvers.linear import solve_here
from engiagent.solvers.result import SolveOptions
from tests.solvers.structure.instances import INF, Sheet


def exclusive_store(seed: int) -> Program:
    """Return a store that must not charge and discharge at once, often where both would pay."""
    random, sheet = np.random.default_rng(seed), Sheet()
    n = int(random.integers(10, 25))
    price = random.uniform(-60.0, 60.0, n)
    metered = random.random() < 0.5
    own = 0.0 if metered else price
    power = random.uniform(0.5, 1.5, 2)
    charge = sheet.columns(own, 0.0, power[0], n)
    discharge = sheet.columns(random.choice([0.0, 3.0]) - own, 0.0, INF, n)
    states = sheet.columns(0.0, random.choice([0.0, 0.2]), 3.0, n)
    keep, eta = random.choice([1.0, 0.98]), random.uniform(0.8, 0.98)
    start, extra = 1.0, random.random() < 0.2
    drain = sheet.columns(1.0, 0.0, 0.1, n) if extra else []
    for t in range(n):
        terms = {states[t]: 1.0, charge[t]: -eta, discharge[t]: 1 / eta}
        if drain:
            terms[drain[t]] = 1.0
        if t:
            terms[states[t - 1]] = -keep
        sheet.row(terms, 0.0 if t else start, 0.0 if t else start)
    if metered:
        load = random.uniform(0.0, 1.0, n)
        bought = sheet.columns(price, 0.0, 5.0, n)
        sold = sheet.columns(-(price - random.uniform(0.0, 5.0)), 0.0, random.choice([0.1, 5.0]), n)
        for t in range(n):
            terms = {bought[t]: 1.0, sold[t]: -1.0, charge[t]: -1.0, discharge[t]: 1.0}
            sheet.row(terms, load[t], load[t])
    first = len(sheet.cost)
    _forbid(random, sheet, charge, discharge, power)
    sense = "minimize"
    if random.random() < 0.3:
        sense, sheet.cost = "maximize", [-value for value in sheet.cost]
    program = sheet.program(sense, 1.5)
    whole = np.zeros(program.column_count, dtype=bool)
    whole[first:] = True
    return replace(program, integrality=whole)


def _forbid(
    random: np.random.Generator,
    sheet: Sheet,
    charge: list[int],
    discharge: list[int],
    power: np.ndarray,
) -> None:
    two, turned = random.random() < 0.5, random.choice([1.0, -2.0])
    for c, g in zip(charge, discharge, strict=True):
        rows = []
        b = sheet.column(0.0, 0.0, 1.0)
        if two:
            v = sheet.column(0.0, 0.0, 1.0)
            rows.append(({c: 1.0, b: -power[0]}, 0.0))
            rows.append(({g: 1.0, v: -power[1]}, 0.0))
            rows.append(({b: 1.0, v: 1.0}, 1.0))
        else:
            rows.append(({c: 1.0, b: power[0]}, power[0]))
            rows.append(({g: 1.0, b: -power[1]}, 0.0))
        for terms, high in rows:
            ends = sorted((-INF, turned * high)) if turned > 0 else [turned * high, INF]
            sheet.row({j: turned * value for j, value in terms.items()}, *ends)


def check(program: Program, gap: float) -> None:
    pairs = find_exclusivity(program)
    assert pairs is not None
    reference = solve_here(program, SolveOptions(gap=0.0))
    result = solve_exclusive(program, pairs, SolveOptions(gap=gap))
    assert result is not None
    assert reference.objective is not None
    assert result.objective is not None
    assert result.bound is not None
    assert result.x is not None
    scale = max(1.0, abs(reference.objective))
    assert abs(result.objective - reference.objective) <= (gap + 1e-8) * scale
    better = 1.0 if program.sense == "maximize" else -1.0
    assert better * (result.bound - reference.objective) >= -1e-8 * scale
    assert result.gap is not None
    assert result.gap <= max(gap, 1e-9)
    whole = result.x[program.integrality]
    assert np.array_equal(whole, np.round(whole))
    activity = program.activity_at(result.x)
    assert np.all(activity >= program.row_lower - 1e-8)
    assert np.all(activity <= program.row_upper + 1e-8)
    both = np.minimum(*result.x[pairs.columns])
    assert both.max() <= 1e-9


@given(st.integers(0, 2**31), st.sampled_from([0.0, 1e-6, 1e-3]))
def test_the_optimum_is_that_of_all_binaries(seed: int, gap: float) -> None:
    check(exclusive_store(seed), gap)
