"""``engiagent audit`` and ``engiagent explain``: before solving, and after."""

from pathlib import Path

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import PROBLEM, parse_settings, solve_options
from engiagent.cli.output import WORST, clean, print_json, say, say_items
from engiagent.explain import Explanation
from engiagent.explain import explain as explained
from engiagent.explain.audit import Audit, Finding, audit_path
from engiagent.explain.text import lines_of

_STYLES = {
    **{"complete": "bold green", "plan": "bold green", "contradictory": "bold red"},
    **{"infeasible": "bold magenta", "unbounded": "bold red"},
}
"""Of verdicts and kinds; others are yellow."""


@click.command(epilog=exit_codes.table())
@click.argument("problem", type=PROBLEM)
@options.settings()
@options.as_json
@options.time_limit("For each search for requirements that cannot hold together.")
def audit(problem: Path, settings: tuple[str, ...], as_json: bool, time_limit: float) -> int:
    """Say whether PROBLEM gives enough to be solved, and whether what it gives can hold.

    PROBLEM is a problem file or folder, or a blueprint. It makes no schedule, and it reads no
    prose: audited are the plant block or the stored reading of the problem and its data files. They
    are complete, suspicious (a number looks like a slip), missing (something is not given),
    contradictory, or undecided (there is neither block nor reading, or it leaves something open).
    Exit code 3 when a contradiction is proven, 9 when something was not understood, 4 when
    something is missing or contradictory without such a proof.
    """
    found = audit_path(problem, None, parse_settings(settings), time_limit)
    code = _code_of_audit(found)
    say(f"{found.problem}: {found.verdict}", _STYLES.get(found.verdict, "bold yellow"))
    for finding in found.findings[:WORST]:
        for line in _finding_lines(finding):
            say(clean(line))
    if len(found.findings) > WORST:
        say(f"  and {len(found.findings) - WORST} more; --json lists all")
    say_items("not understood", found.not_understood)
    say_items("note", found.notes)
    if as_json:
        print_json({**found.to_dict(), "exit_code": int(code)})
    return int(code)


def _code_of_audit(found: Audit) -> ExitCode:
    """Return the exit code, as a run on the same problem would return it."""
    if found.verdict == "contradictory" and any(f.proven for f in found.of("contradictory")):
        return ExitCode.INFEASIBLE
    if found.not_understood:
        return ExitCode.UNDECIDED
    posed = found.verdict not in ("contradictory", "missing")
    return ExitCode.FEASIBLE if posed else ExitCode.ILL_POSED


def _finding_lines(finding: Finding) -> list[str]:
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
    if (proof := finding.proof) is not None:
        checked = "checked" if proof.get("checked") else "not confirmed"
        margin = proof.get("margin")
        by = f" with a margin of {margin:.3g}" if isinstance(margin, float) else ""
        least = ", and nothing in the set can be left out" if proof.get("irreducible") else ""
        lines.append(f"    = proof by {proof.get('method')}, {checked}{by}{least}")
    return [*lines, f"    = {finding.suggestion}"]


@click.command(epilog=exit_codes.table())
@click.argument("source", type=PROBLEM)
@options.settings("Give a missing value of a problem or replace one")
@options.as_json
@click.option("--backend", metavar="NAME", help="The solver, as highs or scip.")
@click.option("--gap", type=click.FloatRange(min=0), help="Relative gap of a branch and bound.")
@options.time_limit("For the solve, and again for all that is solved to explain.")
def explain(
    source: Path,
    settings: tuple[str, ...],
    as_json: bool,
    backend: str | None,
    gap: float | None,
    time_limit: float,
) -> int:
    """Say why SOURCE has no plan, has no best plan, or has just this one.

    SOURCE is a blueprint (.json), a problem file or folder, or a run folder. Where no plan exists:
    the smallest set of requirements that clash and the least changes that let a plan exist, each
    solved again. Where the objective has no end: what grows, and which limit is missing. Else: the
    active limits by worth: what a step beyond each would bring.
    """
    options = solve_options(backend=backend, gap=gap, time_limit=time_limit)
    overrides = parse_settings(settings)
    found = explained(source, overrides=overrides, options=options, seconds=time_limit)
    code = _code_of_explanation(found)
    say(f"{found.problem}: {found.summary}", _STYLES.get(found.kind, "bold yellow"))
    for line in lines_of(found):
        say(clean(line), "bold" if line.depth == 0 else None)
    if as_json:
        print_json({**found.to_dict(), "exit_code": int(code)})
    return int(code)


def _code_of_explanation(found: Explanation) -> ExitCode:
    """Return the exit code: 3 where it was shown that there is no plan."""
    if found.kind == "plan":
        return ExitCode.FEASIBLE
    if any(clash.proof.get("checked") for clash in found.clashes):
        return ExitCode.INFEASIBLE
    return ExitCode.LIMIT if found.kind == "stopped" else ExitCode.UNDECIDED
