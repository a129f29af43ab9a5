"""``engiagent lint``: what it reports, in three forms, and where in the file it points."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.explanations import explanations
from engiagent.io.jsonplaces import JsonPlaces
from engiagent.io.jsontext import dumps_canonical
from tests.blueprints import DAY, constraint, document, variable
from tests.cli.asking import invoke

ROOT = Path(__file__).parents[2]
# The schema of OASIS without its descriptions.
SARIF = json.loads(Path(__file__).with_name("sarif-2.1.0.schema.json").read_text("utf-8"))

GOAL = {"sense": "minimize", "unit": "kWh", "expression": "sum(x[t]*dt(t) for t in T)"}
CLEAN: dict[str, Any] = {
    "sets": [DAY],
    "decision_variables": [variable("x", "t in T"), variable("s", "t in T", unit="kWh")],
    "constraints": [constraint("x[t]*dt(t) + s[t] >= 3[kWh]", "t in T")],
    "objective_function": GOAL,
}
WRONG = CLEAN | {"constraints": [constraint("x[t] + s[t] >= 3[kW]", "t in T", name="bålance")]}
WARNED = CLEAN | {"decision_variables": [*CLEAN["decision_variables"], variable("idle")]}


def write(path: Path, core: dict[str, Any], indent: int | None = 2) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(**core), indent=indent), encoding="utf-8")
    return path


def lint(*args: object) -> Result:
    return invoke("lint", *args)


def finding(path: Path, code: str) -> dict[str, Any]:
    """Return the one finding of a code."""
    found = json.loads(lint(path, "--json").stdout)["files"][0]["diagnostics"]
    result: dict[str, Any]
    (result,) = (item for item in found if item["code"] == code)
    return result


def pointed_at(path: Path, region: dict[str, int]) -> str:
    """Return what stands at a region of one line."""
    line = path.read_text("utf-8").splitlines()[region["line"] - 1]
    return line[region["column"] - 1 : region["end_column"] - 1]


@pytest.mark.parametrize(
    ("core", "options", "code"),
    [
        (CLEAN, [], 0),
        (CLEAN, ["--fail-on", "warning"], 0),
        (WARNED, [], 0),
        (WARNED, ["--fail-on", "warning"], 1),
        (WRONG, [], 1),
    ],
)
def test_exit_codes(tmp_path: Path, core: dict[str, Any], options: list[str], code: int) -> None:
    assert lint(write(tmp_path / "b.json", core), *options).exit_code == code


def test_one_unreadable_file_does_not_hide_the_findings_of_another(tmp_path: Path) -> None:
    wrong = write(tmp_path / "a.json", WRONG)
    broken = tmp_path / "b.json"
    broken.write_text('{"schema": "engiagent-blueprint/1",\n  oops}', encoding="utf-8")
    result = lint(wrong, broken, "--format", "json")
    assert result.exit_code == 2
    first, second = json.loads(result.stdout)["files"]
    assert first["diagnostics"][0]["code"] == "EB005"
    assert (second["error"]["region"]["line"], second["error"]["region"]["column"]) == (2, 3)


def test_a_fault_against_the_schema_has_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "b.json", CLEAN | {"sets": [DAY | {"kind": "weekly"}]})
    (file,) = json.loads(lint(path, "--json").stdout)["files"]
    assert "expected one of" in file["error"]["message"]
    assert pointed_at(path, file["error"]["region"]) == '"weekly"'


def test_folders_stand_for_the_blueprints_in_them(tmp_path: Path) -> None:
    write(tmp_path / "one" / "expert" / "blueprint.json", CLEAN)
    write(tmp_path / "two" / "mine.json", WRONG)
    write(tmp_path / ".hidden" / "blueprint.json", WRONG)
    (tmp_path / "two" / "other.json").write_text("[1]", encoding="utf-8")

    def names(*args: object) -> list[str]:
        files = json.loads(lint(*args, "--json").stdout)["files"]
        return [os.path.relpath(file["file"], tmp_path) for file in files]

    both = ["one/expert/blueprint.json", "two/mine.json"]
    assert names(tmp_path) == both
    assert names(tmp_path, tmp_path / "two" / "mine.json") == both
    (tmp_path / "empty").mkdir()
    assert lint(tmp_path / "empty").exit_code == 2
    assert lint().exit_code == 2


@pytest.mark.parametrize("indent", [None, 1, 2])
def test_the_mark_stands_under_the_term_that_is_wrong(tmp_path: Path, indent: int | None) -> None:
    path = write(tmp_path / "b.json", WRONG, indent)
    lines = lint(path).stdout.splitlines()
    head = next(k for k, line in enumerate(lines) if " EB005 " in line)
    assert "bålance" in lines[head]
    assert lines[head + 2].index("^") == lines[head + 1].index("s[t] >= 3[kW]")
    assert "docs/diagnostics.md#eb005" in "\n".join(lines[head:])


def test_columns_count_characters_of_the_decoded_expression(tmp_path: Path) -> None:
    # Escapes are longer in the file than in the expression that is analysed.
    path = write(tmp_path / "b.json", WRONG)
    text = path.read_text("utf-8").replace('"x[t] + s[t]', r'"\u0078[t]\t+\u0020s[t]')
    path.write_text(text, encoding="utf-8")
    assert pointed_at(path, finding(path, "EB005")["region"]) == "s"


def test_items_without_a_column_are_pointed_at_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "b.json", WARNED)
    (found,) = json.loads(lint(path, "--json").stdout)["files"][0]["diagnostics"]
    assert (found["code"], pointed_at(path, found["region"])) == ("EB020", '"idle"')


def test_what_expansion_moves_and_adds_is_found_where_it_was_written(tmp_path: Path) -> None:
    """Expansion puts a component's expressions before the others."""
    parts = {"power": 30}
    store = dict.fromkeys(("charge_power_max", "discharge_power_max", "energy_capacity"), 1)
    core = CLEAN | {
        "components": [
            {"name": "house", "model": "load", "connections": {"bus": "site"}, "parameters": parts},
            {
                "name": "pack",
                "model": "battery",
                "index": "T",
                "connections": {"bus": "site"},
                "parameters": store | {"initial_energy": 0, "minimum_energy": 5},
            },
            {"name": "mains", "model": "grid", "connections": {"bus": "site"}, "parameters": {}},
        ],
        "expressions": [{"name": "own", "index": ["t in T"], "expression": "x[t] + s[t]"}],
    }
    path = write(tmp_path / "b.json", core)
    assert pointed_at(path, finding(path, "EB005")["region"]) == "s"
    path = write(tmp_path / "b.json", core | {"expressions": []})
    assert pointed_at(path, finding(path, "EB018")["region"]) == '"pack"'


