"""Plans of grids: strategies against one another, executions, published optima, second programs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from engiagent.environment.interface import quiet
from engiagent.tools.grid import documents
from tests.cli.asking import invoke
from tests.grid.test_feeders import call, refused

BAND = {"case": "ieee13", "power": 400, "high": 1.07}


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("hosted")
    return {
        strategy: call("grid_hosting_capacity", folder, strategy=strategy, **BAND)["results"][0]
        for strategy in ("L1", "L2", "Linf")
    }


def test_each_strategy_is_best_in_its_own_measure(hosted: dict[str, Any]) -> None:
    lost = {s: np.array([u["curtailed_kw"] for u in r["units"]]) for s, r in hosted.items()}
    measures: dict[str, Any] = {"L1": np.sum, "L2": lambda x: np.sum(x**2), "Linf": np.max}
    for strategy, measure in measures.items():
        own = measure(lost[strategy])
        assert own > 1
        assert own == pytest.approx(hosted[strategy]["objective"], rel=1e-6)
        assert all(own <= measure(other) * (1 + 1e-5) for other in lost.values())
    assert np.sum(lost["L1"] > 0.1) < np.sum(lost["L2"] > 0.1)  # sparse


def test_opendss_reproduces_the_plans_within_the_band(hosted: dict[str, Any]) -> None:
    for result in hosted.values():
        assert result["executed"]["reproduced"]
        assert result["executed"]["violations"] == []
        assert result["executed"]["highest_pu"] == pytest.approx(1.07, abs=2e-6)


def test_reactive_power_hosts_more_and_ratings_less(hosted: dict[str, Any], tmp_path: Path) -> None:
    plain = hosted["L1"]["hosted_kw"]
    more = call("grid_hosting_capacity", tmp_path, reactive=0.4, **BAND)["results"][0]
    less = call("grid_hosting_capacity", tmp_path, loading=0.8, **BAND)["results"][0]
    assert more["hosted_kw"] > plain + 50
    assert less["hosted_kw"] < plain
    assert less["executed"]["reproduced"]
    # Of branches without an impedance to speak of, the currents are not planned.
    names = {v["place"] for v in less["executed"]["violations"]}
    assert names <= {"transformer.sub", "transformer.reg1", "transformer.reg2", "transformer.reg3"}


def test_the_linear_method_is_near(hosted: dict[str, Any], tmp_path: Path) -> None:
    found = call("grid_hosting_capacity", tmp_path, method="linear", **BAND)["results"][0]
    assert found["hosted_kw"] == pytest.approx(hosted["L1"]["hosted_kw"], rel=0.05)
    assert found["executed"]["difference_pu"] < 0.02


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.07), (0.9, 1.0)])
def test_a_band_that_is_broken_before_is_named(tmp_path: Path, low: float, high: float) -> None:
    """Its power flow without units, of another tool, is what is named."""
    own = {"case": "ieee13", "low": low, "high": high}
    (worst, *others) = call("grid_violations", tmp_path, **own)["violations"]
    said = (
        f"{worst['kind']} at {worst['place']} before anything is hosted: {worst['value']:.4g} p.u."
    )
    said += f", limit {worst['limit']:.4g} p.u., and {len(others)} more; there is no plan"
    assert refused("grid_hosting_capacity", tmp_path, **own).startswith(said)


def test_the_linear_method_takes_a_balanced_feeder(tmp_path: Path) -> None:
    (tmp_path / "village.dss").write_text(VILLAGE)
    options = {"case": "village.dss", "available": ["mill=300"], "load": 0}
    found, other = (
        call("grid_hosting_capacity", tmp_path, method=method, **options)["results"][0]
        for method in ("linear", "nonlinear")
    )
    free = call("grid_hosting_capacity", tmp_path, loading=5, **options)["results"][0]
    assert free["hosted_kw"] == pytest.approx(other["hosted_kw"], rel=1e-6)
    # In closed form: the square of the voltage rises by 2 R p, from 1.02 to 1.05 squared.
    ohms = 0.01 * 0.4 + 0.206 * 0.7
    wanted = (1.05**2 - 1.02**2) * 0.4**2 / (2 * ohms) * 1e3
    assert found["hosted_kw"] == pytest.approx(wanted, rel=1e-3)
    assert found["hosted_kw"] == pytest.approx(other["hosted_kw"], rel=0.05)


def test_each_stamp_has_a_plan_of_its_own(tmp_path: Path) -> None:
    options = {"stamps": ["04:00", "18:00"], "file": "plan.csv"}
    results = call("grid_hosting_capacity", tmp_path, **BAND, **options)["results"]
    night, evening = (r["hosted_kw"] for r in results)
    assert night < evening  # less is drawn at night
    assert len((tmp_path / "plan.csv").read_text().splitlines()) == 1 + 2 * len(results[0]["units"])
    call("grid_map", tmp_path, case="ieee13", colour="curtailed", values="plan.csv", file="m.svg")


def test_a_feeder_that_keeps_its_bands_needs_no_slack(tmp_path: Path) -> None:
    found = call("grid_infeasibility", tmp_path, case="ieee34", low=0.8, high=1.1)
    assert found["feasible"]
    assert found["total_a"] == 0
    assert found["executed"]["reproduced"]


def test_slack_is_sparse_by_its_sum_and_reproduced(tmp_path: Path) -> None:
    options: dict[str, Any] = {"case": "ieee13", "load": 1.4, "low": 0.97, "high": 1.08}
    options["own_bands"] = ["611=0.99..1.02", "675=0.98..1.03", "652=0.985..1.05"]
    spread = call("grid_infeasibility", tmp_path, **options)
    sparse = call("grid_infeasibility", tmp_path, norm="L1", buses=2, **options)
    assert not sparse["feasible"]
    assert len(sparse["buses"]) == 2
    assert sparse["nodes_with_slack"] < spread["nodes_with_slack"]
    for found in (spread, sparse):
        assert found["executed"]["reproduced"]
        assert found["executed"]["violations"] == []


def test_a_large_feeder_is_taken_in_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = {"loading": 0.9, "own_bands": ["675=0.97..1.03"], **BAND}
    whole = call("grid_hosting_capacity", tmp_path, **options)["results"][0]
    monkeypatch.setattr(documents, "MOST_PAIRS", 2000)
    parted = call("grid_hosting_capacity", tmp_path, **options)["results"][0]
    assert parted["hosted_kw"] == pytest.approx(whole["hosted_kw"], rel=1e-6)
    assert parted["executed"]["reproduced"]


VILLAGE = """Clear
New Circuit.village basekv=20 pu=1.02 bus1=grid phases=3 MVAsc3=100000 MVAsc1=100000
New Transformer.ont phases=3 windings=2 buses=(grid, lv) conns=(delta, wye) kvs=(20, 0.4)
~ kvas=(400, 400) %Rs=(0.5,0.5) xhl=4
New Linecode.nayy nphases=3 r1=0.206 x1=0.08 r0=0.824 x0=0.32 c1=0 c0=0 units=km normamps=270
New Line.l1 bus1=lv bus2=farm linecode=nayy length=0.3 units=km
New Line.l2 bus1=farm bus2=mill linecode=nayy length=0.4 units=km
New Load.farm bus1=farm phases=3 kv=0.4 kw=60 pf=0.95 model=1
New Load.mill bus1=mill phases=3 kv=0.4 kw=40 pf=0.9 model=1
Set voltagebases=[20, 0.4]
Calcvoltagebases
"""


def test_slack_by_its_sum_is_the_least_of_any_angle(tmp_path: Path) -> None:
    (tmp_path / "village.dss").write_text(VILLAGE)
    found = call("grid_infeasibility", tmp_path, case="village.dss", low=0.95, norm="L1")

    def mill(slack: complex) -> float:  # the voltage with a slack current there. [p.u.]
        transformer = (0.01 + 0.04j) * 0.4  # all in ohms, of one phase
        first, second = (0.206 + 0.08j) * 0.3, (0.206 + 0.08j) * 0.4
        farm_kva, mill_kva = (
            (p + 1j * p * np.tan(np.arccos(f))) for p, f in ((60, 0.95), (40, 0.9))
        )
        nominal = 400 / np.sqrt(3)
        start = at_farm = at_mill = 1.02 * nominal + 0j
        for _ in range(60):
            to_mill = np.conj(mill_kva * 1e3 / 3 / at_mill) - slack
            whole = np.conj(farm_kva * 1e3 / 3 / at_farm) + to_mill
            at_farm = start - (transformer + first) * whole
            at_mill = at_farm - second * to_mill
        return float(abs(at_mill) / nominal)

    # A balanced feeder: the least current of a phase, over all angles, that lifts the mill enough.
    least = min(
        brentq(lambda size, way=way: mill(size * way) - 0.95, 0, 60)
        for way in np.exp(1j * np.deg2rad(np.arange(-70, 21, 1.0)))
    )
    assert found["total_a"] == pytest.approx(3 * least, rel=1e-3)
    assert set(found["buses"][0]["nodes"]) == {"mill.1", "mill.2", "mill.3"}
    assert found["executed"]["reproduced"]


def test_a_dispatch_costs_what_opendss_meters(tmp_path: Path) -> None:
    options: dict[str, Any] = {"case": "ieee13", "units": ["675=500", "634=300"], "high": 1.08}
    found = call("grid_der_dispatch", tmp_path, costs=["675=50", "634=150"], **options)
    power = {u["unit"]: u["power_kw"] for u in found["units"]}
    assert sum(power[f"675.{p}"] for p in "123") == pytest.approx(500, rel=1e-6)
    assert sum(power[f"634.{p}"] for p in "123") == pytest.approx(
        0, abs=1e-3
    )  # dearer than the grid
    paid = 0.05 * 500 + 0.1 * found["import_kw"]
    assert found["cost_eur_per_h"] == pytest.approx(paid, rel=1e-5)
    assert found["cost_eur_per_h"] < found["cost_without_eur_per_h"]
    assert found["executed"]["reproduced"]


# MATPOWER's published objectives. [$/h]
OPTIMA = {
    **{"case9": 5296.69, "case14": 8081.53, "case30": 576.89},
    **{"case39": 41864.18, "case57": 41737.79, "case118": 129660.69},
}


def test_costs_of_what_is_no_unit_are_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"case": "ieee13", "units": ["675=500"], "costs": ["634=90"]}
    assert "634, which has no unit" in refused("grid_der_dispatch", tmp_path, **options)


@pytest.mark.parametrize("case", OPTIMA)
def test_optimal_power_flow_has_the_published_objective(case: str, tmp_path: Path) -> None:
    found = call("grid_opf", tmp_path, case=case)
    assert found["cost"] == pytest.approx(OPTIMA[case], rel=1e-4)
    assert found["executed"]["voltage_pu"] < 1e-6
    assert found["executed"]["active_mw"] < 1e-4


def test_a_changed_case_agrees_with_pypower(tmp_path: Path) -> None:
    with quiet():
        from pypower.case9 import case9
        from pypower.ppoption import ppoption
        from pypower.rundcopf import rundcopf
        from pypower.runopf import runopf

    tables = case9()
    tables["bus"][:, 2:4] *= 1.1
    tables["gen"][1, 8] = 120
    tables["gencost"][0, 4:7] = 0.2, 5, 150
    tables["branch"][2, 10] = 0  # 5-6
    options: dict[str, Any] = {"loads": ["all=1.1x"], "limits": ["g2=120"], "outages": ["5-6"]}
    options |= {"case": "case9", "costs": ["g1=0.2 5 150"]}
    options_of = ppoption(VERBOSE=0, OUT_ALL=0)
    for formulation, program in (("ac", runopf), ("dc", rundcopf)):
        wanted = program(tables, options_of)
        found = call("grid_opf", tmp_path, formulation=formulation, **options)
        assert found["cost"] == pytest.approx(wanted["f"], rel=1e-5)
        active = [g["active_mw"] for g in found["generators"]]
        assert active == pytest.approx(list(wanted["gen"][:, 1]), abs=1e-2)


OWN = """function mpc = own
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [ % two buses
1 3 0 0 0 0 1 1 0 345 1 1.1 0.9; 2 1 90 30 0 0 1 1 0 345 1 1.1 0.9;
];
mpc.gen = [
1 0 0 300 -300 1 100 1 250 10 0 0 0 0 0 0 0 0 0 0 0;
];
mpc.branch = [
1 2 0 0.1 0 250 250 250 0 0 1 -360 360;
];
mpc.gencost = [
2 0 0 3 0 20 0;
];
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("1 2 0 0.1 0 250", "1, 2,0,0.1 , 0 250"),
        ("345 1 1.1 0.9; 2 1", "345 1 1.1 ...\n0.9 % of the first\n 2 1"),
    ],
)
def test_a_matpower_file_is_read(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "own.m").write_text(OWN.replace(old, new))
    assert call("grid_opf", tmp_path, case="own.m")["cost"] == pytest.approx(1800, rel=1e-6)


