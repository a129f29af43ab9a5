"""Pages of sites and plant files: their titles, what is saved, and what is never used."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from engiagent import Site

TITLE = "Depot: <Hof> & Halle"


def depot() -> Site:
    site = Site("2026-06-01", "1 h", 4, title=TITLE)
    site.add("grid", "grid", import_price=[0.1, 0.1, 0.4, 0.4], export_power_max="9 kW")
    site.add("load", "load", power="3 kW")
    powers: Any = {"charge_power_max": 5, "discharge_power_max": 5}
    site.add("battery", "battery", energy_capacity="10 kWh", initial_energy=0, **powers)
    site.minimise_cost()
    return site


def heading(page: Path) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return unescape(found[1]).strip()


def test_pages_of_a_site_bear_its_title(tmp_path: Path) -> None:
    plan = depot().solve(progress=False)
    plan.report(tmp_path / "plan.html")
    assert heading(tmp_path / "plan.html") == TITLE
    depot().control(2, progress=False).report(tmp_path / "loop.html")
    assert heading(tmp_path / "loop.html") == f"Closed loop: {TITLE}"
    never = (tmp_path / "plan.html").read_text(encoding="utf-8").split("Never used:")[1]
    items = re.findall(r"<li>(.*?)</li>", never.split("</ul>")[0])
    assert items == ["grid: export"]


def test_a_plan_says_what_it_saves_against_the_baseline(tmp_path: Path) -> None:
    """Without the battery 12 kWh are bought as they come: 6 at 0.1, 6 at 0.4 EUR/kWh."""
    site = depot()
    site.baseline("battery")
    plan = site.solve(progress=False)
    assert [case["case"] for case in plan.cases] == ["base", "baseline"]
    assert plan.objective is not None
    assert plan.saving == pytest.approx(6 * 0.1 + 6 * 0.4 - plan.objective)
    plan.report(tmp_path / "plan.html")
    block = (tmp_path / "plan.html").read_text(encoding="utf-8").split("Key figures")[1]
    saved = f"{plan.saving:g}\u00a0EUR <small>against the baseline</small>"
    assert f"<dt>Saved</dt><dd>{saved}" in block.split("</section>")[0]
    assert depot().solve(progress=False).saving is None
