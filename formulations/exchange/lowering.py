"""Semicontinuous columns, special ordered sets and conditions in linear rows and binaries.

All are exact: the factors are the bounds of the columns themselves, and where a bound is missing
the model is refused rather than given an arbitrary one.
"""

from dataclasses import replace

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.exchange.flat import FlatModel, Places
from engiagent.formulations.exchange.names import unique
from engiagent.formulations.program import NO_INDICATORS

Term = tuple[int, float]


class _Addition:
    """Columns and rows to be added to a model."""

    def __init__(self, model: FlatModel) -> None:
        self.model = model
        self.lower = model.column_lower.copy()
        self.columns: list[tuple[str, int]] = []
        self.rows: list[tuple[str, list[Term], float, float, int]] = []

    def error(self, message: str, line: int, expected: str) -> InputError:
        """Return an error at a line of the file."""
        places = self.model.places
        return InputError(message, places.file if places else None, line, expected=expected)

    def binary(self, name: str, line: int) -> int:
        """Return the number of a new binary column."""
        self.columns.append((name, line))
        return self.model.column_count + len(self.columns) - 1

    def row(self, name: str, terms: list[Term], lower: float, upper: float, line: int) -> None:
        """Add a row."""
        self.rows.append((name, terms, lower, upper, line))


def lowered(model: FlatModel) -> FlatModel:
    """Return a model with linear and quadratic rows, bounds and whole numbers only.

    Raises
    ------
    InputError
        When a column that needs finite bounds for that has none.
    """
    if not (model.semicontinuous.any() or model.sos or len(model.indicators.rows)):
        return model
    added = _Addition(model)
    for k in np.flatnonzero(model.semicontinuous).tolist():
        _semicontinuous(added, k)
    for position in range(len(model.sos)):
        _ordered_set(added, position)
    conditional = _conditions(added)
    return _extended(model, added, conditional)


def _line(model: FlatModel, group: str, number: int) -> int:
    return 1 if model.places is None else int(getattr(model.places, group)[number])


def _semicontinuous(added: _Addition, k: int) -> None:
    """Say ``x = 0 or l <= x <= u`` as ``l y <= x <= u y`` with a binary y."""
    model, name = added.model, added.model.column_names[k]
    lower, upper = float(model.column_lower[k]), float(model.column_upper[k])
    line = _line(model, "columns", k)
    if lower < 0.0:
        raise added.error(
            f"the lower bound of the semi-continuous {name} is negative", line, "0 or more"
        )
    added.lower[k] = 0.0
    if lower == 0.0:
        return
    if not np.isfinite(upper):
        raise added.error(f"the semi-continuous {name} has no upper bound", line, "a finite one")
    on = added.binary(f"{name}_on", line)
    added.row(f"{name}_at_most", [(k, 1.0), (on, -upper)], -np.inf, 0.0, line)
    added.row(f"{name}_at_least", [(k, 1.0), (on, -lower)], 0.0, np.inf, line)


def _ordered_set(added: _Addition, position: int) -> None:
    """Add a binary for each place at which the nonzero columns may stand."""
    model = added.model
    entry = model.sos[position]
    order = np.argsort(entry.weights, kind="stable")
    columns = entry.columns[order].tolist()
    line = _line(model, "columns", columns[0]) if columns else 1
    count = len(columns) - entry.order + 1
    if count < 2:
        return
    places = [added.binary(f"{entry.name}_at_{k + 1}", line) for k in range(count)]
    added.row(f"{entry.name}_one", [(place, 1.0) for place in places], 1.0, 1.0, line)
    for k, column in enumerate(columns):
        lower, upper = float(model.column_lower[column]), float(model.column_upper[column])
        name = f"{entry.name}_{k + 1}"
        if not (np.isfinite(lower) and np.isfinite(upper)):
            raise added.error(
                f"{model.column_names[column]} stands in the special ordered set {entry.name} "
                "without finite bounds",
                line,
                "bounds on both sides",
            )
        near = [places[p] for p in range(k - entry.order + 1, k + 1) if 0 <= p < count]
        if upper != 0.0:
            added.row(
                f"{name}_at_most", [(column, 1.0), *((p, -upper) for p in near)], -np.inf, 0.0, line
            )
        if lower != 0.0:
            added.row(
                f"{name}_at_least", [(column, 1.0), *((p, -lower) for p in near)], 0.0, np.inf, line
            )


