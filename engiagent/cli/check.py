"""``engiagent check``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.checking import Examiner, disturbances_in
from engiagent.cli.ci import annotations, append_summary, markdown, write_junit
from engiagent.cli.options import (
    FILE,
    PROBLEM,
    added,
    file_option,
    further_proofs,
    limits,
    parse_settings,
    solve_options,
)
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
from engiagent.cli.results import CheckResult, tally
from engiagent.cli.verdicts import say_verdict
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.run.certify import title_of
from engiagent.run.proofs import Proofs
from engiagent.scale.work import Spread
from engiagent.verify.disturbances import parse_disturbances
from engiagent.verify.foreign import Reading, load_mapping

_READING: Final = ("mappings", "units", "labels", "hold", "zone", "decimal")
"""The names under which the options about columns come to the command."""

_columns = added(
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
)


def _reading(mappings: tuple[str, ...], units: tuple[str, ...], **given: Any) -> Reading | None:
    """Return how a schedule is to be read; None without any option.

    What stands on the command line goes before what a mapping file says.
    """
    files = [t for t in mappings if "=" not in t and t.endswith((".yaml", ".yml", ".json"))]
    pairs = tuple(text for text in mappings if text not in files)
    said = {name: value for name, value in given.items() if value not in (None, False)}
    if not (files or pairs or units or said):
        return None
    stated = [load_mapping(Path(file)).to_dict() for file in files]
    own = {
        "mapping": parse_settings(pairs, "--map", "battery.charge=P_ch"),
        "units": parse_settings(units, "--unit", "P_ch=kW"),
    }
    asked: dict[str, Any] = {}
    for name, value in (pair for part in (*stated, own) for pair in part.items()):
        asked[name] = {**asked.get(name, {}), **value} if isinstance(value, Mapping) else value
    return Reading(**{**asked, **said})


@click.command(epilog=exit_codes.table())
@click.argument("paths", nargs=-1, type=PROBLEM, metavar="PATH…")
@click.option(
    "--solution",
    "solutions",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A schedule from another tool: CSV, JSON, Parquet or netCDF; repeatable.",
)
@_columns
@file_option(
    "--certificate",
    "A certificate to verify against the inputs in PATH, by default in the folder of FILE.",
)
@options.folder_option(
    "--out", "Store --solution, what it was checked against and its certificate in a new folder."
)
@file_option("--junit", "Also write the results as JUnit XML.")
@click.option(
    "--github",
    is_flag=True,
    help="Also print annotations for GitHub, and a table into $GITHUB_STEP_SUMMARY.",
)
@file_option("--summary", "Also write a table of all results as Markdown.")
@click.option(
    "--disturb",
    metavar="SPEC",
    help="Also run the plan with noise on series, as load.power=5%,outdoor=0.5K,runs=100,seed=1.",
)
@options.places
@further_proofs
@limits
def check(
    paths: tuple[Path, ...],
    solutions: tuple[Path, ...],
    certificate: Path | None,
    out: Path | None,
    junit: Path | None,
    github: bool,
    summary: Path | None,
    disturb: str | None,
    workers: int | None,
    scheduler: str | None,
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
    reading = _reading(**{name: limits.pop(name) for name in _READING})
    columns = reading is not None and not any(path.is_dir() for path in paths)
    for wrong, said in (
        (solutions and len(paths) > 1, "--solution belongs to one PATH"),
        (certificate and len(paths) > 1, "--certificate belongs to one PATH"),
        (certificate and len(solutions) > 1, "--certificate belongs to one --solution"),
        (out and len(solutions) > 1, "--out belongs to one --solution"),
        (columns and not solutions, "--map, as all about columns, needs --solution"),
        (out and not solutions, "--out needs --solution"),
    ):
        if wrong:
            raise click.UsageError(said)
    noise = None if disturb is None else parse_disturbances(disturb)
    if certificate is not None and noise is None:
        noise = disturbances_in(certificate)
    examiner = Examiner(
        solve_options(**limits),
        reading=reading,
        out=out,
        proofs=Proofs(exact, second_solver),
        disturb=noise,
        spread=Spread(scheduler, workers),
        certificate=certificate,
    )
    for file in (junit, summary):
        if file is not None:
            _make_folder(file.parent)
    results: list[CheckResult] = []
    for path, solution in product(paths, solutions or (None,)):
        for result in replace(examiner, solution=solution).examine(path, with_figures=as_json):
            shown = replace(result, path=str(solution)) if len(solutions) > 1 else result
            results.append(shown)
            tell(shown)
    code = exit_codes.worst(result.code for result in results)
    if len(results) > 1:
        _tell_table(results)
    if junit is not None:
        write_junit(results, junit)
    if summary is not None:
        write_atomic(summary, markdown(results))
    if github:
        # On standard error, which GitHub reads as well: standard output may be one JSON object.
        for line in annotations(results):
            click.echo(line, err=True)
        append_summary(results)
    if as_json:
        print_json(results[0].to_json() if len(results) == 1 else _overall(results, code))
    return int(code)


def _make_folder(folder: Path) -> None:
    """Make the folder of a file that is written when all has been checked."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {error.strerror}", str(folder)) from None


