"""Second routes to several heat capacities: linprog in the powers alone, by unit steps."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

PROBLEMS = Path(__file__).parents[2] / "problems" / "thermal"
Array = NDArray[np.float64]


def column(problem: str, file: str, name: str) -> Array:
    """Return one column of a data file."""
    with (PROBLEMS / problem / file).open(encoding="utf-8", newline="") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def superpose(run: Callable[[Array], Array], size: int) -> tuple[Array, Array]:
    """Return what an affine simulation gives without inputs, and its change by each of them."""
    free = run(np.zeros(size))
    return free, np.stack([run(row) - free for row in np.eye(size)], axis=-1)


def within(free: Array, matrix: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return rows and right sides of ``low <= free + matrix @ x <= high``; infinite ones go."""
    rows, sides = np.vstack([matrix, -matrix]), np.concatenate([high - free, free - low])
    return rows[np.isfinite(sides)], sides[np.isfinite(sides)]


def slow_floor_house() -> float:
    """Return the bill of two days [EUR]."""
    outdoor = column("slow_floor_house", "weather.csv", "outdoor [degC]")
    gains = column("slow_floor_house", "weather.csv", "sun [W]") / 1000 + 0.4

    def run(heat: Array) -> Array:
        screed, room = np.full(193, 25.0), np.full(193, 20.8)
        for k in range(192):
            down = (screed[k] - room[k]) / 1.1
            screed[k + 1] = screed[k] + 0.25 / 16 * (heat[k] - down)
            out = (outdoor[k] - room[k]) / 5.6
            room[k + 1] = room[k] + 0.25 / 3.4 * (down + out + gains[k])
        return np.concatenate([screed, room])

    free, matrix = superpose(run, 192)
    clock = np.arange(193) / 4 % 24
    low = np.where((clock >= 6) & (clock <= 22), 20.0, 18.5)
    least = np.concatenate([np.full(192, -np.inf), [25.0], low])
    rows, sides = within(free, matrix, least, np.repeat([29.0, 23.5], 193))
    night = (clock[:-1] >= 22) | (clock[:-1] < 6)
    cost = np.where(night, 0.213, 0.358) * 0.25 / (4.1 + 0.075 * (outdoor - 7))
    return float(linprog(cost, A_ub=rows, b_ub=sides, bounds=(0, 7)).fun)


def four_rooms_one_boiler() -> float:
    """Return the cost of the gas [GBP]."""
    name = "four_rooms_one_boiler"
    keys = ("capacity [kWh/K]", "outside [W/K]", "people [kW]", "midnight [degC]", "radiator [kW]")
    capacity, leak, people, midnight, radiator = (column(name, "rooms.csv", key) for key in keys)
    outdoor = column(name, "outside.csv", "outdoor [degC]")
    begin, finish = column(name, "use.csv", "from"), column(name, "use.csv", "to")
    order = ["Nursery", "Reading", "Music", "Corridor"]
    flow = -np.diag(leak)
    with (PROBLEMS / name / "walls.csv").open(encoding="utf-8", newline="") as lines:
        for wall in csv.DictReader(lines):
            ends = np.zeros(4)
            ends[[order.index(wall["a"]), order.index(wall["b"])]] = 1, -1
            flow -= float(wall["conductance [W/K]"]) * np.outer(ends, ends)

    def run(heat: Array) -> Array:
        rooms = np.tile(midnight, (49, 1))
        for k in range(48):
            used = (begin <= k / 2) & (k / 2 < finish)
            given = (flow @ rooms[k] + leak * outdoor[k]) / 1000 + people * used
            rooms[k + 1] = rooms[k] + 0.5 * (given + heat.reshape(48, 4)[k]) / capacity
        return rooms.ravel()

    free, matrix = superpose(run, 192)
    mark = np.arange(49)[:, None] / 2
    low = np.where((mark >= begin) & (mark <= finish), 19.5, 12.0).ravel()
    rows, sides = within(free, matrix, low, np.full(196, 23.0))
    rows = np.vstack([rows, np.kron(np.eye(48), np.ones(4))])
    sides = np.concatenate([sides, np.full(48, 13.5)])
    limits = np.column_stack([np.zeros(192), np.tile(radiator, 48)])
    cost = np.full(192, 0.079 / 0.94 * 0.5)
    return float(linprog(cost, A_ub=rows, b_ub=sides, bounds=limits).fun)


OUTSIDE = "7 6 6 5 5 5 6 8 10 13 15 17 18 19 20 20 19 18 16 14 12 10 9 8"
SUN = "0 0 0 0 0 0 1 4 8 13 17 19 18 15 11 7 4 2 0 0 0 0 0 0"


