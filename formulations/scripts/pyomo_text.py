"""The fixed text of Pyomo scripts: head, functions that rows need, and how it is solved."""

import builtins
import re
from typing import Final

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.classify import Classification, classify
from engiagent.formulations.program import Program
from engiagent.formulations.scripts.algebra import head

DEFAULT_GAP: Final = 1e-6
"""Relative gap at which a branch and bound ends, as in :mod:`engiagent.solvers.result`."""

_IMPORTS: Final = """{infinity}
{numpy}import pyomo.environ as pyo

model = pyo.ConcreteModel()
SOLVERS = {{  # {reason}
{table}}}
"""

# What the text of a script calls, and the functions that go with it.
FUNCTIONS: Final[dict[str, str]] = {
    "relation": '''
def relation(left, op, right):
    """Return left op right; a relation between plain numbers is either true or false."""
    result = left <= right if op == "<=" else left >= right if op == ">=" else left == right
    expression = hasattr(result, "is_expression_type")  # numbers compare to true or false
    if expression and (pyo.is_potentially_variable(left) or pyo.is_potentially_variable(right)):
        return result
    return pyo.Constraint.Skip if result else pyo.Constraint.Infeasible
''',
    "elements": '''
def elements(name, variable):
    """Put a variable into the model and return its elements as an array."""
    model.add_component("variable " + name, variable)
    found = np.empty(len(variable), dtype=object)
    for k, element in enumerate(variable.values()):
        found[k] = element
    return found
''',
    "every": '''
def every(function):
    """Return a function of arrays that works element by element."""
    return np.vectorize(function, otypes=[object])
''',
    "Matrix": '''
class Matrix:
    """A sparse matrix by rows, to be multiplied with an array of variables."""

    def __init__(self, values, columns, starts):
        self.values, self.columns, self.starts = values, columns, starts

    def __matmul__(self, vector):
        found = np.empty(len(self.starts) - 1, dtype=object)
        for k, (start, stop) in enumerate(zip(self.starts, self.starts[1:])):
            terms = zip(self.values[start:stop], self.columns[start:stop])
            found[k] = sum(value * vector[column] for value, column in terms)
        return found
''',
    "rows": '''
def rows(name, values, lower, upper):
    """Hold every element of an array between its limits; None stands for no limit."""
    values = values if isinstance(values, np.ndarray) else [values]

    def rule(_, k):
        low, high = (side[k] if isinstance(side, list) else side for side in (lower, upper))
        value = values[k]
        fixed = isinstance(value, (int, float)) or not pyo.is_potentially_variable(value)
        if low is not None and low == high:
            return relation(value, "==", low)
        if low is None:
            return pyo.Constraint.Skip if high is None else relation(value, "<=", high)
        if high is None or fixed:
            above = relation(value, ">=", low)
            below = above if high is None else relation(value, "<=", high)
            return above if above is pyo.Constraint.Infeasible else below
        if low > high:
            return pyo.Constraint.Infeasible
        return pyo.inequality(low, value, high)

    model.add_component("row " + name, pyo.Constraint(range(len(values)), rule=rule))
''',
    "at_most_one": '''
def at_most_one(name, *members):
    """Let at most one of the members differ from zero, at each place of their arrays."""
    order = list(range(1, len(members) + 1))
    groups = list(zip(*members))
    rule = lambda _, k: (list(groups[k]), order)
    model.add_component("row " + name, pyo.SOSConstraint(range(len(groups)), rule=rule, sos=1))
''',
    "rows_when": '''
def rows_when(name, values, lower, upper, switches, active):
    """Hold each row where its switch has the value given: elsewhere slack may differ from zero."""
    count = len(values)
    above = elements(name + "__above", pyo.Var(range(count), bounds=(0, None)))
    below = elements(name + "__below", pyo.Var(range(count), bounds=(0, None)))
    while_on = elements(name + "__on", pyo.Var(range(count), bounds=(0, 1)))
    off = np.array([1 - value for value in active])
    rows(name + "__is_on", while_on - off - (1 - 2 * off) * switches, 0, 0)
    rows(name, values - above + below, lower, upper)
    at_most_one(name + "__one", while_on, above, below)
''',
    "one": '''
def one(value):
    """Return a number that may stand in an array of one."""
    return value[0] if isinstance(value, np.ndarray) else value
''',
}
_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "rows": ("relation",),
    "rows_when": ("elements", "relation", "rows", "at_most_one"),
}


RESERVED: Final = frozenset(
    (*dir(builtins), *FUNCTIONS, "GOALS", "SOLVERS", "best", "csv", "inf", "main", "model", "nan")
) | {"np", "optimum", "pyo", "sys", "_"}
"""Names that a script uses itself."""

