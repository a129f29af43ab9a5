"""Options that say how an external schedule is to be read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from engiagent.cli.run import parse_settings
from engiagent.verify.foreign import Reading, load_mapping

READING = ("mappings", "units", "labels", "hold", "zone", "time_format", "decimal")
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
            click.option(
                "--time-format",
                metavar="FORMAT",
                help="How stamps are written that are not ISO 8601, as '%d.%m.%Y %H:%M'.",
            ),
            click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark."),
        ]
    ):
        command = option(command)
    return command


def reading_of(mappings: tuple[str, ...], units: tuple[str, ...], **given: Any) -> Reading | None:
    """Return how a schedule is to be read; None without any option.

    What stands on the command line goes before what a mapping file says.

    Raises
    ------
    InputError
        When a mapping file is unreadable or a choice is none.
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
