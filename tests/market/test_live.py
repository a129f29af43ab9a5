"""Live data from answers that the tests make: over loopback, and by a stand-in for gridstatus."""

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

from engiagent.tools import Session
from tests.market.test_storage import called

SECRET = "key-that-nobody-may-see"
ASKED = {"what": "prices", "area": "DE_LU", "first": "2026-06-01", "last": "2026-06-02"}


def document(start: datetime, end: datetime) -> str:
    """Return an answer of the platform: prices that count the hours of the day."""
    hours = int((end - start) / timedelta(hours=1))
    local = [(start + timedelta(hours=k + 2)).hour for k in range(hours)]
    points = "".join(
        f"<Point><position>{k + 1}</position><price.amount>{hour}</price.amount></Point>"
        for k, hour in enumerate(local)
    )
    interval = f"<start>{start:%Y-%m-%dT%H:%MZ}</start><end>{end:%Y-%m-%dT%H:%MZ}</end>"
    return (
        '<Publication_MarketDocument xmlns="urn:iec62325.351:publicationdocument:7:3">'
        "<TimeSeries><currency_Unit.name>EUR</currency_Unit.name>"
        "<curveType>A03</curveType><price_Measure_Unit.name>MWH</price_Measure_Unit.name>"
        f"<Period><timeInterval>{interval}</timeInterval><resolution>PT60M</resolution>{points}"
        "</Period></TimeSeries></Publication_MarketDocument>"
    )


class _Platform(BaseHTTPRequestHandler):
    answer = "prices"

    def do_GET(self) -> None:
        query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
        assert query["securityToken"] == SECRET
        if self.answer == "denied":
            self.send_error(401)
            return
        ends = [
            datetime.strptime(query[k], "%Y%m%d%H%M").replace(tzinfo=UTC)
            for k in ("periodStart", "periodEnd")
        ]
        body = document(*ends).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Platform]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Platform)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr("entsoe.entsoe.URL", f"http://127.0.0.1:{server.server_port}/api")
    monkeypatch.setenv("ENTSOE_API_KEY", SECRET)
    yield _Platform
    server.shutdown()
    server.server_close()


def test_prices_of_two_days_become_a_table_that_other_tools_read(
    tmp_path: Path, platform: type[_Platform]
) -> None:
    found = called(tmp_path, "market_fetch", file="p.csv", **ASKED)
    assert found["rows"] == 48
    assert (found["first"], found["last"]) == ("2026-06-01T00:00+02:00", "2026-06-02T23:00+02:00")
    statistics = called(tmp_path, "market_statistics", prices="p.csv#price")
    assert statistics["mean_by_hour"] == pytest.approx(list(range(24)))
    battery = {"power": 10.0, "duration": 2.0, "round_trip": 1.0}
    revenue = called(tmp_path, "battery_revenue", prices="p.csv#price", foresight="day", **battery)
    assert revenue["unit"] == "EUR"


def test_a_refusal_of_the_platform_does_not_show_the_key(
    tmp_path: Path, platform: type[_Platform], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "answer", "denied")
    seen = Session(tmp_path).call("market_fetch", {**ASKED, "file": "p.csv"})
    assert "gives no answer: HTTPError" in seen.content["error"]
    assert SECRET not in str(seen.content)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"area": "DE_LX"}, "expected 'DE_LU'"),
        ({"last": "2026-05-01"}, "before the first"),
        ({"area": "CAISO"}, "gridstatus is not installed"),
    ],
)
def test_what_cannot_be_fetched_says_why(
    tmp_path: Path, platform: type[_Platform], change: dict[str, str], message: str
) -> None:
    seen = Session(tmp_path).call("market_fetch", {**ASKED, **change, "file": "p.csv"})
    assert message in seen.content["error"]


def test_without_a_key_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENTSOE_API_KEY", raising=False)
    seen = Session(tmp_path).call("market_fetch", {**ASKED, "file": "p.csv"})
    assert "ENTSOE_API_KEY in the environment" in seen.content["error"]


def test_an_operator_is_asked_by_gridstatus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = pd.date_range("2026-06-01", periods=24, freq="h", tz="US/Pacific")

    class Caiso:
        def get_lmp(self, date: Any, end: Any, market: str, locations: list[str]) -> pd.DataFrame:
            assert (str(date), str(end)) == ("2026-06-01 00:00:00", "2026-06-02 00:00:00")
            assert (market, locations) == ("DAY_AHEAD_HOURLY", ["TH_NP15_GEN-APND"])
            return pd.DataFrame({"Interval Start": times, "LMP": range(24)})

        def get_load(self, date: Any, end: Any) -> pd.DataFrame:
            return pd.DataFrame({"Time": times, "Load": [20_000.0] * 24})

    monkeypatch.setitem(sys.modules, "gridstatus", SimpleNamespace(CAISO=Caiso))
    asked = {"area": "CAISO", "first": "2026-06-01", "last": "2026-06-01"}
    place = {"location": "TH_NP15_GEN-APND"}
    prices = called(tmp_path, "market_fetch", what="prices", file="p.csv", **asked, **place)
    assert (prices["rows"], prices["column"]) == (24, "price [USD/MWh]")
    load = called(tmp_path, "market_fetch", what="load", file="l.csv", **asked)
    assert load["column"] == "load [MW]"
    seen = Session(tmp_path).call("market_fetch", {**asked, "what": "prices", "file": "q.csv"})
    assert "location" in seen.content["error"]
