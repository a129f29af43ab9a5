"""What a loaded problem says agrees with what was written, for whatever was written."""

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engiagent.io.tabular import read_table
from engiagent.text import Problem, corpus_root, find_problems
from engiagent.units.unit import parse_unit

SAME_FOLDER = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
UNITS = {
    "kW": "kW",
    "MWh": "MWh",
    "kWh/K": "kWh/K",
    "€/MWh": "EUR/MWh",
    "EUR per MWh": "EUR/MWh",
    "°C": "degC",
    "degrees Celsius": "degC",
    "W/m²K": "W/(m2*K)",
    "BTU/h": "BTU/h",
    "%": "%",
    "kg/h": "kg/h",
    "K per kW": "K/kW",
    "tons of refrigeration": "TR",
    "m³/s": "m3/s",
}
FRAMES = [
    "The limit is {}.",
    "At most {} are allowed, and no more.",
    "Use ({}) here!",
    "Hold **{}**.",
    "> It is {} in\n> a quotation.",
    "- An item with {}\n- and another one",
    "# A heading of {}\n",
    "Approx. {} e.g. in Berlin. It wraps\nover lines.",
    "It must not fall below\n{}, ever.",
]


def write(number: Fraction, style: str) -> str:
    text = f"{float(number):,.3f}".rstrip("0").rstrip(".")
    return text.replace(",", {"comma": ",", "thin": "\u202f", "none": ""}[style])


numbers = st.integers(-9_999_999, 9_999_999).map(lambda n: Fraction(n, 1000))


def load(folder: Path, text: str, name: str = "case.md") -> Problem:
    (folder / name).write_text(text, "utf-8")
    return Problem.load(folder / name)


@given(
    numbers,
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(FRAMES),
    st.sampled_from(["comma", "thin", "none"]),
)
@SAME_FOLDER
def test_a_written_quantity_is_recovered_with_its_spans(
    tmp_path: Path, number: Fraction, unit: str, frame: str, style: str
) -> None:
    written = write(number, style)
    problem = load(tmp_path, frame.format(f"{written} {unit}"))
    (found,) = problem.quantities
    assert found.exact == number
    assert found.value == float(number)
    assert problem.text[slice(*found.number_span)] == written
    assert found.unit_span is not None
    assert problem.text[slice(*found.unit_span)] == unit
    assert found.unit is not None
    assert (found.unit.factor, found.unit.dimension) == (
        parse_unit(UNITS[unit]).factor,
        parse_unit(UNITS[unit]).dimension,
    )
    assert found.sentence is not None
    start, end = problem.sentences[found.sentence].span
    assert start <= found.span[0] < found.span[1] <= end


@given(st.text(alphabet="ab 12.,-–%€$/|*_`#>\n()[]:kWh°C", max_size=200))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_has_ordered_spans_that_reparse(tmp_path: Path, text: str) -> None:
    problem = load(tmp_path, "x\n" + text)
    for quantity in problem.quantities:
        assert quantity.span[0] <= quantity.number_span[0] < quantity.number_span[1]
        assert quantity.number_span[1] <= len(problem.text)
        assert np.isfinite(quantity.value)
        assert any(c.isdigit() for c in problem.text[slice(*quantity.number_span)])
    starts = [s.span[0] for s in problem.sentences]
    assert starts == sorted(starts)
    ends = [q.number_span for q in problem.quantities]
    assert all(a[1] <= b[0] for a, b in pairwise(ends))


cells = st.integers(-99_999, 99_999).map(lambda n: n / 100)


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=6),
    st.integers(0, 4),
    st.integers(0, 4),
    st.booleans(),
)
@SAME_FOLDER
def test_a_table_is_recovered_whatever_its_padding(
    tmp_path: Path, rows: list[tuple[float, float]], left: int, right: int, outer: bool
) -> None:
    def line(*texts: str) -> str:
        inner = "|".join(" " * left + t + " " * right for t in texts)
        return f"|{inner}|" if outer else inner

    table = [line("Name", "Load [kW]", "Price (EUR/MWh)"), line("---", ":--", "--:")]
    table += [line(f"row {'xyz'[k % 3]}", str(a), str(b)) for k, (a, b) in enumerate(rows)]
    problem = load(tmp_path, "Table 7: loads\n\n" + "\n".join(table) + "\n\nAfter it.\n")
    (found,) = problem.tables
    assert found.caption == "Table 7: loads"
    assert found.names == ("Name", "Load", "Price")
    assert [str(u) for u in found.units] == ["None", "kW", "EUR/MWh"]
    for cell in (c for row in (found.header, *found.rows) for c in row):
        assert problem.text[slice(*cell.span)] == cell.text
    got = {q.table: q for q in problem.quantities if q.table is not None}
    for k, pair in enumerate(rows):
        for column, value in enumerate(pair, start=1):
            quantity = got[0, k, column]
            assert quantity.value == value
            assert str(quantity.unit) == ["kW", "EUR/MWh"][column - 1]
            assert float(problem.text[slice(*quantity.number_span)]) == value
    assert [s.text for s in problem.sentences] == ["Table 7: loads", "After it."]


