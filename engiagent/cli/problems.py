"""``engiagent problems`` and ``new``: the corpus of the package, and a problem to begin from."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import click

from engiagent.cli import options
from engiagent.cli.output import clean, print_json, say
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.text import Problem, corpus_root, find_problems, locate

TEMPLATES: Final = ("battery", "der", "hvac", "thermal")


@click.group()
def problems() -> None:
    """Look at the problems that come with engiagent."""


@problems.command("list")
@options.as_json
def list_problems(as_json: bool) -> None:
    """List the corpus."""
    root = corpus_root()
    found = {p.relative_to(root).as_posix(): Problem.load(p) for p in find_problems(root)}
    if as_json:
        rows = [{"name": n, **_about(p), "path": str(root / n)} for n, p in found.items()]
        print_json({"schema": "engiagent-problems/1", "problems": rows})
        return
    width = max(map(len, found), default=0)
    for name, problem in found.items():
        click.echo(f"{name:<{width}}  {clean(problem.title)}")
    say(f"{len(found)} problems; see one with: engiagent problems show NAME")


@problems.command("show")
@click.argument("name")
@options.as_json
def show(name: str, as_json: bool) -> None:
    """Show the problem NAME, as 'problems list' prints it, or by its id or path."""
    problem = Problem.load(name if Path(name).exists() else locate(name))
    if as_json:
        more = {"data": list(problem.data), "text": problem.text}
        print_json({"schema": "engiagent-problem/1", **_about(problem), **more})
        return
    click.echo(clean(problem.text))
    say(f"{problem.path}; data: {', '.join(problem.data) or 'none'}")


def _about(problem: Problem) -> dict[str, Any]:
    about = {name: getattr(problem, name) for name in ("id", "title", "family")}
    return {**about, "tags": list(problem.tags), "path": str(problem.path)}


@click.command()
@click.argument("template", type=click.Choice(list(TEMPLATES)))
@click.argument("folder", required=False, type=options.FOLDER)
@options.as_json
def new(template: str, folder: Path | None, as_json: bool) -> int:
    """Begin a problem in FOLDER from TEMPLATE.

    battery: one behind a meter, with load and prices; der: a cogeneration engine, a boiler and a
    heat store; hvac: a chiller with a cold store; thermal: a heat pump that keeps a zone in its
    limits. What is written can be linted, run and checked as it stands; put your own numbers and
    data in their place. FOLDER is named as the template when it is not given.
    """
    place = folder or Path(template)
    identity = re.sub(r"[^a-z0-9]+", "_", place.resolve().name.lower()).strip("_")[:60] or template
    names = _written(template, identity, place)
    for name in names:
        say(f"  written    {place / name}")
    say(f"  next       engiagent lint {place / 'problem.md'}")
    say(f"             engiagent run {place}")
    if as_json:
        about = {"template": template, "folder": str(place), "problem": identity, "files": names}
        print_json({"schema": "engiagent-new/2", **about})
    return 0


def _written(template: str, identity: str, folder: Path) -> list[str]:
    """Write a template into a new or empty folder and return the names of its files."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError("this is a file or a link", str(folder), expected="a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError("the folder is not empty", str(folder), expected="a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {error.strerror}", str(folder)) from None
    texts = {
        entry.name: entry.read_text("utf-8")
        for entry in files("engiagent.cli").joinpath("templates", template).iterdir()
    }
    for name, text in texts.items():
        write_atomic(folder / name, text.replace(f"id: {template}\n", f"id: {identity}\n", 1))
    return sorted(texts)
