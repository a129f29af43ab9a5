"""``engiagent lint`` and ``engiagent schema``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from engiagent.blueprint.explanations import explanations
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.findings import Finding, LintedFile, blueprint_files, lint_file
from engiagent.cli.output import clean, print_json, say, say_error
from engiagent.cli.sarif import to_sarif
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical

_WIDTH = 100


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
@click.option("--out", type=click.Path(path_type=Path), help="Write to a file, not the terminal.")
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

    BLUEPRINT is a file, a folder (every blueprint and plant below it) or a pattern such as
    'problems/**/blueprint.json'. Exit code 0 when nothing at or above --fail-on was found, 1 when
    something was, 2 when a file can be read as neither.
    """
    if explain is not None:
        click.echo(explanation_of(explain), nl=False)
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
        read = len(files) - unread
        say(f"{read} file(s), {errors} error(s), {warnings} warning(s)")
    if unread:
        return int(ExitCode.USAGE)
    failed = errors > 0 or (fail_on == "warning" and warnings > 0)
    return int(ExitCode.VIOLATED if failed else ExitCode.FEASIBLE)


def explanation_of(code: str) -> str:
    """Return the part of the page of diagnostics on one code."""
    known = explanations()
    found = known.get(code.strip().upper())
    if found is None:
        raise InputError("there is no such code", found=repr(code), expected=", ".join(known))
    return found.markdown


def _write(files: Sequence[LintedFile], form: str, out: Path | None) -> None:
    if form == "text":
        text = "".join(f"{clean(line)}\n" for file in files for line in text_lines(file))
        if out is None:
            click.echo(text, nl=False)
    else:
        value = to_sarif(files) if form == "sarif" else to_json(files)
        text = dumps_canonical(value)
        if out is None:
            print_json(value)
    if out is not None:
        write_atomic(out, text)


def to_json(files: Sequence[LintedFile]) -> dict[str, Any]:
    """Return findings as one object, ``engiagent-lint/1``; ``error`` only where one is."""
    errors = [file.error for file in files if file.error is not None]
    levels = ("error", "warning", "info")
    result: dict[str, Any] = {
        "schema": "engiagent-lint/1",
        "counts": {level: sum(file.count(level) for file in files) for level in levels},
        "files": [_file_json(file) for file in files],
    }
    return result | ({"error": "\n".join(errors)} if errors else {})


def _file_json(file: LintedFile) -> dict[str, Any]:
    result: dict[str, Any] = {
        "file": str(file.path),
        "kind": file.kind,
        "problem_class": file.program.problem_class if file.program else None,
        "convexity": file.program.convexity if file.program else None,
        "structure": list(file.program.structure) if file.program else [],
        "variables": file.variables,
        "constraints": file.constraints,
        "missing": list(file.missing),
        "diagnostics": [_finding_json(item) for item in file.findings],
    }
    if file.error is not None:
        place = vars(file.error_region) if file.error_region is not None else None
        result["error"] = {"message": file.error, "region": place}
    return result


def _finding_json(finding: Finding) -> dict[str, Any]:
    result = {**vars(finding.diagnostic), "region": dict(vars(finding.region))}
    if finding.related is not None:
        path, region = finding.related
        result["related"] = {"file": str(path), "region": dict(vars(region))}
    return result


def text_lines(file: LintedFile) -> list[str]:
    """Return the findings of a file as lines for people, each with its line of the file."""
    lines: list[str] = []
    for finding in file.findings:
        item, region = finding.diagnostic, finding.region
        place = f"{file.path}:{region.line}:{region.column}"
        where = item.path.removeprefix("core_model_elements.")
        named = f'{where} "{item.name}"' if item.name else where
        lines.append(f"{place}: {item.severity} {item.code} {named}: {item.message}")
        lines += _shown(finding)
        if item.suggestion:
            lines.append(f"      = {item.suggestion}")
        known = explanations().get(item.code)
        if known is not None and item.severity != "info":
            lines.append(f"      = {known.link}, or engiagent lint --explain {item.code}")
        lines.append("")
    return lines


def _shown(finding: Finding) -> list[str]:
    """Return the line of the file, cut to a readable width, and a mark below the place."""
    region, source = finding.region, finding.source
    start = region.column - 1
    end = region.end_column - 1 if region.end_line == region.line else len(source)
    cut = max(0, start - _WIDTH // 2) if len(source) > _WIDTH else 0
    if cut == 0:
        cut = len(source) - len(source.lstrip())
        cut = min(cut, start)
    piece = source[cut : cut + _WIDTH].replace("\t", " ").rstrip()
    width = max(1, min(end, cut + _WIDTH) - start)
    margin = f"{region.line:>5} | "
    return [margin + piece, " " * 5 + " | " + " " * (start - cut) + "^" * width]
