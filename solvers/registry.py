"""All backends, in one table."""

from importlib import import_module
from types import ModuleType
from typing import Final

from engiagent.errors import EngiagentError
from engiagent.solvers.adapter import Adapter

BACKENDS: Final = {
    "highs": "engiagent.solvers.linear",
    "chain": "engiagent.solvers.chain.solving",
    "exclusive": "engiagent.solvers.exclusivity",
    "scip": "engiagent.solvers.scip",
    "piqp": "engiagent.solvers.convex.piqp",
    "clarabel": "engiagent.solvers.convex.cvxpy",
    "osqp": "engiagent.solvers.convex.cvxpy",
    "scs": "engiagent.solvers.convex.cvxpy",
    "ipopt": "engiagent.solvers.casadi.ipopt",
}
FAMILIES: Final = {
    "pyomo:": "engiagent.solvers.pyomo",
    "cvxpy:": "engiagent.solvers.convex.cvxpy",
    "casadi:": "engiagent.solvers.casadi.ipopt",
}
"""By the beginning of their names, the solvers that another library finds on the machine."""


def adapter(backend: str) -> Adapter:
    """Return the adapter of a backend, its library not loaded; EngiagentError without one."""
    if backend in BACKENDS:
        module = import_module(BACKENDS[backend])
        if hasattr(module, "member"):  # a family whose solvers have names of their own
            known: Adapter = module.member(backend)
            return known
        return from_module(backend, module)
    for prefix, family in FAMILIES.items():
        if backend.startswith(prefix) and backend != prefix:
            found: Adapter = import_module(family).member(backend.removeprefix(prefix))
            return found
    names = ", ".join([*BACKENDS, *(f"{prefix}<solver>" for prefix in FAMILIES)])
    raise EngiagentError(f"there is no backend {backend!r}; choose one of {names}")


def from_module(backend: str, module: ModuleType) -> Adapter:
    """Return the adapter that a module's data and its function ``solve_here`` make."""
    return Adapter(
        backend,
        module.NAME,
        module.CLASSES,
        module.FEATURES,
        module.OPTIONS,
        module.REQUIRES,
        module.solve_here,
        own_version=getattr(module, "VERSION", None),
    )


def is_available(backend: str) -> bool:
    """Whether a backend's libraries are installed."""
    return not adapter(backend).missing()
