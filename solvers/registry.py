"""All backends, in one table."""

from importlib import import_module
from types import ModuleType
from typing import Final

from engiagent.errors import EngiagentError
from engiagent.solvers.adapter import INSTALL, Adapter

BACKENDS: Final = {
    "highs": "engiagent.solvers.linear",
    "chain": "engiagent.solvers.special",
    "exclusive": "engiagent.solvers.exclusive",
    "race": "engiagent.solvers.race",
    "scip": "engiagent.solvers.scip.adapter",
    "piqp": "engiagent.solvers.convex.piqp",
    "clarabel": "engiagent.solvers.convex.cvxpy",
    "osqp": "engiagent.solvers.convex.osqp",
    "scs": "engiagent.solvers.convex.cvxpy",
    "ipopt": "engiagent.solvers.casadi.ipopt",
    "fatrop": "engiagent.solvers.casadi.fatrop",
}
FAMILIES: Final = {
    "casadi-": "engiagent.solvers.casadi.conic",
    "cvxpy-": "engiagent.solvers.convex.cvxpy",
    "pyomo:": "engiagent.solvers.pyomo.adapter",
}
"""Beginnings of names: the module has ``member(rest_of_the_name) -> Adapter``."""


def adapter(backend: str) -> Adapter:
    """Return the adapter of a backend; its library is not loaded yet.

    Raises
    ------
    EngiagentError
        When there is no backend of that name.
    """
    if backend in BACKENDS:
        module = import_module(BACKENDS[backend])
        if hasattr(module, "member"):  # a family whose solvers have names of their own
            known: Adapter = module.member(backend)
            return known
        return from_module(backend, module)
    for beginning, family in FAMILIES.items():
        if backend.startswith(beginning) and len(backend) > len(beginning):
            found: Adapter = import_module(family).member(backend.removeprefix(beginning))
            return found
    names = [*BACKENDS, *(f"{beginning}<solver>" for beginning in FAMILIES)]
    raise EngiagentError(f"there is no backend {backend!r}; choose one of {', '.join(names)}")


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
        getattr(module, "INSTALL", INSTALL),
        getattr(module, "VERSION", None),
    )


def is_available(backend: str) -> bool:
    """Whether a backend's libraries are installed."""
    return not adapter(backend).missing()
