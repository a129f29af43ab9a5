"""``engiagent check`` is red, and says why, on every way in which a corpus problem can be damaged.

Each case damages a copy of a sound problem in one place. What is said must name the damage.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import xarray
from click.testing import CliRunner

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
TEXT, REQUIREMENTS = "problem.md", "expert/requirements.yaml"
ANSWER, BLUEPRINT = "expert/answer.json", "expert/blueprint.json"
LAST = """  - id: R2
    quote: "at 18:00 it must hold no less than 5 MWh"
    expression: "battery.state_of_charge[last(I)] >= E_end"
    tolerance: "0.01[kWh]"
"""


@dataclass(frozen=True)
class Damage:
    """What is done to a copy of a problem, and words of the complaint that names it."""

    name: str
    problem: str
    file: str
    old: str
    new: str | None
    said: str


def replaced(name: str, problem: str, file: str, old: str, new: str, said: str) -> Damage:
    return Damage(name, problem, file, old, new, said)


def removed(name: str, problem: str, file: str, said: str) -> Damage:
    return Damage(name, problem, file, "", None, said)


DAMAGES = (
    # the text
    replaced("number of the text", ROOF, TEXT, "50 000 kWh/yr", "55 000 kWh/yr", "50 000"),
    replaced(
        "quotation of the text", FIELD, TEXT, "4 MW in, 4 MW out", "4 MW im, 4 MW out", "4 MW in"
    ),
    replaced(
        "cell of a table", ROOF, TEXT, "| 0.330 | 1.94 | 155 |", "| 0.330 | 1.94 | 165 |", "155"
    ),
    replaced(
        "unit in the text", FIELD, TEXT, "takes at most 16 MW", "takes at most 16 kW", "16 MW"
    ),
    replaced("words moved", HALL, TEXT, "The market hall", "This market hall", "the quote"),
    removed("no text", ROOF, TEXT, "problem"),
    # the data
    replaced("number of a series", FIELD, "blocks.csv", "06:00,96", "06:00,196", "objective"),
    replaced("no number in a series", FIELD, "field.csv", "06:00,1.45", "06:00,none", "field.csv"),
    replaced("column renamed", FIELD, "blocks.csv", "price_eur_mwh", "price", "price_eur_mwh"),
    removed("data file missing", FIELD, "field.csv", "field.csv"),
    # the blueprint
    replaced(
        "number of the blueprint", ROOF, BLUEPRINT, '"value": 50000', '"value": 45000', "45000"
    ),
    replaced("unit of the blueprint", FIELD, BLUEPRINT, '"MWh"', '"kWh"', "MWh"),
    replaced("span of the blueprint", FIELD, BLUEPRINT, '"span": [', '"span": [1', "quote"),
    replaced(
        "field that the schema does not know", ROOF, BLUEPRINT, '"param_id"', '"paramid"', "paramid"
    ),
    replaced(
        "name used twice", FIELD, BLUEPRINT, '"name": "E_end"', '"name": "E_start"', "E_start"
    ),
    replaced("JSON broken", ROOF, BLUEPRINT, '"schema":', '"schema"', "JSON"),
    # the requirements
    replaced(
        "quotation of a requirement",
        ROOF,
        REQUIREMENTS,
        "more than this usable",
        "less than this usable",
        "less than this usable",
    ),
    replaced("requirement tightened", ROOF, REQUIREMENTS, "<= 420[m2]", "<= 20[m2]", "R3"),
    replaced(
        "requirement loosened",
        ROOF,
        REQUIREMENTS,
        ">= 50000[kWh/yr]",
        ">= 40000[kWh/yr]",
        "40000 kWh/yr is no number of the text",
    ),
    replaced(
        "requirement dropped",
        FIELD,
        REQUIREMENTS,
        LAST,
        "",
        "a requirement may be missing or too loose",
    ),
    replaced("id of a requirement used twice", ROOF, REQUIREMENTS, "id: R2", "id: R1", "R1"),
    replaced("unit of a requirement", ROOF, REQUIREMENTS, "<= 420[m2]", "<= 420[kWh]", "kWh"),
    replaced(
        "dynamics changed",
        FIELD,
        REQUIREMENTS,
        "charge_efficiency: eta_in",
        "charge_efficiency: 0.85",
        "physics",
    ),
    removed("requirements missing", ROOF, REQUIREMENTS, "requirements.yaml"),
    # the answer
    replaced("objective of the answer", ROOF, ANSWER, "16200", "16000", "objective"),
    replaced("verdict of the answer", HALL, ANSWER, "proven infeasible", "certified", "verdict"),
    replaced("sense of the answer", ROOF, ANSWER, "minimize", "maximize", "sense"),
    replaced("unit of the answer", ROOF, ANSWER, '"EUR"', '"kWh"', "kWh"),
    replaced(
        "missing data of the answer",
        UNKNOWN,
        ANSWER,
        '"battery.charge_efficiency", ',
        "",
        "missing",
    ),
    removed("answer missing", ROOF, ANSWER, "answer.json"),
)


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
    assert "schedule.nc: the verdict is violated; R" in json.dumps(found)


def copy(problem: str, folder: Path) -> Path:
    return Path(shutil.copytree(ROOT / problem, folder / problem))


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damaged_copy_is_red_for_the_right_reason(damage: Damage, tmp_path: Path) -> None:
    file = copy(damage.problem, tmp_path) / damage.file
    if damage.new is None:
        file.unlink()
    else:
        text = file.read_text("utf-8")
        assert damage.old in text
        file.write_text(text.replace(damage.old, damage.new, 1), "utf-8")
    found = check(tmp_path)
    assert found["exit_code"] != 0
    assert damage.said in json.dumps(found, ensure_ascii=False)
