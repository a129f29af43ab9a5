"""What checks found wrong, with file and line, in the forms that CI systems read."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from engiagent.cli.checking import CheckResult, tally
from engiagent.cli.exit_codes import MEANINGS, ExitCode
from engiagent.cli.output import clean, item_text
from engiagent.io.files import write_atomic
from engiagent.run.inputs import EXPERT, REQUIREMENTS

SHOWN: Final = 10
"""Annotations that a code host shows of one step; all stand in table, JUnit and SARIF."""
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
_PLACE = re.compile(r"(?P<file>[^:\n]+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?: ")


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong.

    ``rule``: one of :data:`RULES`; ``path``, ``line``: the file it is about, and the line, from 1.
    """

    rule: str
    message: str
    path: Path
    line: int = 1


def complaints(result: CheckResult) -> list[Complaint]:
    """Return what is wrong with one checked path; nothing where all is as it should be."""
    if result.code is ExitCode.FEASIBLE:
        return []
    base = Path(result.path)
    if result.error is not None:
        return [_of_error(clean(result.error), base)]
    found = [_of_item(item, base) for item in result.violations]
    if found:
        return found
    said = [result.line or MEANINGS[result.code], result.reason, *result.open_points]
    return [Complaint("verdict", clean(": ".join(filter(None, said))), _text_of(base))]


def _of_error(message: str, base: Path) -> Complaint:
    match = _PLACE.match(message)
    if match is None:
        return Complaint("input", message, _text_of(base))
    path = _found(base, match["file"])
    return Complaint("input", message, path or _text_of(base), int(match["line"]) if path else 1)


def _of_item(item: Any, base: Path) -> Complaint:
    level = str(item.get("level", "")) if isinstance(item, Mapping) else ""
    check = str(item.get("check", "")) if isinstance(item, Mapping) else ""
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
    for name, pattern, place in (
        (
            REQUIREMENTS,
            r"(?:answer\.json: )?([^:]+): .* no number of the text",
            r"(?:id|name): *{}\b",
        ),
        ("blueprint.json", r".*?the quote '(.{1,20})", "{}"),
        ("answer.json", r".*?\b(objective|verdict|sense|missing)\b|", '"{}"'),
    ):
        path, match = base / EXPERT / name, re.match(pattern, message)
        if match is not None and path.is_file():
            return path, _line_of(path, place.format(re.escape(match[1] or "")))
    return _text_of(base), 1


def _text_of(base: Path) -> Path:
    """Return the file that stands for a path: a folder's problem."""
    if not base.is_dir():
        return base
    names = ("problem.md", "problem.txt", "problem/problem.md", "run.json")
    return next((base / name for name in names if (base / name).is_file()), base)


def _found(base: Path, name: str) -> Path | None:
    folder = base if base.is_dir() else base.parent
    places = (folder / name, folder / EXPERT / name, Path(name))
    return next((place for place in places if place.is_file()), None)


def _line_of(path: Path, pattern: str) -> int:
    """Return the first line that fits a pattern, else 1."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError:
        return 1
    match = re.search(pattern, text)
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


# --- GitHub --------------------------------------------------------------------------------------


def annotations(results: Iterable[CheckResult]) -> Iterator[str]:
    """Yield the first few complaints as commands that GitHub shows beside the lines concerned."""
    found = [complaint for result in results for complaint in complaints(result)]
    for item in found[:SHOWN]:
        place = f"file={_escaped(shown(item.path))},line={item.line}"
        title = _escaped(RULES[item.rule])
        yield f"::error {place},title={title}::{_escaped_text(item.message)}"
    if len(found) > SHOWN:
        yield f"::notice::{len(found) - SHOWN} more findings are in the summary of this job"


def _escaped_text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped(text: str) -> str:
    return _escaped_text(text).replace(":", "%3A").replace(",", "%2C")


def shown(path: Path) -> str:
    """Return a path relative to the working folder where it lies in it."""
    whole = path.absolute()
    return (
        whole.relative_to(Path.cwd()).as_posix() if whole.is_relative_to(Path.cwd()) else str(path)
    )


# --- Markdown ------------------------------------------------------------------------------------


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


def write_junit(results: Sequence[CheckResult], path: Path) -> None:
    """Write one test case for each result; unreadable input is an error, the rest a failure."""
    bad = [result for result in results if result.code is not ExitCode.FEASIBLE]
    errors = [result for result in bad if result.error is not None]
    suite = ElementTree.Element(
        "testsuite",
        name="engiagent check",
        tests=str(len(results)),
        failures=str(len(bad) - len(errors)),
        errors=str(len(errors)),
        skipped=str(sum(result.skipped for result in results)),
    )
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname="engiagent.check", name=clean(result.path)
        )
        if result.skipped:
            ElementTree.SubElement(case, "skipped", message=clean(str(result.error)))
            continue
        if result.error is not None:
            found = ElementTree.SubElement(case, "error", message=clean(result.error))
        elif result.code is not ExitCode.FEASIBLE:
            message = result.line or MEANINGS[result.code]
            found = ElementTree.SubElement(case, "failure", message=clean(message))
        else:
            continue
        items = [*result.violations, *result.open_points]
        found.text = "\n".join(clean(item_text(item)) for item in items)
    text = ElementTree.tostring(suite, encoding="unicode", xml_declaration=False)
    write_atomic(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')
