"""The viewer as somebody uses it: list and filters without scripts, a run followed as it goes."""

from pathlib import Path

import pytest

from tests.browser.conftest import MODES, Open, outside


@pytest.mark.parametrize(
    ("name", "path"), [("list", "/"), ("run", "/runs/merchant_day"), ("error", "/nothing")]
)
def test_a_page_of_the_viewer_is_sound(name: str, path: str, home: str, visit: Open) -> None:
    opened = visit(home + path)
    for mode in MODES:
        opened.turn(mode)
        opened.picture(f"view_{name}-{mode}")
        assert opened.sticks_out() <= 0, mode
        assert opened.clipped() == [], mode
        assert opened.axe(mode) == [], mode
    assert outside(opened.asked, home) == []
    complaints = [text for text in opened.complaints if name != "error" or "404" not in text]
    assert complaints == []


@pytest.mark.parametrize("width", [320, 390, 480, 700, 1000])
def test_no_field_of_the_filter_covers_another(width: int, home: str, visit: Open) -> None:
    page = visit(home, script=False).page
    page.set_viewport_size({"width": width, "height": 800})
    boxes = [field.bounding_box() for field in page.locator(".filters :is(input, select)").all()]
    edges = [(b["x"], b["y"], b["x"] + b["width"], b["y"] + b["height"]) for b in boxes if b]
    assert len(edges) == 4
    for k, (left, top, right, bottom) in enumerate(edges):
        assert right <= width
        for x, y, u, v in edges[:k]:
            assert right <= x or u <= left or bottom <= y or v <= top


def test_without_scripts_the_list_is_filtered_and_leads_to_the_report(
    home: str, visit: Open
) -> None:
    opened = visit(home, script=False)
    page = opened.page
    page.get_by_label("Verdict").select_option("proven infeasible")
    page.get_by_role("button", name="Show").click()
    assert page.locator("table.runs tbody tr").count() == 1
    page.get_by_role("link", name="cold_snap_infeasible").click()
    page.get_by_role("link", name="Open the report").click()
    assert "No plan can meet all requirements at once" in page.inner_text("main")
    assert opened.complaints == []


def test_runs_are_ticked_and_seen_side_by_side(home: str, visit: Open) -> None:
    opened = visit(home)
    for run in ("merchant_day", "cold_snap"):
        opened.page.get_by_label(f"Compare {run}").check()
    opened.page.get_by_role("button", name="Compare").click()
    assert opened.page.inner_text("h1") == "2 runs compared"
    assert opened.complaints == []


def test_a_report_within_the_viewer_runs_nothing_and_still_saves(
    home: str, visit: Open, runs: Path
) -> None:
    opened = visit(f"{home}/runs/merchant_day/-/report.html", script=False)
    assert opened.page.evaluate("self.origin") == "null"  # of no origin: it can reach nothing
    with opened.page.expect_download() as waiting:
        opened.page.locator('a[download="instructions.csv"]').click()
    assert waiting.value.suggested_filename == "instructions.csv"
