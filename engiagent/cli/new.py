"""``engiagent new``: a problem to begin from."""

import sys
from pathlib import Path

import click

from engiagent.cli import options
from engiagent.cli.options import parse_settings
from engiagent.cli.output import clean, print_json, say
from engiagent.cli.scaffold import Template, fill, templates, write
from engiagent.errors import InputError


@click.command()
@click.argument("template", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@options.settings("A value of the template, as capacity=400")
@click.option("--list", "listing", is_flag=True, help="List templates with their values.")
@click.option("--dry-run", is_flag=True, help="Print the text and write nothing.")
@options.as_json
def new(
    template: str | None,
    folder: Path | None,
    settings: tuple[str, ...],
    listing: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Begin a problem in FOLDER from TEMPLATE: battery, der, hvac, planning or thermal.

    What is written can be linted, run and checked as it stands; put your own numbers and data in
    their place. FOLDER is named as the template when it is not given. Without a TEMPLATE you are
    asked for everything, on a terminal.
    """
    if listing:
        return _list(as_json)
    given = parse_settings(settings, example="capacity=400")
    if template is None:
        if not asking():
            raise click.UsageError("no terminal to ask at; name a TEMPLATE, or --list them")
        template, folder, given = _asked(given)
    if template not in templates():
        raise InputError(f"there is no template {template!r}", expected=", ".join(templates()))
    place = folder or Path(template)
    made = fill(templates()[template], place.resolve().name, given)
    if dry_run:
        for name, text in made.contents.items():
            click.echo(f"── {place / name}\n{text}", err=as_json)
    else:
        for path in write(made, place):
            say(f"  written    {path}")
        stated = "blueprint.json" if "blueprint.json" in made.contents else "problem.md"
        say(f"  next       engiagent lint {place / stated}")
        say(f"             engiagent {made.solved_by.format(place)}")
    if as_json:
        print_json(
            {
                "schema": "engiagent-new/1",
                "template": template,
                "folder": str(place),
                "problem": made.problem,
                "files": list(made.contents),
                "values": dict(made.values),
                "written": not dry_run,
            }
        )
    return 0


def asking() -> bool:
    """Whether somebody sits at a terminal who can be asked."""
    return sys.stdin.isatty()


def _list(as_json: bool) -> int:
    found = templates().values()
    if as_json:
        names = ("name", "value", "unit", "said")
        rows = [
            {
                "name": t.name,
                "said": t.said,
                "values": [{n: getattr(v, n) for n in names} for v in t.values],
            }
            for t in found
        ]
        print_json({"schema": "engiagent-templates/1", "templates": rows})
        return 0
    for one in found:
        click.echo(f"{one.name}: {one.said}")
        for value in one.values:
            click.echo(clean(f"  {value.name:<20} {_shown(one, value.name):<24} {value.said}"))
    return 0


def _shown(template: Template, name: str) -> str:
    value = next(value for value in template.values if value.name == name)
    return value.value if value.unit in ("", "1") else f"{value.value} {value.unit}"


def _asked(given: dict[str, str]) -> tuple[str, Path, dict[str, str]]:
    """Ask for a template, a folder and every value that was not given."""
    known = templates()
    for one in known.values():
        say(f"  {one.name:<10} {one.said}")
    name = click.prompt("Template", type=click.Choice(list(known)), err=True)
    folder = Path(click.prompt("Folder", default=name, err=True))
    answers = dict(given)
    for value in known[name].values:
        while value.name not in answers:
            unit = f" [{value.unit}]" if value.unit not in ("", "1") else ""
            text = click.prompt(f"{value.name}{unit}, {value.said}", default=value.value, err=True)
            try:
                answers[value.name] = value.checked(text)
            except InputError as error:
                say(f"  {error}")
    return name, folder, answers
