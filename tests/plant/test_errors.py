"""Every error of a plant block: its place, what stands there, what was expected, all at once."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from engiagent.cli.app import app
from engiagent.errors import InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.plant import PlantError, read_plant
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from tests.plant.plants import SMALL, problem, reading, series


def errors(folder: Path, yaml: str, **files: Any) -> list[tuple[int | None, int | None, str]]:
    with pytest.raises(PlantError) as caught:
        read_plant(problem(folder, yaml, **files))
    return [(e.line, e.column, str(e)) for e in caught.value.errors]


@pytest.mark.parametrize(
    ("written", "instead", "line", "column", "words"),
    YAML(typ="safe").load(Path(__file__).with_name("errors.yaml")),
)
def test_an_error_says_where_and_what_would_be_right(
    written: str, instead: str, line: int, column: int, words: str, tmp_path: Path
) -> None:
    data = series([1.0] * 4, 60, "load_kW,bare").replace(",1.0", ",1.0,2.0")
    found = errors(tmp_path, SMALL.replace(written, instead, 1), load_csv=data)
    assert any((a, b) == (line, column) and re.search(words, text) for a, b, text in found), found


def test_a_computed_value_may_be_off_an_end_of_its_range_by_rounding(tmp_path: Path) -> None:
    """The sum of 0.1 and 0.2 is less than 1e-16 off 0.3."""
    for text in ("0.1 kW + 0.2 kW - 0.3 kW", "0.3 kW - 0.1 kW - 0.2 kW"):
        stated = SMALL.replace("import_power_max: 20 kW", f"import_power_max: {text}")
        assert read_plant(problem(tmp_path, stated)) is not None


@pytest.mark.parametrize(
    ("requirement", "column", "words"),
    [
        ("grd.import[t] <= 8 kW", 6, "no component 'grd'.*'grid'"),
        ("battery.energy[t] <= 8 kWh", 6, "no quantity 'energy'.*expected 'state_of_charge'"),
        ("grid.import[t] <= 8 kWh", 6, "kWh"),
        ("grid.import[t] <= 8 kkk", 26, "cannot read the unit"),
        ("grid.import[t] < 8 kW", 6, "<"),
        ("grid.import[t <= 8 kW", 6, ""),
        ("nothing[t] <= 8 kW", 6, "nothing"),
        (
            "sum(grid.import[t]*dt(t) for t in T) <= 8 kWh",
            31,
            r"'t' is used twice: r holds for every t in T.*as sum\(grid.import\[s\].* for s in T",
        ),
    ],
)
def test_a_wrong_requirement_is_found_in_its_line(
    requirement: str, column: int, words: str, tmp_path: Path
) -> None:
    found = errors(tmp_path, f"{SMALL}requirements:\n  r: {requirement}\n")
    assert any(a == 19 and (b or 0) >= column and re.search(words, t) for a, b, t in found), found


def test_a_misspelt_model_is_one_error(tmp_path: Path) -> None:
    """Whatever names the component is right, and so is the bus that it would be on."""
    yaml = """
horizon: {start: 2026-01-10, step: 1 h, periods: 4}
components:
  grid: {model: gridd, bus: power, import_price: 0.2 EUR/kWh}
  room: {model: thermal_zon, capacitance: 3 kWh/K}
  heater: {model: heater, bus: power, zone: room, electric_power_max: 2 kWh}
requirements:
  warm: {for: t in T, must: "room.temperature[t] >= 20 degC"}