# Solver -> the package that brings it, its name, and what it calls the gap.
_SOLVERS: Final = {
    "appsi_highs": ("highspy", "HiGHS", "mip_rel_gap"),
    "scip_direct": ("pyscipopt", "SCIP", "limits/gap"),
    "ipopt": ("idaes-pse", "IPOPT", None),
}


def functions_for(text: str) -> str:
    """Return the functions that a script's text calls, in an order in which they may stand."""
    called = set(re.findall(r"\b(\w+)\(", text))
    for name in tuple(called):
        called.update(_NEEDS.get(name, ()))
    return "".join(f"\n{body}" for name, body in FUNCTIONS.items() if name in called)


def pyomo_head(blueprint: Blueprint, program: Program, body: str) -> str:
    """Return the beginning of a script, by its program and by what ``body`` calls."""
    found = classify(program)
    whole = program.is_mip or len(program.sos1) > 0 or len(program.indicators.rows) > 0
    arrays = re.search(r"\bnp\.", body) is not None
    infinite = re.search(r"\b(inf|nan)\b", re.sub(r"#.*", "", body)) is not None
    names = _solvers_for(program, found, whole)
    gaps = {name: f"{{{_SOLVERS[name][2]!r}: {DEFAULT_GAP}}}" if whole else "{}" for name in names}
    table = "".join(f'    "{name}": {gap},\n' for name, gap in gaps.items())
    packages = [_SOLVERS[name][0] for name in names]
    solvers = ", ".join(_SOLVERS[name][1] for name in names)
    pip = " ".join(["numpy", *packages] if arrays else packages)
    imports = _IMPORTS.format(
        infinity="from math import inf, nan\n" if infinite else "",
        numpy="import numpy as np\n" if arrays else "",
        table=table,
        reason=f"the first that is here solves this {found.problem_class}",
    )
    needs = f"Pyomo and one of: {solvers}\n    pip install pyomo {pip}"
    return head(blueprint, needs, imports)


def _solvers_for(program: Program, found: Classification, whole: bool) -> tuple[str, ...]:
    if program.is_linear and found.problem_class in ("LP", "MILP"):
        return ("appsi_highs", "scip_direct")
    if whole:
        return ("scip_direct",)
    # A local optimum of a convex program is the global one, and IPOPT is by far the faster.
    return ("ipopt", "scip_direct") if found.convexity == "convex" else ("scip_direct", "ipopt")


def solving(program: Program) -> str:
    """Return the functions of a script that solve its model."""
    return _SOLVE + _ENDS[program.method]


_SOLVE = '''

# --- Solve --------------------------------------------------------------------------------------
def optimum():
    """Solve the model and load its schedule; the words by which the solver ended."""
    rules = model.component_data_objects(pyo.Constraint, active=True)
    if any(rule.expr is pyo.Constraint.Infeasible for rule in rules):
        return "infeasible"
    solver, options = next(
        ((pyo.SolverFactory(name), options) for name, options in SOLVERS.items()
         if pyo.SolverFactory(name).available(exception_flag=False)),
        (None, None),
    )
    if solver is None:
        sys.exit("none of these solvers is here: " + ", ".join(SOLVERS))
    for key, value in options.items():
        solver.options[key] = value
    result = solver.solve(model, load_solutions=False)
    ending = str(result.solver.termination_condition)
    if ending in ("optimal", "locallyOptimal", "globallyOptimal"):
        model.solutions.load_from(result)
        return "optimal"
    return ending
'''

_ONE = '''

def best():
    """Solve the model; how that ended, and the value of the objective."""
    ending = optimum()
    return ending, pyo.value(model.objective) if ending == "optimal" else None
'''

_IN_ORDER = '''

def best():
    """Reach the goals one after the other; how that ended, and the value of the first."""
    for number, (name, sense, expression, tolerance) in enumerate(GOALS):
        model.objective = pyo.Objective(expr=expression, sense=sense)
        ending = optimum()
        if ending != "optimal":
            return ending, None
        value = pyo.value(expression)
        room = tolerance + 1e-9 * max(1.0, abs(value))  # a solver needs some room besides
        model.del_component("objective")
        kept = expression <= value + room if sense == pyo.minimize else expression >= value - room
        model.add_component(f"kept__{number}", pyo.Constraint(expr=kept))
    for name, _, expression, _ in GOALS:
        print(f"{name} =", repr(pyo.value(expression)))
    return "optimal", pyo.value(GOALS[0][2])
'''

_ENDS: Final[dict[str | None, str]] = {
    None: _ONE,
    "lexicographic": _IN_ORDER,
    "epsilon": _ONE,
    "frontier": _IN_ORDER,
}