def test_sentences_end_where_they_end(tmp_path: Path) -> None:
    text = (
        "# Title\n\nCharge power is max. 500 kW, e.g. at noon. Efficiency is 0.95. It starts\n"
        "at 6:30 p.m. The rest follows 10 min. Afterwards see No. 3, approx. 5 W. Is it 20 °C? Yes."
        "\n\n- first item\n- second item. With two\n  sentences.\n\n```\nE = 5 kWh\n```\n"
    )
    problem = load(tmp_path, text)
    assert [(s.kind, s.text) for s in problem.sentences] == [
        ("heading", "Title"),
        ("sentence", "Charge power is max. 500 kW, e.g. at noon."),
        ("sentence", "Efficiency is 0.95."),
        ("sentence", "It starts at 6:30 p.m."),
        ("sentence", "The rest follows 10 min."),
        ("sentence", "Afterwards see No. 3, approx. 5 W."),
        ("sentence", "Is it 20 °C?"),
        ("sentence", "Yes."),
        ("item", "first item"),
        ("item", "second item."),
        ("item", "With two sentences."),
        ("code", "E = 5 kWh"),
    ]


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.sampled_from([",", ";", "\t"]),
    st.booleans(),
    st.booleans(),
)
@SAME_FOLDER
def test_csv_round_trip(
    tmp_path: Path, values: list[float], separator: str, quoted: bool, bom: bool
) -> None:
    mark = '"' if quoted else ""
    comma = separator == ";"
    texts = [repr(v).replace(".", ",") if comma else repr(v) for v in values]
    lines = [f"# comment{separator}x", f"{mark}P [kW]{mark}{separator}name", ""]
    lines += [f"{mark}{t}{mark}{separator}g{k}" for k, t in enumerate(texts)]
    raw = ("\ufeff" if bom else "") + "\r\n".join(lines) + "\r\n"
    (tmp_path / "t.csv").write_bytes(raw.encode())
    table = read_table(tmp_path, "t.csv")
    assert table.rows == len(values)
    assert table.column("P").unit_text == table.column("P [kW]").unit_text == "kW"
    assert table.column("P").numbers().tolist() == values
    assert table.column("name").texts() == tuple(f"g{k}" for k in range(len(values)))
    assert table.column("P").line(0) == 4


def test_the_hour_that_comes_twice(tmp_path: Path) -> None:
    hours = ["00:00", "01:00", "02:00", "02:00", *(f"{h:02d}:00" for h in range(3, 24))]
    rows = "".join(f"2025-10-26 {hour},{k}\n" for k, hour in enumerate(hours))
    (tmp_path / "p.csv").write_text("time,p\n" + rows)
    data = load(tmp_path, "p.csv has the clock of Europe/Berlin.").data["p.csv"]
    offsets = [t.utcoffset().total_seconds() / 3600 for t in data.times]
    assert offsets == [2, 2, 2, *[1] * 22]
    assert data.step.total_seconds() == 3600


def test_defaults_come_from_the_folder_and_the_first_heading(tmp_path: Path) -> None:
    folder = tmp_path / "my case"
    (folder / "expert").mkdir(parents=True)
    (folder / "problem.md").write_text("# A *good* plan\n\nNo files.")
    (folder / "unnamed.csv").write_text("a\nno number check here\n")
    problem = Problem.load(folder)
    assert (problem.id, problem.title) == ("my_case", "A good plan")
    assert not problem.data
    assert problem.expert == folder / "expert"
    assert "my_case" in repr(problem)


@pytest.mark.parametrize("path", find_problems(corpus_root()), ids=lambda path: path.name)
def test_the_corpus_loads_and_accounts_for_its_files(path: Path) -> None:
    problem = Problem.load(path)
    assert problem.sentences
    assert set(problem.sha256) == {problem.path.name, *problem.data}
    assert all(q.unit is not None or not q.unit_text for q in problem.quantities)
    json.dumps({name: list(data.columns) for name, data in problem.data.items()})


def test_stamps_of_named_things_are_no_time_axis(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text("The vans are in `vans.csv`.\n")
    (tmp_path / "vans.csv").write_text(
        "van,from,until,kwh\n"
        "Ivy,2025-10-01 17:00,2025-10-02 05:30,14\n"
        "Oak,2025-10-01 16:30,2025-10-02 06:00,22\n"
        "Elm,2025-10-01 18:30,2025-10-02 06:30,9\n"
    )
    vans = Problem.load(tmp_path).data["vans.csv"]
    assert vans.times is None
    assert vans.time_column is None
    assert vans.columns["from"].dtype == "text"
    assert list(vans.columns["kwh"].values) == [14, 22, 9]
