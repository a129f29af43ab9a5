"""Every kind of unreadable problem is refused with a message that says where and why."""

# ruff: noqa: E501 (each case is one line: what is written, and the message)

import contextlib
import os
import time
from pathlib import Path

import pytest

from engiagent.errors import EngiagentError, InputError
from engiagent.text import Problem

HOURS = "time,price [EUR/MWh]\n" + "".join(f"2025-07-01 {h:02d}:00,{h}.5\n" for h in range(4))


def problem(folder: Path, front: str = "data: [p.csv]", csv: str | bytes = HOURS) -> Problem:
    (folder / "problem.md").write_text(f"---\n{front}\n---\nText.\n", "utf-8")
    (folder / "p.csv").write_bytes(csv if isinstance(csv, bytes) else csv.encode())
    return Problem.load(folder)


def with_row(row: int, line: str) -> str:
    lines = HOURS.split("\n")
    lines[row + 1] = line
    return "\n".join(lines)


FRONT_MATTER = {
    "unknown key": (
        "id: a\nprices: b",
        r"^problem\.md:3:1: unknown key in the front matter; found 'prices'; expected one of id, title, family, data, tags$",
    ),
    "duplicate key": ("id: a\nid: b", r"^problem\.md:3:1: a key stands twice; found 'id'$"),
    "alias": ("id: &a x\ntitle: *a", r"^problem\.md:2:5: aliases and anchors are not allowed$"),
    "merge": ("data:\n  p.csv: {<<: {rows: 3}}", r"^problem\.md:3:11: merge keys are not allowed$"),
    "tag": ("id: !!python/object:os.system x", r"^problem\.md:2:5: YAML tags are not allowed"),
    "broken": ("id: [a", r"^problem\.md:\d+:\d+: the front matter is no valid YAML"),
    "no mapping": ("- a\n- b", r"^problem\.md:2:1: the front matter is no mapping"),
    "deep": (
        "id: " + "[" * 3000,
        r"^problem\.md:2:\d+: the front matter is too large or too deep$",
    ),
    "list as key": ("[a, b]: c", r"^problem\.md:2:1: a key that is no text$"),
    "list as id": ("id: [a]", r"^problem\.md:2:5: 'id' is no short text$"),
    "id as path": ("id: ../x", r"^problem\.md:1: the id is no plain name; found '\.\./x'"),
    "absent file": (
        "id: a\ndata: [q.csv]",
        r"^problem\.md:3:8: q\.csv is not there; did you mean p\.csv\?$",
    ),
    "parent": ("data: [../p.csv]", r"^problem\.md:2:8: '\.\.' leaves the problem's folder"),
    "absolute": (
        "data: [/etc/passwd.csv]",
        r"^problem\.md:2:8: an absolute path leaves the problem's folder",
    ),
    "address": (
        "data: ['https://x.org/p.csv']",
        r"^problem\.md:2:8: a web address where a file is needed",
    ),
    "backslash": ("data: ['a\\p.csv']", r"^problem\.md:2:8: a backslash in a file name"),
    "format": (
        "data: [p.xlsx]",
        r"^problem\.md:2:8: 'p\.xlsx' is no table that can be read; expected \.csv",
    ),
    "unknown option": (
        "data:\n  p.csv: {row: 3}",
        r"^problem\.md:3:11: unknown key in the options of p\.csv; found 'row'",
    ),
    "zone": (
        "data:\n  p.csv: {zone: Mars/Base}",
        r"^problem\.md:3:17: unknown time zone; found 'Mars/Base'",
    ),
    "rows no count": (
        "data:\n  p.csv: {rows: many}",
        r"^problem\.md:3:17: 'rows' is no count; found 'many'",
    ),
    "unit": (
        "data:\n  p.csv: {columns: {price: kkW}}",
        r"^problem\.md:3:28: no unit for the column 'price'; found 'kkW'",
    ),
    "row count": (
        "data:\n  p.csv: {rows: 24}",
        r"^p\.csv: wrong number of rows; found 4; expected 24$",
    ),
    "column": (
        "data:\n  p.csv: {time: tiem}",
        r"^p\.csv:1: there is no column 'tiem'; did you mean 'time'\?; expected one of time, price \[EUR/MWh\]$",
    ),
    "separator": (
        "data:\n  p.csv: {separator: '|'}",
        r"^problem\.md:3:22: unknown separator; found '\|'",
    ),
}


@pytest.mark.parametrize("case", FRONT_MATTER)
def test_front_matter(case: str, tmp_path: Path) -> None:
    front, message = FRONT_MATTER[case]
    with pytest.raises(InputError, match=message):
        problem(tmp_path, front)


