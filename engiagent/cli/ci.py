"""What checks found wrong, with file and line, in the forms that CI systems read."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from engiagent.blueprint import Blueprint
from engiagent.cli.checking import CheckResult, against, tally
from engiagent.cli.exit_codes import MEANINGS, ExitCode
from engiagent.cli.output import clean, item_text
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

    ``rule``: one of :data:`RULES`; ``path``, ``line``: the file it is about, and the line, from 1;
    ``row``: the line of somebody's schedule in which it shows, with its file.
    """

    rule: str
    message: str
    path: Path
    line: int = 1
    row: tuple[Path, int] | None = None


def complaints(result: CheckResult) -> list[Complaint]:
    """Return what is wrong with one checked path; nothing where all is as it should be."""
    if result.code is ExitCode.FEASIBLE:
        return []
    base = result.source or Path(result.path)
    if result.error is not None:
        return [_of_error(clean(result.error), base)]
    if result.violations:
        quoted = quoted_lines(base) if result.verdict == "violated" else {}
        return [
            replace(_of_item(item, base, quoted), row=row_of(item, result.schedule))
            for item in result.violations
        ]
    said = [result.line or MEANINGS[result.code], result.reason, *result.open_points]
    return [Complaint("verdict", clean(": ".join(filter(None, said))), _text_of(base))]


def _of_error(message: str, base: Path) -> Complaint:
    match = _PLACE.match(message)
    if match is None:
        return Complaint("input", message, _text_of(base))
    path = _found(base, match["file"])
    return Complaint("input", message, path or _text_of(base), int(match["line"]) if path else 1)


def _of_item(item: Any, base: Path, quoted: Mapping[str, tuple[Path, int]]) -> Complaint:
    level = str(item.get("level", "")) if isinstance(item, Mapping) else ""
    check = str(item.get("check", "")) if isinstance(item, Mapping) else ""
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
    texts = ("problem.md", "problem.txt", PLANT_FILE)
    names = (*texts, *(f"problem/{name}" for name in texts), "run.json")
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


def quoted_lines(base: Path) -> dict[str, tuple[Path, int]]:
    """Return where the text says what each requirement, constraint and variable rests on."""
    try:
        problem = stored_problem(base) if is_run_folder(base) else Problem.load(base)
        documents = list(_documents(base, problem)) if problem is not None else []
    except EngiagentError:
        return {}  # the check itself says what cannot be read
    found: dict[str, tuple[Path, int]] = {}
    for name, source in (pair for document in documents for pair in document):
        spans = [leaf.span for leaf in all_leaves(source) if leaf.span is not None]
        if spans and problem is not None:
            line = problem.text.count("\n", 0, spans[0][0]) + 1
            found.setdefault(name, (_text_of(base), line))
    return found


def _documents(base: Path, problem: Problem) -> Iterator[list[tuple[str, Any]]]:
    """Yield what is named with its source, of the requirements and of the blueprint."""
    stated = None if problem.expert is None else problem.expert / REQUIREMENTS
    if stated is not None and stated.is_file():
        text = problem.text
        rules = load_requirements(stated).requirements
        places = ((rule.id, rule.quote, text.find(rule.quote or "\0")) for rule in rules)
        yield [
            (name, {"kind": "text", "span": [at, at + len(quote or "")]})
            for name, quote, at in places
            if at >= 0
        ]
    own = base / BLUEPRINT
    given = Blueprint.load(own) if own.is_file() else against(problem)[0]
    if given is not None:
        core = expand(given).core
        yield [(c.constraint_id, c.source_reference) for c in core.constraints]
        yield [(v.name, v.source_reference) for v in core.decision_variables]
        yield [(v.quantity or v.name, v.source_reference) for v in core.decision_variables]


def row_of(item: Any, schedule: Path | None) -> tuple[Path, int] | None:
    """Return the line of a table in which a violation shows, by the time stamp that it names."""
    where = item.get("where") if isinstance(item, Mapping) else None
    stamps = [_stamp(str(value)) for value in where.values()] if where else []
    wanted = next((stamp for stamp in stamps if stamp is not None), None)
    if wanted is None or schedule is None or schedule.suffix not in (".csv", ".tsv"):
        return None
    for number, line in enumerate(schedule.read_text("utf-8", errors="replace").splitlines(), 1):
        first = _stamp(re.split(r"[,;\t]", line)[0].strip().strip('"'))
        if first is not None and _same_time(first, wanted):
            return schedule, number
    return None


def _stamp(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _same_time(one: datetime, other: datetime) -> bool:
    """Whether two stamps are one instant; one without an offset is of the other's clock."""
    if one.tzinfo is None or other.tzinfo is None:
        return one.replace(tzinfo=None) == other.replace(tzinfo=None)
    return one == other


# --- GitHub --------------------------------------------------------------------------------------


def annotations(results: Iterable[CheckResult]) -> Iterator[str]:
    """Yield the first few complaints as commands that GitHub shows beside the lines concerned."""
    found = [complaint for result in results for complaint in complaints(result)]
    for item in found[:SHOWN]:
        place = f"file={_escaped(shown(item.path))},line={item.line}"
        title = _escaped(RULES[item.rule])
        yield f"::error {place},title={title}::{_escaped_text(_with_row(item))}"
    if len(found) > SHOWN:
        yield f"::notice::{len(found) - SHOWN} more findings are in the summary of this job"


def _with_row(item: Complaint) -> str:
    """Return the message with the row of the schedule in which it shows."""
    if item.row is None:
        return item.message
    return f"{item.message} ({shown(item.row[0])}, line {item.row[1]})"


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
        lines += [f"| {_cell(shown(c.path))}:{c.line} | {_cell(_with_row(c))} |" for c in found]
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
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname="engiagent.check",
            name=clean(result.path),
            time=f"{result.seconds:.3f}",
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
