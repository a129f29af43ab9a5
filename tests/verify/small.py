"""Blueprints in a few lines, and their certificates, for tests of single constructs."""

from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.run.certify import certify
from engiagent.verify.certificate import Certificate
from tests import blueprints

HOURS = [{"name": "T", "kind": "time", "start": "00:00", "step": "1 h", "periods": 3}]


def document(
    variables: list[dict[str, Any]],
    constraints: list[dict[str, Any]] | None = None,
    objective: dict[str, Any] | None = None,
    **core: Any,
) -> Blueprint:
    """Return a blueprint; hours T unless ``sets`` says otherwise."""
    content: dict[str, Any] = {
        "sets": core.pop("sets", HOURS),
        "parameters": core.pop("parameters", []),
        "decision_variables": variables,
        "constraints": constraints or [],
        **core,
    }
    if objective is not None:
        content["objective_function"] = objective
    return blueprints.blueprint(**content)


def rule(expression: str, forall: str | None = "t in T", **more: Any) -> dict[str, Any]:
    """Return a constraint C."""
    binders = [] if forall is None else [forall]
    return {"constraint_id": "C", "forall": binders, "expression": expression, **more}


def judged(
    blueprint: Blueprint, schedule: dict[str, Any], folder: Path = Path(), **claims: Any
) -> Certificate:
    """Return the certificate of a schedule given by plain lists in the variables' units."""
    arrays = {name: np.asarray(data, dtype=float) for name, data in schedule.items()}
    return certify(None, {**arrays, **claims}, blueprint, folder=folder, name="small")


def entry(certificate: Certificate, identifier: str) -> dict[str, Any]:
    """Return the entry of one check."""
    checks = certificate.levels["algebra"]["checks"]
    return dict(next(check for check in checks if check["id"] == identifier))
