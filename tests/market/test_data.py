"""Queries answer from the tables of the session and reach nothing else."""

from pathlib import Path

import pandas as pd
import pytest

from engiagent.tools import Session
from engiagent.tools.market.data import SHIPPED
from tests.market.test_storage import called

PRICE = '"price [EUR/MWh]"'
FILE = Path(__file__).parents[2] / "engiagent/tools/market" / SHIPPED["de_2019"]


@pytest.fixture(scope="module")
def prices() -> pd.Series:
    table = pd.read_parquet(FILE)
    return pd.Series(table["price [EUR/MWh]"].to_numpy(), pd.DatetimeIndex(table["time"]))


def test_a_query_answers_as_pandas_does(tmp_path: Path, prices: pd.Series) -> None:
    sql = (
        f"SELECT month(time::TIMESTAMP) AS m, avg({PRICE}) AS p FROM de_2019 GROUP BY m ORDER BY m"
    )
    found = called(tmp_path, "market_query", sql=sql)
    assert [row["p"] for row in found["rows"]] == pytest.approx(
        prices.resample("MS").mean().tolist()
    )
    assert [table["table"] for table in found["tables"]] == ["de_2019"]
    assert not found["more"]
    few = called(tmp_path, "market_query", sql="SELECT * FROM de_2019", rows=5)
    assert few["count"] == 5
    assert few["more"]


def test_files_of_the_session_are_tables(tmp_path: Path) -> None:
    (tmp_path / "loads").mkdir()
    (tmp_path / "loads" / "site-a.csv").write_text("time,kW\n2019-01-01,3\n2019-01-02,5\n", "utf-8")
    tables = called(tmp_path, "market_schema")["tables"]
    assert {"de_2019", "loads_site_a"} == {table["table"] for table in tables}
    assert next(t for t in tables if t["table"] == "loads_site_a")["rows"] == 2
    found = called(tmp_path, "market_query", sql="SELECT sum(kW) AS total FROM loads_site_a")
    assert found["rows"] == [{"total": 8}]


ATTACKS = {
    "a file of the system": "SELECT * FROM read_csv('/etc/passwd')",
    "a file by its name": "FROM '/etc/passwd'",
    "text of a file": "SELECT * FROM read_text('/etc/hostname')",
    "a list of files": "SELECT * FROM glob('/*')",
    "a copy out": "COPY de_2019 TO 'out.csv'",
    "another database": "ATTACH 'other.db'",
    "an extension": "INSTALL httpfs",
    "a setting": "SET enable_external_access = true",
    "a reset": "RESET lock_configuration",
    "a pragma": "PRAGMA database_list",
    "rows added": "INSERT INTO de_2019 SELECT * FROM de_2019",
    "a table dropped": "DROP TABLE de_2019",
    "a table made": "CREATE TABLE x AS FROM de_2019",
    "two statements": "SELECT 1; SELECT 2",
    "no statement": "-- nothing",
    "a variable of Python": "SELECT * FROM request",
    "a network": "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    "a long string": "SELECT repeat('x', 2000000000)",
    "a long list": "SELECT list(range) FROM range(1000000000)",
    "a product": "SELECT count(*) FROM de_2019 a, de_2019 b, de_2019 c",
    "a recursion": "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL FROM t) SELECT max(x) FROM t",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused(tmp_path: Path, name: str) -> None:
    seen = Session(tmp_path).call("market_query", {"sql": ATTACKS[name], "time_limit": 3})
    assert seen.status == "failed"
    assert not list(tmp_path.iterdir())
    assert "root:" not in str(seen.content)


def test_links_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n", "utf-8")
    (tmp_path / "session" / "t.csv").symlink_to(tmp_path / "secret.csv")
    seen = Session(tmp_path / "session").call("market_query", {"sql": "SELECT * FROM t"})
    assert seen.status == "failed"


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    seen = Session(tmp_path).call("market_query", {"sql": "SELECT * FROM t"})
    assert "the table t cannot be read" in seen.content["error"]
    assert str(tmp_path) not in seen.content["error"]


@pytest.mark.parametrize(
    ("length", "rule"), [("day", "D"), ("week", "W-MON"), ("month", "MS"), ("year", "YS")]
)
def test_longer_periods_are_those_of_pandas(
    tmp_path: Path, prices: pd.Series, length: str, rule: str
) -> None:
    for how in ("mean", "sum", "min", "max"):
        found = called(tmp_path, "market_resample", series="de_2019#price", to=length, how=how)
        wanted = getattr(prices.resample(rule, label="left", closed="left"), how)()
        assert found["values"] == pytest.approx(wanted.tolist())
        assert found["starts"] == [str(stamp)[: len(found["starts"][0])] for stamp in wanted.index]


def test_statistics_are_those_of_pandas(tmp_path: Path, prices: pd.Series) -> None:
    found = called(tmp_path, "market_statistics", prices="de_2019#price", spread=3)
    stamps = pd.DatetimeIndex(prices.index)
    days = prices.groupby(stamps.date)
    spreads = days.apply(lambda day: day.nlargest(3).mean() - day.nsmallest(3).mean())
    assert found["mean_daily_spread"] == pytest.approx(spreads.mean())
    assert found["largest_daily_spread_on"] == str(spreads.idxmax())
    assert found["negative_periods"] == 211
    assert (found["lowest"], found["highest"]) == (-90.01, 121.46)
    hours = prices.groupby(stamps.hour).mean()
    assert found["mean_by_hour"] == pytest.approx(hours.tolist())
