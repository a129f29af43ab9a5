"""The list and its filters, and the page of a run, as a browser without JavaScript sees them."""

import json
import os
import re
from pathlib import Path

import pytest

from engiagent.report.view.pages import PER_PAGE
from tests.view.conftest import Caller, Put


def names(text: str) -> list[str]:
    return re.findall(r'name="run" value="([^"]*)"', text)


@pytest.fixture
def runs(put: Put) -> None:
    put("a", started="2026-01-01T00:00:00+00:00", verdict="certified", problem="shop")
    put(
        "week/b",
        started="2026-01-03T00:00:00+00:00",
        verdict="violated",
        problem="mill",
        reason="battery.charge too high",
    )
    put("c", started="2026-01-02T00:00:00+00:00", state="failed", problem="<i>mill")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["week/b", "c", "a"]),
        ("?order=oldest", ["a", "c", "week/b"]),
        ("?order=problem", ["c", "week/b", "a"]),
        ("?verdict=violated", ["week/b"]),
        ("?verdict=none", ["c"]),
        ("?state=failed", ["c"]),
        ("?text=MILL+high", ["week/b"]),
        ("?text=week%2Fb", ["week/b"]),
        ("?text=nothing", []),
        ("?order=nonsense&page=-3&page=x", ["week/b", "c", "a"]),
        ("?page=99999999999999999999", ["week/b", "c", "a"]),
    ],
)
@pytest.mark.usefixtures("runs")
def test_the_list_is_filtered_and_ordered(query: str, found: list[str], call: Caller) -> None:
    reply = call(f"/{query}")
    assert reply.status == 200
    assert names(reply.text) == found
    assert "<i>mill" not in reply.text


def test_a_long_list_has_pages_that_keep_the_filter(put: Put, call: Caller) -> None:
    for number in range(PER_PAGE + 5):
        put(f"run {number:03d}", verdict="certified")
    first = call("/?verdict=certified")
    assert len(names(first.text)) == PER_PAGE
    (after,) = re.findall(r'rel="next" href="([^"]*)"', first.text)
    second = call(after.replace("&amp;", "&"))
    assert len(names(second.text)) == 5
    assert not set(names(first.text)) & set(names(second.text))


def test_a_run_tells_how_far_it_came_and_what_it_left(put: Put, call: Caller) -> None:
    folder = put("sub folder/r&d", state="interrupted", stage="solve", reason="interrupted")
    line = {"time": "2026-01-01T00:00:00+00:00", "stage": "solve", "event": "start"}
    (folder / "trace.jsonl").write_text(json.dumps(line) + "\n")
    (folder / "problem").mkdir()
    (folder / "problem" / "problem.md").write_text("# A <b>shop</b>")
    (page,) = re.findall(r'href="(/runs/[^"]*)"', call("/").text)
    reply = call(page)
    assert "solve" in reply.text
    (file,) = re.findall(r'href="([^"]*problem\.md)"', reply.text)
    assert call(file).text == "# A <b>shop</b>"
    assert call(file).headers["content-type"].startswith("text/plain")


def test_a_report_is_written_when_there_is_none(put: Put, call: Caller) -> None:
    folder = put("cut", state="interrupted", problem="shop")
    (file,) = re.findall(r'href="([^"]*report\.html)"', call("/runs/cut").text)
    reply = call(file)
    assert reply.status == 200
    assert "The run was interrupted before it came to a verdict." in reply.text
    assert not (folder / "report.html").exists()  # looking changes nothing


def test_a_folder_that_is_itself_a_run(put: Put, call: Caller, tmp_path: Path) -> None:
    record = {"schema": "engiagent-run/1", "problem": "only", "state": "done"}
    (tmp_path / "runs" / "run.json").write_text(json.dumps(record))
    assert 'href="/runs/"' in call("/").text
    assert "only" in call("/runs/").text
    assert call("/runs/-/run.json").status == 200


def test_two_runs_side_by_side(put: Put, call: Caller) -> None:
    put("a", asked={"seed": 1})
    put("b", asked={"seed": 2})
    reply = call("/compare?run=a&run=b")
    assert "2 runs compared" in reply.text
    assert 'href="/runs/a"' in reply.text
    assert call("/compare?run=a").status == 404
    assert call("/compare").status == 404


def test_the_page_of_a_run_under_way_loads_itself_again(put: Put, call: Caller) -> None:
    put("now", state="running", pid=os.getpid(), stage="solve")
    put("then", state="done", verdict="certified")
    assert 'http-equiv="refresh"' in call("/runs/now").text
    assert 'http-equiv="refresh"' not in call("/runs/then").text + call("/").text
