"""``engiagent control``: a closed loop of a plant."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import PROBLEM, file_option, limits, solve_options
from engiagent.cli.output import moving_line, number, print_json, refuse_used, say, say_items
from engiagent.cli.study import read_source
from engiagent.cli.verdicts import figures_line
from engiagent.control import ClosedLoop
from engiagent.control.assessment import assess, broken_limits, prediction_errors
from engiagent.control.starting import MODEL, rival
from engiagent.control.starting import control as close
from engiagent.environment.running import as_csv
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.report.looped import lead, page, steps_csv
from engiagent.run.folder import BLUEPRINT, CONTROLLED, LOOP, SOLUTION
from engiagent.run.keyfigures import Figure
from engiagent.solvers.solution import save_solution

STEPS, PAGE, PLANT = "steps.csv", "loop.html", "plant.csv"


@click.command(epilog=exit_codes.table())
@click.argument("source", type=PROBLEM, metavar="PLANT|BLUEPRINT")
@click.option(
    "--steps", type=click.IntRange(min=1), help="Periods to apply; default all there are."
)
@click.option(
    "--horizon",
    type=click.IntRange(min=1),
    metavar="N",
    help="Periods that each plan looks ahead; by default a day, at most half of the data.",
)
@click.option(
    "--plant",
    default=MODEL,
    show_default=True,
    metavar="PLANT",
    help="What answers: model, environment, a plant file, fmu:FILE, or a function of Python as "
    "module:function.",
)
@file_option("--signals", "Which of the plant's signals is which of the plan's.")
@file_option("--actual", "What really comes: a table with columns that are forecast.")
@click.option(
    "--against",
    multiple=True,
    metavar="RULE|FILE",
    help="Run the same plant under a rule or a file of rules as well, and compare key figures; "
    "repeatable.",
)
@click.option(
    "--relax",
    multiple=True,
    metavar="NAME",
    help="A limit that may be relaxed, the first to be given up first; repeatable. By default "
    "the limits of states.",
)
@click.option(
    "--end",
    type=click.Choice(("refuse", "hold", "repeat")),
    default="refuse",
    show_default=True,
    help="What comes after the data where a plan looks beyond them.",
)
@click.option("--force", is_flag=True, help="Replace an earlier loop in DIR.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of the loop; by default one below runs/ named by the plant.",
)
@options.settings("Give or replace a value of the plant, as battery.initial_energy=40kWh")
@limits
def control(
    source: Path,
    steps: int | None,
    horizon: int | None,
    plant: str,
    signals: Path | None,
    actual: Path | None,
    against: tuple[str, ...],
    relax: tuple[str, ...],
    end: Any,
    force: bool,
    out: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> int:
    """Control PLANT in closed loop: plan, apply the first period, measure, plan again.

    States are measured from the plant's own initial values on; forecasts are its own series.
    """
    blueprint, data, name = read_source(source, settings)
    folder = out or Path("runs") / f"control-{name}"
    refuse_used(folder, force)
    # A function stands in a module of the user, beside the plant or where the command is called.
    sys.path[:0] = [str(Path.cwd()), str(data.resolve())]
    with moving_line() as show:
        loop = close(
            blueprint,
            steps,
            horizon=horizon,
            plant=plant,
            signals=signals,
            actual=actual,
            limits=[[limit] for limit in relax] or None,
            end=end,
            folder=data,
            options=solve_options(**given),
            on_step=show and (lambda done, total: show(f"step {done} of {total}")),
        )
    rivals: dict[str, tuple[Figure, ...]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for controller in against:
        record = rival(loop, controller, plant, signals, blueprint, data)
        rivals[controller] = assess(loop, record)
        write_atomic(folder / f"against-{Path(controller).stem}.csv", as_csv(record))
    compared = {rule: [f.to_dict() for f in found] for rule, found in rivals.items()}
    about = {**loop.to_dict(), "against": compared}
    write_atomic(folder / LOOP, dumps_canonical({"problem": name, **about}))
    write_atomic(folder / PAGE, page(loop, f"Closed loop: {name}", rivals))
    _write(loop, folder)
    _say(loop, rivals, folder, name)
    if as_json:
        print_json({"problem": name, "run": str(folder), **about})
    return int(_code(loop))


def _write(loop: ClosedLoop, folder: Path) -> None:
    write_atomic(folder / BLUEPRINT, loop.schedule.blueprint.to_json())
    save_solution(loop.schedule.solution, folder / SOLUTION)
    write_atomic(folder / STEPS, steps_csv(loop))
    if loop.plant is not None:
        write_atomic(folder / PLANT, as_csv(loop.plant))
        save_solution(loop.plant, folder / CONTROLLED)


def _say(
    loop: ClosedLoop, rivals: Mapping[str, tuple[Figure, ...]], folder: Path, name: str
) -> None:
    say(f"{name}: {lead(loop)}")
    cost = loop.figures.cost
    if cost is not None:
        say(f"  objective  {number(cost.value, cost.unit)}")
    say(f"  figures    {figures_line(loop.figures)}")
    say(f"  the plant  {_figures(loop.assessment)}")
    for rule, found in rivals.items():
        say(f"  against    {rule}: {_figures(found)}")
    for error in prediction_errors(loop) if loop.runner.plant is not None else ():
        off = f"{error.mean:.3g} {error.unit} off, {error.worst:.3g} {error.unit} at worst"
        say(f"  predicted  {error.state} {off}, at {error.at}")
    say_items(
        "broken",
        (
            f"{b.times} times {b.limit}, which plans kept, by {b.worst:.3g} {b.unit} at {b.place}"
            for b in broken_limits(loop)
        ),
    )
    say(f"  a step     {1000 * float(sorted(loop.seconds)[len(loop.seconds) // 2]):.0f} ms")
    first = loop.controls[0].step
    say_items(
        "relaxed",
        (
            f"{loop.times[c.step - first]}: {loop.relaxed_limits(c) or c.outcome}; {loop.reason(c)}"
            for c in loop.relaxed
        ),
    )
    if loop.stopped:
        say(f"  stopped    {loop.stopped}")
    say_items("note", loop.notes)
    say(f"  report     {folder / PAGE}")


def _figures(found: Sequence[Figure]) -> str:
    several = {f.name for f in found if sum(other.name == f.name for other in found) > 1}
    return ", ".join(
        f"{f.name.replace('_', ' ')} {f'{f.component} ' if f.name in several else ''}"
        f"{f.value:.4g}{'' if f.unit == '1' else f' {f.unit}'}"
        for f in found
        if f.value or f.name != "export"
    )


def _code(loop: ClosedLoop) -> ExitCode:
    if loop.stopped:
        return ExitCode.UNDECIDED
    return ExitCode.VIOLATED if loop.relaxed else ExitCode.FEASIBLE