def _conditions(added: _Addition) -> set[int]:
    """Add the rows that hold under a condition; return the numbers of those that they replace."""
    model, entries = added.model, added.model.indicators
    rows = zip(
        entries.rows.tolist(), entries.columns.tolist(), entries.active.tolist(), strict=True
    )
    for row, column, active in rows:
        span = slice(model.row_starts[row], model.row_starts[row + 1])
        columns, values = model.row_columns[span], model.row_values[span]
        ends = values * model.column_lower[columns], values * model.column_upper[columns]
        least, most = float(np.minimum(*ends).sum()), float(np.maximum(*ends).sum())
        terms = list(zip(columns.tolist(), values.tolist(), strict=True))
        _conditional(added, row, (column, active), terms, (least, most))
    return set(entries.rows.tolist())


def _conditional(
    added: _Addition,
    row: int,
    condition: tuple[int, int],
    terms: list[Term],
    reach: tuple[float, float],
) -> None:
    """Relax each side of a row by as much as its terms can break it."""
    model, name, line = added.model, added.model.row_names[row], _line(added.model, "rows", row)
    column, active = condition
    if (model.products.rows == row).any():
        raise added.error(f"the condition of {name} is on a quadratic row", line, "a linear row")
    sides = (
        ("upper", float(model.row_upper[row]), reach[1]),
        ("lower", float(model.row_lower[row]), reach[0]),
    )
    for side, limit, extreme in sides:
        if not np.isfinite(limit):
            continue
        if not np.isfinite(extreme):
            raise added.error(
                f"{name} holds under a condition, but its columns have no finite bounds",
                line,
                "finite bounds of every column in it",
            )
        slack = extreme - limit
        needed = slack > 0.0 if side == "upper" else slack < 0.0
        if not needed:
            continue
        # a.x <= limit + slack (1 - y), or with y where the row holds at y = 0
        extra, right = (slack, limit + slack) if active == 1 else (-slack, limit)
        both = (-np.inf, right) if side == "upper" else (right, np.inf)
        merged = dict(terms)
        merged[column] = merged.get(column, 0.0) + extra
        added.row(f"{name}_{side}", sorted(merged.items()), *both, line)


def _extended(model: FlatModel, added: _Addition, dropped: set[int]) -> FlatModel:
    """Return the model with the additions and without the rows dropped."""
    from scipy.sparse import csr_array, vstack

    kept = np.array([k for k in range(model.row_count) if k not in dropped], dtype=np.int64)
    more = len(added.columns)
    shape = model.row_count, model.column_count + more
    old = csr_array((model.row_values, model.row_columns, model.row_starts), shape=shape)[kept]
    entries = [(r, k, v) for r, row in enumerate(added.rows) for k, v in row[1]]
    table = np.array(entries, dtype=np.float64).reshape(-1, 3)
    index = table[:, :2].astype(np.int64).T
    new = csr_array((table[:, 2], (index[0], index[1])), shape=(len(added.rows), shape[1]))
    matrix = vstack([old, new], format="csr")
    numbers = np.full(model.row_count + 1, -1)
    numbers[kept] = np.arange(len(kept))
    rows = np.where(model.products.rows >= 0, numbers[model.products.rows], model.products.rows)
    places = model.places
    return replace(
        model,
        cost=np.append(model.cost, np.zeros(more)),
        column_names=tuple(unique([*model.column_names, *(name for name, _ in added.columns)])),
        column_lower=np.append(added.lower, np.zeros(more)),
        column_upper=np.append(model.column_upper, np.ones(more)),
        integrality=np.append(model.integrality, np.ones(more, dtype=np.bool_)),
        semicontinuous=np.zeros(shape[1], dtype=np.bool_),
        row_names=tuple(
            unique([*(model.row_names[k] for k in kept), *(row[0] for row in added.rows)])
        ),
        row_starts=matrix.indptr.astype(np.int64),
        row_columns=matrix.indices.astype(np.int64),
        row_values=matrix.data,
        row_lower=np.append(model.row_lower[kept], [row[2] for row in added.rows]),
        row_upper=np.append(model.row_upper[kept], [row[3] for row in added.rows]),
        products=replace(model.products, rows=rows),
        indicators=NO_INDICATORS,
        sos=(),
        places=None
        if places is None
        else Places(
            file=places.file,
            objective=places.objective,
            columns=np.append(places.columns, [line for _, line in added.columns]).astype(np.int64),
            rows=np.append(places.rows[kept], [row[4] for row in added.rows]).astype(np.int64),
        ),
    )
