"""What checks found wrong, with file and line, in the forms that CI systems read."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from engiagent.blueprint import Blueprint
from engiagent.cli.checking import against
from engiagent.cli.exit_codes import MEANINGS, ExitCode
from engiagent.cli.output import clean, item_text
from engiagent.cli.results import CheckResult, tally
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.io.files import write_atomic
from engiagent.run.folder import BLUEPRINT, is_run_folder
from engiagent.run.inputs import EXPERT, REQUIREMENTS, stored_problem
from engiagent.text import Problem
from engiagent.text.problem import PLANT_FILE
from engiagent.verify.levels.sources import all_leaves
from engiagent.verify.requirements import load_requirements

SHOWN: Final = 10
"""Annotations that a code host shows of one step; all stand in the table and in JUnit."""
RULES: Final = {
    "input": "An input cannot be read",
    "data": "A number is not the problem's",
    "algebra": "A requirement is broken",
    "physics": "The plan does not work when it is executed",
    "optimality": "A bound or a proof does not hold",
    "answer": "Expert material and answer disagree",
    "certificate": "A stored certificate does not hold",
    "verdict": "There is no verdict to rely on",
}
_PLACE: Final = re.compile(r"(?P<file>[^:\n]+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?: ")
_ABOUT: Final = (
    (REQUIREMENTS, r"(?:answer\.json: )?([^:]+): .* no number of the text", r"(?:id|name): *{}\b"),
    (BLUEPRINT, r".*?the quote '(.{1,20})", "{}"),
    ("answer.json", r".*?\b(objective|verdict|sense|missing)\b|", '"{}"'),
)
"""By expert file the disagreements that are about it, and what the line concerned looks like."""


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong, by one of :data:`RULES`; the file it is about, and the line."""

    rule: str
    message: str
    path: Path
    line: int = 1


def complaints(result: CheckResult) -> list[Complaint]:
    """Return what is wrong with one checked path; nothing where all is as it should be."""
    if result.code is ExitCode.FEASIBLE:
        return []
    base = result.source or Path(result.path)
    if result.error is not None:
        return [_of_error(clean(result.error), base)]
    if result.violations:
        quoted = quoted_lines(base) if result.verdict == "violated" else {}
        return [_of_item(item, base, quoted) for item in result.violations]
    said = [result.line or MEANINGS[result.code], result.reason, *result.open_points]
    return [Complaint("verdict", clean(": ".join(filter(None, said))), _text_of(base))]


def _of_error(message: str, base: Path) -> Complaint:
    match = _PLACE.match(message)
    if match is not None:
        folder, name = base if base.is_dir() else base.parent, match["file"]
        for place in (folder / name, folder / EXPERT / name, Path(name)):
            if place.is_file():
                return Complaint("input", message, place, int(match["line"]))
    return Complaint("input", message, _text_of(base))


def _of_item(item: Any, base: Path, quoted: Mapping[str, tuple[Path, int]]) -> Complaint:
    fields = item if isinstance(item, Mapping) else {}
    level, check = str(fields.get("level", "")), str(fields.get("check", ""))
    message = clean(item_text(item))
    rule = level if level in RULES else "algebra"
    if rule == "answer":
        return Complaint(rule, message, *_about(message, base))
    name = check.rpartition(":")[2]
    if rule in ("data", "algebra", "physics") and name in quoted:
        return Complaint(rule, message, *quoted[name])
    stated = base / EXPERT / REQUIREMENTS
    if rule in ("algebra", "physics") and stated.is_file():
        return Complaint(rule, message, stated, _line_of(stated, rf"id: *{re.escape(check)}\b"))
    return Complaint(rule, message, _text_of(base))


def _about(message: str, base: Path) -> tuple[Path, int]:
    """Return the expert file that a disagreement is about: the one that it names, or the answer."""
    for name, pattern, place in _ABOUT:
        path, match = base / EXPERT / name, re.match(pattern, message)
        if match is not None and path.is_file():
            return path, _line_of(path, place.format(re.escape(match[1] or "")))
    return _text_of(base), 1


def _text_of(base: Path) -> Path:
    """Return the file that stands for a path: a folder's problem."""
    if not base.is_dir():
        return base
    texts = ("problem.md", "problem.txt", PLANT_FILE)
    names = (*texts, *(f"problem/{name}" for name in texts), "run.json")
    return next((base / name for name in names if (base / name).is_file()), base)


