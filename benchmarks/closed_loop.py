"""Control in closed loop, on a house that is richer than the model of it.

The house has 13 capacities, a heated floor and a heat pump whose COP follows the weather. It is run
for 30 days under changing set points, a model of three capacities is identified from what was
recorded, and on the week after that economic MPC with this model is compared with thermostats under
five tariffs. All of it is done by the commands ``simulate``, ``identify`` and ``control``. do-mpc,
where it is installed, gets the same identified model, the same gain of a Kalman filter and the same
forecasts, and runs the same house.

Discomfort is counted against the comfort band, from which plans keep no margin; the estimate takes
the noise of process and sensor that was identified. Forecasts of weather are perfect. The
thermostats are the ``wide`` one, between both limits of comfort, and a ``narrow`` one half a kelvin
above the lower limit. ``bound`` is the least that any controller could cost who knew the house, its
state and all that comes, at the discomfort of the wide thermostat.

    python benchmarks/closed_loop.py --json
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from identification import STEP, weather

from engiagent.environment.environment import Environment
from engiagent.io.plainyaml import loads_yaml
from engiagent.models.buildings import HeatNetwork, Link, Node

Floats = npt.NDArray[np.float64]

LEARNT: Final = 30
"""Days of the record that are fitted."""
COMFORT: Final = (20.0, 22.0)
MODEL: Final = "4R3C"
POWER: Final = "2.4 kW"
RATIO: Final = "computing_time_ratio"
PENALTY: Final = 100.0
"""Of do-mpc for a limit that is not kept, far above any price of heat. [EUR/K]."""
SENSOR: Final = 0.03
"""Standard deviation of the record's noise. [K]."""
START: Final = np.datetime64("2026-01-05T00:00")
PER_DAY: Final = 24 * 60 // STEP
TARIFFS: Final = ("flat", "two_rates", "three_rates", "heat_pump", "dynamic")
NODES: Final = {"room": 0.15, "mass": 3.0, "screed": 2.0, "slab": 6.0}
LINKS: Final = {
    ("room", "mass"): 0.6,
    ("room", "outside"): 0.06,
    ("room", "screed"): 0.5,
    ("screed", "slab"): 0.15,
    ("slab", "outside"): 0.03,
}
"""Conductances. [kW/K]."""
SUNS: Final = {"room": 0.8, "mass": 1.2, "screed": 1.5}
RULES: Final = {
    "learn": {"00:00": (18.5, 19.5), "05:00": (21, 22), "10:00": (19, 20), "16:00": (21.5, 22.5)},
    "wide": {"00:00": COMFORT},
    "narrow": {"00:00": (20.0, 20.5)},
}
"""Thermostats by the time of the day. [degC]."""


