"""``engiagent check`` is red, and says why, on every way in which a corpus problem can be damaged.

Each case damages a copy of a sound problem in one place. What is said must name the damage.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import xarray
from click.testing import CliRunner
from ruamel.yaml import YAML

from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers.solution import save_solution, to_dataset
from engiagent.solvers.solving import solve

ROOT = Path(__file__).parents[2] / "problems"
ROOF, FIELD, HALL, UNKNOWN, MARKET = (
    "planning/rooftop_pv",
    "battery/hourly_block_delivery",
    "battery/market_hall_infeasible",
    "battery/missing_efficiency",
    "der/eight_hour_market",
)
BLUEPRINT = "expert/blueprint.json"


DAMAGES = YAML(typ="safe").load(Path(__file__).with_name("damages.yaml"))


def check(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["check", *map(str, arguments), "--json"])
    found: dict[str, Any] = json.loads(result.stdout)
    return found | {"exit_code": result.exit_code, "stderr": result.stderr}


def test_a_sound_copy_is_green_whatever_it_holds(tmp_path: Path) -> None:
    for problem in (ROOF, FIELD, HALL, UNKNOWN, MARKET):
        copy(problem, tmp_path)
    found = check(tmp_path)
    assert [r["path"] for r in found["results"] if r["exit_code"]] == []
    assert len(found["results"]) == 5


def test_two_problems_of_one_id_are_red(tmp_path: Path) -> None:
    copy(ROOF, tmp_path)
    shutil.copytree(ROOT / ROOF, tmp_path / "copy")
    found = check(tmp_path)
    assert found["exit_code"] != 0
    assert sum("the id 'rooftop_pv' is that of" in json.dumps(r) for r in found["results"]) == 1


@pytest.fixture(scope="module")
def schedule() -> xarray.Dataset:
    """The best schedule of the market."""
    blueprint = expand(Blueprint.load(ROOT / MARKET / BLUEPRINT))
    program = compile_blueprint(blueprint, ROOT / MARKET)
    return to_dataset(program, solve(program, isolate=False))


def test_a_stored_schedule_is_checked_too(schedule: xarray.Dataset, tmp_path: Path) -> None:
    expert = copy(MARKET, tmp_path) / "expert"
    save_solution(schedule, expert / "schedule.nc")
    assert check(tmp_path)["exit_code"] == 0
    damaged = schedule.copy(deep=True)
    name = next(n for n, v in schedule.items() if v.attrs.get("quantity") == "storage.discharge")
    damaged[name][3] += 40.0
    save_solution(damaged, expert / "schedule.nc")
    found = check(tmp_path)
    assert found["exit_code"] == 1
    assert "schedule.nc: the verdict is violated; " in json.dumps(found)


def copy(problem: str, folder: Path) -> Path:
    return Path(shutil.copytree(ROOT / problem, folder / problem))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_copy_is_red_for_the_right_reason(name: str, tmp_path: Path) -> None:
    damage = DAMAGES[name]
    file = copy(damage["problem"], tmp_path) / damage["file"]
    if "old" in damage:
        text = file.read_text("utf-8")
        assert damage["old"] in text
        file.write_text(text.replace(damage["old"], damage["new"], 1), "utf-8")
    else:
        file.unlink()
    found = check(tmp_path)
    assert found["exit_code"] != 0
    assert damage["said"] in json.dumps(found, ensure_ascii=False)
