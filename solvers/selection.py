"""Which solver gets a program, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.errors import EngiagentError, SolverMissingError
from engiagent.formulations.classify import Classification, ProblemClass, classify
from engiagent.formulations.program import Program
from engiagent.formulations.values import Form
from engiagent.solvers.adapter import Adapter
from engiagent.solvers.exclusivity import find_exclusivity
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import SolveOptions

CONVEX: Final[dict[ProblemClass, tuple[tuple[str, str], ...]]] = {
    "LP": (
        ("highs", "the simplex method answers linear programs exactly and proves them"),
        ("scip", "its linear solver answers too"),
        ("clarabel", "its interior-point method answers too, less exactly"),
    ),
    "QP": (
        ("piqp", "the fastest of those measured on convex quadratic programs"),
        ("clarabel", "a robust interior-point method"),
        ("osqp", "a first-order method, polished"),
        ("ipopt", "an interior-point method"),
        ("scip", "a branch and bound"),
    ),
    "SOCP": (
        ("clarabel", "a robust interior-point method"),
        ("ipopt", "an interior-point method"),
        ("scip", "a branch and bound"),
    ),
    "NLP": (
        ("ipopt", "the program is convex, so that its local optimum is the global one"),
        ("scip", "a branch and bound"),
    ),
}
_ABSENT: Final = "which is not installed"
GLOBAL: Final = ("scip", "a branch and bound that proves the global optimum")
LOCAL: Final = ("ipopt", "local: no proof that there is nothing better")
MANY_CURVED: Final = 200
"""Up to so many columns under products and functions a global proof is tried first."""


@dataclass(frozen=True)
class Alternative:
    """A backend that was not chosen: what it would mean, or why it cannot."""

    backend: str
    reason: str
    usable: bool


@dataclass(frozen=True)
class Choice:
    """The backend for a program."""

    backend: str  # its name
    reasons: tuple[str, ...]  # why this one, in the words of the blueprint
    alternatives: tuple[Alternative, ...]  # the others, in order of preference
    classification: Classification  # what kind of program it is


def select(
    program: Program, options: SolveOptions | None = None, *, isolated: bool = True
) -> Choice:
    """Return the backend for a program.

    ``program``: as :func:`engiagent.solvers.validate.check_program` accepts it. ``options``:
    ``backend`` is taken when it is given; otherwise a backend must honour all that is asked.
    ``isolated``: whether it is solved in a process of its own, which obeys a time limit for every
    solver. Raises EngiagentError when the backend asked for cannot take the program, or none can.
    """
    options = options or SolveOptions()
    found = classify(program)
    if options.backend is not None:
        return _asked_for(program, options.backend, found)
    order = list(_candidates(program, found))
    against = [_against(adapter(name), program, found, options, isolated) for name, _ in order]
    if all(against):
        listed = "; ".join(f"{n}: {why}" for (n, _), why in zip(order, against, strict=True))
        absent = any(_ABSENT in (why or "") for why in against)
        kind = SolverMissingError if absent else EngiagentError
        raise kind(f"no solver takes this {found.problem_class}: {listed}")
    place = against.index(None)
    backend, reason = order[place]
    # What stood before it in the order and cannot be used has changed the choice.
    passed = [f"not {order[k][0]}: {against[k]}" for k in range(place)]
    alternatives = tuple(
        Alternative(name, why or reason, usable=why is None)
        for k, ((name, reason), why) in enumerate(zip(order, against, strict=True))
        if k != place
    )
    return Choice(backend, (reason, *passed), alternatives, found)


def explain(choice: Choice) -> str:
    """Return the choice and its reasons as text for people, one line each."""
    found = choice.classification
    lines = [f"{found.problem_class}, {found.convexity}"]
    lines += [f"  {reason}" for reason in found.reasons]
    lines.append(f"backend {choice.backend}")
    lines += [f"  {reason}" for reason in choice.reasons]
    if choice.alternatives:
        lines.append("other backends")
        for item in choice.alternatives:
            lines.append(f"  {item.backend}: {'' if item.usable else 'no, '}{item.reason}")
    return "\n".join(lines)


def refusals(solver: Adapter, program: Program, found: Classification) -> list[str]:
    """Return why a solver cannot take a program, whatever the options; empty when it can."""
    kind = found.problem_class
    if kind not in solver.classes:
        return [f"{solver.name} takes no {kind}"]
    reasons = []
    if solver.classes[kind] == "convex" and found.convexity != "convex":
        reasons.append(f"{solver.name} takes a {kind} only when it is convex")
    forms = found.quadratic
    if solver.classes[kind] == "convex" and not (
        forms is None or bool(np.all(forms.convex | forms.concave))
    ):
        reasons.append(f"{solver.name} takes no cones that are products of columns")
    if len(program.indicators.rows) and "indicators" not in solver.features:
        reasons.append(f"{solver.name} takes no rows that hold conditionally")
    if program.sos1 and "sos1" not in solver.features:
        reasons.append(f"{solver.name} takes no groups of which one column may differ from zero")
    return reasons


def _asked_for(program: Program, backend: str, found: Classification) -> Choice:
    reasons = refusals(adapter(backend), program, found)
    if reasons:
        because = ", ".join(found.reasons)
        raise EngiagentError(
            f"{'; '.join(reasons)}: this is a {found.problem_class} ({found.convexity}: "
            f"{because}); leave the choice of the backend open"
        )
    return Choice(backend, ("asked for",), (), found)


def _against(
    solver: Adapter, program: Program, found: Classification, options: SolveOptions, isolated: bool
) -> str | None:
    """Return why a solver is not chosen, or None."""
    missing = solver.missing()
    if missing:
        return f"needs {' and '.join(missing)}, {_ABSENT}; {solver.install}"
    ignored = solver.ignored(options, isolated=isolated)
    if ignored:
        return f"takes no option {' or '.join(ignored)}"
    return next(iter(refusals(solver, program, found)), None)


def _candidates(program: Program, found: Classification) -> Iterator[tuple[str, str]]:
    """Yield backends and reasons, the preferred ones first."""
    kind = found.problem_class
    if kind == "MILP":
        if program.is_linear and find_exclusivity(program) is not None:
            yield "exclusive", "pairs that exclude each other need few of their binaries"
        yield "highs", "its branch and bound, from the matrices as they are"
        yield "scip", "its branch and bound, which takes conditions and groups as well"
    elif kind in ("MIQP", "MISOCP", "MINLP"):
        yield GLOBAL
    elif found.convexity == "convex":
        yield from CONVEX[kind]
    elif _few_bounded(program):
        yield GLOBAL
        yield LOCAL
    else:
        backend, reason = LOCAL
        yield backend, f"{reason}; too many columns, or columns without bounds, for a global one"
        yield GLOBAL


def _few_bounded(program: Program) -> bool:
    """Whether a global proof has a chance: few columns under functions, all of them bounded."""
    columns = curved_columns(program)
    width = program.column_upper[columns] - program.column_lower[columns]
    return len(columns) <= MANY_CURVED and bool(np.all(np.isfinite(width)))


def curved_columns(program: Program) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the columns that stand in products or in functions, ascending."""
    columns = [program.products.first, program.products.second]
    forms: list[Form] = [form for part in program.nonlinear for form in part.atom.args]
    while forms:
        form = forms.pop()
        columns += [term.columns for term in form.terms]
        forms += [inner for part in form.parts for inner in part.atom.args]
    return np.unique(np.concatenate(columns)).astype(np.int64)
