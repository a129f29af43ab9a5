"""Runs side by side: what differs is listed, what does not is left out."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.errors import InputError
from engiagent.report import compare, side_by_side
from tests.report.conftest import MakeRun
from tests.report.test_page import assert_sound


@pytest.fixture
def pair(make_run: MakeRun, solution: Any, tmp_path: Path) -> tuple[Path, Path]:
    """Two runs; in the second the battery is larger, a price and an hour are others."""
    first, second = make_run(), tmp_path / "second"
    shutil.copytree(first, second)
    document = json.loads((second / "blueprint.json").read_text())
    core = document["core_model_elements"]
    core["parameters"][0]["value"] = 300
    core["constraints"][1]["where"] = "hour(t) >= 18"
    (second / "blueprint.json").write_text(json.dumps(document))
    prices = (second / "problem" / "prices.csv").read_text().splitlines()
    prices[5], prices[6] = prices[6], prices[5]  # the same numbers in another order
    (second / "problem" / "prices.csv").write_text("\n".join(prices) + "\n")
    data = solution(24)
    data["charge"][7] += 4.0
    (second / "solution.nc").unlink()
    data.to_netcdf(second / "solution.nc", engine="netcdf4")
    record = {"schema": "engiagent-run/1", "problem": "shop", "state": "done"}
    for folder, verdict, seed in ((first, "certified", 1), (second, "feasible", 2)):
        asked = {"asked": {"seed": seed, "gap": 0.1}}
        (folder / "run.json").write_text(json.dumps(record | asked | {"verdict": verdict}))
    return first, second


def test_only_what_differs_is_listed(pair: tuple[Path, Path]) -> None:
    found = side_by_side(pair)
    assert found.names == ("run", "second")
    assert {(d.kind, d.name): d.values for d in found.differences} == {
        ("asked", "seed"): ("1", "2"),
        ("parameter", "E_max"): ("200\u00a0kWh", "300\u00a0kWh"),
        ("parameter", "price"): (
            "24 values from 10.02 to 69.92\u00a0EUR/MWh",
            "24 values from 10.02 to 69.92\u00a0EUR/MWh, others",
        ),
        ("constraint", "C2"): tuple(
            f'soc[t] >= 0.2*E_max (forall ["t in T"], where hour(t) >= {hour})' for hour in (17, 18)
        ),
    }
    charge, *others = found.quantities
    assert charge.label == "battery.charge"
    assert charge.largest == pytest.approx(4.0)
    assert charge.where == "2025-03-30 08:00+02:00"
    means = [mean for mean in charge.means if mean is not None]
    assert means[1] - means[0] == pytest.approx(4.0 / 24)
    assert not any(item.differs for item in others)


def test_the_page_is_sound_and_draws_what_differs(pair: tuple[Path, Path]) -> None:
    page = assert_sound(compare(pair))
    assert len(page.all("svg")) == 1
    # It begins with what changed; what only a hash tells comes last.
    assert page.headings[:3] == ["2 runs compared", "What changed", "What came of each"]
    assert "2025-03-30 08:00+02:00" in page.text
    assert "E_max" in page.text


def test_a_run_without_a_plan_stands_beside_one_with(make_run: MakeRun, tmp_path: Path) -> None:
    first, second = make_run(), tmp_path / "failed"
    second.mkdir()
    record = {"schema": "engiagent-run/1", "problem": "shop", "state": "failed"}
    (second / "run.json").write_text(json.dumps(record))
    found = side_by_side([second, first])
    assert all(item.means[0] is None and not item.is_shared for item in found.quantities)
    page = assert_sound(compare([second, first]))
    assert page.all("svg") == []  # a curve on its own shows no difference
    assert "in one run only" in page.text


@pytest.mark.parametrize("count", [0, 1, 7])
def test_one_run_or_too_many_cannot_be_compared(count: int, make_run: MakeRun) -> None:
    with pytest.raises(InputError, match="cannot be compared"):
        compare([make_run()] * count if count else [])


def test_rounding_is_no_difference(make_run: MakeRun, solution: Any, tmp_path: Path) -> None:
    first, second = make_run(), tmp_path / "again"
    shutil.copytree(first, second)
    data = solution(24)
    data["charge"] = data["charge"] * (1 + 1e-13)
    data["charge"].attrs = solution(24)["charge"].attrs
    (second / "solution.nc").unlink()
    data.to_netcdf(second / "solution.nc", engine="netcdf4")
    assert not np.any([item.differs for item in side_by_side([first, second]).quantities])
