"""A server of the Model Context Protocol: assistants look after jobs, within a role.

Needs the extra `mcp`: pip install 'holdfast[mcp]'.
"""

from holdfast.mcp.server import create_server

__all__ = ["create_server"]
