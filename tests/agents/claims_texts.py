"""What tests of the reader of domains share: reading a text, and comparing what was read."""

import re
from collections.abc import Mapping
from pathlib import Path

from engiagent.agents.offline.claims.domains import understand_domain
from engiagent.agents.offline.results import Analysis
from engiagent.problems import Problem


def read(folder: Path, text: str, files: Mapping[str, str] = {}) -> Analysis:
    """Return what the reader of domains makes of a text."""
    (folder / "problem.md").write_text(text, encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    found = understand_domain(Problem.load(folder / "problem.md"))
    assert found is not None
    return found.analysis


def shape(analysis: Analysis) -> tuple[object, ...]:
    """Return what a blueprint says, whatever it rests on and in whatever order."""
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    core = analysis.blueprint.to_dict()["core_model_elements"]
    goal = core["objective_function"]
    values = sorted((p["name"], repr(p.get("value", p.get("data")))) for p in core["parameters"])
    bounds = sorted((v["name"], str(v.get("lower")), str(v.get("upper")))
                    for v in core["decision_variables"])  # fmt: skip
    rows = sorted(
        (_sorted(c["expression"]), str(c.get("where"))) for c in core["constraints"]
    )  # fmt: skip
    return goal["sense"], _sorted(goal["expression"]), values, bounds, rows


def _sorted(text: str) -> str:
    """Return an expression with the summands in brackets in order."""
    return re.sub(r"\(([^()]*)\)", lambda m: f"({' + '.join(sorted(m[1].split(' + ')))})", text)