def test_a_matpower_file_without_costs_takes_them_from_the_call(tmp_path: Path) -> None:
    (tmp_path / "own.m").write_text(OWN[: OWN.index("mpc.gencost")])
    options = {"case": "own.m", "formulation": "dc"}
    assert call("grid_opf", tmp_path, **options)["cost"] == 0
    assert call("grid_opf", tmp_path, costs=["g1=30 0"], **options)["cost"] == pytest.approx(2700)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (OWN, "hello", "no MATPOWER case; expected mpc.baseMVA"),
        ("1 3 0", "1 2 0", "no reference bus"),
        ("1 2 0 0.1", "1 9 0 0.1", "branch 1-9 is at bus 9, which is not there"),
        ("1 0 0 300", "7 0 0 300", "generator g1 is at bus 7, which is not there"),
        ("90 30 0", "90,1 30 0", "own.m:5: a row of mpc.bus cannot be read; found 2 1 90,1 30"),
        ("0.1 0 250", "1/10 0 250", "own.m:11: a row of mpc.branch cannot be read"),
        ("2 0 0 3 0 20 0;\n];", "];\nmpc.bus(:, 3) = 2 * mpc.bus(:, 3);", "are not run"),
    ],
)
def test_wrong_matpower_files_are_refused(old: str, new: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "own.m").write_text(OWN.replace(old, new))
    assert part in refused("grid_opf", tmp_path, case="own.m", formulation="dc")


