"""What would let a broken plan through a CI system: each case fails, and says where."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result

from tests.cli.asking import invoke

ROOT = Path(__file__).parents[2]
HOURS = range(24)
PLANT = """# Depot

```yaml engiagent
title: Depot
horizon: {start: "2025-07-01", periods: 24, step: 1 h, zone: Europe/Berlin}
components:
  grid: {model: grid, import_price: site.csv#price, export_power_max: 0 kW}
  hall: {model: load, power: site.csv#load}
  battery:
    model: battery
    energy_capacity: 100 kWh
    charge_power_max: 50 kW
    discharge_power_max: 50 kW
    initial_energy: 0 kWh
goal: {minimize: cost}
```
"""


@pytest.fixture
def depot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one plant, as the working folder."""
    folder = tmp_path / "sites/depot"
    folder.mkdir(parents=True)
    (folder / "problem.md").write_text(PLANT, "utf-8")
    rows = [f"2025-07-01T{h:02}:00,{0.1 if h < 8 else 0.3},20" for h in HOURS]
    (folder / "site.csv").write_text("\n".join(["time,price [EUR/kWh],load [kW]", *rows]), "utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def schedule(path: Path, *, charge: float, at: int = 3) -> Path:
    """Write a plan that charges in one hour and gives it back in the tenth."""
    lines = ["time,battery.charge [kW],battery.discharge [kW]"]
    for hour in HOURS:
        into, out = charge * (hour == at), min(charge, 20) * (hour == 9)
        lines.append(f"2025-07-01 {hour:02}:00,{into},{out}")
    path.write_text("\n".join(lines), "utf-8")
    return path


def paths(result: Result) -> dict[str, int]:
    """Return the exit code of each thing that was checked."""
    found = json.loads(result.stdout)
    return {entry["path"]: entry["exit_code"] for entry in found["results"]}


def test_everything_below_a_folder_is_checked(depot: Path) -> None:
    assert invoke("run", depot, "--out", "runs/first").exit_code == 0
    other = Path("sites/copy")
    shutil.copytree(depot, other)
    schedule(other / "schedule.csv", charge=20)
    schedule(other / "schedule_of_june.csv", charge=70)
    Path("sites/notes.md").write_text("Nothing to plan here.", "utf-8")
    result = invoke("check", ".", "--json")
    assert paths(result) == {
        "runs/first": 0,
        "sites/copy/schedule.csv": 0,
        "sites/copy/schedule_of_june.csv": 1,
        "sites/depot": 0,
        "sites/notes.md": 0,
    }
    assert result.exit_code == 1
    assert "neither front matter nor a plant block" in result.stderr


def test_a_tampered_run_below_a_folder_fails(depot: Path) -> None:
    assert invoke("run", depot, "--out", "runs/first").exit_code == 0
    file = Path("runs/first/certificate.json")
    file.write_text(file.read_text("utf-8").replace('"value": ', '"value": 1'), "utf-8")
    result = invoke("check", ".", "--json")
    assert paths(result)["runs/first"] == 1
    assert result.exit_code == 1


def test_a_text_that_nothing_can_judge_fails(depot: Path) -> None:
    shutil.copytree(ROOT / "problems/battery/merchant_day", "sites/prose")
    shutil.rmtree("sites/prose/expert")
    result = invoke("check", "sites", "--json")
    assert paths(result) == {"sites/depot": 0, "sites/prose": 2}
    assert "nothing to check the problem against" in result.stderr


def test_a_schedule_that_stands_alone_fails(depot: Path) -> None:
    Path("plans").mkdir()
    schedule(Path("plans/schedule.csv"), charge=20)
    result = invoke("check", ".", "--json")
    assert paths(result)["plans/schedule.csv"] == 2
    assert "nothing beside this schedule" in result.stderr


def test_plant_files_by_any_name_are_found_with_their_schedule(depot: Path) -> None:
    """Other YAML files are none; a plant that cannot be read is an error like any other."""
    block = PLANT.split("```")[1].removeprefix("yaml engiagent\n")
    for name in ("north", "south"):
        Path(name).mkdir()
        shutil.copy(depot / "site.csv", name)
        (Path(name) / f"{name}.yaml").write_text(block, "utf-8")
        (Path(name) / "compose.yml").write_text("services:\n  horizon: {}\n", "utf-8")
    schedule(Path("north/schedule.csv"), charge=70)
    (depot / "site_b.yaml").write_text(block.replace("100 kWh", "100 kW"), "utf-8")
    result = invoke("check", ".", "--json")
    assert paths(result) == {
        "north/north.yaml": 0,
        "north/schedule.csv": 1,
        "sites/depot": 0,
        "sites/depot/site_b.yaml": 2,
        "south/south.yaml": 0,
    }
    assert "a value in kWh" in result.stderr
    assert invoke("lint", ".").exit_code != 0


def test_of_two_schedules_both_are_checked(depot: Path) -> None:
    bad, good = (schedule(Path(f"{k}.csv"), charge=k) for k in (70, 20))
    given = ("--solution", bad, "--solution", good)
    result = invoke("check", depot, *given, "--json", "--junit", "j.xml")
    assert paths(result) == {"70.csv": 1, "20.csv": 0}
    assert result.exit_code == 1
    cases = ElementTree.parse("j.xml").getroot().findall("testcase")
    assert all(float(case.get("time", "0")) > 0 for case in cases)
    assert invoke("check", depot, *given, "--out", "kept").exit_code == 2
    assert not Path("kept").exists()


@pytest.mark.parametrize(("charge", "share"), [(20, 0.0), (10, None)])
def test_a_schedule_is_told_how_far_it_is_from_the_best(
    depot: Path, charge: float, share: float | None
) -> None:
    """The best stores what the battery holds and the hall takes; each kWh moved saves 0.2 EUR."""
    best = 24 * 20 * 0.3 - 8 * 20 * 0.2 - 100 * 0.2
    hours = {f"battery.{way}": [0.0] * 24 for way in ("charge", "discharge")}
    full, rest = divmod(100 if share == 0 else 10, 20)
    for k in range(full + bool(rest)):
        power = 20.0 if k < full else float(rest)
        hours["battery.charge"][k] = hours["battery.discharge"][8 + k] = power
    rows = [f"2025-07-01 {h:02}:00,{','.join(str(v[h]) for v in hours.values())}" for h in HOURS]
    plan = depot / "mine.csv"
    plan.write_text("\n".join([",".join(["time", *hours]), *rows]), "utf-8")
    found = invoke("check", depot, "--solution", plan, "--json")
    told = json.loads(found.stdout)["best"]
    worse = 0 if share == 0 else 90 * 0.2
    assert told["value"] == pytest.approx(best)
    assert (told["proven"], told["worse_by"]) == (True, pytest.approx(worse, abs=1e-6))
    assert told["share"] == pytest.approx(worse / best, abs=1e-9)
    words = "reaches it" if share == 0 else f"{100 * worse / best:.3g} % above it"
    assert words in found.stderr
    figures = {(f["name"], f["component"]): f["value"] for f in json.loads(found.stdout)["figures"]}
    assert figures["objective", None] == pytest.approx(best + worse)
    assert figures["charged", "battery"] == pytest.approx(sum(hours["battery.charge"]))
    assert figures["import", "grid"] == pytest.approx(24 * 20)
    invoke("check", depot, "--solution", plan, "--out", "kept")
    again = json.loads(invoke("check", "kept", "--json").stdout)
    for name in ("best", "figures"):
        assert again[name] == json.loads(found.stdout)[name]


def test_a_schedule_of_the_same_cost_that_breaks_a_limit_reaches_no_best(depot: Path) -> None:
    """Over one hour 60 kW go into a battery for 50 kW; all else is a best plan."""
    into = [60.0, 40.0, *[0.0] * 22]
    rows = [f"2025-07-01 {h:02}:00,{into[h]},{20.0 * (8 <= h < 13)}" for h in HOURS]
    plan = depot / "mine.csv"
    plan.write_text("\n".join(["time,battery.charge,battery.discharge", *rows]), "utf-8")
    found = invoke("check", depot, "--solution", plan, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["best"]["worse_by"] == pytest.approx(0, abs=1e-6)
    assert "reaches it" not in found.stderr
    assert "this schedule comes to the same, but does not hold" in found.stderr


def test_a_violation_is_shown_beside_the_text(depot: Path) -> None:
    schedule(depot / "schedule.csv", charge=70, at=5)
    result = invoke("check", "sites", "--github")
    found = [line for line in result.stderr.splitlines() if line.startswith("::error ")]
    text = "file=sites/depot/problem.md,"
    assert any(text in line and "bounds of battery_charge" in line for line in found)


def test_a_file_that_cannot_be_read_has_no_count_of_errors(tmp_path: Path) -> None:
    (tmp_path / "blueprint.json").write_text("{", "utf-8")
    result = invoke("lint", tmp_path / "blueprint.json")
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
    assert "0 error(s)" not in result.stderr


@pytest.mark.parametrize("command", [("run", "x.json"), ("solve", "x.json"), ("run", "nothing.md")])
def test_an_error_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text("{", "utf-8")
    assert invoke(*command, "--out", "kept").exit_code == 2
    assert not Path("kept").exists()


def test_cents_of_a_setting_are_of_the_currency_of_the_plant(depot: Path) -> None:
    """At 20 ct/kWh for all hours, what the hall takes costs 0.2 of the plant's currency."""
    problem = depot / "problem.md"
    text = problem.read_text("utf-8").replace("site.csv#price", "0.1 USD/kWh")
    problem.write_text(text.replace("title:", "currency: USD\ntitle:"), "utf-8")
    ran = invoke("run", depot, "--set", "grid.import_price=20 ct/kWh", "--out", "set", "--json")
    assert json.loads(ran.stdout)["objective"]["value"] == pytest.approx(24 * 20 * 0.2)
    vary = ("--vary", "grid.import_price=10,20[ct/kWh]", "--out", "swept")
    assert invoke("study", "sweep", depot, *vary).exit_code == 0
    rows = json.loads(Path("swept/sweep.json").read_text("utf-8"))["rows"]
    assert [row["objective"] for row in rows] == pytest.approx([48, 96])
