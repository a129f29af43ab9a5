"""The certificate of a loop says of each plan, and of the plant, what happened, and holds again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from engiagent.cli.app import app
from engiagent.control.certificate import certify_loop
from engiagent.errors import InputError
from engiagent.solvers.solution import load_arrays, save_solution
from engiagent.text import corpus_root
from tests.control.test_plant_loop import HOUSE, depot, house


def closed(source: Path, folder: Path, *given: str, code: int = 0) -> dict[str, Any]:
    asked = ["control", str(source), "--certify", "--out", str(folder), *given]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    return found


def checked(folder: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["check", str(folder)])
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop in which the plan's own prediction answers."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "plan.json").write_text(depot().to_json())
    found = closed(folder / "plan.json", folder / "loops/depot", "--steps", "4")
    assert found["verdict"] == "certified"
    return folder / "loops/depot"


def test_each_plan_is_certified_and_the_certificate_holds_again(kept: Path) -> None:
    levels = json.loads((kept / "certificate.json").read_text())["levels"]
    assert [(s["plan"], s["verdict"], s["optimum"]) for s in levels["algebra"]["steps"]] == [
        (k, "certified", "recomputed") for k in range(4)
    ]
    assert [e["worst"] for e in levels["physics"]["prediction"]] == [pytest.approx(0, abs=1e-9)]
    code, said = checked(kept)
    assert code == 0, said
    assert "the stored certificate holds" in said
    # The plan of a step stands alone, and of a folder of loops each is one thing to check.
    plan = str(kept / "plans" / "0002")
    done = CliRunner().invoke(app, ["check", f"{plan}.json", "--solution", f"{plan}.nc"])
    assert "certified" in done.output
    done = CliRunner().invoke(app, ["check", str(kept.parent), "--json"])
    assert json.loads(done.stdout)["verdict"] == "certified"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("plans/0001.nc", "", ""),
        ("solution.nc", "", ""),
        ("plans/0001.json", "100[kWh]", "101[kWh]"),
        ("steps.csv", "optimal", "feasible"),
        ("loop.json", '"name": "model"', '"name": "bench"'),
    ],
)
def test_whatever_is_changed_afterwards_is_found(kept: Path, file: str, old: str, new: str) -> None:
    path = kept / file
    before = path.read_bytes()
    if path.suffix == ".nc":
        solution = load_arrays(path)
        charge = solution["battery_charge"]
        values = charge.values + np.eye(len(charge.values))[0]
        save_solution(solution.assign({"battery_charge": charge.copy(data=values)}), path)
    else:
        changed = before.decode().replace(old, new, 1)
        assert changed != before.decode()
        path.write_text(changed)
    try:
        code, said = checked(kept)
        again = certify_loop(kept)
    finally:
        path.write_bytes(before)
    # Whoever makes the certificate anew, too, does not get what was applied past its plans.
    assert ("applied:battery_charge" in {v["check"] for v in again.violations}) == (
        path.suffix == ".nc"
    )
    assert code == 1
    assert "does not hold" in said


def test_what_the_plant_breaks_and_what_plans_relax_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(house().to_json())
    leaky = HOUSE.replace("5 K/kW", "4 K/kW").replace("days: 2", "days: 2, zone: Europe/Berlin")
    (tmp_path / "leaky.yaml").write_text(leaky)
    given = ["--plant", str(tmp_path / "leaky.yaml"), "--steps", "6"]
    loop = tmp_path / "loop"
    found = closed(tmp_path / "plan.json", loop, *given, code=1)
    assert found["verdict"] == "violated"
    physics, steps = found["levels"]["physics"], found["levels"]["algebra"]["steps"]
    shown = json.loads((loop / "loop.json").read_text())
    (error,), (stated,) = physics["prediction"], shown["prediction"]
    for key in ("mean", "worst"):  # from files here, from the runner there
        assert error[key] == pytest.approx(stated[key])
    assert (error["state"], error["at"]) == (stated["state"], stated["at"])
    assert "relaxed" in {s["outcome"] for s in steps}
    assert [s["violated"] for s in steps] == [
        ["warm"] if s["outcome"] == "relaxed" else [] for s in steps
    ]
    (broken,) = physics["broken"]
    assert (broken["check"], broken["kept_by_plan"]) == ("warm", True)
    assert broken["violation"]["amount"] == pytest.approx(shown["broken"][0]["worst"], rel=1e-6)
    assert physics["plant"]["sha256"] == found["inputs"]["plant"]
    assert "the stored certificate holds" in checked(loop)[1]


@pytest.mark.parametrize("name", ["slow_floor_house", "iso_zone_with_blinds"])
def test_states_over_nodes_and_masses_are_certified_too(tmp_path: Path, name: str) -> None:
    source = corpus_root() / "thermal" / name / "expert/blueprint.json"
    given = ["--steps", "2", "--horizon", "12", "--end", "repeat"]
    found = closed(source, tmp_path / "loop", *given)
    assert {s["holds"] for s in found["levels"]["algebra"]["steps"]} == {"pass"}
    assert "the stored certificate holds" in checked(tmp_path / "loop")[1]


def test_a_loop_without_plans_has_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(depot().to_json())
    given = ["control", str(tmp_path / "plan.json"), "--steps", "1", "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert not (tmp_path / "out" / "certificate.json").exists()
    with pytest.raises(InputError, match="no plans"):
        certify_loop(tmp_path / "out")


def test_a_step_without_a_plan_names_the_one_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A meter that jumps beyond the battery, where the limits of states are not to be relaxed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(depot().to_json())
    (tmp_path / "jumping_meter.py").write_text(
        "shown = [50.0, 130.0, 40.0, 40.0]\n\n"
        "def answer(state, controls, disturbances):\n"
        "    return {'battery.state_of_charge': shown.pop(0)}\n"
    )
    given = ["--plant", "jumping_meter:answer", "--steps", "4", "--relax", "balance_electricity"]
    found = closed(tmp_path / "plan.json", tmp_path / "loop", *given, code=1)
    steps = found["levels"]["algebra"]["steps"]
    assert [(s["outcome"], s["plan"]) for s in steps] == [
        ("optimal", 0),
        ("optimal", 1),
        ("previous plan", 1),
        ("optimal", 3),
    ]
    (broken,) = found["levels"]["physics"]["broken"]
    assert (broken["check"], broken["kept_by_plan"]) == ("bounds:battery_state_of_charge", True)
    assert "the stored certificate holds" in checked(tmp_path / "loop")[1]
