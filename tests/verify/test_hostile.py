"""Files made to hurt: ``check`` answers with a clean error, in little time and room."""

import json
import os
import resource
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engiagent.errors import EngiagentError, InputError
from engiagent.verify.checking import check
from engiagent.verify.foreign import Reading, load_mapping
from engiagent.verify.requirements import load_requirements, parse_requirements
from tests.pace import soon
from tests.verify import example

SECONDS = 5.0
GROWTH = 600_000_000
"""Bytes by which the most memory ever used may grow over one refusal."""


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Hold every test here to a bounded time and a bounded growth of memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with soon(SECONDS):
        yield
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < GROWTH


@pytest.fixture
def problem(tmp_path: Path) -> example.LittleProblem:
    return example.make_problem(tmp_path)


def refused(problem: example.LittleProblem, path: Path, words: str, **reading: Any) -> None:
    with pytest.raises(InputError, match=words):
        check(problem, path, example.blueprint(), mapping=Reading(**reading))


ROW = "time,charge,discharge\n"
# What every table is refused for is in tests/problems/bad_input.yaml: the reader is the same.
TEXTS: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "empty"),
    "blanks": ("\n \n\t\n", "empty"),
    "only a header": (ROW, "at least one row"),
    "ten thousand digits": (ROW + f"0,{'9' * 10_000},0\n", "too large"),
    "full-width digits": (ROW + "0,\uff11\uff12,0\n", "digits other than 0 to 9"),
    "a minus that is none": (ROW + "0,\u22125,0\n", "text where a number"),
    "a number turned round": (ROW + "0,\u202e21,0\n", "text where a number"),
    "a zero-width blank": (ROW + "0,1\u200b2,0\n", "text where a number"),
    "hexadecimal": (ROW + "0,0x10,0\n", "text where a number"),
    "a formula": (ROW + '0,"=HYPERLINK(""http://x"")",0\n', "text where a number"),
    "half a UTF-16 file": (b"\xff\xfe" + ROW.encode("utf-16-le")[:-1], "UTF-16"),
    "a quotation that never ends": (ROW + '0,"1,0\n' * 50, "quotation|fields"),
    "a cell of a million": (ROW + f'0,"{"a" * 2_000_000}",0\n', "overlong|field larger"),
    "too many columns": (
        ",".join(f"c{k}" for k in range(20_000)) + "\n" + "1," * 19_999 + "1\n",
        "too many columns",
    ),
    "headers that look alike": ("charge,charge \n1,2\n", "stands twice"),
    "a header without end": (f"{'c' * 5_000},discharge\n1,2\n", "300 characters"),
    "a unit bomb": ("charge [m**9999999999],discharge\n" + "1,2\n" * 24, "charge"),
    "a year of five digits": (ROW + "99999-01-01 00:00,1,0\n", "has 1 values"),
    "the end of time": (ROW + "9999-12-31 23:00,1,0\n" * 24, "plan.csv:"),
    "the beginning of time": (ROW + "0001-01-01T00:00,1,0\n" * 24, "plan.csv:"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_hostile_table_is_refused(problem: example.LittleProblem, kind: str) -> None:
    content, words = TEXTS[kind]
    path = problem.folder / "plan.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    refused(problem, path, words)


DEEP = 200_000
JSONS: dict[str, tuple[str, str]] = {
    "deep lists": ("[" * DEEP + "]" * DEEP, "nested"),
    "deep objects": ('{"a":' * DEEP + "1" + "}" * DEEP, "nested"),
    "sixty levels": ('{"a":' * 59 + "[1]" + "}" * 59, "lists of numbers"),
    "NaN": ('{"charge": [NaN]}', "NaN"),
    "infinity": ('{"charge": [Infinity]}', "Infinity"),
    "beyond a double": ('{"charge": [1e999]}', "1e999|finite|large"),
    "a long whole number": ('{"charge": [' + "9" * 10_000 + "]}", "large|digits|finite|long"),
    "keys twice": ('{"charge": [1], "charge": [2]}', "twice|duplicate"),
    "half a character": ('{"charge": "\\ud800"}', "surrogate|character"),
    "cut off": ('{"charge": [1, 2', "valid JSON"),
    "quotes without end": ('{"charge": "' + '"' * 100_000, "valid JSON"),
    "true for one": ('{"charge": [true]}', "no number"),
    "lists of lists": ('{"charge": [[1, 2], [3]]}', "no number"),
    "a table of nothing": ("{}", "values|charge|schedule|nothing"),
    "columns twice": ('[{"charge": 1, "charge": 2}]', "twice|duplicate"),
    "too many columns": ("{" + ",".join(f'"c{k}":[1]' for k in range(10_050)) + "}", "columns"),
}


@pytest.mark.parametrize("kind", JSONS)
def test_a_hostile_json_is_refused(problem: example.LittleProblem, kind: str) -> None:
    text, words = JSONS[kind]
    path = problem.folder / "plan.json"
    path.write_text(text)
    if kind == "a table of nothing":
        assert check(problem, path, example.blueprint()).verdict == "undecided"
    else:
        refused(problem, path, words)


# --- files that lie about their size -----------------------------------------------------------


def lying_netcdf(path: Path) -> None:
    """Declare eight petabytes and write none of them."""
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("T", 2**50)
        out.createVariable("charge", "f8", ("T",), chunksizes=(1024,), zlib=True)


def lying_parquet(path: Path) -> None:
    """Repeat one number two hundred million times in a few kilobytes."""
    writer = pq.ParquetWriter(path, pa.schema([("charge", pa.float64())]), compression="zstd")
    part = pa.table({"charge": np.zeros(2_000_000)})
    for _ in range(4):
        writer.write_table(part)
    writer.close()


def not_what_it_says(path: Path) -> None:
    path.write_bytes(b"PAR1" + struct.pack("<I", 2**31 - 1) + b"PAR1")


def cut_netcdf(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("T", 24)
        out.createVariable("charge", "f8", ("T",))[:] = np.arange(24.0)
    path.write_bytes(path.read_bytes()[:-600])


def zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("plan", b"0" * 50_000_000)


def random_bytes(path: Path) -> None:
    path.write_bytes(zlib.compress(b"0" * 1_000_000))


def strings(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("T", 2)
        variable = out.createVariable("charge", str, ("T",))
        variable[0], variable[1] = "1", "2"


def odd_times(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("T", 24)
        stamps = out.createVariable("T", "f8", ("T",))
        stamps.units, stamps[:] = "hours since the beginning", np.arange(24.0)
        out.createVariable("charge", "f8", ("T",))[:] = np.arange(24.0)


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (lying_netcdf, "plan.nc", "more numbers than its file holds"),
        (cut_netcdf, "plan.nc", "no readable netCDF"),
        (random_bytes, "plan.nc", "no readable netCDF"),
        (zip_bomb, "plan.nc", "no readable netCDF"),
        (strings, "plan.nc", "holds no numbers"),
        (odd_times, "plan.nc", "no readable netCDF"),
        (lying_parquet, "plan.parquet", "too many rows"),
        (not_what_it_says, "plan.parquet", "no readable Parquet"),
        (zip_bomb, "plan.parquet", "no readable Parquet"),
        (zip_bomb, "plan.csv", "NUL|UTF-8"),
        (zip_bomb, "plan.xlsx", "no readable Excel"),
    ],
)
def test_a_file_that_lies_is_refused(
    problem: example.LittleProblem, make: Callable[[Path], None], name: str, words: str
) -> None:
    path = problem.folder / name
    make(path)
    refused(problem, path, words)


def test_a_file_of_many_gigabytes_is_not_read(problem: example.LittleProblem) -> None:
    path = problem.folder / "plan.csv"
    with path.open("wb") as stream:
        stream.truncate(40_000_000_000)  # a hole: it takes no room on the disk
    refused(problem, path, "too large")


# --- names that lead elsewhere -----------------------------------------------------------------


def test_pipes_devices_and_folders_are_no_schedules(problem: example.LittleProblem) -> None:
    os.mkfifo(problem.folder / "pipe.csv")
    (problem.folder / "folder.csv").mkdir()
    (problem.folder / "zero.csv").symlink_to("/dev/zero")
    (problem.folder / "circle.csv").symlink_to(problem.folder / "circle.csv")
    for name in ("pipe.csv", "folder.csv", "zero.csv", "circle.csv", "absent.csv", "a\0b.csv"):
        refused(problem, problem.folder / name, "no such file")


def test_the_users_own_link_is_followed(problem: example.LittleProblem) -> None:
    (problem.folder / "real.csv").write_text("charge,discharge\n" + "0,0\n" * 24)
    (problem.folder / "latest.csv").symlink_to("real.csv")
    assert check(problem, problem.folder / "latest.csv", example.blueprint()).verdict == "solved"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.csv",
        "/etc/passwd",
        "http://x/prices.csv",
        "link.csv",
        "inner/../x.csv",
        "con.csv",
        "a\\b.csv",
        "prices.csv\0",
        "~/prices.csv",
    ],
)
def test_data_of_a_blueprint_stay_in_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "problem"
    folder.mkdir()
    problem = example.make_problem(folder)
    (tmp_path / "secret.csv").write_text("price [EUR/MWh]\n" + "1\n" * 24)
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    data = example.blueprint_dict()
    data["core_model_elements"]["parameters"][-1]["data"] = f"{name}#price"
    plan = {"charge": np.zeros(24), "discharge": np.zeros(24)}
    try:
        certificate = check(problem, plan, example.blueprint(data=data))
    except EngiagentError:
        return
    assert certificate.verdict not in ("certified", "feasible")


