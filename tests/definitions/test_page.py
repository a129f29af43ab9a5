"""The examples of the page are computed, and give what the page says."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.definitions import check_definitions, evaluate_definitions
from engiagent.blueprint.definitions.draws import ARGUMENTS
from tests.definitions.cases import blueprint

PAGE = Path(__file__).parents[2] / "docs" / "definitions.md"
PAIR = re.compile(r"```json run\n(.*?)```\n```json gives\n(.*?)```", re.DOTALL)
EXAMPLES = [(json.loads(m[1]), json.loads(m[2])) for m in PAIR.finditer(PAGE.read_text("utf-8"))]


@pytest.mark.parametrize(("core", "wanted"), EXAMPLES)
def test_an_example_gives_what_the_page_says(core: dict[str, Any], wanted: dict[str, Any]) -> None:
    plan = blueprint(**core)
    assert check_definitions(plan) == ()
    results = evaluate_definitions(plan)
    for name, values in wanted.items():
        np.testing.assert_allclose(results[name], values, rtol=1e-8, err_msg=name)


def test_every_distribution_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    for name, arguments in ARGUMENTS.items():
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        assert all(f"`{a}`" in row for group in arguments for a in group)
