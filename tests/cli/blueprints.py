"""Small blueprints without a problem, some of which keep a solver busy."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.blueprints import document, goal


def write(path: Path, **core: Any) -> Path:
    """Write a blueprint with the given core and return its path."""
    path.write_text(json.dumps(document(**core)), encoding="utf-8")
    return path


def products(path: Path, **changes: Any) -> Path:
    """Write two products on shared machine hours: the best is 2 of A and 6 of B, 36 EUR."""
    core: dict[str, Any] = {
        "decision_variables": [
            {"name": "a", "lower": 0, "upper": 4, "unit": "1"},
            {"name": "b", "lower": 0, "upper": 6, "unit": "1"},
        ],
        "constraints": [{"constraint_id": "hours", "expression": "3*a + 2*b <= 18"}],
        "objective_function": goal("3[EUR]*a + 5[EUR]*b", "EUR", "maximize"),
    }
    return write(path, **(core | changes))


def market_split(path: Path, m: int = 6) -> Path:
    """Write a market split: no point for hours, and no proof that there is none."""
    n = 10 * (m - 1)
    matrix = np.random.default_rng(1).integers(0, 100, (m, n))
    goods = [f"g{j}" for j in range(n)]
    markets = [f"m{i}" for i in range(m)]
    half = {name: int(row.sum() // 2) for name, row in zip(markets, matrix, strict=True)}
    return _selection(
        path, markets, goods, matrix, half, "sum(a[i,j]*x[j] for j in J) == limit[i]", "minimize"
    )


def knapsack(path: Path, n: int = 200, m: int = 10) -> Path:
    """Write a knapsack with many limits: points come at once, the proof takes hours."""
    matrix = np.random.default_rng(0).integers(1, 1000, (m, n))
    goods = [f"g{j}" for j in range(n)]
    limits = [f"m{i}" for i in range(m)]
    half = {name: int(row.sum() // 2) for name, row in zip(limits, matrix, strict=True)}
    return _selection(
        path, limits, goods, matrix, half, "sum(a[i,j]*x[j] for j in J) <= limit[i]", "maximize"
    )


def _selection(
    path: Path,
    rows: list[str],
    goods: list[str],
    matrix: Any,
    limit: dict[str, int],
    expression: str,
    sense: str,
) -> Path:
    table = {
        row: {good: int(matrix[i, j]) for j, good in enumerate(goods)} for i, row in enumerate(rows)
    }
    worth = {good: int(matrix[:, j].sum()) for j, good in enumerate(goods)}
    return write(
        path,
        sets=[
            {"name": "M", "kind": "labels", "elements": rows},
            {"name": "J", "kind": "labels", "elements": goods},
        ],
        parameters=[
            {"name": "a", "index": ["M", "J"], "value": table, "unit": "1"},
            {"name": "limit", "index": ["M"], "value": limit, "unit": "1"},
            {"name": "worth", "index": ["J"], "value": worth, "unit": "EUR"},
        ],
        decision_variables=[{"name": "x", "index": ["j in J"], "type": "binary", "unit": "1"}],
        constraints=[{"constraint_id": "C", "forall": ["i in M"], "expression": expression}],
        objective_function=goal("sum(worth[j]*x[j] for j in J)", "EUR", sense),
    )
