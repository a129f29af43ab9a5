import base64
import csv
import io
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from engiagent.errors import EngiagentError
from engiagent.report import render_report, write_report
from tests.report.conftest import MakeRun

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every end tag must fit, every attribute is kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.under: dict[str, list[str]] = {}
        self.headings: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.open:
            self.under.setdefault(self.open[-1], []).append(tag)
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if any(re.fullmatch(r"h[1-6]", tag) for tag in self.open):
            self.headings[-1] += data
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def assert_sound(text: str, links: bool = False) -> Page:
    """What holds for every report, whatever is in the folder."""
    page = Page(text)
    names = {name for name, _ in page.tags}
    assert not names & {"script", "iframe", "object", "embed", "form", "link", "base", "img"}
    for name, attrs in page.tags:
        assert not [key for key in attrs if key.startswith("on")], name
        for key in ("href", "src", "action", "data", "xlink:href"):
            allowed = r"#|data:text/csv;|[\w%/.-]+$" if links else r"#|data:text/csv;"
            assert re.match(allowed, attrs.get(key) or "#"), attrs
    assert "url(" not in text
    assert "@import" not in text
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.tags:
        for key in ("aria-labelledby", "for"):
            for target in (attrs.get(key) or "").split():
                assert target in ids
    assert text.count("<table") == text.count("<caption>")
    assert all("scope" in attrs for attrs in page.all("th"))
    levels = [int(name[1]) for name, _ in page.tags if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert any(attrs.get("content") == policy for attrs in page.all("meta"))
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == 1
    for attrs in page.all("svg"):
        assert attrs["role"] == "img"
    regions = [attrs for attrs in page.all("div") if "tabindex" in attrs]
    assert all(a["role"] == "region" and a["aria-label"] for a in regions)
    assert len({a["aria-label"] for a in regions}) == len(regions)
    return page


def test_the_verdict_comes_first_and_everything_is_there(make_run: MakeRun) -> None:
    path = write_report(make_run())
    assert path.name == "report.html"
    assert render_report(path.parent) == path.read_text("utf-8")  # the same folder, the same page
    page = assert_sound(path.read_text("utf-8"))
    assert page.headings == [
        "A <b>shop</b> & its battery",
        "✔ Certified",
        "Key figures",
        "Schedule",
        "What to do, and when",
        "Numbers of the schedule",
        "Certificate",
        "What to do",
        "What it costs",
        "Is it safe?",
        "Why believe it?",
        "Assumptions",
        "Data",
        "The problem as it was given",
        "How to repeat this",
    ]
    assert len(page.all("svg")) == 3  # power, energy, price


def test_assumptions_and_sources_are_shown(make_run: MakeRun) -> None:
    text = assert_sound(render_report(make_run())).text
    assert "eta = 0.95 the text gives no efficiency <i>" in text
    assert "the price is known day ahead" in text
    assert "text: “200 kWh” (characters 40–47)" in text
    assert "column price of prices.csv" in text


def test_the_csv_holds_the_schedule(make_run: MakeRun, solution: Any) -> None:
    page = assert_sound(render_report(make_run()))
    uri = next(a["href"] for a in page.all("a") if a.get("download") == "schedule.csv")
    assert uri is not None
    rows = list(csv.reader(io.StringIO(base64.b64decode(uri.partition(",")[2]).decode())))
    assert len(rows) == 26  # a head, 24 periods, the last instant
    assert rows[0] == [
        "Europe/Berlin",
        "battery.charge [kW]",
        "battery.discharge [kW]",
        "battery.state_of_charge [kWh]",
        "price [EUR/MWh]",
    ]
    assert rows[1][0] == "2025-03-30 00:00+01:00"
    assert rows[3][0] == "2025-03-30 03:00+02:00"
    assert [float(r[1]) for r in rows[1:25]] == pytest.approx(list(solution(24).charge.values))
    assert rows[25][1] == ""


def test_hostile_words_stay_words(make_run: MakeRun, blueprint: Any, certificate: Any) -> None:
    evil = "<script>alert(1)</script>\" onload='x' \x00\x1b ]]> &amp; </style>"
    document, proof = blueprint(24), certificate()
    document["core_model_elements"]["parameters"][1]["description"] = evil
    document["core_model_elements"]["constraints"][1]["name"] = evil
    proof |= {"problem": evil, "missing": [evil], "versions": {evil: evil}}
    proof["violations"] = [{"level": evil, "name": evil, "where": {evil: evil}, "message": evil}]
    record = {
        "state": evil,
        "verdict": evil,
        "reason": evil,
        "notes": [evil],
        "asked": {evil: evil},
    }
    text = render_report(
        make_run(blueprint=document, certificate=proof, record=record, text=f"# {evil}")
    )
    page = assert_sound(text)
    assert "\x00" not in text
    assert "alert(1)" in page.text


def test_what_is_wrong_is_quoted(make_run: MakeRun, certificate: Any) -> None:
    proof = certificate("violated")
    proof["violations"] = [
        {
            "level": "algebra",
            "check": "R1",
            "name": "power",
            "where": {"T": "2025-03-30T03:00"},
            "amount": 1.25,
            "unit": "kW",
            "tolerance": 1e-6,
            "message": "too much",
        }
    ]
    proof["missing"] = [{"name": "battery.efficiency", "message": "give it with --set"}]
    proof["not_understood"] = [{"quote": "The moon must be full.", "reason": "no rule covers it"}]
    text = assert_sound(render_report(make_run(certificate=proof))).text
    said = "power at 2025-03-30 03:00, by 1.25 kW (tolerance 1×10⁻⁶ kW): too much [algebra]"
    assert f"{said}: at most 50 kW" in text
    assert "battery.efficiency: give it with --set" in text
    assert "no rule covers it: The moon must be full." in text


PARTS = ("blueprint", "solution", "certificate", "record", "text")


@pytest.mark.parametrize("kept", PARTS[:4])
def test_whatever_exists_is_shown(kept: str, make_run: MakeRun) -> None:
    parts = {part: None for part in PARTS if part != kept}
    assert_sound(render_report(make_run(**parts)))


@pytest.mark.parametrize(
    "name", ["run.json", "certificate.json", "blueprint.json", "solution.nc", "problem/prices.csv"]
)
@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe\x00garbage", b"[1, 2]"])
def test_a_damaged_artefact_is_named_and_the_rest_shown(
    name: str, damage: bytes, make_run: MakeRun
) -> None:
    folder = make_run()
    (folder / name).write_bytes(damage)
    page = assert_sound(render_report(folder))
    if name.endswith((".json", ".nc")):
        assert f"{name} " in page.text


def test_no_run_folder_is_an_error_for_the_user(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(EngiagentError):
            render_report(folder)


def test_a_year_of_hours_stays_small(make_run: MakeRun) -> None:
    text = render_report(make_run(8760))
    assert_sound(text)
    assert len(text.encode()) < 2_000_000
    assert text.count("<tr>") < 400


def test_many_series_are_bounded(make_run: MakeRun) -> None:
    labels = [f"G{k}" for k in range(300)]
    values = np.arange(7200.0).reshape(300, 24)
    data = xarray.Dataset(
        {"p": (("G", "K"), values, {"units": "MW"})}, coords={"G": labels, "K": range(24)}
    )
    page = assert_sound(render_report(make_run(solution=data, blueprint=None)))
    assert len(page.all("svg")) <= 24
    assert "more charts are left out" in page.text
