"""What a drawing is: safe, self-contained, of bounded size, and readable without colour."""

import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.errors import InputError
from engiagent.report.charts import (
    Axis,
    Band,
    Chart,
    Curve,
    Lanes,
    Panel,
    document,
    draw,
    plot,
    tornado,
)
from engiagent.report.charts.panels import stacked

SVG = "{http://www.w3.org/2000/svg}"


def axis(periods: int) -> Axis:
    places = np.arange(periods, dtype=np.float64)
    return Axis("T", "number", places, tuple(f"{p:g}" for p in places))


def dispatch(periods: int, areas: int = 3) -> Panel:
    line, random = axis(periods), np.random.default_rng(7)
    curves = [
        Curve(f"unit {k} <&>", line.edges, random.normal(size=periods), "step", "stack")
        for k in range(areas)
    ]
    price = Curve("price", line.edges, random.normal(50, 9, periods), "step", side="strip")
    band = Band("comfort", line.edges, np.full(periods, -1.0), np.full(periods, 1.0), "step")
    limit = Curve("most allowed", line.edges, np.full(periods, 2.0), "step", "limit")
    return Panel("site", "kW", line, (*curves, limit, price), (band,), "EUR/MWh")


def everything() -> list[Chart]:
    return [
        dispatch(24),
        plot("front", "emissions [t]", "cost [EUR]", {"a": [(1.0, 5.0), (2.0, 3.0)]}),
        tornado("cost", "EUR", 10.0, {"price": (8.0, 13.0), "load": (None, 11.0)}),
    ]


@pytest.mark.parametrize("chart", everything(), ids=lambda chart: chart.title)
def test_a_drawing_has_a_name_and_says_what_it_shows(chart: Chart) -> None:
    root = ElementTree.fromstring(str(draw(chart, "x")))
    title, said = root.find("title"), root.find("desc")
    assert title is not None
    assert said is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {said.get('id')}"
    assert said.text
    assert re.search(r"\d", said.text)


def test_a_document_asks_nobody_for_anything() -> None:
    text = document(everything())
    root = ElementTree.fromstring(text)
    assert not list(root.iter(f"{SVG}script"))
    assert "href" not in text
    assert "@import" not in text
    assert "url(" not in text
    assert "<&>" not in text


def gaps(panel: Panel) -> Panel:
    """Leave a gap at every second period."""
    curves = []
    for curve in panel.curves:
        values = curve.values.copy()
        values[::2] = np.nan
        curves.append(replace(curve, values=values))
    return replace(panel, curves=tuple(curves))


@pytest.mark.parametrize("change", [lambda panel: panel, gaps], ids=["whole", "with gaps"])
def test_a_year_of_quarter_hours_stays_small(change: Callable[[Panel], Panel]) -> None:
    drawn = draw(change(dispatch(35_040, areas=4)), "x")
    assert 10_000 < len(drawn) < 300_000


def test_no_peak_is_lost_in_a_year() -> None:
    line = axis(35_040)
    values = np.zeros(35_040)
    values[12_345] = 80.0
    drawn = draw(Panel("load", "kW", line, (Curve("load", line.edges, values, "step"),)), "x")
    root = ElementTree.fromstring(str(drawn))
    path = next(p for p in root.iter("path") if "dense" in p.get("class", ""))
    heights = [float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", path.get("d", ""))]
    assert max(heights) - min(heights) == pytest.approx(150.0)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=6))
def test_stacked_areas_add_up_on_either_side_of_zero(rows: list[list[float]]) -> None:
    curves = [
        Curve(str(k), axis(3).edges, np.array(row), "step", "stack") for k, row in enumerate(rows)
    ]
    found = stacked(curves)
    values = np.array(rows)
    for sign in (1.0, -1.0):
        part = np.where(sign * values > 0, values, 0.0)
        edges = [above for _, _, above in found if (sign * above).max() > 0]
        if edges:
            assert np.allclose(edges[-1], part.sum(axis=0), rtol=1e-12, atol=1e-6)
    areas = sum((above - below for _, below, above in found), np.zeros(3))
    assert np.allclose(areas, values.sum(axis=0), rtol=1e-9, atol=1e-6)


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'soc'"):
        Curve("soc", np.arange(3.0), np.arange(3.0), "step")
    one, two = axis(3), axis(4)
    curves = [Curve(str(a.places.size), a.edges, a.places, "step", "stack") for a in (one, two)]
    with pytest.raises(InputError, match="stacked"):
        Panel("site", "kW", one, tuple(curves))


def test_panels_without_a_value_are_drawn_empty() -> None:
    line = axis(3)
    nothing = Curve("x", line.edges, np.full(3, np.nan), "step")
    assert "no values" in draw(Panel("x", "kW", line, (nothing,)), "x")
    assert "<svg" in draw(Panel("x", "kW", line, ()), "x")
    assert "<svg" in draw(plot("x", "a", "b", {}), "x")
    assert "<svg" in draw(tornado("x", "EUR", 1.0, {}), "x")
    assert "0 bars" in draw(Lanes("times", "s", ()), "x")
