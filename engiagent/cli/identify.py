"""``engiagent identify``: a model from measurements."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import moving_line, print_json, refuse_used, say, say_items
from engiagent.environment.signals import duration
from engiagent.errors import EngiagentError, InputError
from engiagent.identify import plantfile
from engiagent.identify.identifying import AUTO, HELD_BACK, Identified, inputs_of
from engiagent.identify.identifying import identify as find
from engiagent.identify.machines import MACHINES, machine_map
from engiagent.identify.measurements import read_columns, read_measurements
from engiagent.identify.plantfile import PLANT, RECORD, RESIDUAL, files_of
from engiagent.identify.residual import KINDS
from engiagent.identify.structures import ROOM, STRUCTURES
from engiagent.io.files import open_inside, write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.plant.site import Site
from engiagent.report.identified import page
from engiagent.text.problem import decode_text

PAGE = "identified.html"


def _column(role: str, about: str) -> options.Decorator:
    return click.option(f"--{role.replace('_', '-')}", metavar="COLUMN", help=f"{about}.")


@click.command(epilog=exit_codes.table())
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--model",
    type=click.Choice((AUTO, *STRUCTURES, *MACHINES), case_sensitive=False),
    default=AUTO,
    show_default=True,
    help="The structure of a building, auto for the one that the data bear out, or a machine.",
)
@_column("temperature", "Temperature of the room, at the stamp")
@_column("ambient", "Temperature outside, mean of the period")
@_column("heat", "Heating power into the building, mean of the period")
@_column("cooling", "Cooling power out of it")
@_column("solar", "Irradiance; the aperture is found")
@_column("gains", "Power of people and devices, as far as it is known")
@_column("wind", "Wind speed; the infiltration that it causes is found")
@_column("air_change", "Air change, where it is known; the volume that it moves is found")
@_column("electric", "Of a machine: power that it takes; its output is --heat or --cooling")
@_column("source", "Of a heat pump: temperature of its source")
@_column("sink", "Of a heat pump: temperature of the water as it leaves")
@_column("leaving", "Of a chiller: temperature of the chilled water")
@_column("entering", "Of a chiller: temperature of the condenser's water or air")
@_column("full_load", "Of a machine: 1 where it runs at full load, by which its capacity is found")
@click.option("--gain", is_flag=True, help="Find a constant gain as well.")
@click.option(
    "--error",
    type=click.Choice(("one-step", "simulation")),
    default="one-step",
    show_default=True,
    help="What is to be small: one-step innovations, with noise of process and measurement, or the "
    "error of a simulation.",
)
@click.option(
    "--held-back",
    type=click.FloatRange(0, 0.8),
    default=HELD_BACK,
    show_default=True,
    help="Share of the record, at its end, that is predicted and not fitted.",
)
@click.option(
    "--residual",
    type=click.Choice(KINDS),
    help="Learn what the structure leaves out, as heat that weather and time of day tell of; used "
    "where it predicts what was held back better.",
)
@click.option("--zone", help="Time zone of stamps without offset, as Europe/Berlin.")
@click.option("--step", metavar="STEP", help="Bring the record to periods of this length first.")
@click.option(
    "--starts", type=click.IntRange(1, 64), default=4, show_default=True, help="Of the search."
)
@options.file_option("--template", "A plant file that gets the identified zones.")
@click.option(
    "--name",
    default=ROOM,
    show_default=True,
    help="Of the zone in the plant file; with another name its walls and inputs take it too, so "
    "that a template may have several zones.",
)
@options.folder_option(
    "--apply", "Folder of an identified building, whose plant is written for DATA, other days."
)
@click.option("--force", is_flag=True, help="Replace what an earlier call left in DIR.")
@options.folder_option(
    "--out", "Folder for plant file, report and record; by default one below runs/."
)
@options.as_json
def identify(
    data: Path,
    model: str,
    error: str,
    gain: bool,
    held_back: float,
    residual: str | None,
    zone: str | None,
    step: str | None,
    starts: int,
    template: Path | None,
    name: str,
    apply: Path | None,
    force: bool,
    out: Path | None,
    as_json: bool,
    **roles: str | None,
) -> int:
    """Identify a model of a building, or of a machine, from DATA, a table of measurements.

    Columns may have their unit in the header or behind the name, as --heat "q [W]".
    """
    folder = out or Path("runs") / f"identify-{data.stem}"
    refuse_used(folder, force)
    columns = {role: column for role, column in roles.items() if column is not None}
    if apply is not None:
        if residual or template:
            raise InputError("--apply fits nothing", expected="no --residual, no --template")
        return _apply(apply, data, columns, zone, folder, as_json)
    if model in MACHINES:
        return _machine(data, model, columns, template, inputs_of(name), folder, as_json)
    hours = duration(step, "--step") / 3600 if step else None
    measurements = read_measurements(data, columns, zone=zone, step_hours=hours)
    with moving_line() as show:
        found = find(
            measurements,
            model,
            error=error.replace("-", " "),
            gain=gain,
            share=held_back,
            residual=residual,
            starts=starts,
            zone=name,
            on_fit=show and (lambda model: show(f"fitting {model}")),
        )
    if not found.unknown:
        text, beside = _template(template, found.inputs)
        plant = plantfile.plant_text(found, text, str(template or ""))
        beside |= {found.inputs: plantfile.inputs_csv(found)}
        _write(folder, {**beside, PLANT: plant})
        if (learnt := found.residual) is not None and learnt.is_kept:
            kept = {"sha256": measurements.sha256, "function": asdict(learnt.function)}
            _write(folder, {RESIDUAL: dumps_canonical(kept)})
        found = replace(found, notes=(*found.notes, *_unplanned(folder)))
    _write(folder, {RECORD: dumps_canonical(found.to_dict()), PAGE: page(found)})
    _say(found, folder)
    if as_json:
        print_json({**found.to_dict(), "run": str(folder)})
    return int(ExitCode.ILL_POSED if found.unknown else ExitCode.FEASIBLE)


def _apply(
    run: Path, data: Path, columns: Mapping[str, str], zone: str | None, folder: Path, as_json: bool
) -> int:
    files, about = plantfile.other_days(run, data, columns, zone)
    _write(folder, files)
    about["notes"] += _unplanned(folder)
    say(f"{data.name}: inputs of the {about['model']} in {run}")
    say_items("note", about["notes"])
    say(f"  plant      {folder / PLANT}")
    if as_json:
        print_json({**about, "run": str(folder)})
    return int(ExitCode.FEASIBLE)


def _template(path: Path | None, made: str) -> tuple[str | None, dict[str, str | bytes]]:
    """Return a template's text and the data files that it names but the one that is made."""
    if path is None:
        return None, {}
    text = decode_text(open_inside(path.parent, path.name), path.name)
    return text, {name: open_inside(path.parent, name) for name in files_of(text) if name != made}


