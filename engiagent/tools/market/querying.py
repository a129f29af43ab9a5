"""A query in a process of its own: no string that it makes and no time that it takes are ours.

Run as a script with a request on standard input: ``{"tables": {name: path}, "sql", "rows"}``. The
tables are loaded before DuckDB is shut off from files, networks, extensions, settings and variables
of Python; one statement is taken, which DuckDB itself has to know as a SELECT.
"""

import json
import math
import re
import sys
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

import duckdb

MEMORY_MB = 512  # of DuckDB's own account
PROCESS_MB = 2048  # of all, since strings that functions make are on no account


def database(tables: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """Return a database of tables, by name the path of each, that reaches nothing else any more."""
    con = duckdb.connect(":memory:", config={"memory_limit": f"{MEMORY_MB}MB", "threads": 1})
    con.execute("SET python_enable_replacements = false")
    for name, path in tables.items():
        reader = "read_parquet(?)" if path.endswith(".parquet") else f"read_csv(?{_marks(path)})"
        try:
            con.execute(f'CREATE TABLE "{name}" AS FROM {reader}', [path])
        except duckdb.Error as error:
            text = str(error).splitlines()[0].replace(path, name)
            raise ValueError(f"the table {name} cannot be read: {text}") from None
    con.execute("SET temp_directory = ''")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def _marks(path: str) -> str:
    """Return DuckDB's options for a CSV file whose numbers have commas."""
    with open(path, encoding="utf-8", errors="replace") as file:
        head, *rows = file.read(4096).splitlines() or [""]
    separator = next((mark for mark in ";\t" if mark in head), None)
    if separator is None or not any(re.search(r"\d,\d", row) for row in rows):
        return ""
    return f", delim = '{separator}', decimal_separator = ','"


def answered(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns and rows, and whether there are more; or what is wrong."""
    try:
        con = database(request["tables"])
        kinds = [statement.type.name for statement in con.extract_statements(request["sql"])]
        if kinds != ["SELECT"]:
            return {"error": f"a query is one SELECT, not {', '.join(kinds) or 'nothing'}"}
        found = con.execute(request["sql"])
        columns = [str(part[0]) for part in found.description or ()]
        if twice := sorted({name for name in columns if columns.count(name) > 1}):
            return {"error": f"two columns are called {', '.join(twice)}; name them with AS"}
        rows = found.fetchmany(request["rows"] + 1)
    except (duckdb.Error, ValueError, MemoryError) as error:
        return {"error": str(error).partition("\n")[0] or "it takes too much memory"}
    shown = [[_cell(value) for value in row] for row in rows[: request["rows"]]]
    return {"columns": columns, "rows": shown, "more": len(rows) > request["rows"]}


def _cell(value: Any) -> Any:
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (PROCESS_MB << 20, PROCESS_MB << 20))


if __name__ == "__main__":
    _limit_memory()
    json.dump(answered(json.load(sys.stdin)), sys.stdout)
