"""The verbs of a blueprint that need more than the language; its methods say what they do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engiagent.agents.runs import solve_given
from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.patching import patched
from engiagent.control import ClosedLoop
from engiagent.control.starting import control as close
from engiagent.errors import InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex import emit_latex
from engiagent.formulations.pyomo_script import emit_pyomo
from engiagent.io.files import write_atomic
from engiagent.notebook.home import solve_options
from engiagent.notebook.progress import Shown
from engiagent.notebook.run import Run
from engiagent.notebook.solution import Solution
from engiagent.notebook.views import Findings
from engiagent.report.looped import page
from engiagent.run.certify import certify
from engiagent.run.edits import set_value, with_changes
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.study import Setting, Study, asked, run_study
from engiagent.verify.certificate import Certificate

_OF_A_STUDY: Final = ("method", "points", "width")
_OF_A_LOOP: Final = (
    *("horizon", "plant", "signals", "actual", "forecast_errors", "measured"),
    *("limits", "end", "blocks"),
)


def expanded(blueprint: Blueprint) -> Blueprint:
    """Return a blueprint with its components written out."""
    return blueprint if blueprint.kind == "definitions" else expand(blueprint)


def lint(blueprint: Blueprint) -> Findings:
    """Return what static analysis finds."""
    return Findings(_diagnostics(blueprint))


def to_pyomo(blueprint: Blueprint) -> str:
    """Return a blueprint as a script of Pyomo."""
    return emit_pyomo(blueprint, blueprint.home.folder)


def to_latex(blueprint: Blueprint) -> str:
    """Return a blueprint as a document of LaTeX."""
    return emit_latex(blueprint, blueprint.home.folder)


def with_value(blueprint: Blueprint, name: str, value: Any, unit: str | None) -> Blueprint:
    """Return a blueprint with another value at a place."""
    document = blueprint.to_dict()
    set_value(document, name, value, unit)
    shown = value if isinstance(value, int | float | str) else "other values"
    return _edited(blueprint, document, f"{name} = {shown}{' ' + unit if unit else ''}")


def with_patch(blueprint: Blueprint, operations: Sequence[Mapping[str, Any]]) -> Blueprint:
    """Return a blueprint changed by a JSON patch."""
    document = blueprint.to_dict()
    document = with_changes(document, patched(document, operations))
    return _edited(blueprint, document, "; ".join(f"{o['op']} {o['path']}" for o in operations))


def _edited(blueprint: Blueprint, document: dict[str, Any], edit: str) -> Blueprint:
    """Return another document at home where a blueprint is; what it breaks is refused."""
    home = replace(blueprint.home, edits=(*blueprint.home.edits, edit))
    edited = Blueprint.from_dict(document).at_home(home)
    known = {(d.code, d.path, d.message) for d in _diagnostics(blueprint)}
    found = [
        d
        for d in _diagnostics(edited)
        if d.severity == "error" and (d.code, d.path, d.message) not in known
    ]
    if found:
        raise BlueprintError(found)
    return edited


def _diagnostics(blueprint: Blueprint) -> tuple[Diagnostic, ...]:
    if blueprint.kind == "definitions":
        return tuple(check_definitions(blueprint, blueprint.home.folder))
    return tuple(analyse(expand(blueprint), blueprint.home.folder).diagnostics)


def solve(blueprint: Blueprint, options: Mapping[str, Any], *, progress: bool) -> Solution:
    """Solve in memory, the solver in a process of its own."""
    given, home = solve_options(options), blueprint.home
    if blueprint.kind == "definitions":
        return Solution(blueprint, computed(blueprint, home.data).to_xarray())
    written = expand(blueprint)
    found = static_findings(written, home.data)
    if found.error is not None:
        raise found.error
    program = compile_blueprint(written, home.folder)
    with Shown(home.name) as shown:
        arrays, result = solve_program(program, given, shown if progress else None)
    return Solution(blueprint, arrays.to_xarray(), program, result)


def check(
    blueprint: Blueprint, schedule: Any, mapping: Mapping[str, str] | None, *, exact: bool
) -> Certificate:
    """Have an external schedule checked."""
    home = blueprint.home
    given: dict[str, Any] = {"folder": home.data, "name": home.name}
    return certify(home.stated, schedule, blueprint, mapping=mapping, exact=exact, **given)


def run(
    blueprint: Blueprint,
    out: str | Path | None,
    options: Mapping[str, Any],
    *,
    force: bool,
    progress: bool,
) -> Run:
    """Take a blueprint through every stage and keep all of it in a folder."""
    home = blueprint.home
    if home.folder is None and any(p.data for p in blueprint.core.parameters):
        raise InputError("it is not known where the data files lie", expected="Blueprint.load")
    given = solve_options(options)
    with Shown(home.name) as shown:
        seen = shown.observers if progress else {}
        outcome = solve_given(
            blueprint, home.data, home.stated, home.name, out, given, force=force, **seen
        )
    return Run.of(outcome)


def study(kind: str, blueprint: Blueprint, texts: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a study of a kind; see ``Blueprint.sweep``, ``.pareto`` and ``.sensitivity``."""
    own = {name: given.pop(name) for name in _OF_A_STUDY if name in given}
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


def control(blueprint: Blueprint, steps: int | None, given: dict[str, Any]) -> ClosedLoop:
    """Close the loop of a blueprint; see ``Blueprint.control``."""
    own = {name: given.pop(name) for name in (*_OF_A_LOOP, "floor_area") if name in given}
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


def applied(loop: ClosedLoop) -> Solution:
    """Return what a loop applied as a plan."""
    return Solution(loop.schedule.blueprint, loop.schedule.solution)


def write_page(loop: ClosedLoop, path: str | Path) -> Path:
    """Write the page of a loop and return its path."""
    about = loop.runner.blueprint.modeling_context.problem_essence
    write_atomic(Path(path), page(loop, f"Closed loop: {about}" if about else "Closed loop"))
    return Path(path)
