"""The server: what the protocol asks, answered from the registry of tools and the workspace."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import anyio.to_thread
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as OfferedTool

from engiagent import __version__
from engiagent.errors import EngiagentError, InputError
from engiagent.io.schemawords import OBJECT, list_of, said
from engiagent.tools import Observation, Session, Tool, tools
from engiagent.tools.mcp import prompts, resources
from engiagent.tools.mcp.sessions import DEFAULT, NAME, Sessions
from engiagent.tools.registry import Json, groups
from engiagent.verify.claims import overrides_of

SESSION: Final = "session"
OVERRIDES: Final = "overrides"
ALL: Final = "all"
USUAL: Final = ("problem", "blueprint", "plan", "study", "runs")
"""The groups that are offered where none are chosen: from a text to a certified schedule."""
_OVERRIDES: Final = said(
    list_of(OBJECT), "Values that differ from the problem's since they were set in this session."
)


def offered(tool: Tool, *, named: bool) -> OfferedTool:
    """Return a tool for a client's list; with ``named`` every call has to name its session."""
    title, fields = tool.name.replace("_", " ").capitalize(), tool.returns.get("properties", {})
    return OfferedTool(
        name=tool.name,
        title=title,
        description=described(tool),
        input_schema=taken(tool, named=named),
        output_schema={**tool.returns, "properties": {OVERRIDES: _OVERRIDES, **fields}},
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=tool.access == "read",
            destructive_hint=tool.destructive,
            idempotent_hint=tool.repeatable,
            open_world_hint=tool.open_world,
        ),
    )


def described(tool: Tool) -> str:
    """Return what a tool does and what has to be there before it is called."""
    if not tool.needs:
        return tool.description
    needs = " and ".join(f"an up-to-date {part}" for part in tool.needs)
    return f"{tool.description} Needs {needs} in the session."


def taken(tool: Tool, *, named: bool) -> dict[str, Any]:
    """Return the schema of a call's arguments: the tool's own, and the session's name."""
    schema = tool.schema()
    text = "Calls under one name work on the same problem; take a name of your own."
    session: dict[str, Any] = {"type": "string", "pattern": NAME, "description": text}
    if named:
        schema["required"] = [*schema["required"], SESSION]
    else:
        session["default"] = DEFAULT
    schema["properties"] = {**schema["properties"], SESSION: session}
    return schema


def answered(seen: Observation, session: Session | None = None) -> CallToolResult:
    """Return an observation as a result; advice and errors are the model's to act on.

    It names the values of the session's blueprint that were set in the place of the problem's.
    """
    drafted = session.state.get("blueprint") if session and session.state.has("blueprint") else None
    changed = [] if drafted is None else [o.to_dict() for o in overrides_of(drafted.blueprint)]
    more = {OVERRIDES: changed} if changed else {}
    if seen.status == "done":
        content = {**more, **seen.content}
        blocks: list[ContentBlock] = [TextContent(text=_text(content))]
        return CallToolResult(content=[*blocks, *_links(seen)], structured_content=content)
    text = seen.content["advice" if seen.status == "blocked" else "error"]
    content = {"status": seen.status, **more, **seen.content}
    return CallToolResult(
        content=[TextContent(text=str(text))], structured_content=content, is_error=True
    )


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _links(seen: Observation) -> list[ResourceLink]:
    """Return links to the files that a call has written."""
    written: dict[str, tuple[str, list[str]]] = {}
    if seen.tool == "report":
        written["runs"] = (seen.content["folder"], seen.content["artefacts"])
    elif seen.tool in ("pose_problem", "copy_problem"):
        written["problems"] = (seen.content["path"], seen.content["files"])
    return [
        ResourceLink(name=name, uri=f"engiagent://{kind}/{quote(f'{folder}/{name}')}")
        for kind, (folder, names) in written.items()
        for name in names
        if "." in name
    ]


Context = ServerRequestContext[dict[str, Any], Any]
_PAGE: Final = 100
_MOST_COMPLETIONS: Final = 100

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

_Item = TypeVar("_Item")


