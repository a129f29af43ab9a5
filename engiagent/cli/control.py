"""``engiagent control``: a closed loop of a plant."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import COUNT, FILE, PROBLEM, file_option, limits, solve_options
from engiagent.cli.output import moving_line, number, print_json, refuse_used, say, say_items
from engiagent.cli.study import read_source
from engiagent.cli.verdicts import figures_line
from engiagent.control import ClosedLoop
from engiagent.control.assessment import CLUSTER, assess, broken_limits, prediction_errors
from engiagent.control.certificate import PLANS, RECORD, STEPS, certify_loop
from engiagent.control.rivals import per_building as of_each_building
from engiagent.control.rivals import rival
from engiagent.control.starting import MODEL, read_actual
from engiagent.control.starting import control as close
from engiagent.environment.controllers import DEFAULT, OF_ANY_PLANT, RULES
from engiagent.environment.exceeding import notes_of
from engiagent.environment.interface import imported, is_place, read_yaml
from engiagent.environment.running import as_csv
from engiagent.environment.signals import simulated
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import sha256_bytes, write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.plant.cluster import SHARES
from engiagent.plant.reading import cluster_of
from engiagent.report.looped import lead, page, steps_csv
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, CONTROLLED, LOOP, SOLUTION
from engiagent.run.keyfigures import Figure
from engiagent.scale import Spread, map_runs
from engiagent.solvers.solution import save_solution
from engiagent.text import Problem

PAGE = "loop.html"


@click.command(epilog=exit_codes.table())
@click.argument("source", type=PROBLEM, metavar="PLANT|BLUEPRINT")
@click.option("--steps", type=COUNT, help="Periods to apply; default all there are.")
@click.option(
    "--horizon",
    type=COUNT,
    metavar="N",
    help="Periods that each plan looks ahead; by default a day, at most half of the data.",
)
@click.option(
    "--plant",
    default=MODEL,
    show_default=True,
    metavar="PLANT",
    help="What answers: model, environment, a plant file, fmu:FILE, energyplus:FILE, or a function "
    "or plant of Python as module:name.",
)
@file_option("--signals", "Which of the plant's signals is which of the plan's.")
@click.option(
    "--actual",
    multiple=True,
    type=FILE,
    help="What really comes: a table with columns that are forecast; repeatable, each is then a "
    "scenario with a loop and a folder of its own.",
)
@click.option(
    "--forecast-error",
    "errors",
    multiple=True,
    metavar="NAME=VALUE",
    help="By how much forecasts of a series err far ahead, as depot.power=10%; by --seed.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="RULE|FILE|MODULE:NAME",
    help=f"Run the same plant under a rule ({', '.join(RULES)}; {DEFAULT} sets nothing), a file of "
    "rules, a controller of Python or another plan as well, and compare; repeatable.",
)
@click.option(
    "--per-building",
    multiple=True,
    type=click.Choice(SHARES),
    help="Of a cluster: let each building plan alone as well, with a share of the limits by this "
    "rule, and compare key figures; repeatable.",
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
@click.option(
    "--blocks",
    metavar="N,N,…",
    callback=lambda at, own, text: text and [COUNT.convert(n, own, at) for n in text.split(",")],
    help="Numbers of periods over which what moves a state is held, as 1,1,2,4; the last repeats.",
)
@click.option("--floor-area", metavar="AREA", help="As '192 m2', for key figures per area.")
@click.option(
    "--certify",
    is_flag=True,
    help="Let the checker judge the plan of each step, and store plans and certificate.",
)
@click.option("--force", is_flag=True, help="Replace an earlier loop in DIR.")
@options.folder_option(
    "--out", "Folder of the loop; by default one below runs/ named by the plant."
)
@options.settings("Give or replace a value of the plant, as battery.initial_energy=40kWh")
@options.places
@limits
def control(
    source: Path,
    actual: tuple[Path, ...],
    out: Path | None,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Control PLANT in closed loop: plan, apply the first period, measure, plan again.

    States are measured from the plant's own initial values on; forecasts are its own series.
    """
    folder = out or Path("runs") / f"control-{read_source(source, given['settings'])[2]}"
    if len(actual) < 2:
        code, found = _controlled(source, actual=actual[0] if actual else None, out=folder, **given)
        if as_json:
            print_json(found)
        return code
    if len({path.stem for path in actual}) < len(actual):
        raise InputError("two scenarios have one name", found=", ".join(map(str, actual)))
    blueprint, data, _ = read_source(source, given["settings"])
    read_actual(actual, blueprint, data, given["steps"], given["horizon"], end=given["end"])
    loops, codes, shared = [], [], {"source": source, **given}
    tasks = [(path, folder / path.stem) for path in actual]
    for task, outcome in zip(
        tasks, map_runs(_of_scenario, tasks, Spread(scheduler, workers), shared=shared), strict=True
    ):
        if not outcome.ok:
            raise EngiagentError(f"{task[0]}: {outcome.reason}")
        code, found = outcome.value
        codes.append(code)
        loops.append(found)
        goal = found["objective"]
        value = "stopped" if found["stopped"] else number(goal["value"], goal["unit"])
        say(f"{task[0].stem}: {value}, {len(found['relaxed'])} steps relaxed; {task[1]}")
    if as_json:
        print_json({"schema": "engiagent-loops/1", "loops": loops})
    return int(exit_codes.worst(map(ExitCode, codes)))


