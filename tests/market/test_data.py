"""Queries answer from the tables of the session and reach nothing else."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engiagent.errors import InputError
from engiagent.text.datafile import load_data_file
from engiagent.tools import Session
from engiagent.tools.market.data import SHIPPED
from engiagent.units.words import Conventions
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


def test_files_of_like_names_are_tables_of_their_own(tmp_path: Path) -> None:
    for file, power in (("a-b.csv", 3), ("a_b.csv", 5), ("A.B.csv", 7), ("de_2019.csv", 9)):
        (tmp_path / file).write_text(f"time,kW\n2019-01-01,{power}\n", "utf-8")
    tables = {t["file"]: t["table"] for t in called(tmp_path, "market_schema")["tables"]}
    assert len({name.casefold() for name in tables.values()}) == len(tables) == 5
    for file, power in (("a-b.csv", 3), ("a_b.csv", 5), ("A.B.csv", 7), ("de_2019.csv", 9)):
        name = tables[file].upper()  # of SQL, which does not tell capitals apart
        found = called(tmp_path, "market_query", sql=f"SELECT kW FROM {name}")
        assert found["rows"] == [{"kW": power}]
        assert file in {table["file"] for table in found["tables"]}
    assert tables["de_2019"] == "de_2019"


def test_no_column_of_an_answer_hides_another(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,price\n2019-01-01,3\n", "utf-8")
    (tmp_path / "b.csv").write_text("time,price\n2019-01-01,5\n", "utf-8")
    join = "FROM a JOIN b ON a.time = b.time"
    seen = Session(tmp_path).call("market_query", {"sql": f"SELECT a.price, b.price {join}"})
    assert "two columns are called price; name them with AS" in seen.content["error"]
    sql = f"SELECT a.price AS one, b.price AS two {join}"
    assert called(tmp_path, "market_query", sql=sql)["rows"] == [{"one": 3, "two": 5}]


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


@pytest.mark.parametrize(
    ("first", "said"), [("2026-03-28", "a gap of 1"), ("2026-10-24", "time goes back")]
)
def test_a_zone_in_the_header_tells_local_stamps(tmp_path: Path, first: str, said: str) -> None:
    begin = pd.Timestamp(first, tz="Europe/Berlin")
    index = pd.date_range(begin, begin + pd.DateOffset(days=3), freq="30min", inclusive="left")
    values = pd.Series(np.random.default_rng(5).normal(50, 40, len(index)).round(2), index)
    minutes = index if "10" in first else index[::2]  # an hour is missing, or comes twice
    values = values[minutes]
    rows = [f"{t:%d.%m.%Y %H:%M};{v:.2f}" for t, v in values.items()]
    file = tmp_path / "p.csv"
    file.write_text("\n".join(["Zeit;Preis [EUR/MWh]", *rows]), "utf-8")
    seen = Session(tmp_path).call("market_statistics", {"prices": "p.csv#Preis"})
    error = seen.content["error"]
    assert said in error
    header = error.partition("in the header: '")[2].partition("'")[0]
    file.write_text("\n".join([f"{header};Preis [EUR/MWh]", *rows]), "utf-8")  # as advised
    found = called(tmp_path, "market_statistics", prices="p.csv#Preis")
    by_hour = values.groupby(minutes.hour).mean()
    assert found["mean_by_hour"] == pytest.approx(by_hour.tolist())
    asked = {"series": "p.csv#Preis", "to": "hour", "file": "hours.csv"}
    hours = called(tmp_path, "market_resample", **asked)
    wanted = values.resample("h").mean()
    assert hours["values"] == pytest.approx(wanted.tolist())
    assert [pd.Timestamp(start) for start in hours["starts"]] == wanted.index.tolist()
    again = called(tmp_path, "market_resample", series="hours.csv#Preis", to="day")
    assert again["values"] == pytest.approx(wanted.resample("D").mean().tolist())


def test_a_zone_stated_beside_another_in_the_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("time [UTC],p [kW]\n2026-01-01 00:00,1\n", "utf-8")
    with pytest.raises(InputError, match=r"says UTC, not Europe/Berlin; .*expected one zone"):
        load_data_file(tmp_path, "p.csv", Conventions(), "Europe/Berlin")
    assert load_data_file(tmp_path, "p.csv", Conventions(), None).zone == "UTC"


def test_a_unit_beside_another_in_the_header_is_refused(tmp_path: Path) -> None:
    rows = "2026-01-01 00:00,30\n2026-01-01 01:00,40\n"
    (tmp_path / "p.csv").write_text(f"time,price [EUR/MWh]\n{rows}", "utf-8")
    asked = {"prices": "p.csv#price", "spread": 1}
    seen = Session(tmp_path).call("market_statistics", {**asked, "prices_unit": "EUR/kWh"})
    assert "the header of 'price' says EUR/MWh; found EUR/kWh" in seen.content["error"]
    assert called(tmp_path, "market_statistics", prices_unit="EUR/MWh", **asked)["mean"] == 35


@pytest.mark.parametrize("unit", ["W", "kW", "MW"])
def test_powers_add_up_as_energies(tmp_path: Path, unit: str) -> None:
    rows = [f"2026-01-01T{k // 4:02d}:{k % 4 * 15:02d},20" for k in range(96)]
    (tmp_path / "l.csv").write_text("\n".join([f"time,load [{unit}]", *rows]), "utf-8")
    asked = {"series": f"l.csv#load [{unit}]", "to": "day", "how": "sum", "file": "d.csv"}
    found = called(tmp_path, "market_resample", **asked)
    assert (found["unit"], found["values"]) == (f"{unit}h", [480.0])
    assert (tmp_path / "d.csv").read_text("utf-8").startswith(f"start,load [{unit}h]\n")


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
