"""Proofs that a linear program has no feasible point."""

import numpy as np

from engiagent.formulations.program import Program, row_sums
from engiagent.solvers.result import Floats

NEGLIGIBLE = 1e-9


def oriented(program: Program, ray: Floats) -> Floats | None:
    """Return a solver's ray turned and scaled as a proof of infeasibility, or None if it is none.

    ``ray``: multipliers of the rows, shape (m,), of either sign convention.

    Returns multipliers y with largest size 1, so that the rows' bounds weighted by y (lower where y
    > 0, upper where y < 0) exceed everything that yᵀA x reaches within the column bounds.
    """
    size = float(np.max(np.abs(ray), initial=0.0))
    if not (np.isfinite(size) and size > 0):
        return None
    y = ray / size
    best = max((1.0, -1.0), key=lambda sign: margin(program, sign * y))
    return best * y + 0.0 if margin(program, best * y) > 0 else None


def of_one_row(program: Program) -> Floats | None:
    """Return the multiplier of a row that the column bounds alone contradict, None without one."""
    values, columns = program.row_values, program.row_columns
    lower, upper = program.column_lower[columns], program.column_upper[columns]
    with np.errstate(invalid="ignore"):
        least = row_sums(program.row_starts, _product(values, np.where(values > 0, lower, upper)))
        most = row_sums(program.row_starts, _product(values, np.where(values > 0, upper, lower)))
        short, over = program.row_lower - most, least - program.row_upper
    beyond = np.maximum(np.nan_to_num(short, nan=-np.inf), np.nan_to_num(over, nan=-np.inf))
    if not len(beyond):
        return None
    row = int(np.argmax(beyond))
    y = np.zeros(program.row_count)
    y[row] = 1.0 if short[row] >= over[row] else -1.0
    return y if margin(program, y) > 0 else None


def column_weights(program: Program, y: Floats) -> Floats:
    """Return Aᵀy; what is left of terms that cancel is zero, so that it meets no infinite bound."""
    terms = np.repeat(y, np.diff(program.row_starts)) * program.row_values
    count = program.column_count
    weights: Floats = np.bincount(program.row_columns, terms, count).astype(np.float64)
    scale = np.bincount(program.row_columns, np.abs(terms), count)
    weights[np.abs(weights) <= NEGLIGIBLE * scale] = 0.0
    return weights


def margin(program: Program, y: Floats) -> float:
    """Return by how much the rows' weighted bounds exceed what the columns can reach."""
    rows = _product(y, np.where(y > 0, program.row_lower, program.row_upper))
    weights = column_weights(program, y)
    reach = np.where(weights > 0, program.column_upper, program.column_lower)
    return float(rows.sum() - _product(weights, reach).sum())


def _product(weights: Floats, bounds: Floats) -> Floats:
    """Return the products, 0 where the weight is 0 and the bound infinite."""
    return weights * np.where(weights == 0, 0.0, bounds)