goal: {minimize: cost}
baseline: {without: [room]}
"""
    found = [words.split("; expected")[0] for *_, words in errors(tmp_path, yaml)]
    assert [re.search(r"'(gridd|thermal_zon|2 kWh)'$", words) is not None for words in found] == (
        [True] * 3
    ), found


def test_all_errors_come_at_once(tmp_path: Path) -> None:
    yaml = SMALL.replace("10 kWh", "10 kW").replace("cost", "grid.x").replace("20 kW", "20 h")
    found = errors(tmp_path, yaml)
    assert [line for line, _, _ in found] == [7, 12, 17]


def test_an_unknown_rule_of_the_horizon_is_one_error_among_others(tmp_path: Path) -> None:
    yaml = SMALL.replace("step: 1 h", "step: 1 h, align: men").replace("10 kWh", "10 kW")
    yaml = yaml.replace("4 kW}", "load.csv#load_kW}")
    found = errors(tmp_path, yaml, load_csv=series([1.0] * 8, 30, "load_kW"))
    assert [line for line, _, _ in found] == [2, 12]
    assert "unknown rule of alignment" in found[0][2]


def test_a_place_in_a_text_counts_from_its_top(tmp_path: Path) -> None:
    with pytest.raises(PlantError) as caught:
        read_plant(problem(tmp_path, SMALL.replace("10 kWh", "10 kW"), block=True))
    assert str(caught.value).startswith("problem.md:17:22: battery.energy_capacity: kW is a unit")


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("a: &x 1\nb: *x\n", "aliases"),
        ("a: " + "[" * 3000 + "]" * 3000 + "\n", "too deep"),
        ("a: !!python/object:os.system x\n", "tags"),
        ("a: 1\na: 2\n", "stands twice"),
        ("a: {b: [c}\n", "YAML"),
        ("- 1\n- 2\n", "no mapping"),
        ("# nothing\n", "empty"),
        ("components: x\nhorizon: 5\ngoal: 3\n", "no mapping"),
        ("baseline: {without: [battery]}\n", "there are no components"),
        ("components: {g: {model: [1]}}\nhorizon: {step: [1]}\n", "no text"),
    ],
)
def test_hostile_yaml_is_refused_with_its_line(yaml: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_plant(problem(tmp_path, yaml))
    assert caught.value.line is not None


def test_data_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    yaml = SMALL.replace("4 kW}", "load.csv#load_kW}")
    late = series([1.0] * 3, 60, "load_kW")
    assert "does not cover the horizon" in errors(tmp_path, yaml, load_csv=late)[0][2]
    plain = "load_kW\n1\n2\n"
    assert "2 rows without time stamps" in errors(tmp_path, yaml, load_csv=plain)[0][2]
    for text, words in (
        ("", "empty"),
        ("time,load_kW\n2026-06-01T00:00,1\n2026-06-01T01:00,1\n2026-06-01T03:00,1\n", "step"),
        ("time,load_kW\n2026-06-01T01:00,1\n2026-06-01T00:00,1\n", "back"),
        ("time,load_kW\n2026-06-01T00:00,x\n2026-06-01T01:00,1\n", "number|column|text"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            read_plant(problem(tmp_path, yaml, load_csv=text))
        assert caught.value.file in ("load.csv", "plant.yaml")


def test_a_changed_number_is_a_finding_of_the_checker(tmp_path: Path) -> None:
    given = problem(tmp_path, SMALL)
    found = reading(tmp_path, SMALL).blueprint
    assert found is not None
    entries = tuple(
        replace(p, value=12.0) if p.name == "battery_energy_capacity_given" else p
        for p in found.core.parameters
    )
    for blueprint, verdict in (
        (found, "certified"),
        (found.with_core(parameters=entries), "violated"),
    ):
        full = expand(blueprint)
        program = compile_blueprint(full, tmp_path)
        solution = to_dataset(program, solve(program, SolveOptions(), isolate=False))
        certificate = certify(given, solution, full, folder=tmp_path, name="x").to_dict()
        assert certificate["verdict"] == verdict, certificate["levels"]["data"]


def test_commands_take_a_plant_file(tmp_path: Path) -> None:
    given = problem(tmp_path, SMALL).path
    for words in (
        ["lint"],
        ["check"],
        ["run", "--out", str(tmp_path / "r")],
        ["solve", "--out", str(tmp_path / "s")],
    ):
        done = CliRunner().invoke(app, [words[0], str(given), *words[1:]])
        assert done.exit_code == 0, (words, done.output)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(SMALL.replace("10 kWh", "10 kW").replace("4 kW", "4 h"), "utf-8")
    done = CliRunner().invoke(app, ["lint", str(wrong)])
    assert done.exit_code == 1
    assert "wrong.yaml:9:30" in done.output
    assert "wrong.yaml:12:22" in done.output
    assert CliRunner().invoke(app, ["run", str(wrong), "--out", str(tmp_path / "t")]).exit_code == 2