def test_a_dispatch_that_cannot_be_is_said_with_its_limits(tmp_path: Path) -> None:
    (tmp_path / "own.m").write_text(OWN)  # 250 MW can be made, and can flow
    said = refused("grid_opf", tmp_path, case="own.m", formulation="dc", loads=["2=300"])
    assert "cannot hold together: balance (2); highest flow of a branch (1-2)" in said
    options = {"formulation": "dc", "loads": ["2=300"], "limits": ["1-2=400"]}
    assert "highest active power (g1)" in refused("grid_opf", tmp_path, case="own.m", **options)
    less = {"formulation": "dc", "limits": ["g2=100", "g3=100"], "outages": ["g1"]}
    assert "highest active power (g2, g3)" in refused("grid_opf", tmp_path, case="case9", **less)
    arguments = ["case=own.m", "formulation=dc", "loads=2=300", "--session", tmp_path]
    assert invoke("tool", "grid_opf", *arguments).exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"case": "case10"}, "there is no case"),
        ({"case": "case9", "outages": ["1-9"]}, "no branch"),
        ({"case": "case9", "limits": ["4-5=0"]}, "expected MVA above 0, or outages=4-5"),
        ({"case": "case9", "outages": ["g9"]}, "g1 to g3"),
        ({"case": "case9", "loads": ["5=heavy"]}, "cannot be read"),
        ({"case": "case9", "loads": ["5=1.2.3"]}, "cannot be read"),
        ({"case": "case9", "outages": ["g1", "g2", "g3"]}, "no generator is in service"),
        ({"case": "case9", "loads": ["all=9x"]}, "there is no plan"),
    ],
)
def test_wrong_cases_say_what_is_wrong(arguments: Any, part: str, tmp_path: Path) -> None:
    assert part in refused("grid_opf", tmp_path, time_limit=15, **arguments)


