"""What checks found wrong, with file and line, in the forms that CI systems read."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from engiagent.cli.exit_codes import MEANINGS, ExitCode
from engiagent.cli.output import clean, item_text
from engiagent.cli.results import CheckResult, tally
from engiagent.io.files import write_atomic
from engiagent.run.folder import BLUEPRINT
from engiagent.run.inputs import EXPERT, REQUIREMENTS
from engiagent.text.problem import PLANT_FILE

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
        return [_of_item(item, base) for item in result.violations]
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


def _of_item(item: Any, base: Path) -> Complaint:
    fields = item if isinstance(item, Mapping) else {}
    level, check = str(fields.get("level", "")), str(fields.get("check", ""))
    message = clean(item_text(item))
    rule = level if level in RULES else "algebra"
    if rule == "answer":
        return Complaint(rule, message, *_about(message, base))
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
