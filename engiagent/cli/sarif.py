"""Findings as SARIF 2.1.0, which continuous integration shows beside the lines concerned."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from engiagent import __version__
from engiagent.blueprint.explanations import Explanation, explanations
from engiagent.cli.checking import CheckResult
from engiagent.cli.ci import RULES, Complaint, complaints
from engiagent.cli.findings import Finding, LintedFile
from engiagent.io.jsonplaces import Region

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}

Json = dict[str, Any]


def to_sarif(files: Sequence[LintedFile]) -> Json:
    """Return one SARIF log with one run over all files.

    Findings are results; a file that cannot be read is a notification of the tool's execution,
    which counts as unsuccessful then.
    """
    rules = list(explanations().values())
    places = {rule.code: position for position, rule in enumerate(rules)}
    unreadable = [_notification(file) for file in files if file.error is not None]
    invocation: Json = {"executionSuccessful": not unreadable}
    if unreadable:
        invocation["toolExecutionNotifications"] = unreadable
    artifacts = [{"location": _artifact(file.path)} for file in files]
    results = [
        _result(finding, file, number, places)
        for number, file in enumerate(files)
        for finding in file.findings
    ]
    return _log([_rule(rule) for rule in rules], invocation, artifacts, results)


def checks_to_sarif(results: Sequence[CheckResult]) -> Json:
    """Return one SARIF log of checks: a result for each complaint."""
    found = [complaint for result in results for complaint in complaints(result)]
    names = list(RULES)
    entries = [
        {
            "ruleId": f"check-{item.rule}",
            "ruleIndex": names.index(item.rule),
            "level": "error",
            "message": {"text": item.message},
            "locations": [_location(item.path, {"startLine": item.line})],
            **_related(item),
        }
        for item in found
    ]
    rules = [
        {
            "id": f"check-{name}",
            "shortDescription": {"text": title},
            "defaultConfiguration": {"level": "error"},
        }
        for name, title in RULES.items()
    ]
    files = dict.fromkeys(item.path for item in found)
    artifacts = [{"location": _artifact(path)} for path in files]
    return _log(rules, {"executionSuccessful": True}, artifacts, entries)


def _related(item: Complaint) -> Json:
    if item.row is None:
        return {}
    path, line = item.row
    return {"relatedLocations": [_location(path, {"startLine": line})]}


def _log(rules: list[Json], invocation: Json, artifacts: list[Json], results: list[Json]) -> Json:
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "engiagent", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "invocations": [invocation],
                "artifacts": artifacts,
                "results": results,
            }
        ],
    }


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
    location = _location(file.path, _region(finding.region), index=number)
    location["logicalLocations"] = [{"fullyQualifiedName": item.path}]
    result: Json = {"ruleId": item.code}
    if item.code in places:
        result["ruleIndex"] = places[item.code]
    result |= {"level": _LEVELS[item.severity], "message": {"text": text}, "locations": [location]}
    if finding.related is not None:
        path, region = finding.related
        result["relatedLocations"] = [_location(path, _region(region))]
    return result


def _notification(file: LintedFile) -> Json:
    region = None if file.error_region is None else _region(file.error_region)
    return {
        "level": "error",
        "message": {"text": file.error},
        "locations": [_location(file.path, region)],
    }


def _location(path: Path, region: Json | None, **of_artifact: Any) -> Json:
    place: Json = {"artifactLocation": _artifact(path) | of_artifact}
    return {"physicalLocation": place | ({} if region is None else {"region": region})}


def _artifact(path: Path) -> Json:
    """Return a location, relative where it can be: code hosts match it with the repository."""
    whole = path.absolute()
    if whole.is_relative_to(Path.cwd()) and ".." not in path.parts:
        return {"uri": quote(whole.relative_to(Path.cwd()).as_posix(), safe="/-._~")}
    return {"uri": whole.as_uri()}


def _region(region: Region) -> Json:
    return {
        "startLine": region.line,
        "startColumn": region.column,
        "endLine": region.end_line,
        "endColumn": region.end_column,
    }