def make_server(
    workspace: Path, *, named: bool = False, chosen: Sequence[str] = USUAL
) -> Server[dict[str, Any]]:
    """Return a server on a workspace.

    Parameters
    ----------
    workspace
        The folder that holds every file clients can name.
    named
        Whether each call has to name its session, as it must where several clients share a server.
    chosen
        The groups whose tools are offered, ``all`` for all.

    Raises
    ------
    InputError
        For a folder or a group that there is not.
    """
    if not workspace.is_dir():
        raise InputError("there is no such folder", str(workspace), expected="the workspace")
    desk = _Desk(Sessions(workspace.resolve()), named, _offered_names(chosen))
    return Server(
        "engiagent",
        title="engiagent",
        version=__version__,
        instructions=INSTRUCTIONS + (SITES if "config" in {*chosen} or ALL in {*chosen} else ""),
        get_tool_input_schema=desk.input_schema,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
        on_list_prompts=desk.list_prompts,
        on_get_prompt=desk.get_prompt,
        on_completion=desk.complete,
    )


def _offered_names(chosen: Sequence[str]) -> frozenset[str]:
    """Return the names of the tools of some groups."""
    known = groups()
    odd = [group for group in chosen if group not in (*known, ALL)]
    if odd:
        raise InputError(f"there is no group {odd[0]!r}", expected=f"{', '.join(known)} or {ALL}")
    return frozenset(name for g, names in known.items() if {g, ALL} & {*chosen} for name in names)


class _Desk:
    """Answers requests; the sessions are all that it remembers."""

    def __init__(self, sessions: Sessions, named: bool, names: frozenset[str]) -> None:
        self.sessions = sessions
        self.named = named
        self.names = names

    def input_schema(self, name: str) -> Json | None:
        tool = tools().get(name) if name in self.names else None
        return None if tool is None else taken(tool, named=self.named)

    async def list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        chosen = (tool for tool in tools().values() if tool.name in self.names)
        return ListToolsResult(tools=[offered(tool, named=self.named) for tool in chosen])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        arguments = dict(params.arguments or {})
        name = arguments.pop(SESSION, None if self.named else DEFAULT)
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            wrong = f"{params.name}.session: every call names its session, as 'alice-1'"
            return answered(Observation(params.name, "failed", {"error": wrong}))
        if params.name not in self.names and params.name in tools():
            wrong = f"{params.name} is not offered; {', '.join(sorted(self.names))} are"
            return answered(Observation(params.name, "failed", {"error": wrong}))

        async def report(seconds: float, text: str) -> None:
            await context.session.report_progress(seconds, None, text)

        seen = await self.sessions.call(name, params.name, arguments, report)
        return answered(seen, self.sessions.look(name))

    async def list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        found = await anyio.to_thread.run_sync(lambda: list(resources.listed(self.sessions)))
        page, following = _page(found, params)
        return ListResourcesResult(resources=list(page), next_cursor=following)

    async def list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            found = await anyio.to_thread.run_sync(resources.read, uri, self.sessions)
        except EngiagentError as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from None
        return ReadResourceResult(contents=[found])

    async def list_prompts(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=prompts.offered())

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        try:
            return prompts.filled(params.name, params.arguments or {})
        except EngiagentError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Complete the paths of problems and runs in prompts."""
        tool, field = _COMPLETED.get(params.argument.name, (None, ""))
        if tool is None:
            return CompleteResult(completion=Completion(values=[]))
        found = await anyio.to_thread.run_sync(self._names, tool, field)
        fitting = [name for name in found if name.startswith(params.argument.value)]
        shown = fitting[:_MOST_COMPLETIONS]
        total, more = len(fitting), len(fitting) > len(shown)
        return CompleteResult(completion=Completion(values=shown, total=total, has_more=more))

    def _names(self, tool: str, field: str) -> list[str]:
        from engiagent.tools import State

        content = tools()[tool].work(State(self.sessions.root), {}).content
        return [row[field] if field else row for row in next(iter(content.values()))]


_COMPLETED: Final = {"path": ("list_problems", ""), "run": ("list_runs", "run")}
"""By argument of a prompt the tool that lists what it may be, and under which name."""


def _page(
    found: Sequence[_Item], params: PaginatedRequestParams | None
) -> tuple[Sequence[_Item], str | None]:
    """Return a page of a list and the cursor of the next one."""
    cursor = params.cursor if params is not None else None
    if cursor is not None and not re.fullmatch(r"\d{1,9}", cursor):
        raise MCPError(INVALID_PARAMS, "there is no such page")
    start = int(cursor or 0)
    end = start + _PAGE
    return found[start:end], str(end) if end < len(found) else None
