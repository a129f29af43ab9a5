"""The page: everything that a run left, in one HTML file that asks nobody for anything."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engiagent.io.files import write_atomic
from engiagent.report import findings, model, plain, words
from engiagent.report.artefacts import Run, load_run, mapping
from engiagent.report.keyfigures import key_facts, of_horizons
from engiagent.report.schedule import build_schedule, instructions
from engiagent.report.sections import Fact, drawn, render_page
from engiagent.text.problem import PLANT_SUFFIXES
from engiagent.verify.claims import overrides_line, plan_line, reading_line

REPORT = "report.html"
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S.*)$", re.MULTILINE)
_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


def render_report(run_folder: str | Path | Run) -> str:
    """Return the report of a run folder as HTML.

    What the run did not come to write is left out, and the page says so.
    """
    run = run_folder if isinstance(run_folder, Run) else load_run(Path(run_folder))
    return render_page("report.html.j2", _context(run))


def write_report(run_folder: str | Path | Run) -> Path:
    """Write ``report.html`` into a run folder and return its path; the file is whole or absent."""
    folder = run_folder.folder if isinstance(run_folder, Run) else Path(run_folder)
    target = folder / REPORT
    text = render_report(run_folder)
    write_atomic(target, text)
    return target


def _context(run: Run) -> dict[str, Any]:
    schedule, why = build_schedule(run), findings.explanation(run)
    panels = enumerate(schedule.panels, start=1)
    figures = [drawn(f"chart-{number}", number, panel) for number, panel in panels]
    todo, has_reason = instructions(run, schedule.series), why is None or why.kind == "plan"
    claims = (("Plan", plan_line(run.certificate)), ("Reading", reading_line(run.certificate)))
    numbers, further = key_facts(run.figures)
    verdict = run.certificate.get("verdict", run.record.get("verdict"))
    notes = [*(run.record.get("notes") or ()), *(run.certificate.get("notes") or ())]
    return {
        "title": _title(run),
        "verdict": words.verdict(verdict, run.record.get("state")),
        "changed": overrides_line(run.certificate),
        "claims": [claim for claim in claims if claim[1]],
        "key_figures": [*numbers[:1], *findings.saving(run), *numbers[1:]],
        "figures_left_out": further,
        "of_horizons": of_horizons(run.figures),
        "answers": plain.answers(run, todo, why.enough if why is not None else ()),
        "has_plan": plain.has_plan(run),
        "todo": todo,
        "reason": _reason(run) if has_reason or why is None else why.summary,
        "facts": _objective(run),
        "violations": findings.violations(run),
        "missing": findings.listed(run, "missing"),
        "contradictions": findings.listed(run, "contradictions"),
        "open": findings.open_points(run),
        "not_understood": findings.listed(run, "not_understood"),
        "charts": figures,
        "schedule": schedule,
        "levels": plain.levels(run),
        "checks": findings.check_table(run),
        "cases": findings.case_table(run),
        "explanation": why,
        "assumptions": model.assumptions(run),
        "data": model.data(run),
        "problem_name": run.problem_name,
        "problem_text": run.problem_text,
        "notes": list(dict.fromkeys(map(str, notes))),
        "commands": _commands(run),
        "asked": [(key, item) for key, item in _pairs(run.record.get("asked")) if item != "None"],
        "hashes": _pairs(run.certificate.get("inputs")),
        "versions": _pairs(run.certificate.get("versions")),
        "trouble": run.trouble,
    }


def _reason(run: Run) -> str:
    """Return why a run ended as it did, as far as anything in the folder says so."""
    for place, key in ((run.record, "reason"), (run.certificate, "reason"), (run.record, "error")):
        if isinstance(place.get(key), str) and place[key]:
            return str(place[key])
    reason = run.solution.attrs.get("reason") if run.solution is not None else None
    return str(reason) if reason and reason != "optimal" else ""


def _title(run: Run) -> str:
    text = run.problem_text or ""
    is_plant = Path(run.problem_name or "").suffix.lower() in PLANT_SUFFIXES
    front = text if is_plant else text.split("\n---", 1)[0] if text.startswith("---") else ""
    match = _FRONT_TITLE.search(front) or _HEADING.search(text)
    if match:
        return match[1].strip().strip("\"'")
    return str(run.certificate.get("problem") or run.record.get("problem") or run.folder.name)


def _objective(run: Run) -> list[Fact]:
    """Return what was reached, what bounds it, and how the solver got there."""
    objective, bound = run.part("objective"), run.part("bound")
    attrs: Mapping[str, Any] = run.solution.attrs if run.solution is not None else {}
    unit = objective.get("unit", attrs.get("objective_unit"))
    sense = words.sense(objective.get("sense", attrs.get("sense")))
    over = mapping(objective.get("scenarios"))
    worst, gap = mapping(over.get("worst")), bound.get("gap", attrs.get("gap"))
    proven = bound.get("value") is not None
    numbers = {
        "Objective": (objective.get("value", attrs.get("objective")), sense),
        "Claimed by the solver": (objective.get("claimed"), ""),
        "Expected over the scenarios": (over.get("expected"), ""),
        "In the worst scenario": (worst.get("value"), worst.get("scenario")),
        "Bound": (bound.get("value"), bound.get("method")),
        "The solver's bound": (None if proven else attrs.get("bound"), ""),
    }
    shown = {
        name: Fact(name, words.quantity(_number(number), unit, 9), str(note or ""))
        for name, (number, note) in numbers.items()
        if number is not None
    }
    objective_text = shown["Objective"].value if "Objective" in shown else ""
    facts = [
        fact
        for name, fact in shown.items()
        if name != "Claimed by the solver" or fact.value != objective_text
    ]
    if gap is not None:
        facts.append(Fact("Gap to the bound", words.percent(_number(gap))))
    if attrs.get("solver"):
        facts.append(Fact("Solver", f"{attrs['solver']} {attrs.get('solver_version', '')}".strip()))
    if attrs.get("seconds") is not None:
        facts.append(Fact("Solved in", words.quantity(_number(attrs["seconds"]), "s", 3)))
    return facts


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) or hasattr(value, "item") else math.nan


def _commands(run: Run) -> list[tuple[str, str]]:
    """Return what to type, each with what it does."""
    known = {
        "engiagent run problem": ("run it again, from the copy in this folder", "problem"),
        "engiagent check .": ("check the schedule again", "solution.nc"),
        "python model.py": ("solve the model without engiagent, with Pyomo", "model.py"),
    }
    return [(c, what) for c, (what, name) in known.items() if (run.folder / name).exists()]


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(str(key), str(item)) for key, item in mapping(value).items()]
