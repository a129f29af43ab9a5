"""Plans of single units, written as requirements and a few columns, and their certificates."""

from pathlib import Path
from typing import Any

import numpy as np

from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from engiagent.verify.requirements import parse_requirements

HEAD = """schema: engiagent-requirements/1
sets:
  - {name: T, kind: time, start: "00:00", step: STEP, periods: PERIODS}
  - {name: I, kind: instants, of: T}
"""


def text_of(dynamics: str, periods: int, step: str = "1 h", more: str = "") -> str:
    """Return the text of requirements with declared units, indented or not."""
    head = HEAD.replace("STEP", step).replace("PERIODS", str(periods))
    return f"{head}{more}\ndynamics:\n{dynamics}"


def executed(
    folder: Path,
    dynamics: str,
    schedule: dict[str, Any],
    step: str = "1 h",
    more: str = "",
    **options: Any,
) -> Certificate:
    """Return the certificate of a plan; its first series without a state gives the periods."""
    arrays = {name: np.asarray(data, dtype=float) for name, data in schedule.items()}
    periods = min(array.size for array in arrays.values())
    (folder / "problem.md").write_text("# A plan of a unit\n")
    problem = Problem.load(folder / "problem.md")
    requirements = parse_requirements(text_of(dynamics, periods, step, more))
    return check(problem, arrays, requirements=requirements, **options)


def broken(certificate: Certificate) -> set[str]:
    """Return the identifiers of all checks that fail."""
    return {str(violation["check"]) for violation in certificate.violations}


def physics(certificate: Certificate) -> dict[str, Any]:
    """Return the physics level, asserting that all of it could be checked."""
    level = dict(certificate.levels["physics"])
    assert level["notes"] == [], level["notes"]
    return level


def passes(certificate: Certificate) -> bool:
    """Whether everything that physics demands could be checked and holds."""
    return bool(physics(certificate)["status"] == "pass")
