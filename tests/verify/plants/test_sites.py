"""Several units together: feeders, buses, runs with disturbances."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.errors import InputError
from engiagent.text import Problem
from engiagent.verify.case import case_of
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from engiagent.verify.disturbances import parse_disturbances, with_disturbances
from engiagent.verify.requirements import parse_requirements
from tests.verify.plants.yard import broken, executed, passes, physics, text_of

FEEDER = """
  - name: net
    model: feeder
    index: T
    scheme: SCHEME
    parameters: {minimum_voltage: BAND}
    connections:
      source: station
      buses: {station: 0.4, house: "0.4[kV]"}
      lines:
        cable: {from: station, to: house, resistance: "0.16[ohm]", reactance: 0, ampacity: 142}
  - {name: demand, model: load, index: T, parameters: {power: 9}, connections: {bus: house}}
  - {name: main, model: grid, index: T, connections: {bus: station}}
"""
LOSS = 0.0824917508  # of 9 kW behind 0.16 ohm at 0.4 kV, by the quadratic equation of the voltage


def feeder(scheme: str = "exact", band: str = "0.95") -> str:
    return FEEDER.replace("SCHEME", scheme).replace("BAND", band)


def test_a_feeder_takes_its_losses_from_the_grid(tmp_path: Path) -> None:
    series = {"main.import": [9.0 + LOSS], "main.export": [0.0]}
    certificate = executed(tmp_path, feeder(), series)
    assert passes(certificate)
    assert broken(executed(tmp_path, feeder(), {**series, "main.import": [9.0]})) == {
        "balance:station"
    }


def test_a_voltage_out_of_its_band_and_a_wrong_claim_are_caught(tmp_path: Path) -> None:
    series = {"main.import": [9.0 + LOSS], "main.export": [0.0]}
    assert broken(executed(tmp_path, feeder(band="0.995"), series)) == {"low:net.house.voltage"}
    claim = {**series, "net.house.voltage": [0.99]}
    assert broken(executed(tmp_path, feeder(), claim)) == {"output:net.house.voltage"}


def test_a_plan_by_linear_voltages_is_judged_by_the_power_flow(tmp_path: Path) -> None:
    linear = 0.99095913  # sqrt(1 - 2 * 9 kW * 0.16 ohm / 0.4 kV**2)
    claims = {"main.export": [0.0], "net.house.voltage": [linear], "net.losses": [0.0]}
    unbought = executed(tmp_path, feeder("linear", "0.9909"), {**claims, "main.import": [9.0]})
    assert broken(unbought) == {"balance:station"}
    bought = {**claims, "main.import": [9.0 + LOSS]}
    certificate = executed(tmp_path, feeder("linear", "0.9909"), bought)
    assert passes(certificate)
    results = {item["quantity"]: item for item in physics(certificate)["results"]}
    assert results["net.house.voltage"]["worst"] == pytest.approx(0.99091751 - linear, abs=1e-7)
    assert results["net.losses"]["worst"] == pytest.approx(LOSS, abs=1e-6)
    # Between both voltages: kept by the linear one only.
    assert broken(executed(tmp_path, feeder("linear", "0.99094"), bought)) == {
        "low:net.house.voltage"
    }


BATTERY = """
  - name: bat
    model: battery
    index: T
    parameters: {energy_capacity: 100, charge_power_max: 50, discharge_power_max: 50,
                 initial_energy: 10, charge_efficiency: 0.95, discharge_efficiency: 0.95}
    connections: {bus: site}
  - {name: home, model: load, index: T, parameters: {power: NEED}, connections: {bus: site}}
  - {name: net, model: grid, index: T, parameters: {import_power_max: 70}, connections: {bus: site}}
requirements:
  - {id: R1, forall: ["i in I"], expression: "bat.state_of_charge[i] >= 10[kWh]"}
  - {id: R2, forall: ["t in T"], expression: "net.import[t] <= 70[kW]"}
