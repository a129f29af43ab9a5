"""What kind of program it is, whether it is convex, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from engiagent.formulations.curvature import Judge
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.quadratic import (
    Bools,
    QuadraticRows,
    positive_semidefinite,
    quadratic_rows,
)
from engiagent.formulations.values import Ints, atoms

ProblemClass = Literal["LP", "QP", "SOCP", "MILP", "MIQP", "MISOCP", "NLP", "MINLP"]
Convexity = Literal["convex", "nonconvex", "unknown"]
CLASSES: Final[tuple[ProblemClass, ...]] = get_args(ProblemClass)
WITH_INTEGERS: Final[dict[ProblemClass, ProblemClass]] = {
    "LP": "MILP",
    "QP": "MIQP",
    "SOCP": "MISOCP",
    "NLP": "MINLP",
}


@dataclass(frozen=True)
class Classification:
    """The kind of a program."""

    # LP; QP: products in the objective; SOCP: products also in rows, all of which are convex or
    # second-order cones; NLP: other functions, or products in other rows. MILP, MIQP, MISOCP and
    # MINLP have whole numbers besides, rows that hold conditionally, or groups of which one column
    # may differ from zero.
    problem_class: ProblemClass
    # ``convex``: with whole numbers and conditions left out, a convex function is minimised (or a
    # concave one maximised) over a convex set; then a local optimum is the global one.
    # ``nonconvex``: a quadratic form, or a function of proven shape, stands on the wrong side.
    # ``unknown``: the rules prove nothing.
    convexity: Convexity
    reasons: tuple[str, ...] = ()  # why, in the words of the blueprint
    quadratic: QuadraticRows | None = None  # what is known of the quadratic forms; None without any


@dataclass(frozen=True)
class _Finding:
    convexity: Convexity
    reason: str


def classify(program: Program) -> Classification:
    """Return the class and the convexity of a program.

    Products are decided exactly (up to rounding of 1e-10 of a form's own scale); other functions
    by rules of composition, which may leave ``unknown`` what is convex.
    """
    findings = [*_discrete(program)]
    whole = bool(findings)
    quadratic = quadratic_rows(program) if len(program.products.rows) else None
    curved = list(_curved(program, quadratic))
    findings += curved
    kind: ProblemClass = "LP"
    if program.nonlinear:
        kind = "NLP"
    elif quadratic is not None and quadratic.rows[-1] != OBJECTIVE:
        in_rows = [item for item in curved if item.reason.startswith("the rows")]
        kind = "SOCP" if all(item.convexity == "convex" for item in in_rows) else "NLP"
    elif quadratic is not None:
        kind = "QP"
    worst = {item.convexity for item in curved}
    convexity: Convexity = "convex"
    if "nonconvex" in worst:
        convexity = "nonconvex"
    elif "unknown" in worst:
        convexity = "unknown"
    reasons = tuple(item.reason for item in findings)
    return Classification(
        WITH_INTEGERS[kind] if whole else kind,
        convexity,
        reasons or ("objective and constraints are linear",),
        quadratic,
    )


def has_convex_products(program: Program) -> bool:
    """Return whether the products of the objective are convex in its sense."""
    products = program.products.of_objective()
    sign = -1.0 if program.sense == "maximize" else 1.0
    group = np.zeros(len(products.rows), dtype=np.int64)
    pair = products.first, products.second
    return bool(positive_semidefinite(group, *pair, sign * products.values, 1)[0])


def has_roots(program: Program) -> bool:
    """Whether square roots stand in the program, which have no slope at zero."""
    return any(
        part.atom.function == "sqrt"
        or any(inner.function == "sqrt" for form in part.atom.args for inner in atoms(form))
        for part in program.nonlinear
    )


def _discrete(program: Program) -> Iterator[_Finding]:
    if program.is_mip:
        names = [
            block.name
            for block in program.columns
            if program.integrality[block.start : block.stop].any()
        ]
        count = int(program.integrality.sum())
        plural = "" if count == 1 else "s"
        yield _Finding("convex", f"{count} whole number{plural} ({_listed(names)})")
    if len(program.indicators.rows):
        names = _row_names(program, program.indicators.rows)
        yield _Finding("convex", f"rows that hold conditionally ({_listed(names)})")
    if program.sos1:
        yield _Finding("convex", f"{len(program.sos1)} groups of which one may differ from zero")


def _curved(program: Program, quadratic: QuadraticRows | None) -> Iterator[_Finding]:
    if quadratic is None and not program.nonlinear:
        return
    m = program.row_count
    # The objective is one more row at the end: index -1.
    convex, concave = np.ones(m + 1, dtype=bool), np.ones(m + 1, dtype=bool)
    proven = np.zeros(m + 1, dtype=bool)
    upper_cone, lower_cone = np.zeros(m + 1, dtype=bool), np.zeros(m + 1, dtype=bool)
    touched = np.zeros(m + 1, dtype=bool)
    with_functions = np.zeros(m + 1, dtype=bool)
    if quadratic is not None:
        convex[quadratic.rows], concave[quadratic.rows] = quadratic.convex, quadratic.concave
        upper_cone[quadratic.rows] = quadratic.upper_cone
        lower_cone[quadratic.rows] = quadratic.lower_cone
        touched[quadratic.rows] = proven[quadratic.rows] = True
    if program.nonlinear:
        judge = Judge(program.column_lower, program.column_upper)
        found = judge.parts(program.nonlinear, m + 1)
        for part in program.nonlinear:
            with_functions[part.row_numbers()] = True
        touched |= with_functions
        # Where the shape is known on one side only, the other side is a proven failure.
        proven = np.where(with_functions, found.convex | found.concave, proven) & (
            ~with_functions | ~proven | (convex & found.convex) | (concave & found.concave)
        )
        convex &= found.convex
        concave &= found.concave
    wants_convex, wants_concave = wanted_shapes(program)
    good = (~wants_convex | convex | upper_cone) & (~wants_concave | concave | lower_cone)
    yield from _objective(touched, good, proven, with_functions)
    rows = np.flatnonzero(touched[:m])
    yield from _rows(program, rows, good[:m], proven[:m])


def wanted_shapes(program: Program) -> tuple[Bools, Bools]:
    """Return whether each row, and the objective at the end, must be convex, and concave."""
    minimise = program.sense == "minimize"
    return (
        np.append(np.isfinite(program.row_upper), minimise),
        np.append(np.isfinite(program.row_lower), not minimise),
    )


def _objective(
    touched: Bools, good: Bools, proven: Bools, with_functions: Bools
) -> Iterator[_Finding]:
    if not touched[OBJECTIVE]:
        return
    what = "nonlinear" if with_functions[OBJECTIVE] else "quadratic"
    if good[OBJECTIVE]:
        yield _Finding("convex", f"the objective is {what} and convex in its sense")
    elif proven[OBJECTIVE]:
        yield _Finding("nonconvex", f"the objective is {what} and not convex in its sense")
    else:
        yield _Finding("unknown", f"no rule tells whether the {what} objective is convex")


def _rows(program: Program, rows: Ints, good: Bools, proven: Bools) -> Iterator[_Finding]:
    kinds: tuple[tuple[Convexity, Bools, str], ...] = (
        ("convex", good, "are curved and convex, or second-order cones"),
        ("nonconvex", ~good & proven, "are curved and not convex"),
        (
            "unknown",
            ~good & ~proven,
            "have functions of which no rule tells whether they are convex",
        ),
    )
    for convexity, chosen, words in kinds:
        mine = rows[chosen[rows]]
        if len(mine):
            names = _listed(_row_names(program, mine))
            yield _Finding(convexity, f"the rows of {names} {words}")


def _row_names(program: Program, rows: Ints) -> list[str]:
    """Return the ids of the constraints that rows belong to."""
    if not program.rows:
        return [f"row {row}" for row in rows[:4]]
    starts = np.array([block.start for block in program.rows])
    places = np.searchsorted(starts, rows, side="right") - 1
    return list(dict.fromkeys(program.rows[place].constraint_id for place in np.unique(places)))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
