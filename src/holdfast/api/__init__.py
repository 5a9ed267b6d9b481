"""The HTTP API: `create_api` makes it as a plain ASGI application, `Server` serves it.

Needs the extra `api`: pip install 'holdfast[api]'.
"""

from holdfast.api.app import create_api
from holdfast.api.options import ApiOptions
from holdfast.api.server.server import Server

__all__ = ["ApiOptions", "Server", "create_api"]