"""
PLAN = {
    "bat.charge": [49.0, 0.0, 0.0],
    "bat.discharge": [0.0, 20.0, 24.0],
    "net.import": [69.0, 0.0, 0.0],
    "net.export": [0.0, 0.0, 4.0],
}


def site(need: str = "20") -> str:
    return BATTERY.replace("NEED", need)


@pytest.mark.parametrize("left_out", [(), ("net.export",), ("net.import", "net.export")])
def test_what_a_grid_exchanges_follows_from_its_bus(
    tmp_path: Path, left_out: tuple[str, ...]
) -> None:
    plan = {name: data for name, data in PLAN.items() if name not in left_out}
    certificate = executed(tmp_path, site(), plan)
    assert passes(certificate)
    said = "\n".join(certificate.notes)
    assert all(f"{name} is not in the schedule: recomputed" in said for name in left_out)


def noisy(folder: Path, spec: str, dynamics: str = "") -> tuple[Certificate, dict[str, Any]]:
    """Return a certificate with disturbances, and their section."""
    (folder / "problem.md").write_text("# A plan\n")
    problem = Problem.load(folder / "problem.md")
    stated = parse_requirements(text_of(dynamics or site(), 3))
    plan = {name: np.asarray(data) for name, data in PLAN.items()}
    plain = check(problem, plan, requirements=stated)
    found = with_disturbances(
        plain, case_of(problem, plan, None, stated, None), parse_disturbances(spec)
    )
    assert found.verdict == plain.verdict
    return found, dict(found.levels["physics"]["disturbance"])


def test_runs_with_disturbances_are_the_same_for_one_seed_and_no_part_of_the_verdict(
    tmp_path: Path,
) -> None:
    first, section = noisy(tmp_path, "home.power=5%, runs=60, seed=4, correlation=0.5")
    again, _ = noisy(tmp_path, "home.power=5%, runs=60, seed=4, correlation=0.5")
    other, _ = noisy(tmp_path, "home.power=5%, runs=60, seed=5, correlation=0.5")
    assert first.to_json() == again.to_json()
    assert first.to_json() != other.to_json()
    assert Certificate.from_json(first.to_json()).sha256 == first.sha256
    assert section["runs"] == 60
    # 1 kW of noise on a margin of 1 kW: the import breaks its limit in 16 % of all runs.
    shares = {limit["id"]: limit["broken"] for limit in section["limits"]}
    assert 0.02 < shares["R2"] < 0.4
    assert shares["R2"] == shares["limit:net.import"] == pytest.approx(1 - section["held"])
    assert shares["R1"] == 0.0  # the battery does not know of the load


def test_noise_on_a_parameter_reaches_units_and_rules(tmp_path: Path) -> None:
    more = "parameters:\n  - {name: need, value: 20, unit: kW}\n"
    text = site(need="need").replace("net.import[t] <= 70[kW]", "net.import[t] <= 3.5*need")
    (tmp_path / "problem.md").write_text("# A plan\n")
    problem = Problem.load(tmp_path / "problem.md")
    stated = parse_requirements(text_of(text, 3, more=more))
    plan = {name: np.asarray(data) for name, data in PLAN.items()}
    plain = check(problem, plan, requirements=stated)
    for target in ("need", "home.power"):
        wanted = parse_disturbances(f"{target}=1 kW, runs=40, seed=1")
        found = with_disturbances(plain, case_of(problem, plan, None, stated, None), wanted)
        limits = {item["id"]: item for item in found.levels["physics"]["disturbance"]["limits"]}
        # import 49 + need stays below 3.5 need unless need falls below 19.6 kW.
        assert 0.1 < limits["R2"]["broken"] < 0.6


def test_a_small_disturbance_breaks_nothing_and_a_state_reacts(tmp_path: Path) -> None:
    _, section = noisy(tmp_path, "home.power=0.01%, runs=20")
    assert section["held"] == 1.0
    _, section = noisy(tmp_path, "bat.initial_energy=1 kWh, runs=30, seed=2")
    assert 0.2 < {i["id"]: i["broken"] for i in section["limits"]}["R1"] < 0.8


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "home.power",
        "home.power=0",
        "home.power=5%, runs=0",
        "home.power=nan",
        "runs=5",
        "home.power=5%, home.power=3%",
        "home.power=5 parsecs",
        "home.power=5%, correlation=1",
        "home.power=5%, seed=-1",
        "nobody.power=5%",
        "home.power=2 degC",
        "home.price=5%",
    ],
)
def test_a_disturbance_that_means_nothing_is_refused(tmp_path: Path, spec: str) -> None:
    with pytest.raises(InputError):
        noisy(tmp_path, spec)


@pytest.mark.parametrize(
    ("dynamics", "words"),
    [
        ("  - {name: u, model: perpetuum, index: T}\n", "knows no model 'perpetuum'"),
        (
            "  - {name: u, model: battery, index: T, parameters: {energy_capcity: 3}}\n",
            "no parameter 'energy_capcity'",
        ),
        (
            "  - {name: u, model: battery, index: T, parameters: {energy_capacity: '3[kW]'}}\n",
            "needed is kWh",
        ),
        (
            "  - {name: u, model: heat_pump, index: T, parameters: {rated_capacity: 3}}\n",
            "given by nothing",
        ),
        (
            "  - {name: u, model: ev, index: T,\n"
            "     parameters: {energy_capacity: 3, charge_power_max: 1}}\n",
            "no arrival",
        ),
    ],
)
def test_what_cannot_be_executed_is_unchecked_with_its_reason(
    tmp_path: Path, dynamics: str, words: str
) -> None:
    names = ("charge", "discharge", "heat")
    certificate = executed(tmp_path, dynamics, {f"u.{name}": [0.0, 0.0] for name in names})
    level = certificate.levels["physics"]
    assert level["status"] == "unchecked"
    assert any(words in note for note in level["notes"]), level["notes"]


def test_importing_the_checker_reads_no_unit_and_a_battery_no_other(tmp_path: Path) -> None:
    code = (
        "import sys, engiagent.verify.checking\n"
        "from engiagent.verify.plants import entry_of\n"
        "before = set(sys.modules)\n"
        "entry_of('battery')\n"
        "print(*sorted(before)); print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    before, after = (set(line.split()) for line in done.stdout.splitlines())
    assert not before & {"pandas", "scipy", "scipy.sparse", "xarray", "ruamel.yaml"}
    families = {name.rpartition(".")[2] for name in after if ".verify.plants." in name}
    assert families == {"stores"}
    assert not any(word in name for name in after for word in ("hvac", "grids", "storage", "scipy"))
