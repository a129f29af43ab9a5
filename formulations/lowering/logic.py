r"""``implies``, ``either``, ``exclusive`` and ``complements`` as rows.

A row :math:`v \le u` that need hold only where all literals :math:`l_k` are 1 becomes

.. math:: v \le u + (\bar v - u) \sum_k (1 - l_k)

with the greatest value :math:`\bar v` that the bounds allow. Where they allow any, the row is left
to solvers that know conditional rows (indicators), and pairs to those that know SOS1 sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.lowering.lower import lowered
from engiagent.formulations.values import Floats, Form, Ints, constant


@dataclass(frozen=True, eq=False)
class Side:
    """One comparison on a grid: ``lower <= form <= upper``, in ``unit``."""

    form: Form
    lower: Floats | float
    upper: Floats | float
    unit: str


def conditional(
    builder: Builder, literals: Sequence[Form], sides: Sequence[Side], name: str, **block: Any
) -> None:
    """Add rows that hold where all literals, forms that are 0 or 1, are 1."""
    size = sides[0].form.size
    missing: Form = constant(0.0, size)
    for literal in literals:
        missing = missing + (1.0 - literal)
    switch: _Switch | None = None
    for side in sides:
        for value, limit in _one_sided(side):
            form = lowered(builder, value, 1, name)
            _, most = form_bounds(form, builder.column_lower, builder.column_upper)
            excess = most - limit
            rows = np.flatnonzero((excess > 0) & np.isfinite(excess))
            if len(rows):
                relaxed = form.take(rows) - missing.take(rows) * excess[rows]
                builder.add_rows(
                    name, relaxed, -np.inf, limit[rows], **(block | {"unit": side.unit})
                )
            rows = np.flatnonzero(np.isinf(excess) & (excess > 0))
            if len(rows):
                switch = switch or _Switch.of(builder, literals, name)
                made = builder.add_rows(
                    name, form.take(rows), -np.inf, limit[rows], **(block | {"unit": side.unit})
                )
                builder.hold_when(made, switch.columns[rows], switch.active)


def _one_sided(side: Side) -> list[tuple[Form, Floats]]:
    """Return each finite side as ``form <= limit``."""
    found = []
    size = (side.form.size,)
    upper = np.broadcast_to(np.asarray(side.upper, dtype=np.float64), size)
    lower = np.broadcast_to(np.asarray(side.lower, dtype=np.float64), size)
    if np.any(np.isfinite(upper)):
        found.append((side.form, upper))
    if np.any(np.isfinite(lower)):
        found.append((-side.form, -lower))
    return found


@dataclass(frozen=True, eq=False)
class _Switch:
    """A binary column for each row and the value at which all literals are 1."""

    columns: Ints
    active: int

    @classmethod
    def of(cls, builder: Builder, literals: Sequence[Form], name: str) -> "_Switch":
        if len(literals) == 1:
            term, start = literals[0].terms[0], literals[0].constant
            plain = term.rows is None and len(literals[0].terms) == 1
            if plain and np.all(start == 0) and np.all(term.coefficients == 1):
                return cls(term.columns, 1)
            if plain and np.all(start == 1) and np.all(term.coefficients == -1):
                return cls(term.columns, 0)
        size = literals[0].size
        both = builder.add_columns(f"{name}__when", size, 0.0, 1.0, "binary")
        total = sum(literals[1:], start=literals[0])
        builder.add_rows(f"{name}__when", total - both, -np.inf, len(literals) - 1.0)
        return cls(both.terms[0].columns, 1)


def either(
    builder: Builder, alternatives: Sequence[Sequence[Side]], name: str, **block: Any
) -> None:
    """Add rows of which at least one alternative's all hold."""
    size = alternatives[0][0].form.size
    total: Form = constant(0.0, size)
    for number, sides in enumerate(alternatives, 1):
        chosen = builder.add_columns(f"{name}__holds_{number}", size, 0.0, 1.0, "binary")
        total = total + chosen
        conditional(builder, [chosen], sides, name, **block)
    builder.add_rows(f"{name}__any", total, 1.0, np.inf)