def _of_scenario(given: Mapping[str, Any], task: tuple[Path, Path]) -> tuple[int, dict[str, Any]]:
    return _controlled(**{**given, "actual": task[0], "out": task[1]})


def _controlled(
    source: Path,
    steps: int | None,
    horizon: int | None,
    plant: str,
    signals: Path | None,
    actual: Path | None,
    errors: tuple[str, ...],
    against: tuple[str, ...],
    per_building: tuple[str, ...],
    relax: tuple[str, ...],
    end: Any,
    blocks: list[int] | None,
    floor_area: str | None,
    certify: bool,
    force: bool,
    out: Path,
    settings: tuple[str, ...],
    **given: Any,
) -> tuple[int, dict[str, Any]]:
    """Close one loop and write its folder; return the exit code, and what there is to say of it."""
    blueprint, data, name = read_source(source, settings)
    stated = not (Blueprint.is_in(source) or (source / BLUEPRINT).is_file())
    cluster = cluster_of(Problem.load(source)) if stated else None
    if per_building and cluster is None:
        raise InputError("--per-building needs a cluster", str(source), expected="buildings: {…}")
    folder, solving = out, solve_options(**given)
    refuse_used(folder, force)
    # A function stands in a module of the user, beside the plant or where the command is called.
    sys.path[:0] = [str(Path.cwd()), str(data.resolve())]
    for text in against:  # before the loop, which may take hours
        if not (text in (*RULES, DEFAULT) or is_place(text) or Path(text).exists()):
            known = ", ".join((*RULES, DEFAULT))
            raise InputError("there is no such rule or file", found=text, expected=known)
    ruled = next((text for text in against if text in RULES and text not in OF_ANY_PLANT), None)
    alone = is_place(plant) and (simulated(plant) or hasattr(imported(plant, "a plant"), "signals"))
    if ruled is not None and alone:
        raise InputError(f"the rule {ruled} needs a plant file", plant, expected="a file of rules")
    with moving_line() as show:
        closed = partial(
            close,
            horizon=horizon,
            signals=signals,
            actual=actual,
            forecast_errors=options.parse_settings(errors, "--forecast-error", "depot.power=10%"),
            end=end,
            options=solving,
            certify=certify,
            blocks=blocks,
            floor_area=floor_area,
            on_step=None if show is None else _progress(show),
        )
        relaxing = [[limit] for limit in relax] or None
        loop = closed(blueprint, steps=steps, plant=plant, limits=relaxing, folder=data)
        loop = replace(loop, cluster=cluster)
        found = {
            text: rival(loop, _controller(text, closed), plant, signals, blueprint, data)
            for text in against
        }
    notes, applied = [*map(str, loop.exceeded)], loop.schedule.blueprint
    rivals = {text: other.figures for text, other in found.items()}
    files: dict[str, str | bytes] = {}
    for text, other in found.items():
        if other.record is not None:
            files[f"against-{Path(text).stem.replace(':', '-')}.csv"] = as_csv(other.record)
            notes += notes_of(applied, data, other.record, f"against {text}: ")
        if other.loop is not None:
            notes.append(f"{text}: {lead(other.loop)} {other.loop.stopped}".strip())
    for rule in per_building:
        record, more = of_each_building(loop, rule, end=end, options=solving, blocks=blocks)
        notes += [*more, *notes_of(applied, data, record, f"per building, {rule}: ")]
        rivals[f"per building, {rule}"] = assess(loop, record)
        files[f"per-building-{rule}.csv"] = as_csv(record)
    loop = replace(loop, notes=(*loop.notes, *notes))
    compared = {rule: [f.to_dict() for f in figures] for rule, figures in rivals.items()}
    about = {**loop.to_dict(), "against": compared, "plant": _plant(plant)}
    files[LOOP] = dumps_canonical({"problem": name, **about})
    files[PAGE] = page(loop, f"Closed loop: {name}", rivals)
    _write(loop, folder, files)
    _say(loop, rivals, folder, name)
    if certify:
        certificate = certify_loop(folder)
        write_atomic(folder / CERTIFICATE, certificate.to_json())
        say(f"  verdict    {certificate.line}")
    code = ExitCode.VIOLATED if loop.relaxed else ExitCode.FEASIBLE
    found_in = {"problem": name, "run": str(folder), **about}
    return int(ExitCode.UNDECIDED if loop.stopped else code), found_in