def _line_of(path: Path, pattern: str) -> int:
    """Return the first line that fits a pattern, else 1."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError:
        return 1
    match = re.search(pattern, text)
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


def quoted_lines(base: Path) -> dict[str, tuple[Path, int]]:
    """Return where the text says what each requirement, constraint and variable rests on."""
    found: dict[str, tuple[Path, int]] = {}
    try:
        problem = stored_problem(base) if is_run_folder(base) else Problem.load(base)
        named = list(_named(base, problem)) if problem is not None else []
    except EngiagentError:
        return found  # the check itself says what cannot be read
    for name, source in named:
        spans = [leaf.span for leaf in all_leaves(source) if leaf.span is not None]
        if spans and problem is not None:
            line = problem.text.count("\n", 0, spans[0][0]) + 1
            found.setdefault(name, (_text_of(base), line))
    return found


def _named(base: Path, problem: Problem) -> Iterator[tuple[str, Any]]:
    """Yield the names of the requirements and of the blueprint, each with its source."""
    stated = None if problem.expert is None else problem.expert / REQUIREMENTS
    if stated is not None and stated.is_file():
        for rule in load_requirements(stated).requirements:
            at = problem.text.find(rule.quote or "\0")
            if at >= 0:
                yield rule.id, {"kind": "text", "span": [at, at + len(rule.quote or "")]}
    own = base / BLUEPRINT
    given = Blueprint.load(own) if own.is_file() else against(problem)[0]
    if given is not None:
        core = expand(given).core
        yield from ((c.constraint_id, c.source_reference) for c in core.constraints)
        for v in core.decision_variables:
            yield v.name, v.source_reference
            yield v.quantity or v.name, v.source_reference


# --- GitHub and Markdown -------------------------------------------------------------------------


def annotations(results: Iterable[CheckResult]) -> Iterator[str]:
    """Yield the first few complaints as commands that GitHub shows beside the lines concerned."""
    found = [complaint for result in results for complaint in complaints(result)]
    for item in found[:SHOWN]:
        place, title = (
            _escaped(text).replace(":", "%3A").replace(",", "%2C")
            for text in (shown(item.path), RULES[item.rule])
        )
        yield f"::error file={place},line={item.line},title={title}::{_escaped(item.message)}"
    if len(found) > SHOWN:
        yield f"::notice::{len(found) - SHOWN} more findings are in the summary of this job"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def shown(path: Path) -> str:
    """Return a path relative to the working folder where it lies in it."""
    whole, here = path.absolute(), Path.cwd()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else str(path)


def markdown(results: Sequence[CheckResult]) -> str:
    """Return a table of all results, and below it all complaints."""
    lines = [
        f"### engiagent check: {tally(results)}",
        "",
        "| | Checked | Verdict | Objective |",
        "|---|---|---|---|",
    ]
    for result in results:
        mark = "✅" if result.code is ExitCode.FEASIBLE else "❌"
        mark = "⏭" if result.skipped else mark
        cells = (shown(Path(result.path)), result.line or result.word, result.amount)
        lines.append(f"| {mark} | {' | '.join(map(_cell, cells))} |")
    found = [complaint for result in results for complaint in complaints(result)]
    if found:
        lines += ["", "| Where | What |", "|---|---|"]
        lines += [f"| {_cell(shown(c.path))}:{c.line} | {_cell(c.message)} |" for c in found]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")


def append_summary(results: Sequence[CheckResult]) -> None:
    """Add the table to the page that GitHub shows of a job, where there is one."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        with Path(place).open("a", encoding="utf-8") as stream:
            stream.write(markdown(results))


# --- JUnit ---------------------------------------------------------------------------------------


def write_junit(results: Sequence[CheckResult], path: Path) -> None:
    """Write one test case for each result; unreadable input is an error, the rest a failure."""
    bad = [result for result in results if result.code is not ExitCode.FEASIBLE]
    errors = [result for result in bad if result.error is not None]
    counts = {
        "tests": len(results),
        "failures": len(bad) - len(errors),
        "errors": len(errors),
        "skipped": sum(result.skipped for result in results),
    }
    suite = ElementTree.Element(
        "testsuite",
        {name: str(count) for name, count in counts.items()},
        name="engiagent check",
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        name, time = clean(result.path), f"{result.seconds:.3f}"
        about = {"classname": "engiagent.check", "name": name, "time": time}
        case = ElementTree.SubElement(suite, "testcase", about)
        if result.skipped:
            ElementTree.SubElement(case, "skipped", message=clean(str(result.error)))
        elif result.code is not ExitCode.FEASIBLE:
            kind = "failure" if result.error is None else "error"
            message = clean(result.error or result.line or MEANINGS[result.code])
            found = ElementTree.SubElement(case, kind, message=message)
            items = [*result.violations, *result.open_points]
            found.text = "\n".join(clean(item_text(item)) for item in items)
    text = ElementTree.tostring(suite, encoding="unicode", xml_declaration=False)
    write_atomic(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')