FIVE = """mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
10 3 0 0 0 0 1 1 0 230 1 1.06 0.94; 22 2 60 10 0 0 1 1 0 230 1 1.06 0.94;
35 1 100 35 0 19 1 1 0 230 1 1.06 0.94; 47 1 80 25 2 0 1 1 0 230 1 1.06 0.94;
51 2 40 10 0 0 1 1 0 230 1 1.06 0.94;
];
mpc.gen = [
10 100 0 150 -150 1 100 1 250 20 0 0 0 0 0 0 0 0 0 0 0;
22 50 0 60 -60 1 100 1 120 10 0 0 0 0 0 0 0 0 0 0 0;
51 50 0 60 -60 1 100 1 100 10 0 0 0 0 0 0 0 0 0 0 0;
51 -40 -20 0 -25 1 100 1 0 -50 0 0 0 0 0 0 0 0 0 0 0;
];
mpc.branch = [
10 22 0.02 0.06 0.06 130 90 90 0 0 1 -360 360;
10 35 0.08 0.24 0.05 70 70 70 0 0 1 0 0;
22 35 0.06 0.18 0.04 90 60 60 0.98 -3 1 -360 360;
22 47 0.06 0.18 0.04 0 0 0 0 0 1 -360 360;
22 51 0.04 0.12 0.03 40 40 40 0 0 1 -360 360;
51 22 0.05 0.13 0.03 40 40 40 0 0 1 -5 5;
35 47 0.01 0.03 0.02 80 80 80 0 0 1 -360 360;
47 51 0.08 0.24 0.05 50 50 50 0 0 1 -360 360;
];
mpc.gencost = [
2 0 0 3 0.02 20 100;
2 0 0 3 0.03 28 50;
2 0 0 2 35 10 0;
2 0 0 3 0 30 0;
];
"""
ANGLE = (
    "35 47 0.01 0.03 0.02 80 80 80 0 0 1 -360 360",
    "35 47 0.01 0.03 0.02 80 80 80 0 0 1 -0.1 0.1",
)
CURVE = ("1 120 10 0 0 0 0 0 0", "1 120 10 10 100 -60 60 -5 5")
SERVED = ("2 0 0 3 0 30 0", "2 0 0 3 0 60 0")