def write_series(folder: Path, days: int) -> None:
    """Write weather, COP and the tariffs."""
    count = days * PER_DAY
    rng = np.random.default_rng(7)
    outside, sun = weather(rng, count)
    hour = np.arange(count) * STEP / 60
    # 45 % of Carnot's from the air outside to water of 35 degC, 5 K apart from each.
    cop = 0.45 * 308.15 / (45.0 - outside)
    clock = hour % 24
    daily = rng.normal(size=days).repeat(PER_DAY)
    bumps = np.exp(-(((clock - 8) / 2) ** 2)) + 1.3 * np.exp(-(((clock - 19) / 2.5) ** 2))
    columns = {
        "ambient [degC]": outside,
        "sun [kW/m2]": sun,
        "cop": cop,
        "flat [EUR/kWh]": np.full(count, 0.30),
        "two_rates [EUR/kWh]": np.where((clock >= 6) & (clock < 22), 0.34, 0.22),
        "three_rates [EUR/kWh]": np.select(
            [clock < 6, (clock >= 17) & (clock < 21)], [0.20, 0.40], 0.30
        ),
        # Made for heat pumps: cheap at night, after noon and late, dear in the early evening.
        "heat_pump [EUR/kWh]": np.select(
            [np.isin(clock // 1, (4, 5, 6, 13, 14, 15, 22, 23)), np.isin(clock // 1, (16, 17, 18))],
            [0.18, 0.42],
            0.29,
        ),
        "dynamic [EUR/kWh]": np.clip(
            0.20 + 0.14 * bumps - 60 * 0.001 * sun / 0.2 + 0.02 * daily, 0.05, None
        ),
    }
    stamps = [str(START + np.timedelta64(k * STEP, "m")) for k in range(count)]
    table = [",".join(f"{v[k]:.6g}" for v in columns.values()) for k in range(count)]
    rows = [f"{stamp},{row}" for stamp, row in zip(stamps, table, strict=True)]
    (folder / "weather.csv").write_text("\n".join([",".join(["time", *columns]), *rows]) + "\n")


def house() -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Return capacities [kWh/K] and conductances: plaster, brick and insulation of three walls."""
    nodes, links = dict(NODES), dict(LINKS)
    for part, size in (("north", 0.05), ("south", 0.05), ("roof", 0.04)):
        chain = ["room", *(f"{part}{k}" for k in range(3)), "outside"]
        nodes |= dict(zip(chain[1:-1], (0.4, 2.5, 0.15), strict=True))
        parts = zip(chain, chain[1:], (12.0, 6.0, 1.4, 9.0), strict=False)
        links |= {(one, other): size * g for one, other, g in parts}
    return nodes, links


def plant(
    title: str,
    begin: int,
    days: int,
    price: str,
    zones: Mapping[str, Any],
    band: tuple[float, float],
    zone: str = "screed",
) -> str:
    """Return a plant file from a day on: grid, heat pump, zones, comfort."""
    start = str(START + np.timedelta64(begin, "D"))
    must = f"{band[0]:g} degC <= room.temperature[t] <= {band[1]:g} degC"
    grid = {"model": "grid", "import_price": f"weather.csv#{price}"}
    pump = {"model": "heater", "zone": zone, "electric_power_max": POWER, "cop": "weather.csv#cop"}
    return json.dumps(
        {
            "title": title,
            "horizon": {"start": start, "step": f"{STEP} min", "days": days},
            "components": {"grid": grid, "pump": pump, **zones},
            "requirements": {"comfort": {"for": "t in T", "must": must}},
            "goal": {"minimize": "cost"},
        }
    )


def rich(first: Mapping[str, float]) -> dict[str, Any]:
    """Return the house as zones, with their temperatures at the start."""
    nodes, links = house()
    zones: dict[str, Any] = {}
    for name, capacity in nodes.items():
        zone: dict[str, Any] = {"model": "thermal_zone", "capacitance": f"{capacity} kWh/K"}
        zone["initial_temperature"] = f"{first.get(name, 18.0):.6f} degC"
        walls = {b: f"{1 / g:.9g} K/kW" for (a, b), g in links.items() if a == name and b in nodes}
        if walls:
            zone["neighbours"] = walls
        outer = links.get((name, "outside"))
        if outer:
            zone |= {
                "resistance": f"{1 / outer:.9g} K/kW",
                "ambient_temperature": "weather.csv#ambient",
            }
        if name in SUNS:
            zone["gains"] = f"weather.csv#sun * {SUNS[name]} m2"
        zones[name] = zone
    return zones


def engiagent(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a command in a folder and return its JSON object."""
    code = "import sys; from engiagent.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments, "--json", "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: steps that relaxed a limit
        raise SystemExit(f"engiagent {' '.join(arguments)}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def read(path: Path) -> dict[str, list[str]]:
    """Return a table by column, without units."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name.partition(" [")[0]: [row[name] for row in rows] for name in rows[0]}


def thermostat(path: Path, between: Mapping[str, tuple[float, float]]) -> None:
    """Write a file of rules: the heat pump on and off between two temperatures."""
    bands = {time: [f"{low} degC", f"{high} degC"] for time, (low, high) in between.items()}
    rule = {"thermostat": "zone.room.temperature", "between": bands, "on": POWER}
    path.write_text(json.dumps({"pump.electric_power": rule}))


def record(folder: Path, days: int) -> dict[str, float]:
    """Run the house and write what sensors measure; return the state when control begins."""
    (folder / "house.yaml").write_text(plant("House", 0, days, "flat", rich({}), COMFORT))
    thermostat(folder / "learn.yaml", RULES["learn"])
    engiagent(folder, "simulate", "house.yaml", "--controller", "learn.yaml", "--out", "learn")
    data, series = read(folder / "learn" / "data.csv"), read(folder / "weather.csv")
    room = np.array(data["zone.room.temperature"], dtype=float)
    room = room + SENSOR * np.random.default_rng(1).normal(size=room.size)
    rows = ["time,room [degC],heat [kW],ambient [degC],sun [kW/m2]"]
    columns = (data["time"], room, data["pump.heat"], series["ambient"], series["sun"])
    rows += [f"{a},{b:.3f},{c},{d},{e}" for a, b, c, d, e in zip(*columns, strict=False)]
    (folder / "measured.csv").write_text("\n".join(rows) + "\n")
    begin = LEARNT * PER_DAY
    return {node: float(data[f"zone.{node}.temperature"][begin]) for node in house()[0]}


def identified(folder: Path, days: int, template: str) -> dict[str, Any]:
    """Identify three capacities, of which the floor is heated, and write the plan of control."""
    (folder / "template.yaml").write_text(template)
    columns = ("--temperature", "room", "--heat", "heat", "--ambient", "ambient", "--solar", "sun")
    how = ("--model", MODEL, "--starts", "1", "--template", "template.yaml")
    share = f"{(days - LEARNT) / days:.9f}"
    return engiagent(
        folder, "identify", "measured.csv", *columns, *how, "--held-back", share, "--out", "plan"
    )


def closed(folder: Path, tariff: str, steps: int, first: Mapping[str, float], days: int) -> Any:
    """Return rows of MPC and of both thermostats under a tariff."""
    length = days - LEARNT
    text = plant("House", LEARNT, length, tariff, rich(first), COMFORT)
    (folder / f"{tariff}.yaml").write_text(text)
    plan = (folder / "plan" / "plant.yaml").read_text()
    (folder / "plan" / f"{tariff}.yaml").write_text(plan.replace("#flat", f"#{tariff}"))
    against = [f"--against={name}.yaml" for name in ("wide", "narrow")]
    house_file = ("--plant", f"{tariff}.yaml", "--signals", "signals.yaml")
    out = folder / f"loop-{tariff}"
    given = ("--steps", str(steps), "--force", "--out", out.name)
    loop = engiagent(folder, "control", f"plan/{tariff}.yaml", *house_file, *against, *given)
    files = {"MPC": "plant", **{f"thermostat, {n}": f"against-{n}" for n in ("wide", "narrow")}}
    rows = [judged(read(out / f"{file}.csv"), folder, tariff, tool) for tool, file in files.items()]
    rows[0] |= {
        "step_ms": 1e3 * loop["seconds"]["median"],
        "mean_ms": 6e4
        * STEP
        * next(found["value"] for found in loop["assessment"] if found["name"] == RATIO),
        "relaxed": len(loop["relaxed"]),
        "prediction": loop["prediction"][0],
    }
    return rows


def judged(data: Mapping[str, list[str]], folder: Path, tariff: str, tool: str) -> dict[str, Any]:
    """Return cost and discomfort of a record."""
    series = read(folder / "weather.csv")
    price = dict(zip(series["time"], map(float, series[tariff]), strict=True))
    room = np.array(data["zone.room.temperature"], dtype=float)
    power = np.array(data["grid.import"], dtype=float)
    paid = np.array([price[time[:16]] for time in data["time"]])
    outside = np.maximum(COMFORT[0] - room, 0.0), np.maximum(room - COMFORT[1], 0.0)
    return {
        "tariff": tariff,
        "tool": tool,
        "cost_eur": float(paid @ power) * STEP / 60,
        "energy_kwh": float(power.sum()) * STEP / 60,
        "too_cold_kh": float(outside[0].sum()) * STEP / 60,
        "too_warm_kh": float(outside[1].sum()) * STEP / 60,
    }


def model(folder: Path) -> tuple[Floats, Floats, Floats]:
    """Return transition, drive (ambient, heat, sun) and first temperatures of what was found."""
    zones = loads_yaml((folder / "plan" / "plant.yaml").read_text(), "plant.yaml")["components"]
    nodes = ("room", "wall", "floor")
    value = {n: {k: str(v).partition(" ")[0] for k, v in zones[n].items()} for n in nodes}
    ties = {(n, o): r for n in nodes for o, r in (zones[n].get("neighbours") or {}).items()}
    ties |= {(n, "outside"): zones[n]["resistance"] for n in nodes if "resistance" in zones[n]}
    network = HeatNetwork(
        nodes=tuple(Node(name=n, capacity=float(value[n]["capacitance"])) for n in nodes),
        links=tuple(
            Link(one=a, other=b, conductance=1 / float(r.partition(" ")[0]))
            for (a, b), r in ties.items()
        ),
        boundaries=("outside",),
    )
    step = network.discretise(STEP / 60)
    # Inputs are the boundary, then heat into each node: the sun warms the room, heating the floor.
    aperture = float(zones["room"]["gains"].partition("*")[2].split()[0])
    drive = np.column_stack((step.drive[:, 0], step.drive[:, 3], aperture * step.drive[:, 1]))
    first = np.array([float(value[n]["initial_temperature"]) for n in nodes])
    return step.transition, drive, first


def bound(folder: Path, tariff: str, steps: int, first: Mapping[str, float], most: float) -> Any:
    """Return the row of the least cost with all known ahead, at a discomfort of at most. [K h].

    The temperature of the room is linear in the power of all periods: one LP over all that the data
    have, whose days behind the steps keep the comfort.
    """
    from scipy.linalg import toeplitz
    from scipy.optimize import linprog

    nodes, links = house()
    network = HeatNetwork(
        nodes=tuple(Node(name=n, capacity=c) for n, c in nodes.items()),
        links=tuple(Link(one=a, other=b, conductance=g) for (a, b), g in links.items()),
        boundaries=("outside",),
    )
    step, series = network.discretise(STEP / 60), read(folder / "weather.csv")
    ahead = {
        n: np.array(series[n], dtype=float)[LEARNT * PER_DAY :]
        for n in ("ambient", "cop", "sun", tariff)
    }
    suns = np.array([SUNS.get(node, 0.0) for node in nodes])
    state, pulse = np.array([first[n] for n in nodes]), step.drive[:, 1 + [*nodes].index("screed")]
    free, response = [], []
    for outside, sun in zip(ahead["ambient"], ahead["sun"], strict=True):
        state = step.transition @ state + step.drive @ [outside, *(suns * sun)]
        free.append(state[0])
        response.append(pulse[0])
        pulse = step.transition @ pulse
    count, hours = len(free), STEP / 60
    # Rows are the ends of periods: before them what the first is like nobody can change.
    heated, unit = np.tril(toeplitz(response)) * ahead["cop"], np.eye(count)
    zero, counts = np.zeros((count, count)), hours * (np.arange(count) < steps - 1)
    spent = np.concatenate((np.zeros(count), counts, counts))
    rows = np.vstack((np.hstack((-heated, -unit, zero)), np.hstack((heated, zero, -unit)), spent))
    first_off = hours * max(first["room"] - COMFORT[1], COMFORT[0] - first["room"], 0.0)
    limits = (np.array(free) - COMFORT[0], COMFORT[1] - np.array(free), [most - first_off])
    short = np.where(np.arange(count) < steps - 1, 0.0, PENALTY)
    cost = np.concatenate((ahead[tariff] * hours, short, short))
    ends = [(0.0, float(POWER.split()[0]))] * count + [(0.0, None)] * (2 * count)
    power = linprog(cost, A_ub=rows, b_ub=np.concatenate(limits), bounds=ends).x[:steps]
    paid = power @ ahead[tariff][:steps] * hours
    return {
        "tariff": tariff,
        "tool": "bound",
        "cost_eur": float(paid),
        "energy_kwh": float(power.sum() * hours),
    }


def do_mpc(folder: Path, tariff: str, steps: int, noise: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of do-mpc with its default solver, IPOPT, on the same model."""
    import do_mpc as library

    a, b, first = model(folder)
    series = read(folder / "weather.csv")
    begin = LEARNT * PER_DAY
    ahead = {n: np.array(series[n], dtype=float)[begin:] for n in ("ambient", "cop", "sun", tariff)}
    low, high = COMFORT
    made = library.model.Model("discrete")
    made.set_variable("_x", "x", (3, 1))
    for name in ("power", "short"):
        made.set_variable("_u", name)
    for name in ("ambient", "cop", "sun", tariff, "counts"):
        made.set_variable("_tvp", name)

    def following() -> Any:
        heat = made.tvp["cop"] * made.u["power"]
        inputs = (made.tvp["ambient"], heat, made.tvp["sun"])
        return a @ made.x["x"] + sum(b[:, [k]] * inputs[k] for k in range(3))

    made.set_rhs("x", following())
    made.setup()
    mpc = library.controller.MPC(made)
    mpc.set_param(n_horizon=PER_DAY, t_step=STEP / 60, store_full_solution=False)
    mpc.settings.supress_ipopt_output()
    cost = made.tvp[tariff] * made.u["power"] * STEP / 60
    mpc.set_objective(mterm=0 * made.x["x"][0], lterm=cost + PENALTY * made.u["short"])
    mpc.set_rterm(power=0, short=0)
    mpc.bounds["lower", "_u", "power"], mpc.bounds["lower", "_u", "short"] = 0.0, 0.0
    mpc.bounds["upper", "_u", "power"] = float(POWER.split()[0])
    # The plan keeps limits at the beginnings of its periods, not at its end.
    room = following()[0] * made.tvp["counts"]
    mpc.set_nl_cons("cold", low * made.tvp["counts"] - room - made.u["short"], ub=0)
    mpc.set_nl_cons("warm", room - high * made.tvp["counts"] - made.u["short"], ub=0)
    template, now = mpc.get_tvp_template(), [0]

    def window(_: float) -> Any:
        for k in range(PER_DAY + 1):
            for name, values in ahead.items():
                template["_tvp", k, name] = values[min(now[0] + k, len(values) - 1)]
            template["_tvp", k, "counts"] = float(k < PER_DAY - 1)
        return template

    mpc.set_tvp_fun(window)
    mpc.setup()
    site = Environment.load(folder / f"{tariff}.yaml")
    site.initialize(60.0 * STEP)
    measured = site.reset()["zone.room.temperature"]
    state = np.concatenate(([measured], first[1:]))
    mpc.x0 = state
    mpc.set_initial_guess()
    gain = kalman(a, noise)
    rooms, powers, seconds = [], [], []
    for k in range(steps):
        now[0] = k
        begun = time.perf_counter()
        power = float(np.asarray(mpc.make_step(state.reshape(-1, 1))).reshape(-1)[0])
        seconds.append(time.perf_counter() - begun)
        rooms.append(measured)
        inputs = (ahead["ambient"][k], ahead["cop"][k] * power, ahead["sun"][k])
        seen = site.step({"pump.electric_power": power})
        powers.append(seen["grid.import"])
        predicted, measured = a @ state + b @ inputs, seen["zone.room.temperature"]
        state = predicted + gain * (measured - predicted[0])
    stamps = series["time"][begin : begin + steps]
    data: dict[str, Any] = {"time": stamps, "zone.room.temperature": rooms, "grid.import": powers}
    times = {"step_ms": 1e3 * float(np.median(seconds)), "mean_ms": 1e3 * float(np.mean(seconds))}
    return judged(data, folder, tariff, "do-mpc") | times


def kalman(transition: Floats, noise: Mapping[str, Any]) -> Floats:
    """Return the steady gain of the measured room on all three states."""
    from scipy.linalg import solve_discrete_are

    estimated = [noise["estimated"][f"zone.{n}.temperature"] for n in ("room", "wall", "floor")]
    added = np.diag([float(text.split()[0]) ** 2 for text in estimated])
    sensor = float(noise["deviation"].split()[0])
    first = np.array([[1.0], [0.0], [0.0]])
    spread = solve_discrete_are(transition.T, first, added, [[sensor**2]])
    return np.asarray(spread[:, 0] / (spread[0, 0] + sensor**2))


def main() -> None:
    """Record, identify, control; print a row for each tariff and controller."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--quick", action="store_true", help="one tariff, half a day")
    given = parser.parse_args()
    tariffs, steps = (TARIFFS[-1:], PER_DAY // 2) if given.quick else (TARIFFS, 7 * PER_DAY)
    days = LEARNT + (2 if given.quick else 8)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_series(folder, days)
        first = record(folder, days)
        text = plant("House", LEARNT, days - LEARNT, "flat", {}, COMFORT, "floor")
        found = identified(folder, days, text)
        noise = found["uncertainty"]
        for rule in ("wide", "narrow"):
            thermostat(folder / f"{rule}.yaml", RULES[rule])
        outputs: dict[str, Any] = {"grid.import": {"from": "grid.import", "mean": "yes"}}
        room = "zone.room.temperature"
        outputs[room] = {"from": room, "deviation": noise["deviation"]}
        inputs = {"pump.electric_power": "pump.electric_power"}
        signals = {"inputs": inputs, "outputs": outputs, "estimated": noise["estimated"]}
        (folder / "signals.yaml").write_text(json.dumps(signals))
        for tariff in tariffs:
            rows += closed(folder, tariff, steps, first, days)
            wide = next(r for r in rows[-3:] if r["tool"] == "thermostat, wide")
            most = wide["too_cold_kh"] + wide["too_warm_kh"]
            rows.append(bound(folder, tariff, steps, first, most))
            try:
                rows.append(do_mpc(folder, tariff, steps, noise))
            except ImportError as error:
                print(f"left out: do-mpc ({error.name} is not installed)", file=sys.stderr)
    for row in rows:
        ours = next(r for r in rows if (r["tariff"], r["tool"]) == (row["tariff"], "MPC"))
        row["mpc_over_it"] = ours["cost_eur"] / row["cost_eur"]
    if given.json:
        print(json.dumps({"rows": rows, "held_back": found["held_back"]}))
        return
    for row in rows:
        step = f"{row['step_ms']:7.1f} ms" if "step_ms" in row else ""
        off = " + ".join(f"{row[k]:.3f}" for k in ("too_cold_kh", "too_warm_kh") if k in row)
        off = f"{off} K h," if off else ""
        print(
            f"{row['tariff']:10} {row['tool']:19} {row['cost_eur']:8.3f} EUR "
            f"{row['energy_kwh']:7.1f} kWh {off} MPC over it {row['mpc_over_it']:.3f} {step}"
        )


if __name__ == "__main__":
    main()
