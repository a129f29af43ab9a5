"""``engiagent simulate``: a plant that runs under a controller, recorded."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import file_option
from engiagent.cli.output import moving_line, number, print_json, refuse_used, say, say_items
from engiagent.cli.study import read_source
from engiagent.environment.controllers import RULES, chosen, joined
from engiagent.environment.environment import BALANCE, Answered, Environment
from engiagent.environment.exceeding import exceeded, unserved
from engiagent.environment.interface import Runs, imported, is_place
from engiagent.environment.running import DATA, SCHEMA, dated, read_forcing, run, write_record
from engiagent.environment.signals import Connected, Signals, duration, opened
from engiagent.environment.wear import read_ageing, wear
from engiagent.errors import InputError


@click.command(epilog=exit_codes.table())
@click.argument("plant", metavar="PLANT|fmu:FILE|energyplus:FILE|MODULE:NAME")
@click.option("--plant", "function", metavar="MODULE:FUNCTION", help="What answers in its place.")
@file_option("--signals", "Names and units of the signals of PLANT; a simulator's needs them.")
@click.option(
    "--controller",
    metavar="RULE|FILE|MODULE:NAME",
    multiple=True,
    help=f"What sets inputs: {', '.join(RULES)}, a file of rules, or a controller of Python; a "
    "later one goes before.",
)
@click.option(
    "--inputs",
    metavar="FILE|MODULE:NAME",
    help="A table with a column of time and one for each input that it sets, or a disturbance "
    "of Python.",
)
@file_option("--ageing", "By battery what it loses by cycles and time, as cycles_at_full_depth.")
@click.option("--steps", type=options.COUNT, help="How many; all that the series have.")
@click.option("--step", metavar="TIME", help="Length of a step, as 15min; that of the plant file.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all chance.")
@click.option("--force", is_flag=True, help="Replace an earlier run in DIR.")
@options.folder_option("--out", "Folder of the run; by default one below runs/ named by the plant.")
@options.settings("Give or replace a value of the plant, as battery.energy_capacity=40kWh")
@options.as_json
def simulate(
    plant: str,
    function: str | None,
    signals: Path | None,
    controller: tuple[str, ...],
    inputs: str | None,
    ageing: Path | None,
    steps: int | None,
    step: str | None,
    seed: int,
    force: bool,
    out: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run PLANT in steps and record every signal: data.csv, data.nc and simulation.json.

    Without a controller inputs have their defaults, and machines serve what their bus leaves.
    """
    names = None if signals is None else Signals.load(signals)
    life = {} if ageing is None else read_ageing(ageing)
    unit: Runs
    begins = seconds = available = None
    sys.path.insert(0, str(Path.cwd()))
    if is_place(plant):
        if life:
            raise InputError("--ageing needs a plant file, whose batteries age", plant)
        unit, name = opened(plant, names), Path(plant.partition(":")[2]).stem
        if function is not None or not hasattr(unit, "signals"):
            said, expected = "a function answers for a plant file", "PLANT.yaml --plant FUNCTION"
            raise InputError(said, found=plant, expected=expected)
        begins = None if names is None or names.begins is None else dated(names.begins)
    else:
        blueprint, data, name = read_source(Path(plant), settings)
        sys.path.insert(0, str(data.resolve()))
        answer = function and opened(function, None)
        site = Environment(blueprint, data, life)
        if answer:
            site = Answered(blueprint, data, answer, life)
        unit = site if names is None else Connected(site, names)
        begins, seconds, available = site.begins, site.seconds, site.duration
    folder = out or Path("runs") / f"simulate-{name}"
    refuse_used(folder, force)
    zone = None if begins is None else begins.zone
    forcing: Any = None
    if inputs is not None and is_place(inputs):
        forcing = imported(inputs, "a table, or module:name")
    elif inputs is not None:
        forcing = read_forcing(Path(inputs), unit.signals, zone)
    length = duration(step, "--step") if step is not None else seconds or 3600.0
    held = getattr(forcing, "duration", None)
    if held is not None:
        available = held if available is None else min(available, held)
    if steps is None and available is None:
        raise InputError("nothing says how long to run", expected="--steps N, or --inputs FILE")
    count = steps or int((available or 0.0) // length + 1e-9)
    parts = [chosen(text, unit) for text in controller]
    with moving_line() as show:
        data_set = run(
            unit,
            count,
            length,
            joined(*parts) if parts else None,
            forcing=forcing,
            begins=begins,
            seed=seed,
            on_step=show and (lambda done, total: show(f"step {done} of {total}")),
        )
    notes = [*getattr(unit, "notes", lambda: ())(), *unserved(data_set)]
    if steps is None and (rest := (available or 0.0) - count * length) > 1.0:
        notes.append(f"the last {rest / 60:g} min of the series are no whole step and did not run")
    summary: dict[str, Any] = {"schema": SCHEMA, "plant": name, "steps": count}
    summary |= {"step_seconds": length}
    own = None
    if isinstance(unit, Environment):
        own, cost = unit.blueprint_over(count), unit.cost(data_set)
        beyond = [*exceeded(own, data, data_set)]
        notes += map(str, beyond)
        summary["exceeded"] = [asdict(item) for item in beyond]
        summary |= {BALANCE: unit.imbalance, "cost": cost, "emissions": unit.emissions(data_set)}
        summary["batteries"] = worn = wear(unit.built.units, data_set, life)
    summary["notes"] = notes
    write_record(folder, data_set, summary, own)
    say(f"{name}: {count} steps of {length / 60:g} min")
    if isinstance(unit, Environment):
        if cost is not None:
            say(f"  cost       {number(cost['value'], cost['unit'])}")
        if (emitted := summary["emissions"]) is not None:
            say(f"  emissions  {number(emitted['value'], emitted['unit'])}")
        for battery, figures in worn.items():
            share = figures["capacity_lost"]
            loss = "" if share is None else f", {100 * share:.3g} % of its capacity lost"
            through = number(figures["throughput"], "kWh")
            say(f"  {battery:10} {through} discharged, {figures['full_cycles']:.3g} cycles{loss}")
        say(f"  balance    energy is off by at most {unit.imbalance:.1e} of what flows in a step")
    say_items("note", notes)
    say(f"  data       {folder / DATA}")
    if as_json:
        print_json({**summary, "run": str(folder)})
    return int(ExitCode.FEASIBLE)