def _pypower(text: str, formulation: str, out: int | None = None) -> Any:
    with quiet():
        from pypower.ppoption import ppoption
        from pypower.rundcopf import rundcopf
        from pypower.runopf import runopf

    tables: dict[str, Any] = {"version": "2", "baseMVA": 100.0}
    for name in ("bus", "gen", "branch", "gencost"):
        rows = text.partition(f"mpc.{name} = [")[2].partition("]")[0].split(";")
        tables[name] = np.array([[float(x) for x in row.split()] for row in rows if row.strip()])
    if out is not None:
        tables["branch"][out, 10] = 0
    run = rundcopf if formulation == "dc" else runopf
    return run(tables, ppoption(VERBOSE=0, OUT_ALL=0))


@pytest.mark.parametrize("formulation", ["ac", "dc"])
@pytest.mark.parametrize("changes", [(), (ANGLE,), (CURVE,), (SERVED,)])
def test_all_limits_of_a_matpower_file_count(
    changes: Any, formulation: str, tmp_path: Path
) -> None:
    text = FIVE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "five.m").write_text(text)
    found = call("grid_opf", tmp_path, case="five.m", formulation=formulation)
    wanted = _pypower(text, formulation)
    assert found["cost"] == pytest.approx(wanted["f"], rel=2e-6)
    active = [g["active_mw"] for g in found["generators"]]
    assert active == pytest.approx(list(wanted["gen"][:, 1]), abs=2e-2)
    if formulation == "ac":
        load = found["generators"][3]  # the power factor of a dispatchable load is constant
        assert load["reactive_mvar"] == pytest.approx(load["active_mw"] / 2, abs=1e-5)
        assert (load["active_mw"] < -49) == (SERVED in changes)
    if ANGLE in changes:
        angles = {b["bus"]: b["angle_deg"] for b in found["buses"]}
        assert abs(angles["35"] - angles["47"]) <= 0.1 + 1e-6


def test_reactive_power_has_its_costs(tmp_path: Path) -> None:
    more = "2 0 0 3 0 30 0;\n2 0 0 3 0 0 0;\n2 0 0 3 0.5 5 0;\n2 0 0 3 0.5 5 0;\n2 0 0 3 0 0 0;"
    (tmp_path / "five.m").write_text(FIVE.replace("2 0 0 3 0 30 0;", more))
    found = call("grid_opf", tmp_path, case="five.m")
    best = np.array([g["reactive_mvar"] for g in found["generators"]])[1:3]

    def cost(reactive: Any) -> float:  # PYPOWER's with these powers, and theirs; it has none itself
        text = FIVE
        for old, q in zip(("22 50 0 60 -60", "51 50 0 60 -60"), reactive, strict=True):
            text = text.replace(old, f"{old[:5]} {q:.9f} {q:.9f} {q - 1e-6:.9f}")
        return float(_pypower(text, "ac")["f"] + np.sum(0.5 * reactive**2 + 5 * reactive))

    assert cost(best) == pytest.approx(found["cost"], rel=1e-5)
    for step in np.array([[2, 0], [-2, 0], [0, 2], [0, -2]]):
        assert cost(best + step) > found["cost"]