def _progress(show: Callable[[str], None]) -> Callable[[int, int], None]:
    return lambda done, total: show(f"step {done} of {total}")


def _controller(text: str, closed: Callable[..., ClosedLoop]) -> str | Callable[..., ClosedLoop]:
    """Return what a rule or a file of rules is called, or what closes the loop of another plan."""
    path = Path(text)
    rules = text in RULES or not path.exists()
    if rules or (path.suffix in (".yaml", ".yml") and "components" not in read_yaml(path)):
        return text
    blueprint, folder, _ = read_source(path, ())
    return partial(closed, blueprint, folder=folder, certify=False)


def _plant(place: str) -> dict[str, str | None]:
    """Return which plant answered, and the SHA-256 of its file where it has one."""
    other, (kind, _, name) = simulated(place), place.partition(":")
    spec = find_spec(kind) if name and other is None else None
    file = other[1] if other else Path(spec.origin or "" if spec is not None else place)
    return {"name": place, "sha256": sha256_bytes(file.read_bytes()) if file.is_file() else None}


def _write(loop: ClosedLoop, folder: Path, files: Mapping[str, str | bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_atomic(folder / name, content)
    for stale in (folder / CERTIFICATE, *(folder / PLANS).glob("*")):
        stale.unlink(missing_ok=True)
    for step, plan in enumerate(loop.plans):
        (folder / PLANS).mkdir(exist_ok=True)
        if plan is not None:
            write_atomic(folder / PLANS / f"{step:04d}.json", plan.blueprint.to_json())
            save_solution(plan.solution, folder / PLANS / f"{step:04d}.nc")
    write_atomic(folder / BLUEPRINT, loop.schedule.blueprint.to_json())
    save_solution(loop.schedule.solution, folder / SOLUTION)
    write_atomic(folder / STEPS, steps_csv(loop))
    if loop.plant is not None:
        write_atomic(folder / RECORD, as_csv(loop.plant))
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
    broken = (
        f"{b.times} times {b.limit}, which plans kept, by {b.worst:.3g} {b.unit} at {b.place}"
        for b in broken_limits(loop)
    )
    say_items("broken", broken)
    first = loop.controls[0].step
    relaxed = (
        f"{loop.times[c.step - first]}: {loop.relaxed_limits(c) or c.outcome}; {loop.reason(c)}"
        for c in loop.relaxed
    )
    say_items("relaxed", relaxed)
    if loop.stopped:
        say(f"  stopped    {loop.stopped}")
    say_items("note", loop.notes)
    say(f"  report     {folder / PAGE}")


def _figures(found: Sequence[Figure]) -> str:
    """Return figures in a line, of a cluster those of all buildings alone."""
    found = [figure for figure in found if figure.component == CLUSTER] or found
    several = {f.name for f in found if sum(other.name == f.name for other in found) > 1}
    shown = [f for f in found if f.value or f.name != "export"]
    owners = (f"{f.component or f.bus or 'in all'} " if f.name in several else "" for f in shown)
    return ", ".join(
        f"{f.name.replace('_', ' ')} {owner}{f.value:.4g}{'' if f.unit == '1' else f' {f.unit}'}"
        for f, owner in zip(shown, owners, strict=True)
    )
