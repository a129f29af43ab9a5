"""A program that went to the child process and back is the same program."""

from pathlib import Path

import numpy as np

from engiagent.formulations.program import (
    ColumnBlock,
    Coordinate,
    Indicators,
    Products,
    Program,
    RowBlock,
)
from engiagent.formulations.values import Atom, Form, Part, Term, applied, variables
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.transport import read_program, write_program
from engiagent.solvers.validate import place_of


def _nested() -> Program:
    x = variables(np.arange(3))
    square = applied(Atom("product", 3, (x, x)))
    inside = applied(Atom("exp", 3, (square + np.array([0.0, 1.0, 2.0]),)))
    largest = Atom("max", 1, (inside,), groups=np.zeros(3, np.int64))
    power = Atom("power", 3, (x,), numbers=(np.array(1.5),))
    table = Atom("piecewise", 3, (x,), numbers=(np.array([0.0, 1, 5]), np.array([0.0, 3, 2])))
    return Program(
        sense="maximize",
        cost=np.array([1.0, 2.0, 3.0]),
        column_lower=np.zeros(3),
        column_upper=np.array([1.0, 1.0, np.inf]),
        integrality=np.array([True, False, False]),
        row_starts=np.array([0, 1, 3]),
        row_columns=np.array([0, 1, 2]),
        row_values=np.array([1.0, 2.0, 3.0]),
        row_lower=np.array([0.0, -np.inf]),
        row_upper=np.array([np.inf, 9.0]),
        offset=4.0,
        products=Products(
            np.array([-1, 1]), np.array([1, 2]), np.array([0, 2]), np.array([2.0, 0.5])
        ),
        nonlinear=(
            Part(np.array([1]), np.array([2.0]), largest),
            Part(np.array([-1, 0, 1]), np.array([1.0, 2.0, 3.0]), power),
            Part(np.array([0, 0, 0]), np.ones(3), table),
        ),
        indicators=Indicators(np.array([0]), np.array([0]), np.array([1])),
        sos1=(np.array([1, 2]), np.array([0, 1, 2])),
        columns=(
            ColumnBlock(name="u", start=0, stop=1, unit="1", kind="binary", description="über"),
            ColumnBlock(
                name="x",
                start=1,
                stop=3,
                unit="kW",
                sets=("T",),
                shape=(4,),
                positions=np.array([1, 3]),
                quantity="pump.power",
            ),
        ),
        rows=(
            RowBlock(
                name="limit",
                constraint_id="C1",
                start=0,
                stop=2,
                unit="kW",
                sets=("T", "G"),
                shape=(4, 1),
                positions=np.array([0, 3]),
                generated=True,
            ),
        ),
        coordinates={
            "T": Coordinate(
                "T",
                "time",
                np.array(
                    ["2025-03-30T00", "2025-03-30T01", "2025-03-30T02", "2025-03-30T03"],
                    dtype="datetime64[ns]",
                ),
                "Europe/Berlin",
            ),
            "G": Coordinate("G", "labels", np.array(["ä"], dtype=object)),
        },
    )


def test_a_program_with_everything_survives_the_journey(tmp_path: Path) -> None:
    program = _nested()
    options = SolveOptions(time_limit=3, backend="scip", start=np.array([1.0, 0.5, 0.25]))
    write_program(tmp_path / "program", program, options)
    read, given = read_program(tmp_path / "program")
    x = np.array([1.0, 0.3, 0.7])
    assert read.objective_at(x) == program.objective_at(x)
    assert read.activity_at(x).tolist() == program.activity_at(x).tolist()
    assert [group.tolist() for group in read.sos1] == [[1, 2], [0, 1, 2]]
    assert read.indicators.active.tolist() == [1]
    assert given == options
    assert given.start is not None
    assert given.start.tolist() == [1.0, 0.5, 0.25]
    # A square is a square because both arguments are one object.
    product = read.nonlinear[0].atom.args[0].parts[0].atom.args[0].parts[0].atom
    assert product.args[0] is product.args[1]


def test_a_program_without_extras_survives_too(tmp_path: Path) -> None:
    form = Form(1, np.zeros(1), (Term(None, np.array([0]), np.ones(1)),))
    program = Program(
        sense="minimize",
        cost=np.zeros(1),
        column_lower=np.zeros(1),
        column_upper=np.ones(1),
        integrality=np.zeros(1, bool),
        row_starts=np.array([0]),
        row_columns=np.zeros(0, np.int64),
        row_values=np.zeros(0),
        row_lower=np.zeros(0),
        row_upper=np.zeros(0),
        nonlinear=(Part(np.array([-1]), np.ones(1), Atom("log", 1, (form + 1.0,))),),
    )
    write_program(tmp_path / "program", program, SolveOptions())
    read, _ = read_program(tmp_path / "program")
    assert read.sos1 == ()
    assert read.objective_at(np.array([1.0])) == np.log(2.0)


def test_places_have_the_same_names_after_the_journey(tmp_path: Path) -> None:
    program = _nested()
    write_program(tmp_path / "program", program, SolveOptions())
    read, _ = read_program(tmp_path / "program")
    assert [place_of(read, read.columns, j) for j in range(3)] == [
        "u",
        "x[2025-03-30T01:00]",
        "x[2025-03-30T03:00]",
    ]
    assert place_of(read, read.rows, 1) == "C1[2025-03-30T03:00, ä]"
    assert (read.coordinates["T"].kind, read.coordinates["T"].zone) == ("time", "Europe/Berlin")
    assert read.rows[0].generated
    assert read.columns[1].quantity == "pump.power"
