"""``engiagent check``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.checking import CheckResult, Examiner, disturbances_in, tally
from engiagent.cli.ci import annotations, append_summary, markdown, write_junit
from engiagent.cli.options import PROBLEM, further_proofs, limits, parse_settings, solve_options
from engiagent.cli.output import (
    WORST,
    clean,
    number,
    percent,
    print_json,
    say,
    say_error,
    say_items,
)
from engiagent.cli.sarif import checks_to_sarif
from engiagent.cli.verdicts import say_verdict
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.run.certify import title_of
from engiagent.run.proofs import Proofs
from engiagent.verify.disturbances import parse_disturbances
from engiagent.verify.foreign import Reading, load_mapping

READING = ("mappings", "units", "labels", "hold", "zone", "decimal")
"""The names under which the options come to the command."""
_FILES = (".yaml", ".yml", ".json")


def schedule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about columns, units and clocks of a schedule."""
    for option in reversed(
        [
            click.option(
                "--map",
                "mappings",
                multiple=True,
                metavar="QUANTITY=COLUMN",
                help="Which column is which quantity, or a mapping file (.yaml); repeatable.",
            ),
            click.option(
                "--unit",
                "units",
                multiple=True,
                metavar="COLUMN=UNIT",
                help="The unit of a column that names none; repeatable.",
            ),
            click.option(
                "--labels",
                type=click.Choice(["start", "end"]),
                help="Whether time stamps name the starts of periods (the default) or the ends.",
            ),
            click.option(
                "--hold",
                is_flag=True,
                default=False,
                help="Take powers that are given for longer periods as constant over them.",
            ),
            click.option("--zone", metavar="ZONE", help="The zone of stamps without an offset."),
            click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark."),
        ]
    ):
        command = option(command)
    return command


def reading_of(mappings: tuple[str, ...], units: tuple[str, ...], **given: Any) -> Reading | None:
    """Return how a schedule is to be read; None without any option.

    What stands on the command line goes before what a mapping file says.
    """
    files = [text for text in mappings if "=" not in text and text.endswith(_FILES)]
    pairs = tuple(text for text in mappings if text not in files)
    said = {name: value for name, value in given.items() if value not in (None, False)}
    if not (files or pairs or units or said):
        return None
    asked: dict[str, Any] = {}
    for file in files:
        for name, value in load_mapping(Path(file)).to_dict().items():
            asked[name] = {**asked.get(name, {}), **value} if isinstance(value, Mapping) else value
    own = {
        "mapping": parse_settings(pairs, "--map", "battery.charge=P_ch"),
        "units": parse_settings(units, "--unit", "P_ch=kW"),
    }
    for name, value in own.items():
        asked[name] = {**asked.get(name, {}), **value}
    return Reading(**{**asked, **said})


@click.command(epilog=exit_codes.table())
@click.argument("paths", nargs=-1, type=PROBLEM, metavar="PATH…")
@click.option(
    "--solution",
    "solutions",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A schedule made by anybody: CSV, JSON, Parquet or netCDF; repeatable.",
)
@schedule_options
@options.file_option(
    "--certificate",
    "A certificate to verify against the inputs in PATH, by default in the folder of FILE.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep --solution, what it was checked against and its certificate in a new folder.",
)
@options.file_option("--junit", "Also write the results as JUnit XML.")
@options.file_option("--sarif", "Also write what is wrong as SARIF 2.1.0, with file and line.")
@click.option(
    "--github",
    is_flag=True,
    help="Also print annotations for GitHub, and a table into $GITHUB_STEP_SUMMARY.",
)
@options.file_option("--summary", "Also write a table of all results as Markdown.")
@click.option(
    "--disturb",
    metavar="SPEC",
    help="Also run the plan with noise on series, as load.power=5%,outdoor=0.5K,runs=100,seed=1.",
)
@further_proofs
@limits
def check(
    paths: tuple[Path, ...],
    solutions: tuple[Path, ...],
    certificate: Path | None,
    out: Path | None,
    junit: Path | None,
    sarif: Path | None,
    github: bool,
    summary: Path | None,
    disturb: str | None,
    exact: bool,
    second_solver: str | None,
    as_json: bool,
    **limits: Any,
) -> int:
    """Check schedules, runs, blueprints or a whole corpus.

    PATH is a problem with --solution, a run folder (checked again from what it holds), a blueprint
    or a plant (solved, then checked), or a problem with expert/ beside it: that is right when
    certificate and stored answer agree, and the exit code is then 0 even where the answer is that
    no schedule exists. Of a folder all that is in it and below is checked, files called schedule*
    against the problem or blueprint beside them; what cannot be checked fails. With --certificate
    the check has to come to exactly that certificate, whatever its verdict: exit code 0 when it
    does, 1 with every difference when not.
    """
    if certificate is not None and not certificate.is_file():
        raise InputError("there is no such file", str(certificate), expected="a certificate")
    if certificate is not None and not paths:
        paths = (certificate.parent,)
    if not paths:
        raise click.UsageError("Missing argument 'PATH…'.")
    for name, given in (("--solution", solutions), ("--certificate", certificate)):
        if given and len(paths) > 1:
            raise click.UsageError(f"{name} belongs to one PATH")
    for name, one in (("--certificate", certificate), ("--out", out)):
        if one is not None and len(solutions) > 1:
            raise click.UsageError(f"{name} belongs to one --solution")
    reading = reading_of(**{name: limits.pop(name) for name in READING})
    folders = any(path.is_dir() for path in paths)
    for name, lacks in (("--map, as all about columns,", reading and not folders), ("--out", out)):
        if lacks and not solutions:
            raise click.UsageError(f"{name} needs --solution")
    proofs = Proofs(exact, second_solver)
    noise = None if disturb is None else parse_disturbances(disturb)
    if certificate is not None and noise is None:
        noise = disturbances_in(certificate)
    examiner = Examiner(
        solve_options(**limits),
        reading=reading,
        out=out,
        proofs=proofs,
        disturb=noise,
        certificate=certificate,
    )
    make_folders(place for place in (junit, sarif, summary) if place is not None)
    results: list[CheckResult] = []
    for path, solution in product(paths, solutions or (None,)):
        for result in replace(examiner, solution=solution).examine(path):
            shown = replace(result, path=str(solution)) if len(solutions) > 1 else result
            results.append(shown)
            tell(shown)
    code = exit_codes.worst(result.code for result in results)
    if len(results) > 1:
        tell_table(results)
    write_results(results, junit, sarif, summary, github=github)
    if as_json:
        only = len(results) == 1
        print_json(results[0].to_json() if only else overall(results, code))
    return int(code)


