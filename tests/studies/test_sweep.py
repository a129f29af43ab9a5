"""Sweeps against fresh compilations, cut off at every place, from Python and the command line."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import Compiler
from engiagent.solvers.result import SolveOptions
from engiagent.study import Setting, Study, Sweep, run_study
from engiagent.study.live import Variation, points_of
from engiagent.study.outcome import POINTS as NAME
from tests.studies.test_study import best, storage, with_value

PROBLEMS = Path(__file__).parents[2] / "problems"
HERE = Setting(isolate=False)


def request(*texts: str, **more: Any) -> Sweep:
    return Sweep(tuple(map(Variation.parse, texts)), **more)


def objectives(outcome: Study) -> list[float]:
    return [row["objective"] for row in outcome.rows]


@pytest.mark.parametrize(
    ("text", "values", "unit", "factor"),
    [
        ("E=10..40:4", (10, 20, 30, 40), None, False),
        ("battery.energy_capacity = 1..2:2 [MWh]", (1, 2), "MWh", False),
        ("wear=1,2.5,-3e2", (1, 2.5, -300), None, False),
        ("price=*0.5..1.5:3", (0.5, 1, 1.5), None, True),
        ("t=-10..-20:3[degC]", (-10, -15, -20), "degC", False),
    ],
)
def test_what_is_varied_is_read(
    text: str, values: tuple[float, ...], unit: str | None, factor: bool
) -> None:
    read = Variation.parse(text)
    assert (read.values, read.unit, read.factor) == (values, unit, factor)


@pytest.mark.parametrize(
    "text",
    [
        "E",
        "=1,2",
        "E=",
        "E=1..1:3",
        "E=1..2:1",
        "E=a,b",
        "E=nan",
        "E=1..inf:3",
        "E=1,1",
        "E=*1,2[kWh]",
        "E=1..2:999999999",
    ],
)
def test_what_varies_nothing_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError):
        Variation.parse(text)


def test_a_grid_has_every_combination_the_last_name_fastest() -> None:
    given = (Variation.parse("a=1,2"), Variation.parse("b=3,4"))
    assert points_of(given) == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert points_of((Variation.parse("a=1..2"),)) == [(1,), (2,)]


def test_every_point_is_what_a_fresh_compilation_gives() -> None:
    found = run_study(request("E=10..60:6", "gamma=0.5,2"), storage(), HERE)
    expected = [best(with_value("E", e)) * g for e in (10, 20, 30, 40, 50, 60) for g in (0.5, 2)]
    assert objectives(found) == pytest.approx(expected, abs=1e-9)


def test_units_and_factors_reach_every_element() -> None:
    found = run_study(request("E=0.02,0.03[MWh]", "price=*1,3"), storage(), HERE)
    twenty, thirty = best(with_value("E", 20)), best(with_value("E", 30))
    assert objectives(found) == pytest.approx([twenty, 3 * twenty, thirty, 3 * thirty])


def test_a_sweep_compiles_once_however_many_points_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int] = []
    plain = Compiler.__init__

    def counted(self: Compiler, *args: Any, **kwargs: Any) -> None:
        compiled.append(1)
        plain(self, *args, **kwargs)

    monkeypatch.setattr(Compiler, "__init__", counted)
    few = run_study(request("E=10..60:2"), storage(), HERE)
    first = len(compiled)
    many = run_study(request("E=10..60:41"), storage(), HERE)
    assert len(compiled) - first == first <= 3  # recompiling would make it 41
    assert (len(few.rows), len(many.rows)) == (2, 41)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("X", "there is no parameter X"),
        ("half", "no number of its own"),
        ("E.budget", "E.budget"),
        ("risk.alpha", "risk.alpha"),
        ("battery.energy", "battery.energy"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(name: str, said: str) -> None:
    with pytest.raises(EngiagentError, match=said):
        run_study(request(f"{name}=1,2"), storage(), HERE)


def test_slots_are_swept() -> None:
    folder = PROBLEMS / "battery/hourly_block_delivery"
    asked = request("battery.energy_capacity=5,10,15[MWh]")
    blueprint = Blueprint.load(folder / "expert/blueprint.json")
    found = objectives(run_study(asked, blueprint, Setting(folder, isolate=False)))
    assert found == sorted(found)  # more room never earns less
    assert len(set(found)) == 3


def test_each_plan_is_certified_against_its_own_numbers() -> None:
    setting = Setting(isolate=False, certify=True)
    found = run_study(request("E=20,30", "price=*1,2"), storage(), setting)
    assert [row["verdict"] for row in found.rows] == ["certified"] * 4
    assert any("certified against the blueprint" in note for note in found.notes)


def test_what_is_done_is_not_solved_again(tmp_path: Path) -> None:
    done: list[int] = []

    def told(point: int, of: int, found: dict[str, Any]) -> None:
        done.append(point)

    asked = request("E=5..60:20")
    run_study(asked, storage(), replace(HERE, out=tmp_path, on_point=told))
    assert done == list(range(1, 21))
    run_study(asked, storage(), replace(HERE, out=tmp_path, on_point=told))
    assert len(done) == 20


def test_a_folder_of_another_study_is_refused_unless_forced(tmp_path: Path) -> None:
    run_study(request("E=10,20"), storage(), replace(HERE, out=tmp_path))
    for other, setting in (
        (request("E=10,30"), HERE),
        (request("E=10,20"), Setting(isolate=False, options=SolveOptions(gap=0.1))),
    ):
        with pytest.raises(InputError, match="another study"):
            run_study(other, storage(), replace(setting, out=tmp_path))
    found = run_study(request("E=10,30"), storage(), replace(HERE, out=tmp_path, force=True))
    assert objectives(found)[1] == pytest.approx(best(with_value("E", 30)))


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    run_study(request("E=10,20"), storage(), replace(HERE, out=tmp_path))
    text = (tmp_path / NAME).read_text("utf-8").replace('"found"', '"found', 1)
    (tmp_path / NAME).write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"points\.jsonl:2"):
        run_study(request("E=10,20"), storage(), replace(HERE, out=tmp_path))


def run(words: str, *places: Path) -> Result:
    """Run a command; every ``{}`` stands for a place."""
    return CliRunner().invoke(app, shlex.split(words.format(*places)))


def test_a_problem_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    words = "study sweep {} --vary battery.energy_capacity=1,2 --out {}"
    result = run(words, PROBLEMS / "battery/missing_efficiency", tmp_path)
    assert result.exit_code == 2
    assert "battery.charge_efficiency" in result.stderr


def test_a_users_own_blueprint_is_swept(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(storage().to_json(), "utf-8")
    words = "study sweep {} --vary E=10..40:3 --show 'soc[last(T)]' --certify --out {} --json"
    result = run(words, file, tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["rows"]
    assert [row["verdict"] for row in rows] == ["certified"] * 3
    assert all(row["values"]["soc[last(T)]"] >= 0 for row in rows)
