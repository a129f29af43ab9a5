"""Studies of a blueprint by what a user writes: variations, goals or factors as texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.notebook.figures import Figure
from engiagent.notebook.home import solve_options
from engiagent.notebook.progress import Shown
from engiagent.report.studied import study_charts
from engiagent.study import Setting, Study, asked, run_study

_OWN: Final = ("points", "width")


def plot(study: Study) -> Figure:
    """Draw a study."""
    return Figure(tuple(study_charts(study)), study.title)


def study(kind: str, blueprint: Blueprint, texts: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a study of a kind; see ``Blueprint.sweep``, ``.pareto`` and ``.sensitivity``."""
    own = {name: given.pop(name) for name in _OWN if name in given}
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
        return run_study(asked(kind, texts, **own), blueprint, setting)
