"""``engiagent schema``: the JSON Schema of every form, and the reference of the language."""

from importlib.resources import files

import click

from engiagent.io.jsontext import dumps_canonical
from engiagent.tools.schemas import PRINTED, STORED, schema_of

DEFAULT = "blueprint"


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the names and their uses.")
@click.option("--reference", is_flag=True, help="Print the reference page of the language instead.")
@click.option("--certificate", is_flag=True, help="The same as the NAME certificate.")
def schema(name: str | None, listing: bool, reference: bool, certificate: bool) -> None:
    """Print the JSON Schema of NAME: what commands print with --json, or files hold.

    Without a NAME it is that of blueprints.
    """
    chosen = [bool(name), listing, reference, certificate]
    if sum(chosen) > 1:
        raise click.UsageError("a NAME, --list, --reference and --certificate exclude one another")
    if listing:
        forms = {**PRINTED, **STORED}
        width = max(map(len, forms))
        for known, form in forms.items():
            click.echo(f"{known:<{width}}  {form.where}")
        return
    if reference:
        page = files("engiagent.blueprint").joinpath("reference.md").read_text("utf-8")
        click.echo(page, nl=False)
        return
    wanted = "certificate" if certificate else name or DEFAULT
    click.echo(dumps_canonical(schema_of(wanted)), nl=False)
