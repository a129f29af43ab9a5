"""What LP and MPS files mean, rule by rule, and what is refused: with file, line and reason."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import FileModel, SourceText, source_of
from engiagent.formulations.exchange.readers import parse_lp, parse_mps
from engiagent.formulations.exchange.to_blueprint import read_model
from tests.formulations.exchange.programs import highs_of
from tests.pace import soon

INF = float("inf")
PARSERS = {"lp": parse_lp, "mps": parse_mps}


def lp(text: str) -> FileModel:
    return parse_lp(source_of(text, "model.lp"))


def mps(text: str) -> FileModel:
    return parse_mps(source_of(text, "model.mps"))


def rows(model: FileModel) -> dict[str, tuple[dict[str, float], float, float]]:
    """Return the rows by name: coefficients by column, and the two sides."""
    return {
        row.name: ({k: v for k, v in row.terms.items() if v}, row.lower, row.upper)
        for row in model.rows.values()
    }


def bounds(model: FileModel) -> dict[str, tuple[float, float]]:
    """Return the bounds of the columns by name."""
    return {column.name: (column.lower, column.upper) for column in model.columns.values()}


# --- LP ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "wanted"),
    [
        ("c: x + 2y <= 4", ({"x": 1, "y": 2}, -INF, 4)),
        ("c: x + 2 y < 4", ({"x": 1, "y": 2}, -INF, 4)),
        ("c: 2 x - y => 4.5e1", ({"x": 2, "y": -1}, 45, INF)),
        ("c: x - - y >= + 2", ({"x": 1, "y": 1}, 2, INF)),
        ("c: x + y + x <= 4", ({"x": 2, "y": 1}, -INF, 4)),
        ("c: x <= 1e30", ({"x": 1}, -INF, INF)),
        ("c: x >= -infinity", ({"x": 1}, -INF, INF)),
        ("c: x + y <= 4 \\ not >= 5", ({"x": 1, "y": 1}, -INF, 4)),
        ("c: x[1,2] + y(a-b) <= 4", ({"x[1,2]": 1, "y(a-b)": 1}, -INF, 4)),
        ("c : é + größe <= 4", ({"é": 1, "größe": 1}, -INF, 4)),
        ("c: 2e1x + 3e <= 4", ({"x": 20, "e": 3}, -INF, 4)),
        ("c: x + y >= 2\nc~upper: x + y <= 3", ({"x": 1, "y": 1}, 2, 3)),  # as the writer has it
    ],
)
def test_lp_constraints(constraint: str, wanted: object) -> None:
    model = lp(f"min\n x\nst\n{constraint}\nend")
    assert rows(model)["c"] == wanted
    assert len(model.rows) == 1


@pytest.mark.parametrize(
    ("objective", "cost", "offset"),
    [
        ("Minimize\n obj: 2 x - y + 7.5", {"x": 2, "y": -1}, 7.5),
        ("MINIMUM 2 x - 3", {"x": 2}, -3),
        ("maximise obj:", {}, 0),
        ("max\n\n x + 2 + y - 5", {"x": 1, "y": 1}, -3),
    ],
)
def test_lp_objectives(objective: str, cost: dict[str, float], offset: float) -> None:
    model = lp(f"{objective}\nsuch that\n c: x + y >= 0\nend")
    assert model.objective.terms == cost
    assert model.offset == offset
    assert model.sense == ("maximize" if objective.lower().startswith("max") else "minimize")


@pytest.mark.parametrize(
    ("bound", "wanted"),
    [
        ("x >= 2", (2, INF)),
        ("x <= 5", (0, 5)),
        ("-1 <= x <= 5", (-1, 5)),
        ("x = 3", (3, 3)),
        ("x free", (-INF, INF)),
        ("-inf <= x <= 5", (-INF, 5)),
        ("x >= -Infinity", (-INF, INF)),
        ("x <= +inf", (0, INF)),
        ("x <= -2", (0, -2)),  # LP files keep the lower bound: infeasible, as HiGHS and SCIP say
        ("0 <= x\n -1 <= y", (0, INF)),
    ],
)
def test_lp_bounds(bound: str, wanted: tuple[float, float]) -> None:
    assert bounds(lp(f"min\n x\nst\n c: x >= 1\nbounds\n {bound}\nend"))["x"] == wanted


def test_lp_kinds() -> None:
    model = lp(
        "min\n x + y + z\nst\n c: x >= 1\nbound\n y <= 7\ngeneral\n y\nbin\n x\nintegers z\nend"
    )
    assert {c.name: c.integral for c in model.columns.values()} == dict.fromkeys("xyz", True)
    assert bounds(model) == {"x": (0, 1), "y": (0, 7), "z": (0, INF)}


# --- MPS ---------------------------------------------------------------------------------------


def small_mps(middle: str, row: str = "L") -> str:
    return (
        f"NAME m\nROWS\n N cost\n {row} r\nCOLUMNS\n x cost 1 r 1\n y r 2\nRHS\n RHS r 4\n"
        f"{middle}\nENDATA\n"
    )


@pytest.mark.parametrize(
    ("row", "width", "wanted"),
    [("L", 3, (1, 4)), ("G", 3, (4, 7)), ("E", 3, (4, 7)), ("E", 0, (4, 4))],
)
def test_mps_ranges(tmp_path: Path, row: str, width: float, wanted: tuple[float, float]) -> None:
    text = small_mps(f"RANGES\n RNG r {width}", row)
    assert rows(mps(text))["r"][1:] == wanted
    path = tmp_path / "model.mps"
    path.write_text(text)
    theirs = highs_of(path).getLp()
    assert (theirs.row_lower_[0], theirs.row_upper_[0]) == wanted


@pytest.mark.parametrize(
    ("bound", "wanted", "agreed"),
    [
        ("UP BND x 5", (0, 5), True),
        ("FX BND x 3", (3, 3), True),
        ("FR BND x", (-INF, INF), True),
        ("MI BND x 0", (-INF, INF), True),
        ("MI BND x\n UP BND x 4", (-INF, 4), True),
        ("BV BND x", (0, 1), True),
        ("LI BND x 2", (2, INF), True),
        ("LO BND x 1\n UP BND x 1e30", (1, INF), True),
        ("UP x 5", (0, 5), False),  # the set's name may be left out
        ("MI BND x\n UP BND x -5", (-INF, -5), True),
        ("LO BND x 0\n UP BND x -5", (0, -5), False),
    ],
)
def test_mps_bounds(tmp_path: Path, bound: str, wanted: tuple[float, float], agreed: bool) -> None:
    text = small_mps(f"BOUNDS\n {bound}")
    model = mps(text)
    assert bounds(model)["x"] == wanted
    assert model.columns["x"].integral == (bound[:2] in ("BV", "LI", "UI"))
    if agreed:
        path = tmp_path / "model.mps"
        path.write_text(text)
        theirs = highs_of(path).getLp()
        assert (theirs.col_lower_[0], theirs.col_upper_[0]) == wanted


def test_mps_doubtful_readings_are_assumptions() -> None:
    text = small_mps("").replace(" y r 2", " M 'MARKER' 'INTORG'\n y r 2")
    first, second = mps(text.replace(" L r\n", " L r\n N other\n")).assumptions
    assert "without bounds are read as 0 or 1" in first
    assert "other" in second


@pytest.mark.parametrize(
    "layout", ["OBJSENSE\n    MAX", "OBJSENSE MAXIMIZE", "OBJSENSE\n MAXIMISE"]
)
def test_mps_sense(layout: str) -> None:
    assert mps(small_mps("").replace("ROWS", f"{layout}\nROWS", 1)).sense == "maximize"
    assert mps(small_mps("")).sense == "minimize"


# --- what is refused ---------------------------------------------------------------------------

LP = "Minimize\n obj: x\nSubject To\n c: x + y >= 2\n{}End\n"

NO_SUM = "this is no sum; found '%s'; expected terms left and one number right"
BAD_LP = [
    ("", "1: the file is empty"),
    ("Minimize\n x\nMaximize\n y\nEnd", "3: this section cannot stand here"),
    ("Subject To\n c: x >= 1\nEnd", "1: this section cannot stand here"),
    (LP.format(" d: x y >= 3\n"), f"5: {NO_SUM % 'y >= 3'}"),
    (LP.format(" d: x + >= 3\n"), f"5: {NO_SUM % '. >= 3'}"),
    (LP.format(" d: 3 >= 2\n"), f"5: {NO_SUM % 'd: 3 >= 2'}"),
    (LP.format(" d: x >= 2 y\n + z <= 3\n"), f"5: {NO_SUM % '>= 2 y'}"),
    (LP.format(" d: x^2 >= 2\n"), "5: this is no sum; .*no quadratic terms"),
    ("Minimize\n x + [ x^2 ] / 2\nSubject To\n c: x >= 1\nEnd", "2: .*no quadratic terms"),
    (LP.format(" d: x >= 1e30\n"), "5: the lower bound of d is infinite on the wrong side"),
    (LP.format("PWLObj\n x: (0, 1)\n"), "5: this kind of section is not read"),
    (LP.format("General Constraints\n m: z = x\n"), "5: this kind of section is not read"),
    (LP.format("Bounds\n x + y <= 4\n"), "6: this is no bound; .*one variable and numbers"),
    (LP.format("Bounds\n x >= inf\n"), "6: the lower bound of x is infinite on the wrong side"),
    (LP.format("") + "\n x + y >= 3", "7: text after the end"),
]


@pytest.mark.parametrize(("text", "message"), BAD_LP)
def test_bad_lp_files(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"model.lp:{message}"):
        lp(text)


BAD_MPS = [
    ("", "1: the file is cut off or no MPS file"),
    ("NAME m\nROWS\n N c\nCOLUMNS\n x c 1\n", "6: the file is cut off or no MPS file"),
    ("NAME m\nCOLUMNS\n x c 1\nENDATA", "2: this section .*cannot stand here; found 'COLUMNS'"),
    (small_mps("").replace(" L r", " Q r"), "4: this is no line of ROWS; found 'Q r'"),
    (small_mps("").replace("r 2", "r nan"), "7: a number is needed here; found 'nan'"),
    (small_mps("").replace("r 2", "r 2\n y r 3"), "8: a second entry in COLUMNS"),
    (small_mps("").replace("r 2", "r"), "7: this is no line of COLUMNS"),
    (small_mps("").replace("RHS r 4", "RHS q 4"), "9: 'q' is not declared"),
    (
        small_mps("RANGES\n RNG r 3", "G").replace("RHS r 4", "RHS r -1e30"),
        "11: the upper bound of r is infinite on the wrong side",
    ),
    (small_mps("RANGES\n RNG q 3"), "11: 'q' is not declared"),
    (small_mps("BOUNDS\n LO BND x inf"), "11: the lower bound of x is infinite"),
    (small_mps("SURPRISE\n x"), "10: this section is not read.*found 'SURPRISE'"),
    (small_mps("BOUNDS\n UP BND x -5"), "11: a negative upper bound and no lower one"),
    (small_mps("INDICATORS\n IF r x 1"), "10: this section is not read"),
    (small_mps("").replace("NAME m", "NAME m\nOBJSENSE\n BEST"), "3: this is no line of OBJSENSE"),
]


@pytest.mark.parametrize(("text", "message"), BAD_MPS)
def test_bad_mps_files(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"model.mps:({message})"):
        mps(text)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("m.lp", b"Minimize\n x\0y\nEnd", "m.lp:2: this is no text; found a zero byte"),
        ("m.mps", bytes(range(256)) * 9, "m.mps:1: this is no text"),
        ("m.lp.gz", b"", "a name that ends in .lp or .mps; unpack it first"),
        ("m.txt", b"Minimize", "found '.txt'; expected a name that ends in .lp"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_model(path)


@pytest.mark.parametrize(
    "text",
    [
        "Minimize\n x" + "(" * 200_000,
        "Minimize\n " + "- " * 200_000 + "x\nst\n c: x >= 1\nend",
        "Minimize\n " + "x[" * 100_000,
        "Minimize\n " + "9" * 300_000 + "\nst\n c: x >= 1\nend",
        "Minimize\n x\nst\n" + "c: " * 100_000,
        "NAME\nROWS\n" + " N c\n" * 100_000,
        "NAME\nROWS\n N c\nCOLUMNS\n x c " + "1" * 300_000 + "\nENDATA",
    ],
    ids=range(7),
)
@pytest.mark.parametrize("form", PARSERS)
def test_hostile_sizes_end_quickly(form: str, text: str) -> None:
    with soon(3.0), contextlib.suppress(InputError):
        PARSERS[form](source_of(text))


LISTED = (
    "Minimize;Subject To;Bounds;End;x;y;c:;+;-;3;<=;>=;=;[;];^;*;/;2;->;inf;nan;free;\n;NAME;ROWS"
    "; N c; L r;COLUMNS; x r 1;RHS;BOUNDS;ENDATA; UP;QUADOBJ;SOS;S1;:;é;\t"
)
WORDS = st.sampled_from(LISTED.split(";"))


@given(st.lists(st.one_of(WORDS, st.text(max_size=4)), max_size=40), st.sampled_from(list(PARSERS)))
@example(["Minimize", "\n", "x", "\n", "End"], "lp")
def test_any_text_is_a_model_or_a_located_error(words: list[str], form: str) -> None:
    source = source_of(" ".join(words).replace("\n ", "\n"), "model")
    found = outcome(source, form)
    if isinstance(found, InputError):
        places = found.file, found.line in range(1, len(source.lines) + 1)
        assert places == ("model", True)
        return
    rows_and_goal = [*found.rows.values(), found.objective]
    numbers = [value for row in rows_and_goal for value in row.terms.values()]
    assert np.isfinite([*numbers, found.offset]).all()
    sides = [(row.lower, row.upper) for row in rows_and_goal]
    sides += [(column.lower, column.upper) for column in found.columns.values()]
    assert not np.isnan(sides).any()


def outcome(source: SourceText, form: str) -> FileModel | InputError:
    """Return the model in a text, or why there is none."""
    try:
        return PARSERS[form](source)
    except InputError as error:
        return error
