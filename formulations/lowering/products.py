r"""Products: with binaries as linear rows (McCormick 1976), of two columns as a list.

For a binary z and a bounded b the product w is exact at whole z:

.. math::

    \underline b z \le w \le \bar b z, \quad
    b - \bar b (1 - z) \le w \le b - \underline b (1 - z)
"""

import numpy as np

from engiagent.formulations.lowering.builder import Builder, Kind
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.program import Products
from engiagent.formulations.values import Atom, Floats, Form, Part, Rows, Term

MAX_PRODUCTS = 50_000_000
ROUNDING = 1e-14


def with_binaries(builder: Builder, left: Form, right: Form, name: str) -> Form | None:
    """Return the product of binaries with a bounded affine form as rows, None for any other."""
    for switch, other in ((left, right), (right, left)):
        if not _is_switch(builder, switch):
            continue
        low, high = form_bounds(other, builder.column_lower, builder.column_upper)
        if np.all(np.isfinite(low) & np.isfinite(high)):
            return _expanded(builder, switch, other, _without_rounding(low, high), name)
    return None


def _without_rounding(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return bounds with the 1e-16 that interval arithmetic leaves taken for zero."""
    noise = ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.where(np.abs(low) <= noise, 0.0, low), np.where(np.abs(high) <= noise, 0.0, high)


def _is_switch(builder: Builder, form: Form) -> bool:
    return bool(form.terms) and all(builder.is_binary(t.columns).all() for t in form.terms)


def _is_whole(builder: Builder, form: Form) -> bool:
    """Whether an affine form takes whole numbers only."""
    numbers = [form.constant, *(term.coefficients for term in form.terms)]
    whole = all(np.all(values == np.round(values)) for values in numbers)
    return whole and all(builder.integrality[term.columns].all() for term in form.terms)


def _expanded(
    builder: Builder, switch: Form, other: Form, bounds: tuple[Floats, Floats], name: str
) -> Form:
    # A product of two binaries is one again, so that it can be a switch in its turn.
    zero_or_one = np.all((bounds[0] >= 0) & (bounds[1] <= 1)) and _is_whole(builder, other)
    kind: Kind = "binary" if zero_or_one else "continuous"
    result = other * switch.constant
    for term in switch.terms:
        rows = term.row_numbers()
        low, high = bounds[0][rows], bounds[1][rows]
        count = len(rows)
        value = other.take(rows)
        binary = Form(count, np.zeros(()), (Term(None, term.columns, np.ones(count)),))
        product = builder.add_columns(
            name, count, np.minimum(low, 0.0), np.maximum(high, 0.0), kind
        )
        builder.add_rows(f"{name}__on_low", product - binary * low, 0.0, np.inf)
        builder.add_rows(f"{name}__on_high", product - binary * high, -np.inf, 0.0)
        rest = product - value
        builder.add_rows(f"{name}__off_low", rest - binary * high, -high, np.inf)
        builder.add_rows(f"{name}__off_high", rest - binary * low, -np.inf, -low)
        result = result + (product * term.coefficients).group_sum(rows, switch.size)
    return result


def split(form: Form) -> tuple[Form, Products | None, tuple[Part, ...]]:
    """Return a form's affine part, its products of two columns multiplied out, and the rest."""
    affine = Form(form.size, form.constant, form.terms)
    products: list[Products] = []
    rest: list[Part] = []
    for part in form.parts:
        pair = _pair(part.atom)
        if pair is None:
            rest.append(part)
            continue
        rows = part.row_numbers()
        weights = np.broadcast_to(part.coefficients, rows.shape)
        left, right = pair
        bilinear = _multiplied(left, right, rows, weights)
        products.append(bilinear)
        whole = right * left.constant + Form(right.size, np.zeros(()), left.terms) * right.constant
        affine = affine + (whole * weights).group_sum(rows, form.size)
    return affine, merged(products) if products else None, tuple(rest)


def _pair(atom: Atom) -> tuple[Form, Form] | None:
    if not all(argument.is_affine for argument in atom.args):
        return None
    if atom.function == "product":
        return atom.args[0], atom.args[1]
    if atom.function == "power" and np.all(atom.numbers[0] == 2.0):
        return atom.args[0], atom.args[0]
    return None


def _multiplied(left: Form, right: Form, rows: Rows, weights: Floats) -> Products:
    a_rows, a_columns, a_values = entries(left)
    b_rows, b_columns, b_values = entries(right)
    starts = np.searchsorted(b_rows, np.arange(right.size + 1))
    lengths = np.diff(starts)[a_rows]
    total = int(lengths.sum())
    if total > MAX_PRODUCTS:
        raise MemoryError(f"{total} products of two variables; at most {MAX_PRODUCTS}")
    first = np.repeat(np.arange(len(a_rows)), lengths)
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    second = starts[a_rows][first] + within
    element = a_rows[first]
    i, j = a_columns[first], b_columns[second]
    return Products(
        rows[element],
        np.maximum(i, j),
        np.minimum(i, j),
        a_values[first] * b_values[second] * weights[element],
    )


def entries(form: Form) -> tuple[Rows, Rows, Floats]:
    """Return rows, columns and coefficients of all terms, sorted by rows."""
    if not form.terms:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rows = np.concatenate([t.row_numbers() for t in form.terms])
    columns = np.concatenate([t.columns for t in form.terms])
    values = np.concatenate([np.broadcast_to(t.coefficients, t.columns.shape) for t in form.terms])
    order = np.argsort(rows, kind="stable")
    return rows[order], columns[order], values[order]


def merged(products: list[Products]) -> Products:
    """Return several lists of products as one, sorted, in which no pair stands twice in a row."""
    rows = np.concatenate([p.rows for p in products])
    first = np.concatenate([p.first for p in products])
    second = np.concatenate([p.second for p in products])
    values = np.concatenate([p.values for p in products])
    order = np.lexsort((second, first, rows))
    rows, first, second, values = rows[order], first[order], second[order], values[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.diff(rows) != 0) | (np.diff(first) != 0) | (np.diff(second) != 0)
    starts = np.flatnonzero(new)
    added = np.add.reduceat(values, starts) if len(starts) else values
    keep = added != 0.0
    return Products(rows[starts][keep], first[starts][keep], second[starts][keep], added[keep])


def shifted(products: Products, by: int) -> Products:
    """Return products whose rows are moved by a number."""
    return Products(products.rows + by, products.first, products.second, products.values)