CSV: dict[str, tuple[str | bytes, str]] = {
    "nan": (
        with_row(2, "2025-07-01 02:00,nan"),
        r"^p\.csv:4:18: column 'price \[EUR/MWh\]': not a finite number; found 'nan'; expected a number$",
    ),
    "inf": (with_row(2, "2025-07-01 02:00,-inf"), r"^p\.csv:4:18: .*not a finite number"),
    "overflow": (
        with_row(2, "2025-07-01 02:00,1e400"),
        r"^p\.csv:4:18: .*too large for double precision; found '1e400'",
    ),
    "underscore": (
        with_row(2, "2025-07-01 02:00,1_000"),
        r"^p\.csv:4:18: .*a number with underscores",
    ),
    "empty": (
        with_row(2, "2025-07-01 02:00,"),
        r"^p\.csv:4:18: .*an empty cell where a number is needed",
    ),
    "text": (
        with_row(2, "2025-07-01 02:00,high"),
        r"^p\.csv:4:18: .*text where a number is needed; found 'high'",
    ),
    "arabic": (with_row(2, "2025-07-01 02:00,١٢"), r"^p\.csv:4:18: .*digits other than 0 to 9"),
    "thousands": (with_row(2, "2025-07-01 02:00,1'000"), r"^p\.csv:4:18: .*thousands separators"),
    "comma": (
        with_row(2, '2025-07-01 02:00,"1,5"'),
        r"^p\.csv:4:18: .*a number with a comma; write a decimal point",
    ),
    "two decimals": (
        "a;b\n1,5;2\n1.5;3\n",
        r"^p\.csv:3: decimal commas and decimal points in one file",
    ),
    "ragged": (
        with_row(1, "2025-07-01 01:00"),
        r"^p\.csv:3: a row with a wrong number of fields; found 1; expected 2",
    ),
    "ragged quoted": (
        'a,b\n"1",2\n"3"\n',
        r"^p\.csv:3: a row with a wrong number of fields; found 1",
    ),
    "quotation": ('a,b\n"1,2\n', r"^p\.csv:2: a broken quotation"),
    "two headers": ("a,b,a\n1,2,3\n", r"^p\.csv:1: a header stands twice; found 'a'$"),
    "no header": (
        "1,2\n3,4\n",
        r"^p\.csv:1: the first line holds numbers; found 1; expected a header$",
    ),
    "nameless": ("a,\n3,4\n", r"^p\.csv:1: column 2 has no header$"),
    "empty file": ("", r"^p\.csv: the file is empty$"),
    "comments only": ("# a\n\n", r"^p\.csv: the file is empty$"),
    "no rows": ("a,b\n", r"^p\.csv: the file has a header but no rows$"),
    "duplicate time": (
        with_row(1, "2025-07-01 00:00,1"),
        r"^p\.csv:3:1: column 'time': a time stamp stands twice.*; found '2025-07-01 00:00'; expected a time after 2025-07-01 00:00$",
    ),
    "unsorted": (with_row(3, "2025-07-01 01:30,1"), r"^p\.csv:5:1: column 'time': time goes back"),
    "gap": (
        "time,p\n" + "".join(f"2025-07-01 {h:02d}:00,1\n" for h in (0, 1, 2, 4, 5)),
        r"^p\.csv:5:1: column 'time': the time step is 120 min here; found '2025-07-01 04:00'; expected 60 min as elsewhere$",
    ),
    "no such day": (
        with_row(1, "2025-02-30 01:00,1"),
        r"^p\.csv:3:1: column 'time': no such date or time",
    ),
    "no time": (
        with_row(1, "one o'clock,1"),
        r"^p\.csv:3:1: column 'time': no time stamp; found \"one o'clock\"; expected a time stamp such as",
    ),
    "month or day": (
        "time,p\n01/02/2025 00:00,1\n01/02/2025 01:00,1\n",
        r"^p\.csv:2:1: .*day and month cannot be told apart",
    ),
    "some offsets": (
        with_row(1, "2025-07-01 01:00+02:00,1"),
        r"^p\.csv:2:1: .*a time stamp without offset among others",
    ),
    "utf-16": (HOURS.encode("utf-16"), r"^p\.csv:1: the file is UTF-16; expected text in UTF-8$"),
    "latin-1": (
        "time,Größe\n1,2\n".encode("latin-1"),
        r"^p\.csv:1: no text in UTF-8; found the byte 0xf6$",
    ),
    "nul": (HOURS.replace("1.5", "1\0"), r"^p\.csv:3: a NUL character$"),
    "columns": (
        ",".join(f"c{k}" for k in range(2001)) + "\n",
        r"^p\.csv:1: too many columns; found 2001; expected 2000$",
    ),
}


