"""``engiagent lint``: findings of static analysis as text, as JSON, and as SARIF 2.1.0."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from engiagent import __version__
from engiagent.blueprint.explanations import Explanation, explanations
from engiagent.cli import options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.findings import Finding, LintedFile, blueprint_files, lint_file
from engiagent.cli.output import clean, print_json, say, say_error
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsonplaces import Region
from engiagent.io.jsontext import dumps_canonical

_WIDTH: Final = 100
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}

Json = dict[str, Any]


@click.command()
@click.argument("blueprints", metavar="BLUEPRINT...", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="How findings are written.",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@options.file_option("--out", "Write to a file, not the terminal.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="The mildest finding that makes the exit code 1.",
)
@click.option("--explain", metavar="CODE", help="Print what a code, as EB005, means, and exit.")
def lint(
    blueprints: tuple[str, ...],
    form: str,
    as_json: bool,
    out: Path | None,
    fail_on: str,
    explain: str | None,
) -> int:
    """Analyse blueprints and plants without solving them.

    BLUEPRINT is a file, or a folder: every blueprint and plant below it. Exit code 0 when nothing
    at or above --fail-on was found, 1 when something was, 2 when a file can be read as neither.
    """
    if explain is not None:
        known = explanations()
        found = known.get(explain.strip().upper())
        if found is None:
            expected = ", ".join(known)
            raise InputError("there is no such code", found=repr(explain), expected=expected)
        click.echo(found.markdown, nl=False)
        return int(ExitCode.FEASIBLE)
    if not blueprints:
        raise click.UsageError("Missing argument 'BLUEPRINT...'.")
    files = [lint_file(path) for path in blueprint_files(blueprints)]
    _write(files, "json" if as_json else form, out)
    errors, warnings = (sum(f.count(level) for f in files) for level in ("error", "warning"))
    for file in files:
        if file.error is not None:
            say_error(f"engiagent: {file.error}")
        elif len(files) == 1 and file.kind == "programme":
            counts = f"{file.variables} variables, {file.constraints} constraints"
            say(f"{file.program or 'no class'}, {counts}")
    unread = sum(file.error is not None for file in files)
    if unread:
        say(f"{unread} of {len(files)} file(s) cannot be read")
    if unread < len(files):
        say(f"{len(files) - unread} file(s), {errors} error(s), {warnings} warning(s)")
    if unread:
        return int(ExitCode.USAGE)
    failed = errors > 0 or (fail_on == "warning" and warnings > 0)
    return int(ExitCode.VIOLATED if failed else ExitCode.FEASIBLE)


def _write(files: Sequence[LintedFile], form: str, out: Path | None) -> None:
    if form == "text":
        text = "".join(f"{clean(line)}\n" for file in files for line in _text_lines(file))
        if out is None:
            click.echo(text, nl=False)
    else:
        value = _to_sarif(files) if form == "sarif" else _to_json(files)
        text = dumps_canonical(value)
        if out is None:
            print_json(value)
    if out is not None:
        write_atomic(out, text)


# -- JSON -----------------------------------------------------------------------------------------


def _to_json(files: Sequence[LintedFile]) -> Json:
    """Return findings as one object, ``engiagent-lint/1``; ``error`` only where one is."""
    errors = [file.error for file in files if file.error is not None]
    levels = ("error", "warning", "info")
    result: Json = {
        "schema": "engiagent-lint/1",
        "counts": {level: sum(file.count(level) for file in files) for level in levels},
        "files": [_file_json(file) for file in files],
    }
    return result | ({"error": "\n".join(errors)} if errors else {})


def _file_json(file: LintedFile) -> Json:
    program = file.program
    result: Json = {
        "file": str(file.path),
        "kind": file.kind,
        "problem_class": program.problem_class if program else None,
        "convexity": program.convexity if program else None,
        "structure": list(program.structure) if program else [],
        "variables": file.variables,
        "constraints": file.constraints,
        "missing": list(file.missing),
        "diagnostics": [
            {**vars(item.diagnostic), "region": dict(vars(item.region))} for item in file.findings
        ],
    }
    if file.error is not None:
        place = vars(file.error_region) if file.error_region is not None else None
        result["error"] = {"message": file.error, "region": place}
    return result


# -- text -----------------------------------------------------------------------------------------


def _text_lines(file: LintedFile) -> list[str]:
    """Return the findings of a file as lines for people, each with its line of the file."""
    lines: list[str] = []
    for finding in file.findings:
        item, region = finding.diagnostic, finding.region
        where = item.path.removeprefix("core_model_elements.")
        named = f'{where} "{item.name}"' if item.name else where
        place = f"{file.path}:{region.line}:{region.column}"
        lines.append(f"{place}: {item.severity} {item.code} {named}: {item.message}")
        lines += _marked(finding)
        if item.suggestion:
            lines.append(f"      = {item.suggestion}")
        known = explanations().get(item.code)
        if known is not None and item.severity != "info":
            lines.append(f"      = {known.link}, or engiagent lint --explain {item.code}")
        lines.append("")
    return lines


def _marked(finding: Finding) -> list[str]:
    """Return the line of the file, cut to a readable width, and a mark below the place."""
    region, source = finding.region, finding.source
    start = region.column - 1
    end = region.end_column - 1 if region.end_line == region.line else len(source)
    cut = max(0, start - _WIDTH // 2) if len(source) > _WIDTH else 0
    if cut == 0:
        cut = min(len(source) - len(source.lstrip()), start)
    piece = source[cut : cut + _WIDTH].replace("\t", " ").rstrip()
    width = max(1, min(end, cut + _WIDTH) - start)
    return [f"{region.line:>5} | {piece}", " " * 5 + " | " + " " * (start - cut) + "^" * width]


# -- SARIF, which continuous integration shows beside the lines concerned -------------------------


def _to_sarif(files: Sequence[LintedFile]) -> Json:
    """Return one SARIF log with one run over all files.

    Findings are results; a file that cannot be read is a notification of the tool's execution,
    which counts as unsuccessful then.
    """
    rules = list(explanations().values())
    places = {rule.code: position for position, rule in enumerate(rules)}
    unreadable = [
        {
            "level": "error",
            "message": {"text": file.error},
            "locations": [_location(file.path, file.error_region)],
        }
        for file in files
        if file.error is not None
    ]
    invocation: Json = {"executionSuccessful": not unreadable}
    if unreadable:
        invocation["toolExecutionNotifications"] = unreadable
    driver = {"name": "engiagent", "version": __version__, "rules": list(map(_rule, rules))}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "artifacts": [{"location": _artifact(file.path)} for file in files],
        "results": [
            _result(finding, file, number, places)
            for number, file in enumerate(files)
            for finding in file.findings
        ],
    }
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _rule(rule: Explanation) -> Json:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text},
        "help": {"text": rule.markdown, "markdown": rule.markdown},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, file: LintedFile, number: int, places: dict[str, int]) -> Json:
    item = finding.diagnostic
    text = f'"{item.name}": {item.message}' if item.name else item.message
    if item.suggestion:
        text += f"; {item.suggestion}"
    location = _location(file.path, finding.region, index=number)
    location["logicalLocations"] = [{"fullyQualifiedName": item.path}]
    result: Json = {"ruleId": item.code}
    if item.code in places:
        result["ruleIndex"] = places[item.code]
    result |= {"level": _LEVELS[item.severity], "message": {"text": text}, "locations": [location]}
    return result


def _location(path: Path, region: Region | None, **of_artifact: Any) -> Json:
    place: Json = {"artifactLocation": _artifact(path) | of_artifact}
    if region is not None:
        place["region"] = {
            "startLine": region.line,
            "startColumn": region.column,
            "endLine": region.end_line,
            "endColumn": region.end_column,
        }
    return {"physicalLocation": place}


def _artifact(path: Path) -> Json:
    """Return a location, relative where it can be: code hosts match it with the repository."""
    whole = path.absolute()
    if whole.is_relative_to(Path.cwd()) and ".." not in path.parts:
        return {"uri": quote(whole.relative_to(Path.cwd()).as_posix(), safe="/-._~")}
    return {"uri": whole.as_uri()}
