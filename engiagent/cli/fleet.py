"""``engiagent fleet``."""

from pathlib import Path

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import COUNT, POSITIVE
from engiagent.cli.output import WORST, clean, moving_line, number, percent, print_json, say
from engiagent.errors import InputError
from engiagent.fleet import Fleet, run_fleet, verify_fleet
from engiagent.fleet.assets import Json
from engiagent.fleet.results import FAILED, SUMMARY, read_summary
from engiagent.fleet.running import How
from engiagent.scale import Spread


@click.command(epilog=exit_codes.table())
@click.argument("source", type=click.Path(path_type=Path), metavar="FLEET.yaml|DIR")
@options.folder_option("--out", "Folder of plans, certificates and the summary; runs/NAME without.")
@click.option(
    "--gap",
    type=POSITIVE,
    default=1e-3,
    show_default=True,
    help="Between the cost under a shared limit and its proven bound, relative to the cost.",
)
@click.option(
    "--rounds", type=COUNT, default=100, show_default=True, help="Of the decomposition, at most."
)
@click.option("--time-limit", type=POSITIVE, metavar="S", help="Wall-clock limit of one asset.")
@click.option(
    "--memory-limit", type=POSITIVE, metavar="MB", help="What one asset may take on its worker."
)
@click.option("--force", is_flag=True, help="Begin anew in a folder that holds something else.")
@options.places
@options.as_json
def fleet(
    source: Path,
    out: Path | None,
    gap: float,
    rounds: int,
    time_limit: float | None,
    memory_limit: float | None,
    force: bool,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> int:
    """Plan many assets: a template site, and a table with a row for each.

    Each asset gets a plan and a certificate, and all of them one summary. A limit that they share
    is kept by a price decomposition with a proven bound. Cut off and started again, it goes on. A
    folder that holds a fleet is verified: certificates, hashes, sums and the bound are computed
    again from what it holds, and nothing is solved.
    """
    if not source.exists():
        raise InputError("there is no such file or folder", str(source))
    if source.is_dir():
        return _verified(source, as_json)
    described = Fleet.load(source)
    folder = out or Path("runs") / source.stem
    with moving_line() as line:
        spread = Spread(scheduler, workers, time_limit, memory_limit)
        how = How(spread, gap=gap, rounds=rounds, on_text=line, force=force)
        found = run_fleet(described, folder, how)
    _tell(found)
    say(f"  written    {folder / SUMMARY}")
    if as_json:
        print_json(found)
    return int(code_of(found))


def code_of(found: Json) -> ExitCode:
    """Return the exit code of a summary: that of the worst asset, or of the shared limit."""
    verdicts = (None if name == FAILED else name for name in found["counts"])
    codes = [exit_codes.of_verdict(verdict) for verdict in verdicts]
    shared = found.get("shared_limit")
    clash = (shared or {}).get("clash") or {"is_proven": False}
    if clash["is_proven"] and clash["assets"] == len(found["unanswered"]):
        return ExitCode.INFEASIBLE
    if shared is not None and not shared["holds"]:
        codes.append(ExitCode.VIOLATED if found["bound"] is not None else ExitCode.UNDECIDED)
    return exit_codes.worst(codes)


def _verified(folder: Path, as_json: bool) -> int:
    found = read_summary(folder)
    try:
        wrong = verify_fleet(folder)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"the fleet cannot be read: {error}", str(folder)) from None
    for text in wrong:
        say(f"  does not hold: {text}", "bold red", always=True)
    if not wrong:
        _tell(found)
        say("  the summary is what its plans and certificates come to", "green")
    if as_json:
        print_json({**found, "astray": wrong})
    return int(ExitCode.VIOLATED if wrong else code_of(found))


def _tell(found: Json) -> None:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found["counts"].items())
    say(f"{found['title']}: {found['assets']} assets, {counts}", "bold")
    goal, bound = found["objective"], found["bound"]
    text = f"{number(goal['value'], goal['unit'])} ({goal['sense']})"
    if found["unanswered"]:
        text += f" of the {found['assets'] - len(found['unanswered'])} that answered"
    if bound is not None:
        text += f", bound {number(bound['value'], goal['unit'])}, gap {percent(bound['gap'])}"
    say(f"  objective  {text}")
    shared = found.get("shared_limit")
    if shared is not None:
        margin = number(shared["margin"], shared["unit"])
        state = f"holds, least margin {margin}" if shared["holds"] else "does not hold"
        say(f"  shared     the limit {state}, after {shared['rounds']} rounds")
        clash = shared.get("clash") or {"is_proven": False}
        if clash["is_proven"]:
            side, word = (-1, "at most") if shared["is_lower"] else (1, "at least")
            needs, allowed = (number(side * clash[k], shared["unit"]) for k in ("needs", "allowed"))
            say(f"             no plans keep it: weighted by period, all of them come to {word}")
            say(f"             {needs}, and the limit to {allowed}")
    for row in found["unanswered"][:WORST]:
        say(clean(f"  left out   {row['asset']}: {row['reason']}"))
    more = len(found["unanswered"]) - WORST
    if more > 0:
        say(f"             and {more} more; {SUMMARY} names all")
    for note in found["notes"]:
        say(f"  note       {note}")
