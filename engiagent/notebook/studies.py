"""Studies of a blueprint by what a user writes: variations, goals or factors as texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.notebook.figures import figure
from engiagent.notebook.home import solve_options
from engiagent.notebook.progress import Shown
from engiagent.report.studied import study_charts
from engiagent.study.fronts import parse_goal
from engiagent.study.live import Setting
from engiagent.study.outcome import Study
from engiagent.study.pareto import run_pareto
from engiagent.study.sensitivity import Factor, every_parameter, run_sensitivity
from engiagent.study.sweep import SweepRequest, run_sweep
from engiagent.study.variation import Variation

_ASKED: Final = {
    "sweep": ("show",),
    "pareto": ("method", "points", "show"),
    "sensitivity": ("width", "show"),
}
"""What each kind of study takes besides settings of the solver."""


def plot(study: Study, backend: str) -> Any:
    """Draw a study."""
    return figure(tuple(study_charts(study)), study.title, backend)


def study(kind: str, blueprint: Blueprint, texts: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a study of a kind; see ``Blueprint.sweep``, ``.pareto`` and ``.sensitivity``."""
    asked = {name: given.pop(name) for name in _ASKED[kind] if name in given}
    out, certify = given.pop("out", None), given.pop("certify", False)
    progress, home = given.pop("progress", True), blueprint.home
    setting = Setting(home.folder, solve_options(given), certify=certify, name=home.name)
    folder = None if out is None else Path(out)
    with Shown(home.name) as shown:

        def point(done: int, total: int, row: dict[str, Any]) -> None:
            if progress:
                shown.say(f"{done} of {total} points, {row.get('status', '')}")

        if kind == "sweep":
            variations = tuple(Variation.parse(text) for text in texts)
            request = SweepRequest(variations, show=tuple(asked.get("show", ())))
            return run_sweep(blueprint, request, setting, folder, on_point=point)
        if kind == "pareto":
            goals = [parse_goal(text) for text in texts]
            return run_pareto(blueprint, goals, setting, folder, on_point=point, **asked)
        factors = [Factor.parse(text) for text in texts] or every_parameter(blueprint)
        return run_sensitivity(blueprint, factors, setting, folder, on_point=point, **asked)
