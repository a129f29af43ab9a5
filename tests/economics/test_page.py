"""The page on economics runs."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.solving import solve

PAGE = (Path(__file__).parents[2] / "docs" / "economics.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs_and_shaves_the_peak() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    program = compile_blueprint(names["blueprint"])
    result = solve(program, isolate=False)
    block = program.column_block("tariff_demand1_peak")
    assert result.x is not None
    # Everything is bounded by the grid's limit, so that multipliers can prove the optimum.
    assert np.isfinite(program.column_upper[block.start])
    # 20 kWh give 19 kWh over the five hours of 20 kW: 3.8 kW less at every one of them.
    assert result.x[block.start] == pytest.approx(20.0 - 0.95 * 20 / 5)
