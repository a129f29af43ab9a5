"""The tools of :mod:`engiagent.tools` for clients of the Model Context Protocol.

Needs the extra ``mcp``. A client sees tools, resources and prompts; all files that it can name lie
below one folder, the workspace.
"""

from engiagent.tools.mcp.server import make_server
from engiagent.tools.mcp.transport import Address, serve_http, serve_stdio

__all__ = ["Address", "make_server", "serve_http", "serve_stdio"]
