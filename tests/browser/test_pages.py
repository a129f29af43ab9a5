"""Every page that stands alone, as a reader opens it: light, dark, on a telephone, on paper."""

from pathlib import Path

import pytest

from tests.browser.conftest import MODES, Open

PAGES = (
    "report_merchant_day",
    "report_missing_efficiency",
    "report_cold_snap",
    "batch",
    "compare",
    "study",
    "report_campus_tank_year",
    "report_sized",
    "loop",
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound_in_every_light_and_width(
    name: str, pages: dict[str, str], visit: Open
) -> None:
    opened = visit(pages[name])
    for mode in MODES:
        opened.turn(mode)
        assert opened.sticks_out() <= 0, mode
        assert opened.clipped() == [], mode
        assert opened.axe(mode) == [], mode
    assert opened.asked == [pages[name]]  # one request, the page itself
    assert opened.complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_obeys_its_own_policy(name: str, pages: dict[str, str], visit: Open) -> None:
    # Without scripts nothing may ask for one, and the policy is in force.
    opened = visit(pages[name], script=False)
    assert opened.asked == [pages[name]]
    assert opened.complaints == []


def test_paper_shows_the_checks_and_not_the_bulk(
    pages: dict[str, str], visit: Open, tmp_path: Path
) -> None:
    opened = visit(pages["report_merchant_day"])
    opened.page.emulate_media(media="print", color_scheme="dark")
    background = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"  # whatever the reader's screen is like
    assert opened.page.get_by_text("Least margin", exact=True).is_visible()
    assert opened.page.get_by_text("What to do, and when").is_visible()
    assert not opened.page.locator("details.bulk table").is_visible()
    assert not opened.page.get_by_text("Download as CSV").first.is_visible()
    opened.page.set_viewport_size({"width": 688, "height": 900})  # A4 within its margins
    assert opened.sticks_out() <= 0
    pdf = opened.page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") < 20


def test_a_keyboard_reaches_the_verdict_and_every_wide_table(
    pages: dict[str, str], visit: Open
) -> None:
    opened = visit(pages["report_merchant_day"])
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
    wide = opened.page.eval_on_selector_all(
        ".scroll", "all => all.filter(one => one.tabIndex < 0).length"
    )
    assert wide == 0
