"""What a study asks, from what people write: variations, goals or factors as texts."""

from collections.abc import Sequence
from typing import Any

from engiagent.study.cases import Cases
from engiagent.study.outcome import Asked
from engiagent.study.pareto import Pareto, parse_goal
from engiagent.study.sensitivity import Sensitivity
from engiagent.study.sweep import Sweep
from engiagent.study.variation import Variation, parse_factor


def asked(kind: str, texts: Sequence[str] = (), **own: Any) -> Asked:
    """Return what a study of a kind asks; ``own`` are its further options, as ``points``."""
    if kind == "cases":
        return Cases(**own)
    if kind == "sweep":
        return Sweep(tuple(map(Variation.parse, texts)), **own)
    if kind == "pareto":
        return Pareto(tuple(map(parse_goal, texts)), **own)
    return Sensitivity(tuple(map(parse_factor, texts)), **own)
