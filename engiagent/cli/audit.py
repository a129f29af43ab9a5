"""``engiagent audit``."""

from pathlib import Path

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import PROBLEM, parse_settings
from engiagent.cli.output import WORST, clean, print_json, say, say_items
from engiagent.explain.audit import Audit, Finding, audit_path

_STYLES = {
    "complete": "bold green",
    "undecided": "bold yellow",
    "suspicious": "bold yellow",
    "missing": "bold yellow",
    "contradictory": "bold red",
}


@click.command(epilog=exit_codes.table())
@click.argument("problem", type=PROBLEM)
@options.file_option(
    "--blueprint", "Audit this blueprint of the problem instead of the one that it states."
)
@options.settings()
@options.as_json
@click.option(
    "--fail-on",
    type=click.Choice(["suspicious", "missing"]),
    default="missing",
    show_default=True,
    help="The mildest finding that makes the exit code other than 0.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="S",
    help="For each search for requirements that cannot hold together.",
)
def audit(
    problem: Path,
    blueprint: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    fail_on: str,
    time_limit: float,
) -> int:
    """Say whether PROBLEM gives enough to be solved, and whether what it gives can hold.

    PROBLEM is a problem file or folder, or a blueprint. It makes no schedule, and it reads no
    prose: audited are the plant block or the stored reading of the problem and its data files. They
    are complete, suspicious (a number looks like a slip), missing (something is not given),
    contradictory, or undecided (there is neither block nor reading, or it leaves something open).
    Exit code 3 when a contradiction is proven, 9 when something was not understood, 4 when
    something is missing or contradictory without such a proof, 1 when something is suspicious and
    --fail-on asks for it.
    """
    if blueprint is not None and settings:
        raise click.UsageError("--set belongs to a problem, not to --blueprint")
    found = audit_path(problem, blueprint, parse_settings(settings), time_limit)
    code = exit_code(found, fail_on)
    tell(found)
    if as_json:
        print_json({**found.to_dict(), "exit_code": int(code)})
    return int(code)


def exit_code(found: Audit, fail_on: str = "missing") -> ExitCode:
    """Return the exit code of an audit, as a run on the same problem would return it."""
    if found.verdict == "contradictory" and any(f.proven for f in found.of("contradictory")):
        return ExitCode.INFEASIBLE
    if found.not_understood:
        return ExitCode.UNDECIDED
    if found.verdict in ("contradictory", "missing"):
        return ExitCode.ILL_POSED
    if found.verdict == "suspicious" and fail_on == "suspicious":
        return ExitCode.VIOLATED
    return ExitCode.FEASIBLE


def tell(found: Audit) -> None:
    """Print an audit for people."""
    say(f"{found.problem}: {found.verdict}", _STYLES[found.verdict])
    for finding in found.findings[:WORST]:
        for line in finding_lines(finding):
            say(clean(line))
    if len(found.findings) > WORST:
        say(f"  and {len(found.findings) - WORST} more; --json lists all")
    say_items("not understood", found.not_understood)
    say_items("note", found.notes)


def finding_lines(finding: Finding) -> list[str]:
    """Return a finding as lines: what it is, what it rests on with the places, what to do."""
    lines = [f"  {finding.severity}: {finding.subject} [{finding.code}]"]
    if finding.parts:
        lines.append(f"    {finding.explanation.split(': (1) ')[0]}")
        for number, part in enumerate(finding.parts, 1):
            lines.append(f"    ({number}) {part.text}")
            lines += [f"          {place}" for place in part.places]
    else:
        lines.append(f"    {finding.explanation}")
        lines += [f"          {place}" for place in finding.places]
    if finding.proof is not None:
        lines.append(f"    = {proof_line(finding)}")
    lines.append(f"    = {finding.suggestion}")
    return lines


def proof_line(finding: Finding) -> str:
    """Return how a clash is known."""
    proof = finding.proof or {}
    checked = "checked" if proof.get("checked") else "not confirmed"
    margin = proof.get("margin")
    by = f" with a margin of {margin:.3g}" if isinstance(margin, float) else ""
    least = ", and nothing in the set can be left out" if proof.get("irreducible") else ""
    return f"proof by {proof.get('method')}, {checked}{by}{least}"
