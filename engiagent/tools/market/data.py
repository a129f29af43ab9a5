"""Tools on tables of prices, loads and weather: what there is, SQL, other periods, statistics.

A query sees the tables of the session's folder and nothing else; see :mod:`.querying`.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.files import sha256_bytes
from engiagent.io.schemawords import COUNT, FLAG, NUMBER, OBJECT, TEXT, TEXTS, list_of, record
from engiagent.study.economics.cashflow import Floats
from engiagent.study.economics.series import Series, read_series
from engiagent.tools.modelling import plain
from engiagent.tools.places import files_below, inside, write_rows
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import stated
from engiagent.units.unit import parse_unit

GROUP: Final = "market"
PACK: Final = "market"
SHIPPED: Final[Mapping[str, str]] = {"de_2019": "de_2019.parquet"}
_ABOUT: Final = {
    "de_2019": "Germany and Luxembourg 2019 by hour: day-ahead price, emission factor "
    "(tutorials of oemof.solph, MIT licence)"
}
_SUFFIXES: Final = (".csv", ".parquet")
_MOST_CHARACTERS: Final = 200_000
SOURCE: Final = record(
    {"data_set": TEXT, "column": TEXT, "unit": TEXT, "rows": COUNT, "first": TEXT, "last": TEXT}
    | {"sha256": TEXT}
)
"""Where the numbers of an answer come from."""
_LENGTHS: Final = {"day": 10, "month": 7, "year": 4}
"""Letters of a stamp that tell such periods apart."""
_HOUR: Final = re.compile(r"(.{13}):\d\d(?::[\d.]+)? ?(Z|UTC|[+-]\d\d:?\d\d)?")
_QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
_HOW: Final[Mapping[str, Callable[[Floats], Any]]] = {
    "mean": np.mean,
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
}


def series_of(
    state: State, text: str, unit: str | None = None, zone: str | None = None
) -> tuple[Series, Json]:
    """Return the column that FILE#COLUMN names, and where it comes from."""
    name, _, column = text.rpartition("#")
    if not name or not column:
        raise InputError("a series is a file and a column", found=text, expected="prices.csv#price")
    path = _path(state.root, name)
    series = read_series(path, column, unit, zone)
    return series, {
        **{"data_set": name, "column": column, "unit": series.unit, "rows": len(series.values)},
        **{"first": series.stamps[0], "last": series.stamps[-1]},
        "sha256": sha256_bytes(path.read_bytes()),
    }


def _path(root: Path, name: str) -> Path:
    return Path(__file__).parent / SHIPPED[name] if name in SHIPPED else inside(root, name)


# -- SQL ------------------------------------------------------------------------------------------


def _tables(root: Path) -> dict[str, str]:
    """Return the files that a query may name, by the names of their tables."""
    found = {name: name for name in SHIPPED}
    for file in files_below(root, "."):
        if file.endswith(_SUFFIXES):
            name = re.sub(r"\W", "_", file.rpartition(".")[0])
            while name.casefold() in map(str.casefold, found):  # as a-b.csv beside a_b.csv
                name += "_2"
            found[name] = file
    return found


def _paths(root: Path, tables: Mapping[str, str]) -> dict[str, str]:
    if find_spec("duckdb") is None:
        expected = 'pip install "engiagent[market]"'
        raise InputError("tables need DuckDB, which is not installed", expected=expected)
    return {name: str(_path(root, file)) for name, file in tables.items()}


@tool(
    "read",
    returns=record(
        {
            "tables": list_of(
                record(
                    {"table": TEXT, "file": TEXT, "about": TEXT, "rows": COUNT}
                    | {"columns": list_of(record({"name": TEXT, "type": TEXT}))}
                )
            )
        }
    ),
    outside=True,
)
def market_schema(state: State, given: Json) -> Outcome:
    """List the tables that there are, with their columns: files of the session, those shipped."""
    tables = _tables(state.root)
    paths = _paths(state.root, tables)
    from engiagent.tools.market.querying import database

    try:
        con = database(paths)
    except ValueError as error:
        raise InputError(str(error)) from None
    listed = []
    for name, file in tables.items():
        columns = con.execute(f'DESCRIBE "{name}"').fetchall()
        listed.append(
            {"table": name, "file": file, "about": _ABOUT.get(name, "")}
            | {"rows": con.table(name).shape[0]}
            | {"columns": [{"name": column[0], "type": column[1]} for column in columns]}
        )
    return Outcome(plain({"tables": listed}))