@pytest.mark.parametrize("case", CSV)
def test_csv(case: str, tmp_path: Path) -> None:
    csv, message = CSV[case]
    with pytest.raises(InputError, match=message):
        problem(tmp_path, csv=csv)


def test_local_time_that_clocks_skip_is_refused(tmp_path: Path) -> None:
    csv = "time,p\n" + "".join(f"2025-03-30 {h:02d}:00,1\n" for h in range(4))
    front = "data:\n  p.csv: {zone: Europe/Berlin}"
    with pytest.raises(InputError, match=r"p\.csv:4:1: .*does not exist in Europe/Berlin"):
        problem(tmp_path, front, csv)


def test_missing_column_and_row_count_of_a_loaded_file(tmp_path: Path) -> None:
    data = problem(tmp_path).data["p.csv"]
    with pytest.raises(InputError, match=r"no column 'prize'; did you mean 'price \[EUR/MWh\]'\?"):
        data.column("prize")
    with pytest.raises(InputError, match=r"p\.csv: wrong number of rows; found 4; expected 24"):
        data.require_rows(24)


TEXTS = {
    "latin-1": (b"caf\xe9", r"problem\.md:1:4: the text is not in UTF-8; found the byte 0xe9"),
    "utf-16": ("Text".encode("utf-16"), r"problem\.md:1: the file is UTF-16"),
    "nul": (b"a\nb\0", r"problem\.md:2: a NUL character in the text"),
    "empty": (b" \n", r"problem\.md: the file is empty"),
    "large": (b"x" * 2_000_001, r"problem\.md is too large; found more than 2000000 bytes"),
    "wide row": (
        b"|a|b|\n|-|-|\n|1|2|3|\n",
        r"problem\.md:3:6: a table row with too many cells; found 3; expected 2",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text(case: str, tmp_path: Path) -> None:
    raw, message = TEXTS[case]
    (tmp_path / "problem.md").write_bytes(raw)
    with pytest.raises(InputError, match=message):
        Problem.load(tmp_path)


def test_places_where_no_problem_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        Problem.load(tmp_path / "absent.md")
    with pytest.raises(InputError, match=r"holds no problem; found as texts: none"):
        Problem.load(tmp_path)
    (tmp_path / "a.md").write_text("A.")
    (tmp_path / "b.txt").write_text("B.")
    with pytest.raises(InputError, match=r"found as texts: a\.md, b\.txt"):
        Problem.load(tmp_path)
    (tmp_path / "c.pdf").write_text("C.")
    with pytest.raises(InputError, match=r"no problem file; found '\.pdf'"):
        Problem.load(tmp_path / "c.pdf")


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (folder / "problem.md").write_text("---\ndata: [l.csv]\n---\nText.")
    (folder / "l.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InputError, match=r"problem\.md:2:8: l\.csv is a symbolic link"):
        Problem.load(folder)
    (folder / "l.csv").unlink()
    os.mkfifo(folder / "l.csv")
    with pytest.raises(InputError, match=r"l\.csv is no regular file"):
        Problem.load(folder)


@pytest.mark.parametrize(
    "hostile",
    [
        "1" * 60_000,
        "1," * 10_000,
        "1 " * 12_000,
        "a|" * 40_000 + "\n" + "-|" * 40_000,
        "*" * 60_000,
        "[" * 40_000 + "](" * 2_000,
        "<!--" * 20_000,
        "$" * 40_000,
        "> " * 40_000 + "1 kW",
        "- " * 40_000,
        "(" * 40_000 + "1",
        "1/" * 10_000,
        "per " * 30_000,
        "one and a " * 10_000,
        "." * 60_000,
        "9e" * 10_000,
        "1×10^" * 12_000,
        "|\n" * 20_000,
        " " * 60_000 + "1" + " " * 60_000 + "kW",
        "1e999 kW and 1e-999 kW and 10^999999",
        "٣٤ kW ² ½ ⅓ \ud7ff 五 kW",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_end_soon_and_never_in_a_traceback(hostile: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.md"
    path.write_text(hostile, "utf-8")
    started = time.process_time()
    with contextlib.suppress(EngiagentError):
        Problem.load(path)
    assert time.process_time() - started < 10  # quadratic ones took minutes
