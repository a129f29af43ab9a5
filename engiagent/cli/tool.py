"""``engiagent tool`` and ``mcp``: calls of the registry, one by one or by clients of a server."""

import json
import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from engiagent.agents.engines.asking import Asking
from engiagent.cli import exit_codes, options
from engiagent.cli.output import moving_line, print_json, say
from engiagent.environment.interface import amount
from engiagent.errors import EngiagentError, InfeasibleError, InputError
from engiagent.io.plainyaml import dump_yaml
from engiagent.io.schemawords import kind_of
from engiagent.plant.slots import YES_NO
from engiagent.tools import Session, Tool, tools
from engiagent.tools.registry import Json, Watch, groups
from engiagent.tools.stored import opened
from engiagent.units.unit import CURRENCIES, parse_unit


@click.command(epilog=exit_codes.table())
@click.argument("name", required=False)
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@options.folder_option(
    "--session", "The session's folder, made where there is none; without it nothing is stored."
)
@click.option("--list", "listing", is_flag=True, help="List the tools, or the arguments of NAME.")
@click.option("--group", metavar="G", help="List the tools of this group.")
@click.option("--insist", is_flag=True, help="Make a call that would be blocked with advice.")
@options.as_json
def tool(
    name: str | None,
    pairs: tuple[str, ...],
    session: Path | None,
    listing: bool,
    group: str | None,
    insist: bool,
    as_json: bool,
) -> int:
    """Call the tool NAME with arguments: numbers with units, yes or no, lists by commas.

    Calls with one --session build on one another. Paths are those below it.
    """
    if listing or group is not None:
        _list(name, group, as_json)
        return 0
    if name is None:
        raise click.UsageError("NAME is missing; --list shows the tools")
    arguments = read_arguments(_known(name), pairs)
    with nullcontext(Session(Path())) if session is None else opened(session) as own:
        with moving_line() as show:
            watch = Watch(show and (lambda seconds, text: show(text)))
            seen = own.call(name, arguments, watch)
            if seen.status == "blocked" and insist:
                seen = own.call(name, arguments, watch)
        if seen.status == "blocked":
            said = str(seen.content["advice"]).replace("repeat this call as it is", "add --insist")
            raise InputError(said)
        if seen.status == "failed":
            kind = InfeasibleError if "verdict" in seen.content else EngiagentError
            raise kind(str(seen.content["error"]))
    _refuse_other_money(_known(name), pairs, seen.content)
    if as_json:
        answer = {"tool": name, "answer": seen.content, "artefacts": list(seen.artefacts)}
        print_json({"schema": "engiagent-tool/1", **answer})
    else:
        click.echo(dump_yaml(seen.content), nl=False)
        for path in seen.artefacts:
            say(f"written: {path}")
    return 0


def _refuse_other_money(known: Tool, pairs: Sequence[str], answer: Json) -> None:
    """Refuse an answer in one currency to a call that names another one."""
    units = {argument.name: argument.unit or "1" for argument in known.arguments}
    for key, _, text in (pair.partition("=") for pair in pairs):
        money = _in_money(units[key], text).partition("/")[0]
        if money in CURRENCIES and money != answer.get("unit", money):  # fixed by the tool's own
            said = f"{known.name}.{key}: the data are in {answer['unit']}"
            raise InputError(said, found=text, expected="their currency")


def _known(name: str) -> Tool:
    found = tools()
    if name not in found:
        from engiagent.plant.source import nearest

        near = nearest(name, found)
        expected = f"{near}; 'engiagent tool --list' shows all" if len(near) < 50 else None
        raise InputError(f"there is no tool {name!r}", expected=expected or "one of --list")
    return found[name]


def _list(name: str | None, group: str | None, as_json: bool) -> None:
    known = groups()
    if group is not None and group not in known:
        raise InputError(f"there is no group {group!r}", expected=", ".join(known))
    names = [name] if name is not None else known[group] if group is not None else tools()
    chosen = [_known(n) for n in names]
    if as_json:
        print_json({"schema": "engiagent-tools/1", "tools": [_row(item) for item in chosen]})
        return
    for item in chosen:
        click.echo(f"{item.group}: {item.name}: {item.description}")
        for argument in item.arguments if name is not None else ():
            need = " (required)" if argument.required else ""
            click.echo(f"  {argument.said().partition(';')[0]}{need}; {argument.description}")


def _row(item: Tool) -> Json:
    own, named = ("unit", "required", "description"), ("name", "group", "description")
    arguments = [
        {"name": a.name, "kind": kind_of(a.schema), **{key: getattr(a, key) for key in own}}
        for a in item.arguments
    ]
    about = {key: getattr(item, key) for key in named}
    return {**about, "reads": list(item.reads), "writes": list(item.writes), "arguments": arguments}


