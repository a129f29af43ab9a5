"""What may be asked of a certificate beyond the plain check, and what that needs of solvers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.run.secondopinion import second_opinion
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem
from engiagent.verify.opinions import Opinion
from engiagent.verify.requirements import Requirements


@dataclass(frozen=True)
class Proofs:
    """What is asked beyond the plain check."""

    exact: bool = False  # rational arithmetic beside doubles
    second_solver: str | None = None  # who is to solve what is stated once more; None for nobody

    def asked(self) -> dict[str, Any]:
        """Return what a run's record says of it; nothing where nothing was asked."""
        found = {"exact": self.exact or None, "second_solver": self.second_solver}
        return {name: value for name, value in found.items() if value is not None}

    def opinion(
        self,
        problem: Problem | None,
        solution: Any,
        blueprint: Blueprint | None,
        options: SolveOptions,
        *,
        folder: Path,
        name: str,
        mapping: Any = None,
        requirements: Requirements | None = None,
    ) -> Opinion | None:
        """Return what the second solver says, None where none is asked; see ``second_opinion``."""
        computed = blueprint is not None and blueprint.kind == "definitions"
        if self.second_solver is None or computed:
            return None
        return second_opinion(
            problem,
            solution,
            blueprint,
            self.second_solver,
            options,
            folder=folder,
            name=name,
            mapping=mapping,
            requirements=requirements,
        )


PLAIN: Final = Proofs()
"""Nothing beyond the plain check."""


def stored_solver(asked: Mapping[str, Any], file: str) -> str | None:
    """Return the second solver that a run asked, to be asked again: its stored word counts nothing.

    Raises InputError when the record says something else.
    """
    name = asked.get("second_solver")
    if name is not None and not isinstance(name, str):
        raise InputError("no name of a solver", file, found=repr(name))
    return name


def kept_exact(asked: Any, file: str) -> bool:
    """Return whether a run was checked exactly; InputError when the record says something else."""
    exact = asked.get("exact", False)
    if not isinstance(exact, bool):
        raise InputError("neither true nor false", file, found=repr(exact))
    return exact


def proof_lines(certificate: Mapping[str, Any]) -> list[str]:
    """Return what a certificate says beyond the plain check, a line for each."""
    levels = certificate.get("levels") or {}
    algebra, best = (levels.get(name) or {} for name in ("algebra", "optimality"))
    lines = []
    rows, exact = algebra.get("exact") or {}, best.get("exact") or {}
    if rows.get("arithmetic") == "exact":
        kept = "without any violation" if rows["zero_violation"] else "within tolerance"
        kept = f"{rows['broken']} broken" if rows["broken"] else kept
        lines.append(f"{rows['rows']} rows in exact arithmetic: {kept}")
    if exact.get("gap") is not None:
        lines.append(f"{exact['method']}: gap {exact['gap_float']:.3g}")
    elif "proven" in exact:
        shown = "contradicts the bounds" if exact["proven"] else "proves nothing"
        lines.append(f"a ray in exact arithmetic {shown}")
    elif exact.get("reason"):
        lines.append(f"no exact bound: {exact['reason']}")
    second = best.get("second_solver")
    if second is not None:
        said = {True: "agrees", False: "contradicts", None: "settles nothing"}
        lines.append(f"{second['solver']} over {second['over']} {said[second['agrees']]}")
    return lines