def make_folders(files: Iterable[Path]) -> None:
    """Make the folders of files that are written when all has been checked."""
    for file in files:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            said = f"cannot make the folder: {error.strerror}"
            raise InputError(said, str(file.parent)) from None


def write_results(
    results: Sequence[CheckResult],
    junit: Path | None,
    sarif: Path | None,
    summary: Path | None,
    *,
    github: bool,
) -> None:
    """Write the results in the forms that CI systems read."""
    if junit is not None:
        write_junit(results, junit)
    if sarif is not None:
        write_atomic(sarif, dumps_canonical(checks_to_sarif(results)))
    if summary is not None:
        write_atomic(summary, markdown(results))
    if github:
        # On standard error, which GitHub reads as well: standard output may be one JSON object.
        for line in annotations(results):
            click.echo(line, err=True)
        append_summary(results)


def overall(results: Sequence[CheckResult], code: exit_codes.ExitCode) -> dict[str, object]:
    """Return the JSON object of several results; the verdict is that of the worst."""
    worst = next((result for result in results if result.code == code), None)
    return {
        "schema": "engiagent-checks/1",
        "verdict": worst.verdict if worst is not None else None,
        "exit_code": int(code),
        "results": [
            {"path": result.path, **result.to_json(), "exit_code": int(result.code)}
            for result in results
        ],
    }


def tell(result: CheckResult) -> None:
    """Print one result for people."""
    if result.error is not None:
        say_error(f"{result.path}: {result.error}")
        return
    say_verdict(result, result.problem or Path(result.path).name)
    say_items("note", result.notes)
    if result.distance is not None:
        say(f"  best       {distance_line(result.distance, result.objective or {})}")
    if result.disturbance is not None:
        tell_disturbance(result.disturbance, result.certificate or {})
    if result.differences is not None:
        tell_differences(result)


def distance_line(found: Mapping[str, Any], goal: Mapping[str, Any]) -> str:
    """Return in words how far a schedule is from the best plan that a solver finds."""
    amount = number(found["value"], goal.get("unit"))
    worse, share = found["worse_by"], found["share"]
    side = "below" if goal.get("sense") == "maximize" else "above"
    shown = number(worse, goal.get("unit")) if share is None else percent(share)
    close = abs(worse) <= 1e-6 * max(abs(found["value"]), 1e-9)
    said = "this schedule reaches it" if close else f"this schedule is {shown} {side} it"
    if worse < 0 and not close:
        said = "this schedule comes out better" + found["proven"] * ", as no plan that holds can"
    doubt = "" if found["proven"] else ", the best that was found"
    return f"{amount}{doubt}; {said}"


def tell_disturbance(found: Mapping[str, Any], certificate: Mapping[str, Any]) -> None:
    """Print in how many runs with disturbances all limits hold, and which do not."""
    say(clean(f"  {found['runs']} runs with {found['spec']}: limits hold in {found['held']:.1%}"))
    algebra = (certificate.get("levels") or {}).get("algebra") or {}
    names = {check.get("id"): title_of(check) for check in algebra.get("checks") or ()}
    for limit in [limit for limit in found["limits"] if limit["broken"]][:WORST]:
        worst = limit["worst"]
        excess = "" if worst is None else f", at worst by {number(worst, limit['unit'] or '')}"
        name = names.get(limit["id"], limit["id"])
        say(clean(f"    {name}: violated in {limit['broken']:.1%}{excess}"))


def tell_differences(result: CheckResult) -> None:
    """Print whether the stored certificate holds, and where it does not."""
    differences = result.differences or ()
    if result.verified:
        allowed = f" ({len(differences)} by rounding or version)" if differences else ""
        say(f"  the stored certificate holds{allowed}", "green")
        return
    say("  the stored certificate does not hold:", "bold red")
    wrong = [difference for difference in differences if not difference.allowed]
    for difference in wrong[:WORST]:
        say(clean(f"    {difference}"))
    if len(wrong) > WORST:
        say(f"    and {len(wrong) - WORST} more; --json lists all")


def tell_table(results: Sequence[CheckResult]) -> None:
    """Print a line for each of several results."""
    say("")
    width = max(len(result.path) for result in results)
    for result in results:
        state = "ok  " if result.code is exit_codes.ExitCode.FEASIBLE else f"({int(result.code)}) "
        state = "--  " if result.skipped else state
        say(clean(f"{state} {result.path:<{width}}  {result.word:<18} {result.amount}"))
    say(tally(results))
