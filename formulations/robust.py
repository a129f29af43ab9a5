r"""Robust counterparts: rows that hold whatever the uncertain parameters turn out to be.

With uncertain values :math:`u_j + d_j z_j` a row is

.. math:: f_0(x) + \sum_j z_j g_j(x) \le b \quad \forall z \in Z,

and its counterpart adds the worst of the sum. In a box that is

.. math:: f_0(x) + \sum_j |g_j(x)| \le b,

with a budget :math:`\sum_j |z_j| \le \Gamma` after Bertsimas and Sim (2004), by duality,

.. math::

    f_0(x) + \Gamma t + \sum_j p_j \le b, \quad t + p_j \ge |g_j(x)|, \quad t, p_j \ge 0

While expressions are evaluated, :math:`z_j` is the column -1 - j, which no program has; none is
left when a row is stated. Numbers of different parameters deviate independently of each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import Constraint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import ExpressionError, names_in
from engiagent.blueprint.uncertainty import (
    PLACE,
    Uncertainty,
    reached_names,
    uncertainties,
    uncertainty_findings,
)
from engiagent.formulations.compile import Compiler
from engiagent.formulations.evaluator import FormEvaluator
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.lowering.lower import lowered
from engiagent.formulations.program import ExpressionBlock
from engiagent.formulations.relations import Piece
from engiagent.formulations.values import (
    Atom,
    Form,
    Ints,
    Part,
    Rows,
    Term,
    applied,
    atoms,
    constant,
)

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Deviations:
    """One uncertain parameter: its numbers are ``start`` up to ``stop``, see the module."""

    start: int
    stop: int
    budget: float | None


@dataclass(frozen=True, eq=False)
class Swing:
    """What rows change by: ``coefficients`` of the numbers ``elements`` in ``rows``.

    ``coefficients`` is a form of as many rows as there are entries.
    """

    rows: Rows
    elements: Ints
    coefficients: Form


class RobustCompiler(Compiler):
    """A compilation in which rows and goals hold for all values of uncertain parameters."""

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration) -> None:
        found = uncertainty_findings(elaboration)
        if found:
            raise BlueprintError(found)
        super().__init__(blueprint, elaboration)
        self._plain = self.evaluator
        self.evaluator, self._deviations = _evaluator(
            elaboration, self.evaluator, uncertainties(elaboration)
        )

    def _certain(self, constraint: Constraint, piece: Piece) -> list[Piece]:
        """Return the robust counterpart of a row, one for each of its sides."""
        form, swing = separated(piece.form)
        if swing is None:
            return [replace(piece, form=form)]
        low = np.broadcast_to(piece.lower, (form.size,))
        high = np.broadcast_to(piece.upper, (form.size,))
        sides = [s for s, limit in ((-1, low), (1, high)) if np.any(np.isfinite(limit))]
        if sides == [-1, 1] and np.any(low[swing.rows] == high[swing.rows]):
            text = "an uncertain number stands in an equality, which cannot hold for every value"
            raise ExpressionError(text, 1, "use scenarios for it", PLACE)
        unit, found = str(constraint.typed.unit.difference()), []
        for number, side in enumerate(sides, 1):
            name = piece.name if len(sides) == 1 else f"{piece.name}__{number}"
            worst = protection(self.builder, swing, self._deviations, form.size, name, unit)
            ends = (-np.inf, high) if side > 0 else (low, np.inf)
            found.append(Piece(name, form + worst * float(side), *ends))
        return found

    def _worst(self, value: Form, sense: str, name: str) -> Form:
        """Return what a goal is worth in the worst case."""
        form, swing = separated(value)
        if swing is None:
            return form
        assert self.objective is not None
        unit = str(self.objective.unit)
        worst = protection(self.builder, swing, self._deviations, form.size, name, unit)
        return form + worst * (1.0 if sense == "minimize" else -1.0)

    def _expressions(self) -> list[ExpressionBlock]:
        """Report named expressions at the nominal values."""
        robust, self.evaluator = self.evaluator, self._plain
        try:
            return super()._expressions()
        finally:
            self.evaluator = robust


# --- evaluation --------------------------------------------------------------------------------


def _evaluator(
    elaboration: Elaboration, plain: FormEvaluator, given: Sequence[Uncertainty]
) -> tuple[FormEvaluator, tuple[Deviations, ...]]:
    """Return an evaluator in which uncertain parameters have columns below zero."""
    core = elaboration.core
    evaluator = FormEvaluator(elaboration, plain.variables, plain.starts)
    reached = reached_names(core)
    by_name = {item.name: item for item in given}
    deviations: list[Deviations] = []
    waiting = [p for p in core.parameters if p.name in reached]
    while waiting:
        left = {p.name for p in waiting}
        ready = [p for p in waiting if not (names_in(p.value) & left)]
        for definition in ready:
            sets = elaboration.table(definition.name).sets
            values = elaboration.table(definition.name).values.reshape(-1)
            size = len(values)
            form = constant(values, size)
            if names_in(definition.value) & reached:
                form = evaluator.computed(definition.name)
            if definition.name in by_name:
                item = by_name[definition.name]
                start = deviations[-1].stop if deviations else 0
                deviations.append(Deviations(start, start + size, item.budget))
                columns = -1 - np.arange(start, start + size, dtype=np.int64)
                form = form + Form(
                    size, np.zeros(()), (Term(None, columns, item.deviation.reshape(-1)),)
                )
            evaluator.forms[definition.name] = (sets, form)
        waiting = [p for p in waiting if p not in ready]
    return evaluator, tuple(deviations)


# --- taking uncertain numbers out of forms ------------------------------------------------------


def separated(form: Form) -> tuple[Form, Swing | None]:
    """Return a form at the nominal values, and what it changes by; None where it does not.

    Raises ExpressionError when an uncertain number does not stand linearly.
    """
    nominal, swings = _split(form)
    if not swings:
        return nominal, None
    rows = np.concatenate([s.rows for s in swings]).astype(np.int64)
    elements = np.concatenate([s.elements for s in swings])
    count = int(elements.max(initial=0)) + 1
    keys, place = np.unique(rows * count + elements, return_inverse=True)
    total, done = constant(np.zeros(len(keys)), len(keys)), 0
    for swing in swings:
        own = place[done : done + len(swing.rows)]
        total = total + swing.coefficients.group_sum(own, len(keys))
        done += len(swing.rows)
    kept = np.flatnonzero(_not_zero(total))
    if not len(kept):
        return nominal, None
    return nominal, Swing(keys[kept] // count, keys[kept] % count, total.take(kept))


def _split(form: Form) -> tuple[Form, list[Swing]]:
    """Return the nominal form and swings whose entries may name a row and a number repeatedly."""
    terms, swings = [], []
    for term in form.terms:
        inside = term.columns < 0
        if not inside.any():
            terms.append(term)
            continue
        rows = term.row_numbers()
        values = np.broadcast_to(term.coefficients, term.columns.shape)
        coefficients = constant(values[inside], int(inside.sum()))
        swings.append(Swing(rows[inside], -1 - term.columns[inside], coefficients))
        if not inside.all():
            terms.append(Term(rows[~inside], term.columns[~inside], values[~inside]))
    plain = [part for part in form.parts if not _is_uncertain(part.atom)]
    nominal = Form(form.size, form.constant, tuple(terms), tuple(plain))
    for part in form.parts:
        if not _is_uncertain(part.atom):
            continue
        value, inner = _split_atom(part.atom)
        rows = part.row_numbers()
        weights = np.broadcast_to(part.coefficients, (part.atom.size,))
        nominal = nominal + (value * weights).group_sum(rows, form.size)
        swings += [Swing(rows[s.rows], s.elements, s.coefficients * weights[s.rows]) for s in inner]
    return nominal, swings


def _split_atom(atom: Atom) -> tuple[Form, list[Swing]]:
    """Take uncertain numbers out of a product or the upper part of a quotient."""
    first, second = atom.args[0], atom.args[-1]
    if atom.function == "product" and _mentions(second) and not _mentions(first):
        first, second = second, first
    if atom.function not in ("product", "quotient") or _mentions(second):
        what = "a product of uncertain numbers" if atom.function == "product" else atom.function
        raise ExpressionError(
            f"an uncertain number stands in {what}, where its worst value is not known beforehand",
            atom.column,
            "let it stand linearly (a constraint for each argument of max or min), or use "
            "scenarios",
            PLACE,
        )
    nominal, swings = _split(first)
    return _combined(atom, nominal, second), [
        Swing(s.rows, s.elements, _combined(atom, s.coefficients, second.take(s.rows)))
        for s in swings
    ]


def _combined(atom: Atom, left: Form, right: Form) -> Form:
    """Return the product or quotient of two forms as the evaluator does."""
    if atom.function == "product":
        if left.is_constant:
            return right * left.constant
        if right.is_constant:
            return left * right.constant
    return applied(replace(atom, size=left.size, args=(left, right)))


def _is_uncertain(atom: Atom) -> bool:
    return any(_mentions(argument) for argument in atom.args)


def _mentions(form: Form) -> bool:
    """Whether a form depends on an uncertain number."""
    inside = [form, *(argument for atom in atoms(form) for argument in atom.args)]
    return any(bool(np.any(term.columns < 0)) for f in inside for term in f.terms)


def _not_zero(form: Form) -> Bools:
    """Return on which rows a form may differ from zero."""
    found: Bools = np.array(np.broadcast_to(form.constant, (form.size,))) != 0.0
    items: tuple[Term | Part, ...] = (*form.terms, *form.parts)
    for item in items:
        rows = item.row_numbers()
        found[rows[np.broadcast_to(item.coefficients, rows.shape) != 0.0]] = True
    return found


# --- counterparts ------------------------------------------------------------------------------


def protection(
    builder: Builder,
    swing: Swing,
    deviations: Sequence[Deviations],
    size: int,
    name: str,
    unit: str,
) -> Form:
    """Return a form of ``size`` rows that is at least what rows may change by, and at best equal.

    ``unit`` is that of the rows, for the columns that a budget takes.
    """
    total = constant(np.zeros(size), size)
    for item in deviations:
        entries = np.flatnonzero((swing.elements >= item.start) & (swing.elements < item.stop))
        if not len(entries) or item.budget == 0.0:
            continue
        rows, coefficients = swing.rows[entries], swing.coefficients.take(entries)
        counts = np.bincount(rows, minlength=size)
        if item.budget is None or item.budget >= counts.max():
            worst = _sizes(coefficients, name).group_sum(rows, size)
        else:
            worst = _budgeted(builder, rows, coefficients, (item.budget, size), name, unit)
        total = total + worst
    return total


def _sizes(coefficients: Form, name: str) -> Form:
    if coefficients.is_constant:
        return constant(np.abs(coefficients.constant), coefficients.size)
    return applied(Atom("abs", coefficients.size, (coefficients,), origin=name))


def _budgeted(
    builder: Builder,
    rows: Rows,
    coefficients: Form,
    limits: tuple[float, int],
    name: str,
    unit: str,
) -> Form:
    budget, size = limits
    low, high = form_bounds(coefficients, builder.column_lower, builder.column_upper)
    most = np.maximum(np.abs(low), np.abs(high))
    used, place = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
    greatest = np.zeros(len(used))
    np.maximum.at(greatest, place, most)
    level = builder.add_columns(f"{name}__level", len(used), 0.0, greatest, unit=unit)
    excess = builder.add_columns(f"{name}__excess", len(rows), 0.0, most, unit=unit)
    covered = level.take(place) + excess
    for sign, bound in ((1.0, high), (-1.0, -low)):
        chosen = np.flatnonzero(bound > 0.0)
        if len(chosen):
            beyond = (coefficients * sign - covered).take(chosen)
            if beyond.parts:
                beyond = lowered(builder, beyond, 1, f"{name}__worst")
            builder.add_rows(f"{name}__worst", beyond, -np.inf, 0.0, unit=unit)
    return (level * budget).scatter(used, size) + excess.group_sum(rows, size)
