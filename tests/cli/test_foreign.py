"""Schedules from anywhere: a kept check reads alike, and wrong options are told."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.asking import invoke

PAGE = Path(__file__).parents[2] / "docs" / "foreign-schedules.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blueprint(folder: Path) -> Path:
    content = {name: text for _, name, text in BLOCK.findall(PAGE.read_text("utf-8"))}
    (folder / "blueprint.json").write_text(content["blueprint.json"])
    (folder / "utc.csv").write_text(content["utc.csv"])
    (folder / "map.yaml").write_text(content["map.yaml"])
    return folder / "blueprint.json"


def test_a_kept_check_is_verified_with_the_same_reading(tmp_path: Path) -> None:
    path = blueprint(tmp_path)
    (tmp_path / "latest.csv").symlink_to("utc.csv")
    asked = ("--solution", tmp_path / "latest.csv", "--map", tmp_path / "map.yaml")
    kept = invoke("check", path, *asked, "--out", tmp_path / "kept")
    assert kept.exit_code == 0, kept.output
    again = invoke("check", tmp_path / "kept", "--json")
    found = json.loads(again.stdout)
    assert (again.exit_code, found["verified"], found["differences"]) == (0, True, [])
    record = json.loads((tmp_path / "kept" / "run.json").read_text())
    assert record["asked"]["reading"]["zone"] == "UTC"
    record["asked"]["reading"]["zone"] = "Europe/Berlin"
    (tmp_path / "kept" / "run.json").write_text(json.dumps(record))
    assert invoke("check", tmp_path / "kept", "--json").exit_code != 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--map", "battery.charge"), "is no pair"),
        (("--map", "absent.yaml"), "absent.yaml"),
        (("--unit", "ch=kkW"), "the unit of ch"),
        (("--zone", "Mars/Base"), "unknown time zone"),
        (("--labels", "middle"), "labels"),
        (("--map", "a=b", "--map", "a=c"), "a is set twice"),
    ],
)
def test_a_wrong_option_is_told(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    path = blueprint(tmp_path)
    result = invoke("check", path, "--solution", tmp_path / "utc.csv", *options)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_options_of_a_schedule_need_one(tmp_path: Path) -> None:
    for options in (("--map", "a=b"), ("--hold",), ("--labels", "end"), ("--unit", "a=kW")):
        result = invoke("check", blueprint(tmp_path), *options)
        assert result.exit_code == 2
        assert "needs --solution" in result.output


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    path = blueprint(tmp_path)
    asked = ("--solution", tmp_path / "utc.csv", "--map", tmp_path / "map.yaml")
    result = invoke("check", path, *asked, "--unit", "ch=kW", "--unit", "dis=kW")
    assert "0.0629 EUR" in result.output