def iso_zone_with_blinds() -> float:
    """Return the least primary energy [kWh], by solving the balances of each hour."""
    outside, sun = np.array(OUTSIDE.split(), float), np.array(SUN.split(), float)
    hour = np.arange(24)
    day = (hour >= 8) & (hour < 18)
    inner = np.where(day, 5.5, 0.8)
    # unknowns: air, surfaces, mean of the mass; the mass gains twice the way to its mean
    system = np.array(
        [[0.21 + 3.1, -3.1, 0.0], [-3.1, 3.1 + 0.24 + 9.4, -9.4], [0.0, -9.4, 92 + 9.4 + 0.13]]
    )

    def run(given: Array) -> Array:
        net, let_in = given[:24] - given[24:48], given[48:] * sun
        mass, air = 20.5, np.zeros(25)
        for k in range(24):
            right = [
                0.21 * outside[k] + inner[k] / 2 + net[k],
                0.24 * outside[k] + inner[k] / 4 + 0.3 * let_in[k],
                92 * mass + 0.13 * outside[k] + inner[k] / 4 + 0.7 * let_in[k],
            ]
            air[k], _, mean = np.linalg.solve(system, right)
            mass = 2 * mean - mass
        air[24] = mass
        return air

    free, matrix = superpose(run, 72)
    low = np.append(np.where(day, 20.0, 16.0), 20.0)
    rows, sides = within(free, matrix, low, np.append(np.where(day, 25.0, 28.0), 21.0))
    cost = np.concatenate([np.full(24, 0.7), np.full(24, 0.6), -1.8 * 1.6 * day])
    limits = np.column_stack([np.repeat([0, 0, 0.12], 24), np.repeat([20, 15, 1], 24)])
    found = linprog(cost, A_ub=rows, b_ub=sides, bounds=limits)
    return float(found.fun + 1.8 * 1.6 * day.sum())


def courthouse_demand_charge() -> float:
    """Return energy and demand charge [USD], in kW of heat and °F; the last column is the peak."""
    name = "courthouse_demand_charge"
    ton = 3.51685284206667
    keys = ("outdoor_f", "court_tons", "office_tons")
    outdoor, *loads = (column(name, "loads.csv", key) for key in keys)
    load = np.stack(loads, axis=-1) * ton
    capacity, leak = np.array([6.7, 8.4]), np.array([0.39, 0.56])

    def run(cold: Array) -> Array:
        rooms = np.tile([75.0, 76.0], (65, 1))
        for k in range(64):
            across = 0.18 * (rooms[k, ::-1] - rooms[k])
            given = leak * (outdoor[k] - rooms[k]) + across + load[k] - cold.reshape(64, 2)[k]
            rooms[k + 1] = rooms[k] + 0.25 * given / capacity
        return rooms.ravel()

    free, matrix = superpose(run, 128)
    mark = np.repeat(6 + np.arange(65) / 4, 2)
    high = np.where((mark >= 8) & (mark <= 18), 75.5, 80.0)
    rows, sides = within(free, matrix, np.full(130, 69.0), high)
    both = np.kron(np.eye(64), np.ones(2))
    rows = np.vstack([np.pad(rows, ((0, 0), (0, 1))), np.pad(both, ((0, 0), (0, 1)))])
    rows = np.vstack([rows, np.column_stack([both, np.full(64, -1.0)])])
    sides = np.concatenate([sides, np.full(64, 18 * ton), np.zeros(64)])
    cost = np.append(np.full(128, 0.092 * 0.25), 17.8) * 1.15 / ton
    limits = [(0, 14 * ton)] * 128 + [(0, None)]
    return float(linprog(cost, A_ub=rows, b_ub=sides, bounds=limits).fun)


def payroll_office_month() -> float:
    """Return bill and complaints [USD]; columns are heat, temperatures, complaints, tiers, peak."""
    name, hours = "payroll_office_month", 672
    outdoor, gains, staffed = (
        column(name, "february.csv", c) for c in ("outdoor [degF]", "gains [kBTU/h]", "staffed")
    )
    known = (0.3 * outdoor + gains * 1.05505585262 / 3.6) / 15
    known[0] += (1 - 0.3 / 15) * 66
    unit, void = sparse.eye_array(hours), sparse.coo_array((hours, hours))
    steps = unit - (1 - 0.3 / 15) * sparse.eye_array(hours, k=-1)
    tiers = sparse.coo_array(-np.array([[1.0, 1.0, 0.0]]))
    sums = sparse.hstack([np.ones((1, hours)), sparse.coo_array((1, 2 * hours)), tiers])
    equal = sparse.vstack(
        [sparse.hstack([-unit / 15, steps, void, sparse.coo_array((hours, 3))]), sums]
    )
    wish = sparse.hstack([void, -unit, -unit, sparse.coo_array((hours, 3))]).tocsr()[staffed > 0]
    peak = np.zeros((hours, 3))
    peak[:, 2] = -1
    rows = sparse.vstack([wish, sparse.hstack([unit, void, void, peak])])
    found = linprog(
        np.concatenate([np.zeros(2 * hours), np.full(hours, 1.3), [0.094, 0.161, 9.6]]),
        A_ub=rows,
        b_ub=np.concatenate([np.full(wish.shape[0], -69.0), np.zeros(hours)]),
        A_eq=equal,
        b_eq=np.append(known, 0.0),
        bounds=[(0, 32)] * hours
        + [(55, 78)] * hours
        + [(0, None)] * hours
        + [(0, 2600), (0, None), (0, None)],
        method="highs",
    )
    return float(found.fun)
