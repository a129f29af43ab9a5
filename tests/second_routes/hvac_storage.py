"""Second routes to plants with a store of cold or ice: linear programmes of their own."""

import csv
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.optimize import linprog

Vector = npt.NDArray[np.float64]
FOLDER = Path(__file__).parents[2] / "problems" / "hvac"


def column(problem: str, file: str, name: str) -> Vector:
    """Return a column of numbers of one of a problem's files."""
    with (FOLDER / problem / file).open(encoding="utf-8") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def numbers(text: str) -> Vector:
    """Return the numbers of a text."""
    return np.array(text.split(), dtype=np.float64)


def least(cost: cp.Expression, rules: list[cp.Constraint]) -> float:
    """Return the least cost."""
    problem = cp.Problem(cp.Minimize(cost), rules)
    problem.solve(solver=cp.HIGHS)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def concert_hall_ice() -> float:
    """Return the least bill [EUR], the ice as a running sum."""
    hall = numbers(
        "150 40 0 0 0 0 0 0 60 110 160 205 250 290 330 350 365 370 420 455 470 430 310 220"
    )
    price = numbers(
        "14.1 12.6 10.9 10.2 9.8 9.9 10.6 12.9 17.4 19.8 20.5 20.1 19.7 20.4 22.3 24.9 27.2 29.8"
        " 33.1 34.0 31.2 26.5 21.7 17.2"
    )
    share, melt = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)  # of the hour, kW
    ice = cp.hstack([np.array([120.0]), 120 + cp.cumsum(280 * share - melt)])
    electric = (hall - melt) / 4.4 + 280 * share / 3.2
    return least(
        price @ electric / 100 + 0.21 * cp.max(electric[9:]),
        [
            melt <= hall,
            melt <= 400,
            melt <= 400 / (0.35 * 1800) * ice[:-1],
            (hall - melt) / 420 + share <= 1,
            ice >= 0,
            ice <= 1800,
            ice[24] >= 120,
        ],
    )


def campus_tank_year() -> float:
    """Return the least cost of a year [USD], in tons; the plant is load plus what is stored."""
    load, wet, price = (
        column("campus_tank_year", "campus.csv", name)
        for name in ("load_tons", "wet_bulb_degF", "price")
    )
    hours = load.size
    worth = price * (0.51 + 0.0042 * (wet - 50)) / 1000
    # Columns: flow into the tank, then the content at the end of each hour.
    keep = scipy.sparse.eye_array(hours) - 0.9995 * scipy.sparse.eye_array(hours, k=-1)
    first = np.zeros(hours)
    first[0] = 3000 * 0.9995
    result = linprog(
        np.concatenate([worth, np.zeros(hours)]),
        A_eq=scipy.sparse.hstack([-scipy.sparse.eye_array(hours), keep]).tocsc(),
        b_eq=first,
        bounds=np.vstack(
            [
                np.column_stack([np.maximum(-load, -1100), np.minimum(1500 - load, 1100)]),
                np.tile([0.0, 9000.0], (hours - 1, 1)),
                [[3000.0, 9000.0]],
            ]
        ),
        method="highs",
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun + worth @ load)


def brewery_glycol_level() -> float:
    """Return the least cost [EUR] of twelve steps of two hours."""
    need = numbers("140 120 110 110 130 190 310 420 460 380 290 220")
    price = np.repeat([0.112, 0.174], [3, 9])
    put, taken = cp.Variable(12, nonneg=True), cp.Variable(12, nonneg=True)
    cold = need + put - taken
    content = 310 + 2 * cp.cumsum(0.97 * put - taken)
    problem = cp.Problem(
        cp.Minimize(2 * (0.19 * price @ cold + 0.00031 * price @ cp.square(cold))),
        [
            put <= 160,
            taken <= 160,
            cold >= 60,
            cold <= 480,
            content >= 0,
            content <= 700,
            content[11] >= 310,
        ],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


def hotel_heat_recovery() -> float:
    """Return the least cost [CHF]: heat of the recovery machine and flow into the store decide."""
    hot = numbers("38 30 26 24 31 58 96 124 118 92 70 61 58 55 52 56 68 88 104 112 98 80 62 48")
    cold = numbers(
        "42 40 38 37 38 42 50 62 78 92 108 121 130 136 138 132 124 112 98 84 70 60 52 46"
    )
    price = np.full(24, 19.8)
    price[7:21] = 27.5
    heat, flow = cp.Variable(24, nonneg=True), cp.Variable(24)
    boiler, old = hot + flow - heat, cold - heat * (1 - 1 / 3.6)
    content = 90 + cp.cumsum(flow)
    cost = price @ (heat / 3.6 + old / 3.3) + 12.4 / 0.93 * cp.sum(boiler)
    return least(
        cost / 100,
        [
            heat <= 110,
            boiler >= 0,
            boiler <= 130,
            old >= 0,
            old <= 150,
            cp.abs(flow) <= 60,
            content >= 0,
            content <= 260,
            content[23] >= 90,
        ],
    )


def fair_cold_order() -> float:
    """Return the least expected cost [EUR], one block of variables for each weather."""
    loads = (
        (0.35, "620 740 880 960 1010 990 900 760"),
        (0.40, "790 980 1190 1380 1490 1470 1310 1080"),
        (0.25, "980 1260 1620 1930 2150 2140 1890 1510"),
    )
    order = cp.Variable(8, nonneg=True)
    cost, rules = 41 * cp.sum(order), [order <= 2500]
    for chance, load in loads:
        own, short, put, taken = (cp.Variable(8, nonneg=True) for _ in range(4))
        content = cp.cumsum(0.95 * put - taken)
        cost += chance * (215 / 3.2 * cp.sum(own) + 118 * cp.sum(short))
        rules += [order + own + short + taken - put >= numbers(load), own <= 600, short <= 700]
        rules += [put <= 450, taken <= 450, content >= 0, content <= 1400]
    return least(cost / 1000, rules)
