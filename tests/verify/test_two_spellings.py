"""A schedule that gives one quantity twice is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.errors import InputError
from engiagent.verify.checking import check
from tests.verify import example


def _columns(**more: Any) -> dict[str, Any]:
    solution = example.solve()
    return {name: solution[name].values for name in ("charge", "discharge", "soc")} | more


@pytest.mark.parametrize("spelling", ["battery.charge", "charge [MW]", "charge_power [kW]"])
@pytest.mark.parametrize("first", [True, False])
def test_the_order_of_two_columns_decides_nothing(
    tmp_path: Path, spelling: str, first: bool
) -> None:
    other = {spelling: np.zeros(24)}
    columns = {**other, **_columns()} if first else {**_columns(), **other}
    problem = example.make_problem(tmp_path)
    if spelling != "charge_power [kW]":
        with pytest.raises(InputError, match="two columns"):
            check(problem, columns, example.blueprint())
    else:  # a column that nothing here knows stays one
        assert check(problem, columns, example.blueprint()).verdict != "violated"


def test_the_same_numbers_twice_are_two_spellings_too(tmp_path: Path) -> None:
    columns = _columns()
    columns["battery.charge"] = columns["charge"]
    with pytest.raises(InputError, match=r"battery\.charge once, or --map battery\.charge=COLUMN"):
        check(example.make_problem(tmp_path), columns, example.blueprint())


def test_a_column_that_the_user_names_goes_before_another(tmp_path: Path) -> None:
    columns = _columns(meter=np.zeros(24))
    columns["meter"] = columns["charge"]
    columns["charge"] = np.zeros(24)
    found = check(
        example.make_problem(tmp_path),
        columns,
        example.blueprint(),
        mapping={"battery.charge": "meter"},
    )
    assert found.verdict == "solved"  # nobody but its author has read the text
    assert any(note.startswith("not used: charge") for note in found.notes)
