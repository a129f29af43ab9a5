"""The page on backends, written from the data at the top of the adapters.

``python -m engiagent.solvers.catalogue`` prints it; ``docs/backends.md`` is its output.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields

from engiagent.formulations.classify import CLASSES
from engiagent.solvers.adapter import FEATURE_MEANINGS, NOT_FOR_THE_SOLVER, Adapter
from engiagent.solvers.pyomo.known import SOLVERS
from engiagent.solvers.registry import BACKENDS, adapter
from engiagent.solvers.result import SolveOptions

INTRODUCTION = """\
# Backends

<!-- Written by `python -m engiagent.solvers.catalogue` from the adapters' own data. -->

`SolveOptions(backend="scip")` asks for a solver by name. Without it, `select(program, options)`
chooses by class, convexity, size and what is installed, and `explain(choice)` prints why. Besides
the backends below, `pyomo:<solver>`, `cvxpy:<solver>` and `casadi:<plugin>` are whatever Pyomo,
CVXPY and CasADi find on the machine, as `casadi:fatrop`.

A solver that is not installed is never a surprise: the error says what to install, and a choice
that would have fallen on it says so.
"""

CLASS_NOTES = """\
LP linear; QP products in the objective; SOCP products in rows too, all of them convex or
second-order cones; NLP other functions or other products; MILP, MIQP, MISOCP and MINLP the same
with whole numbers, rows that hold conditionally, or groups of columns of which one may differ from
zero. "convex" means: only when it is proven convex.
"""

OPTION_NOTES = """\
Every option is honoured or refused, never ignored. A time limit that a solver does not know is
obeyed by its process, which is ended when the limit is over. `memory_limit_mb` is obeyed by the
process of every solver, `speed` by the choice of the method. `threads` is the most that may be
used, so a solver with one thread honours any.
"""

STATUS_NOTES = """\
## Statuses

| status | meaning |
|---|---|
| `optimal` | a point, proven to be the best (within the gap) |
| `feasible` | a point without that proof: a limit was hit, or the optimum is a local one |
| `infeasible` | no point obeys the program; a linear one comes with multipliers that prove it |
| `unbounded` | the objective improves without end |
| `limit` | a limit was hit before any point was found |
| `interrupted` | stopped by the user; the best point so far, if any, is kept |
| `error` | the solver failed, crashed, or handed over a point that breaks the program |

Whatever a solver says, its point is evaluated in the program; one that breaks a row or a bound by
more than 1e-5 of the size of the row's terms is an `error`. Whole numbers are rounded exactly, and
the rest is solved again where that moves anything.

Solvers take costs below some 1e-7 for none. An objective whose costs come near that, or move
columns over ranges that make up for it, is multiplied by a power of two before a solver gets it,
and HiGHS's multipliers of a linear program have to prove its point: what they leave is the gap.

## Multipliers

`row_dual[i]` is ∂objective/∂right-hand side of row i and `column_dual[j]` the reduced cost
∂objective/∂x_j − Σᵢ row_dual[i] ∂row_i/∂x_j, both in the objective's own sense: of a cost that is
minimised, a binding `>=` row has a positive dual; of a profit that is maximised, a binding `<=` row
has one. With whole numbers they are those of the rest with the whole numbers fixed. Where a solver
hands over none, as SCIP, they are looked for at its optimum: multipliers that hold the objective's
slope there, of programs of up to 20 000 rows and columns whose slopes are defined at the point. The
suite compares them with differences of the optimum on every backend.
"""


def page() -> str:
    """Return the whole page."""
    solvers = [adapter(name) for name in BACKENDS]
    return "\n".join(
        [
            INTRODUCTION,
            "## Classes\n",
            CLASS_NOTES,
            *_classes(solvers),
            "",
            "## Features\n",
            *_features(solvers),
            "",
            "## Options\n",
            OPTION_NOTES,
            *_options(solvers),
            "",
            "Pyomo's solvers take these under the names of their own; a solver that is not in the "
            "table takes none of them.\n",
            *_pyomo(),
            "",
            STATUS_NOTES,
        ]
    )


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _classes(solvers: Sequence[Adapter]) -> Iterator[str]:
    def row(solver: Adapter) -> Sequence[str]:
        words = {"any": "yes", "convex": "convex", None: ""}
        return [
            f"`{solver.backend}`",
            solver.name,
            *(words[solver.classes.get(kind)] for kind in CLASSES),
            ", ".join(solver.requires) or "–",
        ]

    return _table(["backend", "solver", *CLASSES, "needs"], (row(item) for item in solvers))


def _features(solvers: Sequence[Adapter]) -> Iterator[str]:
    def row(name: str, meaning: str) -> Sequence[str]:
        have = [f"`{item.backend}`" for item in solvers if name in item.features]
        return [f"`{name}`", meaning, ", ".join(have) or "none"]

    return _table(
        ["feature", "meaning", "backends"],
        (row(name, meaning) for name, meaning in FEATURE_MEANINGS.items()),
    )


def _options(solvers: Sequence[Adapter]) -> Iterator[str]:
    names = [part.name for part in fields(SolveOptions) if part.name not in NOT_FOR_THE_SOLVER]

    def row(solver: Adapter) -> Sequence[str]:
        refused = dict.fromkeys(names, "refused") | {"time_limit": "by its process"}
        return [f"`{solver.backend}`", *(solver.options.get(name, refused[name]) for name in names)]

    head = ["backend", *(f"`{name}`" for name in names)]
    return _table(head, (row(item) for item in solvers))


def _pyomo() -> Iterator[str]:
    names = ["time_limit", "gap", "threads", "seed"]
    return _table(
        ["`pyomo:`", *(f"`{name}`" for name in names)],
        (
            [f"`{solver}`", *(f"`{about.options[n]}`" if n in about.options else "" for n in names)]
            for solver, about in sorted(SOLVERS.items())
        ),
    )


if __name__ == "__main__":
    print(page(), end="")