# --- YAML --------------------------------------------------------------------------------------

NESTED = "\n".join(f"{' ' * k}k{k}:" for k in range(400))
YAMLS: dict[str, tuple[str, str]] = {
    "aliases": ("a: &a [1]\nb: [*a, *a]\n", "aliases"),
    "a billion laughs": (
        "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]\n" for k in range(1, 40)),
        "aliases",
    ),
    "merges": ("a: &a {x: 1}\nb: {<<: *a}\n", "aliases"),
    "an object": ("a: !!python/object/apply:os.system ['true']\n", "unknown key|no mapping"),
    "deep brackets": ("[" * 5_000, "nested"),
    "deep blocks": (NESTED, "nested"),
    "keys twice": ("schema: a\nschema: b\n", "duplicate"),
    "a control character": ("a: \x01\n", "valid YAML"),
    "a tab": ("a:\n\t- b\n", "valid YAML"),
}


@pytest.mark.parametrize("kind", YAMLS)
def test_a_hostile_yaml_is_refused(tmp_path: Path, kind: str) -> None:
    text, words = YAMLS[kind]
    path = tmp_path / "map.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        load_mapping(path)
    with pytest.raises(InputError, match=words + "|mapping|schema"):
        load_requirements(path)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true') <= 1",
        "9**9**9 <= 1",
        "(" * 5_000 + "1" + ")" * 5_000,
        "-" * 3_000 + "1 <= 2",
        "battery.__class__ <= 1",
        "[x for x in y] <= 1",
        "lambda: 1",
        "sum(1 for a in T for b in T for c in T for d in T for e in T for f in T for g in T) <= 1",
        "1e400 <= battery.charge[t]",
        "(-1)**0.5 <= battery.charge[t]/1[kW]",
    ],
)
def test_a_hostile_expression_holds_for_nobody(
    problem: example.LittleProblem, expression: str
) -> None:
    text = (
        "schema: engiagent-requirements/1\n"
        'sets: [{name: T, kind: time, start: "00:00", step: 1 h, periods: 240}]\n'
        'requirements: [{id: R, quote: stores, forall: ["t in T"],'
        f" expression: {json.dumps(expression)}}}]\n"
    )
    plan = {"battery.charge": np.zeros(240)}
    try:
        certificate = check(problem, plan, requirements=parse_requirements(text))
    except EngiagentError:
        return
    assert certificate.levels["algebra"]["checks"][0]["status"] != "pass"
    assert certificate.verdict != "certified"