def _overall(results: Sequence[CheckResult], code: exit_codes.ExitCode) -> dict[str, object]:
    """Return the JSON object of several results; the verdict is that of the worst."""
    worst = next((result for result in results if result.code == code), None)
    rows = [{"path": r.path, **r.to_json(), "exit_code": int(r.code)} for r in results]
    verdict = worst.verdict if worst is not None else None
    about = {"schema": "engiagent-checks/1", "verdict": verdict, "exit_code": int(code)}
    return {**about, "results": rows}


def tell(result: CheckResult) -> None:
    """Print one result for people."""
    if result.error is not None:
        say_error(f"{result.path}: {result.error}")
        return
    say_verdict(result, result.problem or Path(result.path).name)
    say_items("note", result.notes)
    if result.distance is not None:
        holds = result.verdict != "violated"
        line = _distance_line(result.distance, result.objective or {}, holds)
        say(f"  best       {line}")
    _tell_disturbance(result.certificate)
    if result.differences is not None:
        _tell_differences(result)


def _distance_line(found: Mapping[str, Any], goal: Mapping[str, Any], holds: bool) -> str:
    """Return in words how far a schedule is from the best plan that a solver finds."""
    amount = number(found["value"], goal.get("unit"))
    worse, share = found["worse_by"], found["share"]
    side = "below" if goal.get("sense") == "maximize" else "above"
    shown = number(worse, goal.get("unit")) if share is None else percent(share)
    close = abs(worse) <= 1e-6 * max(abs(found["value"]), 1e-9)
    reached = "reaches it" if holds else "comes to the same, but does not hold"
    said = f"this schedule {reached}" if close else f"this schedule is {shown} {side} it"
    if worse < 0 and not close:
        said = "this schedule comes out better" + found["proven"] * ", as no plan that holds can"
    doubt = "" if found["proven"] else ", the best that was found"
    return f"{amount}{doubt}; {said}"


def _tell_disturbance(certificate: Mapping[str, Any]) -> None:
    """Print in how many runs with disturbances all limits hold, and which do not."""
    levels = certificate.get("levels") or {}
    found = (levels.get("physics") or {}).get("disturbance")
    if found is None:
        return
    say(clean(f"  {found['runs']} runs with {found['spec']}: limits hold in {found['held']:.1%}"))
    checks = (levels.get("algebra") or {}).get("checks") or ()
    names = {check.get("id"): title_of(check) for check in checks}
    for limit in [limit for limit in found["limits"] if limit["broken"]][:WORST]:
        worst = limit["worst"]
        excess = "" if worst is None else f", at worst by {number(worst, limit['unit'] or '')}"
        name = names.get(limit["id"], limit["id"])
        say(clean(f"    {name}: violated in {limit['broken']:.1%}{excess}"))


def _tell_differences(result: CheckResult) -> None:
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


def _tell_table(results: Sequence[CheckResult]) -> None:
    """Print a line for each of several results."""
    say("")
    width = max(len(result.path) for result in results)
    for result in results:
        state = "ok  " if result.code is exit_codes.ExitCode.FEASIBLE else f"({int(result.code)}) "
        state = "--  " if result.skipped else state
        say(clean(f"{state} {result.path:<{width}}  {result.word:<18} {result.amount}"))
    say(tally(results))
