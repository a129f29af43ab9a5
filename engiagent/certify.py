"""From a schedule to a certificate: what the checker is given, and that its verdict is kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engiagent.blueprint import Blueprint
from engiagent.jsontext import loads_strict

if TYPE_CHECKING:
    from engiagent.problems import Problem


def certify(
    problem: "Problem | None",
    solution: Any,
    blueprint: Blueprint | None,
    *,
    folder: Path,
    missing: Sequence[Any] = (),
    not_understood: Sequence[Any] = (),
    mapping: Mapping[str, str] | None = None,
) -> tuple[str, dict[str, Any]]:
    """Return a certificate as its JSON text and as an object.

    Parameters
    ----------
    problem
        The problem; None for a blueprint alone.
    solution
        A dataset, or a path to anybody's schedule.
    blueprint
        The blueprint, if there is one; its components are written out for the checker.
    folder
        Where the blueprint's data lie when there is no problem.
    missing, not_understood
        What the analysis already knows to stand in the way of a verdict.
    mapping
        Quantity to column of somebody's schedule.
    """
    from engiagent.verify import check

    certificate = check(problem, solution, blueprint)
    text = certificate.to_json()
    return text, loads_strict(text)