@tool(
    "read",
    *stated("query", pack=PACK),
    returns=record(
        {"columns": TEXTS, "rows": list_of(OBJECT), "count": COUNT, "more": FLAG, "sql": TEXT}
        | {"tables": list_of(record({"table": TEXT, "file": TEXT, "sha256": TEXT}))}
    ),
    outside=True,
)
def market_query(state: State, given: Json) -> Outcome:
    """Answer one SELECT over the tables, in DuckDB's SQL; columns with units need double quotes."""
    sql, most, seconds = given["sql"], given.get("rows", 200), given.get("time_limit", 10.0)
    known = _tables(state.root)
    tables = {n: f for n, f in known.items() if re.search(rf"(?i)\b{re.escape(n)}\b", sql)}
    request = {"tables": _paths(state.root, tables), "sql": sql, "rows": most}
    command = [sys.executable, "-I", str(Path(__file__).with_name("querying.py"))]
    try:
        ran = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        said, smaller = f"the query took longer than {seconds:g} s", "a smaller one, or more time"
        raise InputError(said, expected=smaller) from None
    if ran.returncode or len(ran.stdout) > _MOST_CHARACTERS:
        raise InputError("the query takes too much memory", expected="fewer or smaller cells")
    found = json.loads(ran.stdout)
    if "error" in found:
        expected = f"tables {', '.join(known)}" if "does not exist" in found["error"] else None
        raise InputError(f"the query fails: {found['error'][:300]}", expected=expected)
    columns = found["columns"]
    shown = [dict(zip(columns, row, strict=True)) for row in found["rows"]]
    sources = [
        {"table": n, "file": f, "sha256": sha256_bytes(_path(state.root, f).read_bytes())}
        for n, f in tables.items()
    ]
    content = {"columns": columns, "rows": shown, "count": len(shown), "more": found["more"]}
    return Outcome(plain({**content, "sql": sql, "tables": sources}))


# -- series ---------------------------------------------------------------------------------------


def grouped(series: Series, length: str) -> Iterator[tuple[str, Floats]]:
    """Yield the values of each hour, day, week, month or year, by the name of its start."""
    if length == "week":
        days = np.asarray(series.parts(10), dtype="datetime64[D]")
        labels = (days - (days.astype(int) + 3) % 7).astype(str)  # 1970-01-01 was a Thursday
    elif length == "hour":  # with its offset, for one that comes twice where clocks go back
        labels = np.array([_HOUR.sub(r"\1:00\2", stamp.strip()) for stamp in series.stamps])
    else:
        labels = series.parts(_LENGTHS[length])
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    for first, last in zip(starts, [*starts[1:], len(labels)], strict=True):
        yield str(labels[first]), series.values[first:last]


@tool(
    "write",
    *stated("resample", pack=PACK),
    returns=record(
        {"source": SOURCE, "unit": TEXT, "how": TEXT, "starts": TEXTS, "values": list_of(NUMBER)}
    ),
    repeatable=False,
)
def market_resample(state: State, given: Json) -> Outcome:
    """Return a series over longer periods: hours, days, weeks from Monday, months or years."""
    series, source = series_of(state, given["series"], given.get("unit"))
    how = given.get("how", "mean")
    if how == "sum" and parse_unit(series.unit).same_dimension(parse_unit("kW")):
        unit = series.unit if series.unit in ("W", "MW", "GW") else "kW"
        series = replace(series, values=series.to(unit) * series.step_hours, unit=f"{unit}h")
    found = [(label, float(_HOW[how](own))) for label, own in grouped(series, given["to"])]
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        head = ("start", f"{series.column} [{series.unit}]")
        artefacts = (write_rows(state.root, given["file"], head, found),)
    content = {"source": source, "unit": series.unit, "how": how}
    content |= {"starts": [label for label, _ in found], "values": [value for _, value in found]}
    return Outcome(plain(content), {}, artefacts)


@tool(
    "read",
    *stated("prices", "spreads", pack=PACK),
    returns=record(
        {"source": SOURCE, "unit": TEXT}
        | dict.fromkeys(("mean", "standard_deviation", "lowest", "highest"), NUMBER)
        | {"lowest_at": TEXT, "highest_at": TEXT, "negative_periods": COUNT}
        | {"quantiles": OBJECT, "mean_daily_spread": NUMBER, "largest_daily_spread": NUMBER}
        | {"largest_daily_spread_on": TEXT, "mean_by_hour": list_of(NUMBER)}
    ),
)
def market_statistics(state: State, given: Json) -> Outcome:
    """Return statistics of prices: mean, extremes, quantiles, negative periods, daily spreads."""
    series, source = series_of(state, given["prices"], given.get("prices_unit"))
    series.prices()  # refuses what is no price
    values = series.values
    count = max(1, round(given.get("spread", 2.0) / series.step_hours))
    spreads = {}
    for day, own in grouped(series, "day"):
        if len(own) >= 2 * count:
            ranked = np.sort(own)
            spreads[day] = float(ranked[-count:].mean() - ranked[:count].mean())
    if not spreads:
        raise InputError("no day has periods enough for a spread", source["data_set"])
    widest = max(spreads, key=spreads.__getitem__)
    hours = np.array([int(stamp[11:13] or 0) for stamp in series.stamps])
    low, high = int(np.argmin(values)), int(np.argmax(values))
    content = {
        **{"source": source, "unit": series.unit, "mean": float(values.mean())},
        "standard_deviation": float(values.std()),
        **{"lowest": float(values[low]), "lowest_at": series.stamps[low]},
        **{"highest": float(values[high]), "highest_at": series.stamps[high]},
        "negative_periods": int((values < 0).sum()),
        "quantiles": {
            f"{q:g}": float(np.quantile(values, q)) for q in (0.05, 0.25, 0.5, 0.75, 0.95)
        },
        "mean_daily_spread": float(np.mean(list(spreads.values()))),
        **{"largest_daily_spread": spreads[widest], "largest_daily_spread_on": widest},
        "mean_by_hour": [float(values[hours == h].mean()) for h in range(24) if (hours == h).any()],
    }
    return Outcome(plain(content))