def exclusive(builder: Builder, forms: Sequence[Form], name: str, **block: Any) -> None:
    """Add rows by which at most one of several quantities differs from zero."""
    exact = [lowered(builder, form, 0, name) for form in forms]
    size = exact[0].size
    total: Form = constant(0.0, size)
    unbounded: list[Form] = []
    for number, form in enumerate(exact, 1):
        if all(builder.is_binary(t.columns).all() for t in form.terms) and _is_plain(form):
            total = total + form
            continue
        low, high = form_bounds(form, builder.column_lower, builder.column_upper)
        if not np.all(np.isfinite(low) & np.isfinite(high)):
            unbounded.append(form)
            continue
        active = builder.add_columns(f"{name}__active_{number}", size, 0.0, 1.0, "binary")
        total = total + active
        if np.any(high > 0):
            builder.add_rows(f"{name}__below", form - active * high, -np.inf, 0.0)
        else:
            builder.add_rows(f"{name}__below", form, -np.inf, 0.0)
        if np.any(low < 0):
            builder.add_rows(f"{name}__above", form - active * low, 0.0, np.inf)
    if unbounded:
        _sos(builder, unbounded, total, name)
    builder.add_rows(name, total, -np.inf, 1.0, **(block | {"unit": "1"}))


def _is_plain(form: Form) -> bool:
    """Whether each row is a column itself."""
    return (
        form.is_affine
        and len(form.terms) == 1
        and form.terms[0].rows is None
        and bool(np.all(form.constant == 0) and np.all(form.terms[0].coefficients == 1))
    )


def _sos(builder: Builder, forms: list[Form], total: Form, name: str) -> None:
    """Put the unbounded quantities into one SOS1 set a row, with what else is active there."""
    size = forms[0].size
    members = [_as_columns(builder, form, name) for form in forms]
    if not total.is_constant:
        others = builder.add_columns(f"{name}__others", size, 0.0, 1.0)
        builder.add_rows(f"{name}__others", others - total, 0.0, 0.0)
        members.append(others.terms[0].columns)
    builder.sos1 += [np.array(group, dtype=np.int64) for group in zip(*members, strict=True)]


def _as_columns(builder: Builder, form: Form, name: str) -> Ints:
    if _is_plain(form):
        return form.terms[0].columns
    low, high = form_bounds(form, builder.column_lower, builder.column_upper)
    column = builder.add_columns(f"{name}__value", form.size, low, high)
    builder.add_rows(f"{name}__value", column - form, 0.0, 0.0)
    return column.terms[0].columns


def complements(builder: Builder, left: Side, right: Side, name: str, **block: Any) -> None:
    """Add ``left >= 0``, ``right >= 0``, and that one of them is zero; ``lower`` is 0 in both."""
    forms = []
    for side in (left, right):
        form = lowered(builder, side.form, 0, name)
        builder.add_rows(name, form, 0.0, np.inf, **(block | {"unit": side.unit}))
        forms.append(form)
    bounds = [form_bounds(f, builder.column_lower, builder.column_upper)[1] for f in forms]
    if not all(np.all(np.isfinite(high)) for high in bounds):
        members = [_as_columns(builder, form, name) for form in forms]
        builder.sos1 += [np.array(group, dtype=np.int64) for group in zip(*members, strict=True)]
        return
    size = forms[0].size
    first = builder.add_columns(f"{name}__first", size, 0.0, 1.0, "binary")
    highs = [np.maximum(high, 0.0) for high in bounds]
    builder.add_rows(f"{name}__first", forms[0] - first * highs[0], -np.inf, 0.0)
    builder.add_rows(f"{name}__second", forms[1] + first * highs[1], -np.inf, highs[1])
