"""Studies of a blueprint by what a user writes: variations, goals or factors as texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.notebook.figures import figure
from engiagent.notebook.home import solve_options
from engiagent.notebook.progress import Shown
from engiagent.report.studied import study_charts
from engiagent.study import Pareto, Sensitivity, Setting, Study, Sweep, run_study
from engiagent.study.outcome import Asked
from engiagent.study.pareto import parse_goal
from engiagent.study.variation import Variation, parse_factor


def plot(study: Study, backend: str) -> Any:
    """Draw a study."""
    return figure(tuple(study_charts(study)), study.title, backend)


def study(kind: str, blueprint: Blueprint, texts: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a study of a kind; see ``Blueprint.sweep``, ``.pareto`` and ``.sensitivity``."""
    asked = _asked(kind, texts, given)
    progress, home, out = given.pop("progress", True), blueprint.home, given.pop("out", None)
    show, certify = tuple(given.pop("show", ())), given.pop("certify", False)
    with Shown(home.name) as shown:

        def point(done: int, total: int, row: dict[str, Any]) -> None:
            shown.say(f"{done} of {total} points, {row.get('status', '')}")

        setting = Setting(
            home.folder,
            solve_options(given),
            certify=certify,
            name=home.name,
            show=show,
            out=None if out is None else Path(out),
            on_point=point if progress else None,
        )
        return run_study(asked, blueprint, setting)


def _asked(kind: str, texts: Sequence[str], given: dict[str, Any]) -> Asked:
    """Return what is asked; its own options are taken from those that are given."""
    if kind == "sweep":
        return Sweep(tuple(map(Variation.parse, texts)))
    names = ("method", "points") if kind == "pareto" else ("width",)
    own = {name: given.pop(name) for name in names if name in given}
    if kind == "pareto":
        return Pareto(tuple(map(parse_goal, texts)), **own)
    return Sensitivity(tuple(map(parse_factor, texts)), **own)
