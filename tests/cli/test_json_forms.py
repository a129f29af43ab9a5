"""Every object that a command prints says which form it has, and has it; one page tells of all."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from engiagent.cli.app import app
from engiagent.cli.help import tree
from engiagent.errors import InputError
from engiagent.tools.schemas import PRINTED, STORED, schema_of
from engiagent.tools.schemas.page import page
from tests.cli.asking import invoke

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "problems/battery/merchant_day"
LP = "Minimize\n cost: 2 x + y\nSubject To\n c1: x + y >= 3\nBounds\n x <= 2\nEnd\n"

COMMANDS: tuple[tuple[str, str], ...] = (
    # Each command line works in a folder with a problem, its blueprint and a run of it.
    ("run", "run day --out runs/b"),
    ("run", "run nowhere"),
    ("run", "run day --engine anthropic --dry-run"),
    ("solve", "solve bp.json --out runs/c"),
    ("audit", "audit day"),
    ("explain", "explain runs/a"),
    ("check", "check runs/a"),
    ("check", "check runs/a runs/a"),
    ("study cases", "study cases bp.json --out s"),
    ("study sweep", "study sweep bp.json --vary E_max=20,21[MWh] --out sweep"),
    ("fleet", "fleet fleet.yaml --out plans"),
    ("fleet", "fleet plans"),
    ("control", "control bp.json --steps 3 --out loop"),
    ("control", "control bp.json --steps 3 --actual one.csv --actual two.csv --out loops"),
    ("simulate", "simulate bp.json --steps 3 --out record"),
    ("lint", "lint bp.json"),
    ("trace", "trace runs/a"),
    ("report", "report runs/a"),
    ("import", "import model.lp --out made.json"),
    ("problems list", "problems list"),
    ("problems show", "problems show battery/merchant_day"),
    ("doctor", "doctor"),
    ("finance annuity", "finance annuity 1000 --rate 0.05 --years 10"),
    ("finance npv", "finance npv --rate 0.05 -1000 600 600"),
    ("finance irr", "finance irr -1000 600 600"),
    (
        "finance battery",
        "finance battery prices.csv#price --hours 2 --round-trip 0.9 --target 0.1 --unit EUR/MWh",
    ),
    ("runs list", "runs list"),
    ("runs compare", "runs compare runs/a runs/a"),
    ("new", "new battery fresh"),
    ("accept", "accept runs/a"),
    ("ask", "ask --plan plan.json --out answered"),
    ("trace", "trace answered"),
    ("bench ask", "bench ask suite.yaml --replay --out runs"),
    ("tool", "tool list_runs"),
    ("tool", "tool --list"),
)
ELSEWHERE = {
    "identify": "needs a record of days; tests/identify",
    "study pareto": "prints what study sweep prints, by the same function",
    "study sensitivity": "prints what study sweep prints, by the same function",
    "weather": "needs a weather file; tests/weather",
    "bench suite": "takes minutes; tests/bench",
    "bench recorded": "tests/recorded",
}


def ask(words: str) -> dict[str, Any]:
    result = invoke(*words.split(), "--json")
    assert result.exit_code != 70, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def checked(found: dict[str, Any]) -> str:
    """Return the form's name after holding an object against the schema without further fields."""
    name = str(found["schema"]).removeprefix("engiagent-").split("/")[0]
    Draft202012Validator(PRINTED[name].make()).validate(found)
    Draft202012Validator(schema_of(str(found["schema"]))).validate({**found, "new_field": 1})
    return name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("forms")
    shutil.copytree(SMALL, place / "day")
    (place / "model.lp").write_text(LP)
    hours = np.arange("2025-01-01", "2026-01-01", 4, dtype="datetime64[h]")
    rows = (f"{hour}:00,{(10, 20, 80)[k % 3]}" for k, hour in enumerate(hours))
    (place / "prices.csv").write_text("time,price\n" + "\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert ask("run day --out runs/a")["verdict"] == "certified"
    shutil.copy(place / "runs/a/blueprint.json", place / "bp.json")
    (place / "fleet.yaml").write_text("{template: bp.json, assets: assets.csv}")
    (place / "assets.csv").write_text("asset,E_max [MWh]\nnorth,20\nsouth,21\n")
    step = {"id": "s1", "agent": "optimisation", "tool": "list_runs"}
    plan = {"schema": "engiagent-plan/1", "question": "Which runs?", "steps": [step]}
    (place / "plan.json").write_text(json.dumps(plan))
    shutil.copy(ROOT / "benchmarks/ask.yaml", place / "suite.yaml")
    for name in ("day_ahead", "one", "two"):
        shutil.copy(place / "day/day_ahead.csv", place / f"{name}.csv")
    return place


@pytest.mark.parametrize("words", [words for _, words in COMMANDS])
def test_what_a_command_prints_has_the_form_that_it_says(
    folder: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    found = ask(words)
    if words != "run nowhere":
        assert "error" not in found, found
    checked(found)


def test_every_command_with_json_is_held_to_its_form() -> None:
    having = {
        " ".join(path)
        for path, command in tree(app)
        if any("--json" in param.opts for param in command.params)
    }
    assert having <= {name for name, _ in COMMANDS} | set(ELSEWHERE), "add a line to COMMANDS"


def test_every_form_is_a_schema_with_a_version() -> None:
    for name, form in {**PRINTED, **STORED}.items():
        for schema in (form.make(), schema_of(name)):
            Draft202012Validator.check_schema(schema)
            if name == "plant":
                continue  # people write it, and need name no version
            assert schema["properties"]["schema"]["const"].startswith(f"engiagent-{name}/")
    for name in PRINTED:
        fields = schema_of(name)["properties"]
        assert all(field.get("description") for field in fields.values()), name


def test_a_form_is_found_by_name_and_by_id_and_a_slip_is_told() -> None:
    assert schema_of("outcome") == schema_of("engiagent-outcome/1")
    with pytest.raises(InputError, match="outcome"):
        schema_of("outcom")


def test_the_page_is_what_the_schemas_say() -> None:
    text = (ROOT / "docs/json-schemas.md").read_text("utf-8")
    assert text == page(), "python -m engiagent.tools.schemas.page > docs/json-schemas.md"


def test_the_command_prints_each_of_them() -> None:
    names = invoke("schema", "--list").stdout
    for name in (*PRINTED, *STORED):
        assert f"{name} " in names
        printed = invoke("schema", name).stdout
        assert json.loads(printed) == schema_of(name)
    assert invoke("schema", "run", "--list").exit_code == 2


def test_records_of_runs_are_as_their_schema_has_them(folder: Path) -> None:
    record = json.loads((folder / "runs/a/run.json").read_text())
    Draft202012Validator(STORED["run"].make()).validate(record)
