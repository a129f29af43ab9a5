"""The tools of :mod:`engiagent.tools` for clients of the Model Context Protocol.

Needs the extra ``mcp``. All files that a client can name lie below one folder, the workspace. The
protocol's newer requests stand alone, so a name that the client gives says which calls belong
together: in each session one call is made at a time.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as OfferedTool

from engiagent import __version__
from engiagent.errors import EngiagentError, InputError
from engiagent.io.schemawords import OBJECT, list_of, said
from engiagent.tools import Observation, Session, Tool, tools
from engiagent.tools.registry import Argument, Json, Watch, groups
from engiagent.verify.claims import overrides_of

SESSION: Final = "session"
DEFAULT: Final = "main"
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
OVERRIDES: Final = "overrides"
ALL: Final = "all"
USUAL: Final = ("problem", "blueprint", "plan", "study", "runs")
"""The groups that are offered where none are chosen: from a text to a certified schedule."""
BEAT: Final = 0.5
"""How often a client that asked for it hears how far a call has come. [s]"""
_OVERRIDES: Final = said(
    list_of(OBJECT), "Values that differ from the problem's since they were set in this session."
)
_LANGUAGE: Final = "engiagent://language/"
_PAGES: Final = {
    "reference.md": "The language of blueprints: fields, expressions, functions, units",
    "diagnostics.md": "What every finding of static analysis means",
    "blueprint.schema.json": "JSON Schema of blueprints",
}
"""The resources and what they are."""

INSTRUCTIONS: Final = """\
engiagent turns an engineering problem, given as text with numbers and units, into an optimised \
schedule with a certificate from a checker that trusts no solver and no language model.
The way: load_problem, audit, analyse, compile, solve, check, explain, report. A call that comes \
too early or works on something out of date is blocked once, with advice on what to call first. \
Only 'check' gives a verdict. What analyse does not understand or finds missing it names; give \
values with 'values' or set_parameter, never by guessing. Paths are relative to the workspace.\
"""
SITES: Final = """
A site is built and simulated the same way: config_create, changes by the tools of its parts, \
simulation_run, which keeps a result by name, analysis_ and comparison_ of results; \
optimise_schedule plans it and certify has the plan checked. What a call does not name is the \
selected or the only one; a query tool shows what there is.\
"""

Context = ServerRequestContext[dict[str, Any], Any]


Clarify = Callable[[Argument, str], Any]
"""Asks the user for an argument, in words; returns None for no answer."""


@dataclass(frozen=True)
class Offer:
    """A tool beside the registry: one that works on a whole session by calls of its own."""

    tool: Tool
    work: Callable[[Session, Json, Watch, Clarify], Json]


def make_server(
    workspace: Path, *, chosen: Sequence[str] = USUAL, beside: Sequence[Offer] = ()
) -> Server[dict[str, Any]]:
    """Return a server on a workspace; ``chosen`` are the groups of tools it offers, or ``all``.

    ``beside``: tools that are offered too. A folder or a group that there is not is an InputError.
    """
    if not workspace.is_dir():
        raise InputError("there is no such folder", str(workspace), expected="the workspace")
    known = groups()
    odd = [group for group in chosen if group not in (*known, ALL)]
    if odd:
        raise InputError(f"there is no group {odd[0]!r}", expected=f"{', '.join(known)} or {ALL}")
    names = frozenset(n for g, own in known.items() if {g, ALL} & {*chosen} for n in own)
    desk = _Desk(workspace.resolve(), names, {offer.tool.name: offer for offer in beside})
    return Server(
        "engiagent",
        title="engiagent",
        version=__version__,
        instructions=INSTRUCTIONS + (SITES if {"config", ALL} & {*chosen} else ""),
        get_tool_input_schema=desk.input_schema,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )


def serve_stdio(server: Server[Any]) -> None:
    """Serve over standard input and output until the client closes them."""

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)


# -- tools ----------------------------------------------------------------------------------------


def offered(tool: Tool) -> OfferedTool:
    """Return a tool for a client's list."""
    title, fields = tool.name.replace("_", " ").capitalize(), tool.returns.get("properties", {})
    needs = " and ".join(f"an up-to-date {part}" for part in tool.needs)
    about = f"{tool.description} Needs {needs} in the session." if needs else tool.description
    return OfferedTool(
        name=tool.name,
        title=title,
        description=about,
        input_schema=taken(tool),
        output_schema={**tool.returns, "properties": {OVERRIDES: _OVERRIDES, **fields}},
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=tool.access == "read",
            destructive_hint=tool.destructive,
            idempotent_hint=tool.repeatable,
            open_world_hint=tool.open_world,
        ),
    )


def taken(tool: Tool) -> Json:
    """Return the schema of a call's arguments: the tool's own, and the session's name."""
    schema = tool.schema()
    text = "Calls under one name work on the same problem; take a name of your own."
    session = {"type": "string", "pattern": NAME, "description": text, "default": DEFAULT}
    return {**schema, "properties": {**schema["properties"], SESSION: session}}


def answered(seen: Observation, session: Session | None = None) -> CallToolResult:
    """Return an observation as a result; advice and errors are the model's to act on.

    It names the values of the session's blueprint that were set in the place of the problem's.
    """
    drafted = session.state.get("blueprint") if session and session.state.has("blueprint") else None
    changed = [] if drafted is None else [o.to_dict() for o in overrides_of(drafted.blueprint)]
    more = {OVERRIDES: changed} if changed else {}
    if seen.status == "done":
        content = {**more, **seen.content}
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=content)
    content = {"status": seen.status, **more, **seen.content}
    text = str(seen.content["advice" if seen.status == "blocked" else "error"])
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=content, is_error=True
    )


