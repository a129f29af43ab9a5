"""Four scores from 0 to 1 by a written rubric, from the certificate and the blueprint alone.

========================== ==================================================================
information extraction, IE the share of the blueprint's numbers whose source was found and equal,
                           less a tenth for each demand of the text that nobody accounted for
domain reasoning, DR       1 when the plan, executed on the physics, keeps its limits; half for
                           units that nobody could execute; 0 for a broken limit
modelling, MO              the share of requirements that hold, halved when nothing is known
                           about the best, and reduced by a known gap
uncertainty handling, UH   the share of: assumptions declared, uncertainty sources named,
                           sensitivities named, uncertain data modelled (scenario or robust)
========================== ==================================================================
"""

from collections.abc import Mapping
from typing import Any

from engiagent.agents.protocol import Board
from engiagent.verify.verdicts import PROVEN


def deterministic(certificate: Mapping[str, Any], board: Board) -> dict[str, float]:
    """Return the four scores by name."""
    levels = certificate.get("levels") or {}
    physics = (levels.get("physics") or {}).get("status")
    return {
        "IE": _extraction(certificate, levels.get("data") or {}),
        "DR": {"pass": 1.0, "unchecked": 0.5}.get(str(physics), 0.0),
        "MO": _modelling(certificate, levels.get("algebra") or {}),
        "UH": _uncertainty(board),
    }


def _extraction(certificate: Mapping[str, Any], data: Mapping[str, Any]) -> float:
    wrong = [v for v in certificate.get("violations") or () if v["level"] == "data"]
    share = max(0.0, 1.0 - len(wrong) / max(1, int(data.get("parameters") or 0)))
    return max(0.0, share - 0.1 * len(certificate.get("not_understood") or ()))


def _modelling(certificate: Mapping[str, Any], algebra: Mapping[str, Any]) -> float:
    checks = algebra.get("checks") or ()
    held = sum(1 for entry in checks if entry.get("status") == "pass")
    share = held / len(checks) if checks else 0.0
    if certificate.get("verdict") in PROVEN:
        return share
    gap = (certificate.get("bound") or {}).get("gap")
    return share * (0.5 if gap is None else max(0.5, 1.0 - float(gap)))


def _uncertainty(board: Board) -> float:
    blueprint = board.blueprint
    extended = None if blueprint is None else blueprint.extended_analysis_and_robustness
    if blueprint is None or extended is None:
        return 0.0
    uncertain = any(s.kind == "scenario" for s in blueprint.core.sets) or any(
        p.uncertain is not None for p in blueprint.core.parameters
    )
    parts = (
        bool(extended.key_assumptions),
        bool(extended.uncertainty_sources),
        bool(extended.sensitivity_factors),
        uncertain,
    )
    return sum(parts) / len(parts)
