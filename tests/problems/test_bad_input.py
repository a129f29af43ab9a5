"""Every kind of unreadable problem is refused with a message that says where and why."""

import contextlib
import os
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from engiagent.errors import EngiagentError, InputError
from engiagent.text import Problem
from tests.pace import soon

HOURS = "time,price [EUR/MWh]\n" + "".join(f"2025-07-01 {h:02d}:00,{h}.5\n" for h in range(4))


def problem(
    folder: Path, front: str = "data: [p.csv]", csv: str | bytes = HOURS, text: str = "Text."
) -> Problem:
    (folder / "problem.md").write_text(f"---\n{front}\n---\n{text}\n", "utf-8")
    (folder / "p.csv").write_bytes(csv if isinstance(csv, bytes) else csv.encode())
    return Problem.load(folder)


def with_row(row: int, line: str) -> str:
    lines = HOURS.split("\n")
    lines[row + 1] = line
    return "\n".join(lines)


CASES = YAML(typ="safe").load(Path(__file__).with_name("bad_input.yaml"))
FRONT_MATTER = CASES["front matter"]


@pytest.mark.parametrize("case", FRONT_MATTER)
def test_front_matter(case: str, tmp_path: Path) -> None:
    front, message = FRONT_MATTER[case]
    with pytest.raises(InputError, match=message):
        problem(tmp_path, front)


CSV: dict[str, tuple[str | bytes, str]] = {
    name: (with_row(*case["row"]) if "row" in case else case["text"], case["says"])
    for name, case in CASES["csv"].items()
} | {
    "utf-16": (HOURS.encode("utf-16"), r"^p\.csv:1: the file is UTF-16; expected text in UTF-8$"),
    "latin-1": (
        "time,Größe\n1,2\n".encode("latin-1"),
        r"^p\.csv:1: no text in UTF-8; found the byte 0xf6; expected .*“CSV UTF-8”$",
    ),
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
    with pytest.raises(InputError, match=r"p\.csv:4:1: .*does not exist in Europe/Berlin"):
        problem(tmp_path, csv=csv, text="Clocks are those of Europe/Berlin.")


def test_missing_column_of_a_loaded_file(tmp_path: Path) -> None:
    data = problem(tmp_path).data["p.csv"]
    with pytest.raises(InputError, match=r"no column 'prize'; did you mean 'price \[EUR/MWh\]'\?"):
        data.column("prize")


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
    with soon(10), contextlib.suppress(EngiagentError):  # quadratic ones took minutes
        Problem.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "time,p\n2026-06-01 00:00,1.200\n2026-06-01 01:00,1.201\n",
        "time,p\n01.06.2026 00:00,1.200\n01.06.2026 01:00,1.201\n",
        "time;p\n2026-06-01 00:00;1.200\n2026-06-01 01:00;1.201\n",
        "time;p\n01.06.2026 00:00;1.200\n01.06.2026 01:00;1.2010\n",
        "time;p;q\n01.06.2026 00:00;1.200;0.125\n01.06.2026 01:00;1.201;0.250\n",
    ],
)
def test_points_that_group_no_thousands_are_decimal(text: str, tmp_path: Path) -> None:
    found = problem(tmp_path, csv=text).data["p.csv"].column("p").numbers()
    assert found.tolist() == [1.2, 1.201]
