"""``engiagent problems``: the corpus that comes with the package."""

from pathlib import Path

import click

from engiagent.cli import options
from engiagent.cli.output import clean, print_json, say
from engiagent.text import Problem, corpus_root, find_problems, locate


@click.group()
def problems() -> None:
    """Look at the problems that come with engiagent."""


@problems.command("list")
@options.as_json
def list_problems(as_json: bool) -> None:
    """List the corpus."""
    root = corpus_root()
    rows = []
    for place in find_problems(root):
        problem = Problem.load(place)
        name = place.relative_to(root).as_posix()
        rows.append(
            {
                "name": name,
                "id": problem.id,
                "title": problem.title,
                "family": problem.family,
                "tags": list(problem.tags),
                "path": str(place),
            }
        )
    if as_json:
        print_json({"schema": "engiagent-problems/1", "problems": rows})
        return
    width = max((len(str(row["name"])) for row in rows), default=0)
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {clean(row['title'])}")
    say(f"{len(rows)} problems; see one with: engiagent problems show NAME")


@problems.command("show")
@click.argument("name")
@options.as_json
def show(name: str, as_json: bool) -> None:
    """Show the problem NAME, as 'problems list' prints it, or by its id or path."""
    problem = find_problem(name)
    if as_json:
        print_json(
            {
                "schema": "engiagent-problem/1",
                "id": problem.id,
                "title": problem.title,
                "family": problem.family,
                "tags": list(problem.tags),
                "path": str(problem.path),
                "data": list(problem.data),
                "text": problem.text,
            }
        )
        return
    click.echo(clean(problem.text))
    say(f"{problem.path}; data: {', '.join(problem.data) or 'none'}")


def find_problem(name: str) -> Problem:
    """Return a problem by its place in the corpus, its id, or its path."""
    return Problem.load(name if Path(name).exists() else locate(name))
