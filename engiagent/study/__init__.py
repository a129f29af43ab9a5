"""Studies: a programme solved many times, as cases, a sweep, a front or a sensitivity.

:func:`run_study` takes what is asked (:class:`Cases`, :class:`Sweep`, :class:`Pareto` or
:class:`Sensitivity`), a blueprint and a :class:`Setting`, and returns a :class:`Study`.
"""

from collections.abc import Sequence
from typing import Any

from engiagent.study.live import Setting, Variation, parse_factor
from engiagent.study.modes import Cases, Pareto, Sensitivity, Sweep, parse_goal
from engiagent.study.outcome import Asked, Study, run_study

__all__ = ["Cases", "Pareto", "Sensitivity", "Setting", "Study", "Sweep", "asked", "run_study"]


def asked(kind: str, texts: Sequence[str] = (), **own: Any) -> Asked:
    """Return what a study of a kind asks, from variations, goals or factors as people write them.

    ``own`` are its further options, as ``points``.
    """
    if kind == "cases":
        return Cases(**own)
    if kind == "sweep":
        return Sweep(tuple(map(Variation.parse, texts)), **own)
    if kind == "pareto":
        return Pareto(tuple(map(parse_goal, texts)), **own)
    return Sensitivity(tuple(map(parse_factor, texts)), **own)
