"""The server: which tools it has for which role, and how they answer what goes wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from holdfast.core.values.role import Role
from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError, UsageError
from holdfast.mcp.acting import Acting
from holdfast.mcp.answers import NOTE, Answer
from holdfast.mcp.confirmations import Confirmations
from holdfast.mcp.looking import Looking
from holdfast.secrecy import redacted

LOOKS: Final = "holdfast runs durable jobs. Begin with list_attention. " + NOTE
ACTS: Final = (
    " Tools that change something answer the first call with what they would do and a "
    "confirmation; they act on a second call with it. Confirm nothing that the person you act "
    "for has not agreed to."
)


def create_server(
    app: Holdfast,
    *,
    role: Role = Role.READER,
    by: str | None = None,
    confirmations: Confirmations | None = None,
) -> MCPServer:
    """Return a server with the tools of a role; `by` is who the audit log says has acted.

    A reader looks and changes nothing; an operator acts as well, each time confirmed.
    """
    acts = role.may(Role.OPERATOR)
    if acts and not by:
        raise UsageError("who acts is kept in the audit log: give --by NAME with --role operator")
    server: MCPServer = MCPServer(
        "holdfast",
        instructions=LOOKS + ACTS if acts else LOOKS,
        version=version("holdfast"),
        log_level="WARNING",
        subscriptions=False,
    )
    for tool in Looking(app).tools():
        server.add_tool(_answering(tool), annotations=ToolAnnotations(read_only_hint=True))
    if acts and by:
        acting = Acting(app, by=by, confirmations=confirmations or Confirmations())
        for tool in acting.tools():
            hints = ToolAnnotations(read_only_hint=False, destructive_hint=True)
            server.add_tool(_answering(tool), annotations=hints)
    return server


def _answering(tool: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a tool whose refusals are said to the client, without secrets."""

    @functools.wraps(tool)
    def answer(**arguments: object) -> Answer:
        try:
            return tool(**arguments)
        except HoldfastError as error:
            raise ToolError(redacted(str(error))) from error

    return answer
