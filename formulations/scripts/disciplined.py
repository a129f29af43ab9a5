"""Functions as CVXPY's rules want them: squares, norms and reciprocals under names of their own.

CVXPY proves that a problem is convex by the rules of disciplined convex programming (M. Grant, S.
Boyd and Y. Ye 2006), of an expression as it is written: a root of a sum of squares has to be a
norm. Bounds of variables are rows to it, so the sign of a curved argument is that of its functions.
"""

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import wanted_shapes
from engiagent.formulations.curvature import Judge, is_square, same_form
from engiagent.formulations.lowering.intervals import Interval, form_bounds
from engiagent.formulations.program import Program
from engiagent.formulations.scripts.algebra import Algebra, number
from engiagent.formulations.values import Atom, Floats, Form


class _Signs(Judge):
    """Judges with what CVXPY knows: of a curved argument nothing but what its functions say."""

    def __init__(self, lower: Floats, upper: Floats) -> None:
        super().__init__(lower, upper)
        self.nothing = np.full(len(lower), np.inf)

    def bounds(self, form: Form) -> Interval:
        """Return bounds of a form; those of an affine one hold where its function is defined."""
        return (
            super().bounds(form)
            if form.is_affine
            else form_bounds(form, -self.nothing, self.nothing)
        )


def refuse_undisciplined(program: Program) -> None:
    """Refuse a convex program that CVXPY's rules do not see to be convex.

    Raises EngiagentError with the rows, or the objective, in question.
    """
    if not program.nonlinear:
        return
    found = _Signs(program.column_lower, program.column_upper).parts(
        program.nonlinear, program.row_count + 1
    )
    convex, concave = wanted_shapes(program)
    bad = np.flatnonzero((convex & ~found.convex) | (concave & ~found.concave))
    if not len(bad):
        return
    names = [b.name for b in program.rows if ((bad >= b.start) & (bad < b.stop)).any()]
    place = f"the rows of {', '.join(names)}" if names else "the objective"
    text = "convex only within the bounds of its variables, which CVXPY's rules do not use"
    raise EngiagentError(f"a CVXPY script cannot say {place}: {text}")


class Disciplined(Algebra):
    """Prints functions so that CVXPY sees their curvature."""

    def _atom(self, atom: Atom) -> str:
        if atom.function == "sqrt" and is_square(atom.args[0]).all():
            roots = (self._root(atom.args[0], k) for k in range(atom.size))
            return f"cp.hstack([{', '.join(f'cp.norm({root})' for root in roots)}])"
        if atom.function == "product" and same_form(*atom.args):
            return f"cp.square({self._form(atom.args[0])})"
        if atom.function == "quotient" and not atom.args[1].is_constant:
            return self._quotient(atom)
        if atom.function == "power" and self._is_negative(atom.args[0]):
            # CVXPY's powers, but for even ones above zero, live where the argument is positive.
            exponents = np.unique(atom.numbers[0])
            if len(exponents) == 1 and float(exponents[0]).is_integer():
                sign = "" if exponents[0] % 2 == 0 else "-"
                return f"{sign}(({self._form(-atom.args[0])}) ** {number(exponents[0])})"
        return super()._atom(atom)

    def _root(self, squares: Form, element: int) -> str:
        """Return what is squared in an element of a sum of squares, as one vector."""
        form = squares.take(np.array([element]))
        pieces = []
        for part in form.parts:
            weights = np.sqrt(np.broadcast_to(part.coefficients, (part.atom.size,)))
            pieces.append(self._form(part.atom.args[0] * weights))
        start = float(np.broadcast_to(form.constant, (1,))[0])
        if start:
            pieces.append(f"np.array([{number(np.sqrt(start))}])")
        return f"cp.hstack([{', '.join(pieces)}])"

    def _quotient(self, atom: Atom) -> str:
        over, under = atom.args
        negative = self._is_negative(under)
        if over.is_constant:
            sign = "-" if negative else ""
            over_text = self._form(over)
            under_text = self._form(-under if negative else under)
            return f"{sign}{self.dialect.times.format(over_text, f'cp.inv_pos({under_text})')}"
        texts = []
        for k in range(atom.size):
            below = self._form(under.take(np.array([k])))
            texts.append(f"cp.quad_over_lin({self._root(over, k)}, {below})")
        return f"cp.hstack([{', '.join(texts)}])"

    def _is_negative(self, form: Form) -> bool:
        low, high = form_bounds(form, self.program.column_lower, self.program.column_upper)
        return bool(np.all(high <= 0) and np.any(low < 0))