def test_a_component_that_cannot_be_built_is_a_finding_at_the_component(tmp_path: Path) -> None:
    lone = {"name": "pack", "model": "battery", "index": "T", "parameters": {"colour": 3}}
    path = write(tmp_path / "b.json", CLEAN | {"components": [lone]})
    result = lint(path, "--json")
    (found,) = json.loads(result.stdout)["files"][0]["diagnostics"]
    assert result.exit_code == 1
    assert (found["code"], pointed_at(path, found["region"])) == ("EB014", '"pack"')


def test_what_only_the_compiler_finds_out_is_a_finding_too(tmp_path: Path) -> None:
    path = write(
        tmp_path / "b.json",
        CLEAN | {"constraints": [constraint("1[kW]/x[t] <= s[t]/3[kWh]", "t in T")]},
    )
    assert lint(path).exit_code == 1
    assert pointed_at(path, finding(path, "EB027")["region"])
    rows = [
        constraint("x[t]**2 <= 9[kW^2]", "t in T"),
        constraint("s[t] >= 1", "t in T", constraint_id="C2"),
    ]
    curved = CLEAN | {"constraints": rows}
    (file,) = json.loads(lint(write(path, curved), "--json").stdout)["files"]
    assert (file["problem_class"], file["convexity"]) == ("SOCP", "convex")


def test_a_blueprint_of_definitions_is_analysed_as_such(tmp_path: Path) -> None:
    made = document(parameters=[], definitions=[{"name": "a", "expression": "2*b", "unit": "kW"}])
    path = tmp_path / "b.json"
    path.write_text(json.dumps(made | {"kind": "definitions"}, indent=1), encoding="utf-8")
    wrong = finding(path, "EB002")
    assert pointed_at(path, wrong["region"]) == "b"
    (file,) = json.loads(lint(path, "--json").stdout)["files"]
    assert file["kind"] == "definitions"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.sampled_from([None, 0, 3]), st.booleans())
