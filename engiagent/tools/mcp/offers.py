"""Tools as the protocol describes them, and answers as it carries them."""

import json
from typing import Any, Final
from urllib.parse import quote

from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent, ToolAnnotations
from mcp_types import Tool as OfferedTool

from engiagent.tools import Observation, Tool
from engiagent.tools.mcp.sessions import DEFAULT, NAME

SESSION: Final = "session"


def offered(tool: Tool, *, named: bool) -> OfferedTool:
    """Return a tool for a client's list; with ``named`` every call has to name its session."""
    title = tool.name.replace("_", " ").capitalize()
    return OfferedTool(
        name=tool.name,
        title=title,
        description=described(tool),
        input_schema=taken(tool, named=named),
        output_schema=tool.returns,
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
    said = "Calls under one name work on the same problem; take a name of your own."
    session: dict[str, Any] = {"type": "string", "pattern": NAME, "description": said}
    if named:
        schema["required"] = [*schema["required"], SESSION]
    else:
        session["default"] = DEFAULT
    schema["properties"] = {**schema["properties"], SESSION: session}
    return schema


def answered(seen: Observation) -> CallToolResult:
    """Return an observation as a result; advice and errors are the model's to act on."""
    if seen.status == "done":
        blocks: list[ContentBlock] = [TextContent(text=_text(seen.content))]
        return CallToolResult(content=[*blocks, *_links(seen)], structured_content=seen.content)
    said = seen.content["advice" if seen.status == "blocked" else "error"]
    content = {"status": seen.status, **seen.content}
    return CallToolResult(
        content=[TextContent(text=str(said))], structured_content=content, is_error=True
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
