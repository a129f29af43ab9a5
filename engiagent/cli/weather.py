"""``engiagent weather``."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from engiagent.cli import options
from engiagent.cli.output import print_json, say
from engiagent.errors import InputError
from engiagent.io.weather import read_weather, write_series


@click.command()
@click.argument("file", type=options.FILE)
@click.option("--start", help="Start of the first period, as 2025-07-01T00:00.")
@click.option("--zone", help="Time zone of the start, as Europe/Berlin; the station's otherwise.")
@click.option("--step", type=float, default=1.0, show_default=True, help="Length of a period in h.")
@click.option("--periods", type=options.COUNT, help="How many periods.")
@click.option("--column", "columns", multiple=True, help="A column to write; all otherwise.")
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    help="CSV file to write; without it the file's contents are listed.",
)
@options.as_json
def weather(
    file: Path,
    start: str | None,
    zone: str | None,
    step: float,
    periods: int | None,
    columns: tuple[str, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Align the weather of FILE, an EPW or a TMY3 file, with a horizon: a table with time stamps.

    A parameter takes it from there, as "data": "weather.csv#dry_bulb_temperature".
    """
    found = read_weather(file)
    if output is not None:
        if start is None or periods is None:
            raise InputError("the horizon is not known", expected="--start and --periods")
        first, chosen = _start(start, zone), columns or tuple(found.columns)
        write_series(output, found, chosen, first, step, periods)
        say(f"written to {output}")
    names = ("place", "latitude", "longitude", "elevation", "offset")
    if as_json:
        about = {name: getattr(found, name) for name in names}
        about |= {"hours": len(found.hour), "columns": dict(found.units)}
        print_json({"schema": "engiagent-weather/1", **about})
    elif output is None:
        click.echo(f"{found.place}: {len(found.hour)} hours, standard time UTC{found.offset:+g} h")
        for name, unit in found.units.items():
            click.echo(f"  {name} [{unit}]")


def _start(text: str, zone: str | None) -> datetime:
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        raise InputError("no time", found=text[:40], expected="as 2025-07-01T00:00") from None
    if zone is None:
        return start
    if start.tzinfo is not None:
        raise InputError("the start has an offset of its own, and --zone is given", found=text[:40])
    try:
        return start.replace(tzinfo=ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError("no time zone", found=zone[:40], expected="as Europe/Berlin") from None