def read_arguments(known: Tool, pairs: Sequence[str]) -> Json:
    """Return what KEY=VALUE pairs say, by the arguments of a tool.

    Raises InputError for a pair without ``=``, and a value that cannot be read or is of another
    dimension.
    """
    taken = {argument.name: argument for argument in known.arguments}
    found: Json = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise InputError("no KEY=VALUE", found=pair, expected="as capacity='20 kWh'")
        if key not in taken:
            found[key] = text  # refused with the names there are
            continue
        try:
            value = read_value(taken[key].schema, taken[key].unit, text)
        except (InputError, ValueError) as error:
            expected = getattr(error, "expected", None)
            said = f"{known.name}.{key}: {getattr(error, 'message', 'cannot be read')}"
            near = f"; {expected}" if expected else ""
            raise InputError(said, found=repr(text), expected=taken[key].said() + near) from None
        if key in found and not isinstance(value, list):
            raise InputError(f"{known.name}.{key} stands twice", found=pair, expected="one value")
        found[key] = [*found[key], *value] if key in found else value
    return found


def read_value(schema: Json, unit: str | None, text: str) -> Any:
    """Return a text as a schema has it: quantities in ``unit``, lists by commas, objects as JSON.

    >>> read_value({"type": "number"}, "kWh", "0.02 MWh")
    20.0
    """
    if "anyOf" in schema:
        return _first_of(schema["anyOf"], unit, text)
    match schema.get("type"):
        case "number":
            return amount(text, "the value", _in_money(unit or "1", text))[0]
        case "integer":
            return int(text)
        case "boolean":
            return YES_NO.get(text.lower(), text)
        case "array":
            return _list_of(schema.get("items", {}), unit, text)
        case "object":
            return json.loads(text)
    return text


def _in_money(unit: str, text: str) -> str:
    """Return a unit as 1/kWh, in the currency of the data, with the currency that a text names."""
    if not unit.startswith(("1/kW", "1/MW")):  # 1/h is no price
        return unit
    named = parse_unit(amount(text, "the value")[1] or "1").dimension
    return next((base for base, _ in named if base in CURRENCIES), "1") + unit[1:]


def _first_of(options: Sequence[Json], unit: str | None, text: str) -> Any:
    """Return what the first kind that a text fits makes of it; the fault of the first if none."""
    fitting = [o for o in options if "pattern" not in o or re.search(o["pattern"], text)]
    faults: list[Exception] = []
    for option in fitting:
        try:
            return read_value(option, unit, text)
        except (InputError, ValueError) as error:
            faults.append(error)
    raise faults[0]


def _list_of(items: Json, unit: str | None, text: str) -> list[Any]:
    if text.startswith("["):
        return list(json.loads(text))
    parts: list[str] = []
    for part in text.split(","):
        if parts and "=" in items.get("pattern", "") and "=" not in part:
            parts[-1] += f",{part}"  # a value of several numbers
        else:
            parts.append(part.strip())
    return [read_value(items, unit, part) for part in parts]


@click.command(epilog=exit_codes.table())
@click.option(
    "--workspace",
    type=options.FOLDER,
    default=".",
    metavar="DIR",
    help="The folder that holds all that clients can read and write; by default this one.",
)
@click.option(
    "--tools",
    "chosen",
    metavar="GROUP[,GROUP]",
    help="The groups of tools to offer, as 'engiagent tool --list' shows them, or all; by default "
    "those from a text to a certified schedule.",
)
@click.option(
    "--ask", is_flag=True, help="Offer whole questions too, which specialists answer by calls."
)
@click.option("--engine", type=click.Choice(["anthropic"]), help="Who plans what --ask is asked.")
@click.option("--base-url", metavar="URL", help="A server that speaks the Messages API.")
@click.option("--model", metavar="NAME", help="Who plans and answers, for every specialist.")
def mcp(
    workspace: Path,
    chosen: str | None,
    ask: bool,
    engine: str | None,
    base_url: str | None,
    model: str | None,
) -> int:
    """Offer engiagent's tools to language-model clients over the Model Context Protocol.

    It speaks over standard input and output, as desktop clients start it.
    """
    try:
        import mcp as sdk  # noqa: F401
    except ImportError:
        raise EngiagentError("this needs the extra mcp: pip install 'engiagent[mcp]'") from None
    from engiagent.tools.mcp import make_server, serve_stdio

    own: dict[str, Any] = {}
    if chosen is not None:
        own["chosen"] = [group.strip() for group in chosen.split(",")]
    if ask or engine is not None:
        from engiagent.ask.offered import offer

        asking = None if engine is None else Asking(model, base_url)
        if asking is not None:
            asking.ready()
        own["beside"] = [offer(asking)]
    serve_stdio(make_server(workspace, **own))
    return 0
