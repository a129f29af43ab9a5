"""The one table of ratios: what is read off the rows of each part, and what counts as met."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _scripts_find_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_every_part_is_a_script_that_is_there() -> None:
    for part in script("run_all").PARTS:
        assert (FOLDER / part.command[0]).is_file(), part.name


def test_a_ratio_above_its_target_is_not_met() -> None:
    run_all = script("run_all")
    keys = ("tool", "T", "build_s", "solve_s", "check_s", "rows_s", "total_s", "peak_mb")
    rows = [
        dict(zip(keys, values, strict=True))
        for values in (
            ("floor", 24, 1.0, 9.0, 0.0, 0.0, 10.0, 100.0),
            ("engiagent", 24, 1.4, 9.0, 0.09, 0.009, 10.49, 110.0),
            ("pyomo", 24, 90.0, 9.0, 0.0, 0.0, 99.0, 200.0),
        )
    ]
    longer = [{**row, "T": 48} for row in rows]
    assert len(list(run_all.battery(rows + longer))) == 2 * len(list(run_all.battery(rows)))
    figures = {f.what: f for f in run_all.battery(rows)}
    assert figures["engiagent: total over floor"].verdict == "met"
    assert figures["engiagent: build over floor"].verdict == "met"
    whole = "engiagent: whole check with its certificate over floor's solve"
    assert figures[whole].verdict == "NOT met"
    alone = figures["engiagent: rows, bounds and objective checked over floor's solve"]
    assert alone.value == pytest.approx(0.001)
    assert alone.verdict == "met"
    assert figures["pyomo: total over floor"].value == pytest.approx(9.9)
    assert figures["pyomo: total over floor"].verdict == ""
    text = run_all.table(list(figures.values()))
    assert f"| battery LP, T = 24 | {whole} | 0.01 | 0.003 | NOT met |" in text


def test_unit_commitment_is_held_against_the_better_solver_of_each_seed() -> None:
    rows = [
        {"hours": 24, "seed": seed, "tool": tool, "seconds": seconds}
        for seed, times in enumerate([(2.0, 1.0, 1.1), (1.0, 3.0, 1.0), (2.0, 2.0, 3.0)])
        for tool, seconds in zip(
            ("by hand, HiGHS", "by hand, SCIP", "engiagent"), times, strict=True
        )
    ]
    (figure,) = script("run_all").commitment(rows)
    assert figure.value == pytest.approx(1.1)


def test_the_exponent_of_linear_growth_is_one_and_the_plot_is_a_picture() -> None:
    scaling = script("scaling")
    rows = [
        {"T": t, "compile_s": 2e-6 * t, "memory_mb": 3e-4 * t**1.5}
        for t in (10_000, 100_000, 300_000, 1_000_000)
    ]
    assert scaling.exponent(rows, "compile_s") == pytest.approx(1.0)
    assert scaling.exponent(rows, "memory_mb") == pytest.approx(1.5)
    picture = ElementTree.fromstring(scaling.plot(rows))
    circles = [part for part in picture.iter() if part.tag.endswith("circle")]
    assert len(circles) == 2 * len(rows)
    assert all(math.isfinite(float(part.attrib["cy"])) for part in circles)
