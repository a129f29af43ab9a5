"""The walk that turns a form into one whose functions are all smooth.

``sign`` says which error of a value would do harm: 1 when only too small a value would (the form
must stay below something, or is minimised), -1 when only too great a one would, 0 when both would.
"""

from dataclasses import replace

import numpy as np

from engiagent.blueprint.functions import ELEMENTARY
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.lowering.kinks import as_largest, largest
from engiagent.formulations.lowering.products import with_binaries
from engiagent.formulations.lowering.tables import interpolated
from engiagent.formulations.values import Atom, Floats, Form, applied

INCREASING = frozenset(name for name, function in ELEMENTARY.items() if function.increasing)


def lowered(builder: Builder, form: Form, sign: int, name: str) -> Form:
    """Return a form without kinks and without products of binaries, with rows put in for them.

    Raises ZeroDivisionError when bounds do not keep a divisor away from zero; its arguments are the
    atom.
    """
    result = Form(form.size, form.constant, form.terms)
    for part in form.parts:
        harm = _harm(part.coefficients, sign)
        value = _lowered_atom(builder, part.atom, harm, name)
        result = result + _weighted(value, part.coefficients, part.rows, form.size)
    return result


def _weighted(value: Form, coefficients: Floats, rows: object, size: int) -> Form:
    scaled = value * coefficients
    return scaled if rows is None else scaled.group_sum(np.asarray(rows), size)


def _harm(coefficients: Floats, sign: int) -> int:
    if np.all(coefficients >= 0):
        return sign
    return -sign if np.all(coefficients <= 0) else 0


def _lowered_atom(builder: Builder, atom: Atom, sign: int, name: str) -> Form:
    if atom.function in ("max", "min", "abs"):
        stacked, groups, factor = as_largest(atom)
        side = sign if factor > 0 else -sign
        inner = 0 if atom.function == "abs" else side
        argument = lowered(builder, stacked, inner, name)
        label = f"{name}__{atom.function}"
        return largest(builder, argument, groups, atom.size, side, label) * factor
    if atom.function == "piecewise":
        argument = lowered(builder, atom.args[0], 0, name)
        return interpolated(builder, atom, argument, sign, f"{name}__piecewise")
    inner = sign if atom.function in INCREASING else 0
    args = tuple(lowered(builder, argument, inner, name) for argument in atom.args)
    if len(atom.args) == 2 and atom.args[0] is atom.args[1]:
        args = (args[0], args[0])
    if atom.function == "product":
        return _product(builder, atom, args, name)
    if atom.function == "quotient":
        low, high = form_bounds(args[1], builder.column_lower, builder.column_upper)
        if np.any((low <= 0) & (high >= 0)):
            raise ZeroDivisionError(atom)
    return applied(replace(atom, args=args))


def _product(builder: Builder, atom: Atom, args: tuple[Form, ...], name: str) -> Form:
    left, right = args
    if left.is_constant:
        return right * left.constant
    if right.is_constant:
        return left * right.constant
    if left.is_affine and right.is_affine:
        result = with_binaries(builder, left, right, f"{name}__product")
        if result is not None:
            return result
    return applied(replace(atom, args=args))
