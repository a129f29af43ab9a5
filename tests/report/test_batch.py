"""A folder of runs on one page."""

import base64
import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.cli.app import app
from engiagent.errors import InputError
from engiagent.report import render_batch, write_batch
from tests.report.test_page import assert_sound
from tests.report.test_runlist import put


def test_every_run_has_a_row_and_a_link_to_its_report(tmp_path: Path) -> None:
    certified = put(
        tmp_path / "week 1" / "a&b", verdict="certified", started="2026-01-01T10:00:00+00:00"
    )
    put(tmp_path / "none", state="failed", reason="<b>no</b> " + "long " * 100)
    (certified / "report.html").write_text("x")
    path = write_batch(tmp_path)
    text = path.read_text("utf-8")
    page = assert_sound(text, links=True)
    assert [a["href"] for a in page.all("a") if "download" not in a] == [
        "week%201/a%26b/report.html"
    ]
    assert "2 runs" in page.text
    assert "<b>no</b> long" in page.text
    (uri,) = (a["href"] for a in page.all("a") if a.get("download") == "runs.csv")
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(str(uri).partition(",")[2]).decode())))
    assert [(row["name"], row["verdict"], row["state"]) for row in rows] == [
        ("week 1/a&b", "certified", "done"),
        ("none", "", "failed"),
    ]


def test_an_empty_folder_says_so_and_no_folder_is_an_error(tmp_path: Path) -> None:
    assert "There is no run in this folder." in assert_sound(render_batch(tmp_path)).text
    with pytest.raises(InputError, match="no such folder"):
        render_batch(tmp_path / "x")


def test_the_command_writes_the_page_of_a_folder_of_runs(tmp_path: Path) -> None:
    put(tmp_path / "runs" / "a", verdict="certified")
    result = CliRunner().invoke(app, ["report", str(tmp_path / "runs"), "--json"])
    assert result.exit_code == 0, result.output
    assert "Runs in runs" in (tmp_path / "runs" / "report.html").read_text("utf-8")
    assert CliRunner().invoke(app, ["report", str(tmp_path / "nothing")]).exit_code != 0