@dataclass
class _Desk:
    """Answers calls of tools; the sessions, by name, are all that it remembers."""

    root: Path
    names: frozenset[str]
    beside: Mapping[str, Offer] = field(default_factory=dict)
    sessions: dict[str, tuple[Session, anyio.Lock]] = field(default_factory=dict)

    def input_schema(self, name: str) -> Json | None:
        tool = self.beside[name].tool if name in self.beside else None
        tool = tools()[name] if name in self.names else tool
        return None if tool is None else taken(tool)

    async def list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        chosen = [tool for tool in tools().values() if tool.name in self.names]
        chosen += [offer.tool for offer in self.beside.values()]
        return ListToolsResult(tools=[offered(tool) for tool in chosen])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Make a call on a thread; when the client gives up, a solve under way is stopped."""
        arguments = dict(params.arguments or {})
        name = arguments.pop(SESSION, DEFAULT)
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            wrong = f"{params.name}.session: the name of a session is one as 'alice-1'"
            return answered(Observation(params.name, "failed", {"error": wrong}))
        if params.name not in self.names and params.name in tools():
            wrong = f"{params.name} is not offered; {', '.join(sorted(self.names))} are"
            return answered(Observation(params.name, "failed", {"error": wrong}))
        known = tools().get(params.name)
        if known is not None:
            arguments |= await _elicited(context, known, arguments)

        def clarify(argument: Argument, question: str) -> Any:
            return anyio.from_thread.run(_clarified, context, argument, question)

        session, lock = self.sessions.setdefault(name, (Session(self.root), anyio.Lock()))
        async with lock:
            cancel, latest = threading.Event(), [params.name]
            watch = Watch(lambda seconds, text: latest.__setitem__(0, text), cancel)
            call = partial(session.call, params.name, arguments, watch)
            if params.name in self.beside:
                offer = self.beside[params.name]
                call = partial(_beside, offer, session, arguments, watch, clarify)
            async with anyio.create_task_group() as group:
                group.start_soon(_beat, context, latest, cancel)
                seen = await anyio.to_thread.run_sync(call)
                await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        return answered(seen, session)


def _beside(
    offer: Offer, session: Session, arguments: Json, watch: Watch, clarify: Clarify
) -> Observation:
    try:
        content = offer.work(session, offer.tool.checked(arguments), watch, clarify)
    except EngiagentError as error:
        return Observation(offer.tool.name, "failed", {"error": str(error)})
    return Observation(offer.tool.name, "done", content)


async def _clarified(context: Context, argument: Argument, question: str) -> Any:
    """Ask the user for one argument; None where the client cannot ask, or the user declines."""
    return (await _asked(context, [argument], question)).get(argument.name)


async def _elicited(context: Context, known: Tool, given: Json) -> Json:
    """Ask the user for required arguments that a call leaves open, where the client can ask.

    What is declined stays open; the call then says what is missing.
    """
    asked = [a for a in known.arguments if a.required and a.name not in given]
    names = ", ".join(a.name for a in asked)
    return await _asked(context, asked, f"{known.name} needs {names}.")


async def _asked(context: Context, asked: Sequence[Argument], text: str) -> Json:
    declared, session = context.session.client_capabilities, context.session
    plain = {"string", "number", "integer", "boolean"}
    asked = [a for a in asked if a.schema.get("type") in plain or "enum" in a.schema]
    if not asked or declared is None or declared.elicitation is None:
        return {}
    if not session.can_send_request:
        return {}
    form: Json = {"type": "object", "required": [a.name for a in asked], "properties": {}}
    for argument in asked:
        about = argument.to_schema()["description"]
        kind: Json = {k: argument.schema[k] for k in ("type", "enum") if k in argument.schema}
        form["properties"][argument.name] = {"type": "string", **kind, "description": about}
    found = await session.elicit_form(text, form, context.request_id)
    content: Json = {}
    if found.action == "accept" and found.content is not None:
        content |= found.content
    return content


async def _beat(context: Context, latest: list[str], cancel: threading.Event) -> None:
    """Report until the call ends; being cancelled, by whomever, stops a solve under way."""
    started = perf_counter()
    try:
        while True:
            await context.session.report_progress(perf_counter() - started, None, latest[0])
            await anyio.sleep(BEAT)
    finally:
        cancel.set()


# -- resources ------------------------------------------------------------------------------------


async def _list_resources(
    context: Context, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    found = [
        Resource(name=name, uri=_LANGUAGE + name, description=about, mime_type=_media_type(name))
        for name, about in _PAGES.items()
    ]
    return ListResourcesResult(resources=found)


async def _read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    uri = str(params.uri)
    name = uri.removeprefix(_LANGUAGE)
    if name not in _PAGES or name == uri:
        known = ", ".join(_LANGUAGE + name for name in _PAGES)
        wrong = InputError("there is no such resource", uri[:200], expected=known)
        raise MCPError(INVALID_PARAMS, str(wrong), {"uri": uri[:200]})
    text = files("engiagent.blueprint").joinpath(name).read_text("utf-8")
    found = TextResourceContents(uri=uri, mime_type=_media_type(name), text=text)
    return ReadResourceResult(contents=[found])


def _media_type(name: str) -> str:
    return "text/markdown" if name.endswith(".md") else "application/json"
