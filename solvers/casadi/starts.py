"""Points to start from: inside the bounds, and where every function has a value."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Atom, Floats, Form, atoms
from engiagent.solvers.convex.derivatives import affine_matrix, gradient, jacobian

FAR: Final = 1e3
"""How far from zero the middle of two bounds may lie to be a start."""
SPREAD: Final = 10.0
"""Width, on each side, of the box for random starts where a column has no bound."""
TRIES: Final = 60
FIRST_MARGINS: Final = (1.0, 1e-2)


def starting_points(program: Program, start: Floats | None, seed: int) -> Iterator[Floats]:
    """Yield points to start from, without end: the user's, a central one, then random ones.

    ``start``: the user's point, shape (n,), which is moved into the bounds; None when there is
    none. ``seed``: seed of the random points.
    """
    random = np.random.default_rng(seed)
    if start is not None:
        yield np.clip(np.asarray(start, dtype=np.float64), *_box(program))
    elif (point := central(program, random)) is not None:
        yield point
    while True:
        yield _usable(program, random)


def central(program: Program, random: np.random.Generator) -> Floats | None:
    """Return a middle point where the program has a value; None when none was found."""
    lower, upper = _box(program)
    for margin in FIRST_MARGINS:
        point = _middle(lower, upper, margin)
        if has_values(program, point):
            return point
    inside = _inside_domains(program)
    if inside is not None and has_values(program, inside):
        return inside
    point = _usable(program, random)
    return point if has_values(program, point) else inside


def has_values(program: Program, x: Floats) -> bool:
    """Return whether objective, rows and their slopes are finite at a point."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(program.objective_at(x)) and np.isfinite(program.activity_at(x)).all()
        if not finite:
            return False
        slopes = jacobian(program, x)
        return bool(np.isfinite(gradient(program, x)).all() and np.isfinite(slopes.data).all())


def _box(program: Program) -> tuple[Floats, Floats]:
    return program.column_lower, program.column_upper


def _middle(lower: Floats, upper: Floats, margin: float) -> Floats:
    """Return the middle where it is near, else a point a little inside the nearer bound."""
    point = np.clip(np.zeros_like(lower), lower, upper)
    both = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(both, 0.5 * np.where(both, lower, 0.0) + 0.5 * np.where(both, upper, 0.0), 0)
    near = both & (np.abs(middle) <= FAR) & (margin == FIRST_MARGINS[0])
    half = np.where(both, 0.5 * (np.where(both, upper, 1.0) - np.where(both, lower, 0.0)), np.inf)
    step = np.minimum(margin * np.maximum(1.0, 0.1 * np.abs(point)), half)
    point = np.where(np.isfinite(lower), np.maximum(point, lower + step), point)
    point = np.where(np.isfinite(upper), np.minimum(point, upper - step), point)
    return np.clip(np.where(near, middle, point), lower, upper)


def _random(program: Program, random: np.random.Generator) -> Floats:
    lower, upper = _box(program)
    centre = np.clip(np.zeros_like(lower), lower, upper)
    low, high = np.maximum(lower, centre - SPREAD), np.minimum(upper, centre + SPREAD)
    wide = np.isfinite(lower) & np.isfinite(upper)
    low, high = np.where(wide, lower, low), np.where(wide, upper, high)
    return random.uniform(low, high)


def _usable(program: Program, random: np.random.Generator) -> Floats:
    point = _random(program, random)
    for _ in range(TRIES):
        if has_values(program, point):
            break
        point = _random(program, random)
    return point


def _inside_domains(program: Program) -> Floats | None:
    """Return the point farthest inside the domains of functions with affine arguments.

    A linear program: maximise the least argument t of log, sqrt, fractional powers and
    denominators, with t at most 1.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    n = program.column_count
    limits = [form for part in program.nonlinear for form in _domains(part.atom)]
    if not limits:
        return None
    matrix = vstack([affine_matrix(form, n) for form in limits])
    shift = np.concatenate([np.broadcast_to(f.constant, (f.size,)) for f in limits])
    # -argument + t <= 0
    left = hstack([-matrix, csr_array(np.ones((matrix.shape[0], 1)))], format="csr")
    bounds = [*zip(program.column_lower, program.column_upper, strict=True), (None, 1.0)]
    found = linprog(np.append(np.zeros(n), -1.0), A_ub=left, b_ub=shift, bounds=bounds)
    return np.asarray(found.x[:n], dtype=np.float64) if found.status == 0 else None


def _domains(atom: Atom) -> Iterator[Form]:
    """Yield the affine forms that must be positive for an atom to have a value."""
    for argument in atom.args:
        for inner in atoms(argument):
            yield from _own_domain(inner)
    yield from _own_domain(atom)


def _own_domain(atom: Atom) -> Iterator[Form]:
    fractional = atom.function == "power" and np.any(atom.numbers[0] != np.round(atom.numbers[0]))
    argument = atom.args[-1]
    if (atom.function in ("log", "sqrt") or fractional) and argument.is_affine:
        yield argument