def test_one_circuit_of_parallel_branches_can_be_out(tmp_path: Path) -> None:
    (tmp_path / "five.m").write_text(FIVE)
    found = call("grid_opf", tmp_path, case="five.m", formulation="dc", outages=["22-51#2"])
    assert found["cost"] == pytest.approx(_pypower(FIVE, "dc", out=5)["f"], rel=1e-6)
    names = [branch["name"] for branch in found["branches"]]
    assert "22-51#1" in names
    assert "51-22#2" not in names
    both = call("grid_opf", tmp_path, case="five.m", formulation="dc", outages=["22-51"])
    assert len(both["branches"]) == len(names) - 1


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("0 0 1 -5 5", "0 0 1 -5 100", "five.m: the angle limit of 51-22#2 is above 90 degrees"),
        ("1 100 1 0 -50", "1 100 1 0 -50", "expected a factor, as 1.2x"),
        ("-20 0 -25", "-20 9 -25", "the dispatchable load g4 has no single power factor"),
        ("mpc.gencost", "mpc.dcline = [\n];\nmpc.gencost", "more than is modelled"),
        ("2 0 0 3 0 30 0;", "2 0 0 3 0 30 0;\n2 0 0 3 0 0 0;", "not a row for each generator"),
        ("10 35 0.08 0.24", "10 35 0 0", "five.m: the branch 10-35 has no impedance"),
        ("0.05 70 70 70", "0.05 -70 70 70", "five.m: the branch 10-35 has a rating below 0"),
        ("47 1 80 25", "35 1 80 25", "five.m: the bus 35 is there twice"),
        ("2 0 0 2 35 10 0", "1 0 0 3 0 0 9 900 20 1100", "a row of mpc.gencost"),
    ],
)
def test_what_an_optimal_power_flow_does_not_have_is_said(
    old: str, new: str, part: str, tmp_path: Path
) -> None:
    (tmp_path / "five.m").write_text(FIVE.replace(old, new))
    given = {"loads": ["all=90"]} if "as 1.2x" in part else {}
    assert part in refused("grid_opf", tmp_path, case="five.m", **given)


def test_endless_limits_of_a_matpower_file_are_none(tmp_path: Path) -> None:
    (tmp_path / "five.m").write_text(FIVE)
    endless = FIVE.replace("0 150 -150 1 100 1 250", "0 Inf -Inf 1 100 1 Inf")
    (tmp_path / "inf.m").write_text(endless.replace("0.06 130 90 90", "0.06 Inf 90 90"))
    limits = ["10-22=5000", "g1=5000"]
    for formulation in ("ac", "dc"):
        found = call("grid_opf", tmp_path, case="inf.m", formulation=formulation)
        wanted = call("grid_opf", tmp_path, case="five.m", formulation=formulation, limits=limits)
        assert found["cost"] == pytest.approx(wanted["cost"], rel=1e-6)


def test_costs_that_rise_less_and_less_are_for_dc(tmp_path: Path) -> None:
    rows = "2 0 0 3 0 20 0;", "1 0 0 3 0 0 50 2000 250 4000;"
    (tmp_path / "own.m").write_text(OWN.replace(*rows))
    assert "only dc takes" in refused("grid_opf", tmp_path, case="own.m")
    found = call("grid_opf", tmp_path, case="own.m", formulation="dc")
    assert found["cost"] == pytest.approx(2000 + 10 * 40, rel=1e-6)
    rows = rows[0], "1 0 0 3 0 0 50 500 250 4500;"
    (tmp_path / "own.m").write_text(OWN.replace(*rows))
    assert call("grid_opf", tmp_path, case="own.m")["cost"] == pytest.approx(500 + 20 * 40)


def test_the_price_of_energy_is_read_on_the_command_line() -> None:
    arguments = ["case=ieee13", "units=675=300", "price=120 EUR/MWh", "--json"]
    seen = invoke("tool", "grid_der_dispatch", *arguments)
    assert seen.exit_code == 0, seen.output
    answer = json.loads(seen.stdout)["answer"]
    assert answer["cost_eur_per_h"] == pytest.approx(0.12 * answer["import_kw"], rel=1e-6)
