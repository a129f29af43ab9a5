"""Closed loops by what a user writes, and what they show."""

from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.control import ClosedLoop
from engiagent.control.starting import control as close
from engiagent.io.files import write_atomic
from engiagent.notebook.home import solve_options
from engiagent.notebook.progress import Shown
from engiagent.notebook.solution import Solution
from engiagent.report.looped import page

_OWN: Final = ("horizon", "plant", "signals", "actual", "measured", "limits", "end")


def control(blueprint: Blueprint, steps: int | None, given: dict[str, Any]) -> ClosedLoop:
    """Close the loop of a blueprint; see ``Blueprint.control``."""
    own = {name: given.pop(name) for name in _OWN if name in given}
    progress, home = given.pop("progress", True), blueprint.home
    with Shown(home.name) as shown:

        def on_step(done: int, total: int) -> None:
            shown.say(f"step {done} of {total}")

        return close(
            blueprint,
            steps,
            **own,
            folder=home.folder,
            options=solve_options(given),
            on_step=on_step if progress else None,
        )


def solution(loop: ClosedLoop) -> Solution:
    """Return what a loop applied as a plan."""
    return Solution(loop.schedule.blueprint, loop.schedule.solution)


def write_report(loop: ClosedLoop, path: str | Path) -> Path:
    """Write the page of a loop and return its path."""
    about = loop.runner.blueprint.modeling_context.problem_essence
    write_atomic(Path(path), page(loop, f"Closed loop: {about}" if about else "Closed loop"))
    return Path(path)
