"""The page: everything that a run left, in one HTML file that asks nobody for anything."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engiagent.io.files import write_atomic
from engiagent.report import findings, model, plain, turns, words
from engiagent.report.artefacts import Run, load_run, mapping
from engiagent.report.explanation import explanation
from engiagent.report.instructions import instructions
from engiagent.report.schedule import build_schedule
from engiagent.report.sections import Fact, drawn
from engiagent.report.templating import render_page
from engiagent.verify.claims import overrides_line, plan_line, reading_line

REPORT = "report.html"
_OWN_STAGE = "report"
"""The stage in which a run writes this page; a page does not tell of its own writing."""
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S.*)$", re.MULTILINE)
_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


def render_report(run_folder: str | Path) -> str:
    """Return the report of a run folder as HTML.

    What the run did not come to write is left out, and the page says so.

    Raises
    ------
    InputError
        When the folder does not exist or holds nothing of a run.
    """
    return render_page("report.html.j2", _context(load_run(Path(run_folder))))


def write_report(run_folder: str | Path) -> Path:
    """Write ``report.html`` into a run folder and return its path; the file is whole or absent."""
    target = Path(run_folder) / REPORT
    text = render_report(run_folder)
    write_atomic(target, text)
    return target


def _context(run: Run) -> dict[str, Any]:
    schedule = build_schedule(run)
    panels = enumerate(schedule.panels, start=1)
    figures = [drawn(f"chart-{number}", number, panel) for number, panel in panels]
    todo = instructions(run, schedule.series)
    why = explanation(run)
    told, trouble = turns.read_story(run.folder, without=_OWN_STAGE)
    return {
        "title": _title(run),
        "verdict": words.verdict(_verdict_name(run), run.record.get("state")),
        "changed": overrides_line(run.certificate),
        "claims": [
            (name, text)
            for name, text in (
                ("Plan", plan_line(run.certificate)),
                ("Reading", reading_line(run.certificate)),
            )
            if text
        ],
        "answers": plain.answers(run, todo, why.enough if why is not None else ()),
        "todo": todo,
        "reason": _reason(run) if why is None or why.kind == "plan" else why.summary,
        "facts": _objective(run),
        "violations": findings.violations(run),
        "missing": findings.missing(run),
        "contradictions": findings.contradictions(run),
        "open": findings.open_points(run),
        "not_understood": findings.not_understood(run),
        "conflicts": findings.conflicts(run) if why is None or why.kind == "plan" else [],
        "charts": figures,
        "schedule": schedule,
        "levels": plain.levels(run),
        "checks": findings.check_table(run),
        "cases": findings.case_table(run),
        "stages": turns.stage_table(told) if told.stages else None,
        "way": turns.figures(told, len(figures)),
        "turns": turns.turn_table(told) if told.turns else None,
        "turns_left_out": told.left_out,
        "explanation": why,
        "assumptions": model.assumptions(run),
        "model": model.build_model(run),
        "problem_name": run.problem_name,
        "problem_text": run.problem_text,
        "notes": _notes(run),
        "commands": _commands(run),
        "asked": [(key, item) for key, item in _pairs(run.record.get("asked")) if item != "None"],
        "hashes": _pairs(run.certificate.get("inputs")),
        "versions": _versions(run),
        "trouble": [*run.trouble, *([trouble] if trouble else [])],
    }


def _notes(run: Run) -> list[str]:
    """Return what the run and the checker took for granted on the way."""
    said = [*(run.record.get("notes") or ()), *(run.certificate.get("notes") or ())]
    return list(dict.fromkeys(str(note) for note in said))


def _verdict_name(run: Run) -> Any:
    return run.certificate.get("verdict", run.record.get("verdict"))


def _reason(run: Run) -> str:
    """Return why a run ended as it did, as far as anything in the folder says so."""
    for place, key in ((run.record, "reason"), (run.certificate, "reason"), (run.record, "error")):
        if isinstance(place.get(key), str) and place[key]:
            return str(place[key])
    reason = run.solution.attrs.get("reason") if run.solution is not None else None
    return str(reason) if reason and reason != "optimal" else ""


def _title(run: Run) -> str:
    text = run.problem_text or ""
    front = text.split("\n---", 1)[0] if text.startswith("---") else ""
    match = _FRONT_TITLE.search(front) or _HEADING.search(text)
    if match:
        return match[1].strip().strip("\"'")
    return str(run.certificate.get("problem") or run.record.get("problem") or run.folder.name)


def _objective(run: Run) -> list[Fact]:
    """Return what was reached, what bounds it, and how the solver got there."""
    objective = mapping(run.certificate.get("objective"))
    attrs: Mapping[str, Any] = run.solution.attrs if run.solution is not None else {}
    value = objective.get("value", attrs.get("objective"))
    unit = objective.get("unit", attrs.get("objective_unit"))
    sense = objective.get("sense", attrs.get("sense"))
    facts: list[Fact] = []
    if value is not None:
        facts.append(Fact("Objective", _amount(value, unit), words.sense(sense)))
    claimed = objective.get("claimed")
    if claimed is not None and _amount(claimed, unit) != _amount(value, unit):
        facts.append(Fact("Claimed by the solver", _amount(claimed, unit)))
    over = objective.get("scenarios")
    if isinstance(over, Mapping):
        facts += _scenarios(over, unit)
    facts += _bound(run, attrs, unit)
    if attrs.get("solver"):
        version = attrs.get("solver_version", "")
        facts.append(Fact("Solver", f"{attrs['solver']} {version}".strip()))
    if attrs.get("seconds") is not None:
        facts.append(Fact("Solved in", words.quantity(_number(attrs["seconds"]), "s", 3)))
    return facts


def _scenarios(over: Mapping[str, Any], unit: Any) -> Iterator[Fact]:
    """Yield what the plan comes to in expectation and in its worst scenario."""
    if over.get("expected") is not None:
        yield Fact("Expected over the scenarios", _amount(over["expected"], unit))
    worst = over["worst"]
    yield Fact("In the worst scenario", _amount(worst["value"], unit), str(worst["scenario"]))


def _bound(run: Run, attrs: Mapping[str, Any], unit: Any) -> list[Fact]:
    bound = mapping(run.certificate.get("bound"))
    facts: list[Fact] = []
    if bound.get("value") is not None:
        method = str(bound.get("method") or "")
        facts.append(Fact("Bound", _amount(bound["value"], unit), method))
    elif attrs.get("bound") is not None:
        facts.append(Fact("The solver's bound", _amount(attrs["bound"], unit)))
    gap = bound.get("gap", attrs.get("gap"))
    if gap is not None:
        percent = 100 * _number(gap)
        shown = "0" if abs(percent) < 1e-9 else words.number(percent, 3)
        facts.append(Fact("Gap to the bound", f"{shown}\u00a0%"))
    return facts


def _amount(value: Any, unit: Any) -> str:
    return words.quantity(_number(value), unit, 9)


def _number(value: Any) -> float:
    return (
        float(value) if isinstance(value, int | float) or hasattr(value, "item") else float("nan")
    )


def _commands(run: Run) -> list[tuple[str, str]]:
    """Return what to type, each with what it does."""
    commands = []
    if run.problem_name:
        commands.append(("engiagent run problem", "run it again, from the copy in this folder"))
    if (run.folder / "solution.nc").is_file():
        commands.append(("engiagent check .", "check the schedule again"))
    if (run.folder / "model.py").is_file():
        commands.append(("python model.py", "solve the model without engiagent, with Pyomo"))
    return commands


def _versions(run: Run) -> list[tuple[str, str]]:
    found = dict(_pairs(run.certificate.get("versions")))
    if run.record.get("engiagent"):
        found.setdefault("engiagent", str(run.record["engiagent"]))
    if run.solution is not None and run.solution.attrs.get("solver_version"):
        name = str(run.solution.attrs.get("solver", "solver"))
        found.setdefault(name, str(run.solution.attrs["solver_version"]))
    return sorted(found.items())


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(str(key), str(item)) for key, item in mapping(value).items()]