def test_every_span_holds_the_value_of_its_path(value: Any, indent: int | None, raw: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=raw)
    for source in (text, dumps_canonical(value), f" \r\n{text}\n"):
        places = JsonPlaces(source)
        for path, (start, end) in places.spans.items():
            inner = value
            for step in path:
                inner = inner[step]
            assert json.loads(source[start:end]) == inner
        assert () in places.spans


@given(st.text(min_size=1), st.integers(1, 50), st.booleans())
def test_a_column_of_a_string_finds_its_character(text: str, column: int, ascii: bool) -> None:
    source = json.dumps(text, ensure_ascii=ascii)
    region = JsonPlaces(source).region((), column)
    rest = json.loads(f'"{source[region.column - 1 : -1]}"')
    assert rest == text[column - 1 :]


def test_sarif_is_valid_and_its_regions_are_those_of_the_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = write(tmp_path / "one two" / "b.json", WRONG)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    out = tmp_path / "out.sarif"
    result = lint("one two/b.json", "broken.json", "--format", "sarif", "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    log = json.loads(out.read_text("utf-8"))
    jsonschema.Draft4Validator(SARIF).validate(log)
    (run,) = log["runs"]
    found = json.loads(lint(wrong, "--json").stdout)["files"][0]["diagnostics"]
    for sarif, plain in zip(run["results"], found, strict=True):
        place = sarif["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "one%20two/b.json"
        region = plain["region"]
        assert place["region"]["startLine"] == region["line"]
        assert place["region"]["startColumn"] == region["column"]
        assert run["tool"]["driver"]["rules"][sarif["ruleIndex"]]["id"] == sarif["ruleId"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "JSON" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_a_fault_in_a_data_file_is_told_with_its_line(tmp_path: Path) -> None:
    load = {"name": "load", "index": ["T"], "data": "load.csv#load", "unit": "kW"}
    path = write(tmp_path / "p" / "expert" / "blueprint.json", CLEAN | {"parameters": [load]})
    (tmp_path / "p" / "load.csv").write_text("time,load\n0,1\n1,2\n2,many\n3,4\n")
    found = finding(path, "EB014")
    assert pointed_at(path, found["region"]) == '"load"'
    assert "load.csv:4" in found["message"]


def test_every_code_can_be_explained_from_the_page_that_ships() -> None:
    page = (ROOT / "docs" / "diagnostics.md").read_text("utf-8")
    for code, part in explanations().items():
        result = lint("--explain", code.lower())
        assert result.exit_code == 0
        assert result.stdout.strip() in page
        assert result.stdout.startswith(f"## {code}: ")
        assert "```json bad" in result.stdout
        assert part.text


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_out_holds_what_would_be_printed(tmp_path: Path, form: str) -> None:
    path = write(tmp_path / "b.json", WRONG)
    printed = lint(path, "--format", form).stdout
    assert lint(path, "--format", form, "--out", tmp_path / "out").stdout == ""
    written = (tmp_path / "out").read_text("utf-8")
    same = (lambda text: text) if form == "text" else json.loads
    assert same(written) == same(printed)


PLANT = """\
horizon: {start: 2026-06-01, step: 1 h, periods: 4}
components:
  grid: {model: grid, import_price: 0.1 EUR/kWh}
  shop: {model: load, power: 4 kW}
requirements:
  quiet: {must: "grid.import[t] <= 5 kW", where: hour(t) < 3}
  night: {must: "grid.import[t] <= 2 kW", where: hour(t) >= 22 and hour(t) < 6}
goal: {minimize: cost}
"""


@pytest.mark.parametrize("before", ["", "---\nid: shop\n---\n\n# A shop\n\nProse.\n\n"])
def test_a_requirement_of_a_plant_that_holds_nowhere_is_found_at_its_line(
    tmp_path: Path, before: str
) -> None:
    text = f"{before}```yaml engiagent\n{PLANT}```\n" if before else PLANT
    path = tmp_path / ("shop.md" if before else "plant.yaml")
    path.write_text(text, encoding="utf-8")
    result = invoke("lint", str(path), "--json", "--fail-on", "warning")
    [found] = json.loads(result.stdout)["files"][0]["diagnostics"]
    assert (found["code"], found["name"], result.exit_code) == ("EB025", "night", 1)
    assert text.splitlines()[found["region"]["line"] - 1].lstrip().startswith("night:")