def _machine(
    data: Path,
    model: str,
    columns: Mapping[str, str],
    template: Path | None,
    inputs: str,
    folder: Path,
    as_json: bool,
) -> int:
    output, *temperatures = MACHINES[model]
    needed, others = read_columns(data, columns, ("electric", output), (*temperatures, "full_load"))
    found = machine_map(model, *needed, *others)
    text, beside = _template(template, inputs)
    plant = plantfile.machine_text(found, data.name, text, str(template or ""))
    _write(folder, {**beside, PLANT: plant, RECORD: dumps_canonical(found.to_dict())})
    say(f"{data.name}: {model}, {found.used} periods, error {100 * found.error:.2g} %")
    for slot, value in found.component().items():
        say(f"  {slot:<16} {value}")
    say_items("note", found.notes)
    say(f"  plant      {folder / PLANT}")
    if as_json:
        print_json({**found.to_dict(), "run": str(folder)})
    return int(ExitCode.FEASIBLE)


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / name, content)


def _unplanned(folder: Path) -> list[str]:
    """Return why the plant of a folder cannot be planned, as where inputs end."""
    try:
        Site.load(folder / PLANT)
    except EngiagentError as error:
        return [f"{PLANT} cannot be planned: {error}"]
    return []


def _say(found: Identified, folder: Path) -> None:
    data, fit = found.measurements, found.fit
    steps = f"{data.days:.4g} days in steps of {60 * fit.record.hours:g} min"
    say(f"{data.file}: {found.name}, {steps}")
    for e in found.estimates:
        ends = f"{e.low:.4g} to {e.high:.4g}" if e.method != "bound" else "as good as nothing"
        say(f"  {e.name:<22} {e.value:.4g} {e.unit}, {ends}")
    white = "white" if found.whiteness.is_white else "not white"
    say(f"  residuals  {fit.sigma_one_step:.3g} K one step ahead, {white}")
    if (errors := found.held_back) is not None:
        later = ", ".join(f"{rms:.3g} K {hours:g} h ahead" for hours, rms in errors.ahead.items())
        hours = len(errors.predicted) * fit.record.hours
        say(f"  held back  {later}; {errors.simulation:.3g} K simulated over {hours:g} h")
    if (learnt := found.residual) is not None:
        used = "used" if learnt.is_kept else "left out"
        one, other = (e.simulation for e in (learnt.errors, learnt.without))
        say(f"  {learnt.kind:<10} {used}: {one:.3g} K simulated, {other:.3g} K without it")
    say_items("note", found.notes)
    say_items("cannot be known", (f"{name}: {why}" for name, why in found.unknown.items()))
    if not found.unknown:
        say(f"  plant      {folder / PLANT}")
    say(f"  report     {folder / PAGE}")
