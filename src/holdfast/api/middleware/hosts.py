"""Under which names the API may be asked, and where a browser may be sent.

A page of another site can have its own name lead to this machine; what it then asks for arrives
here under that name.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.api.auth.authenticator import is_loopback
from holdfast.api.options import ApiOptions
from holdfast.api.problems import Problem, response_of

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_LONGEST_PATH: Final = 2_000
PROBED: Final = frozenset({"/livez", "/readyz", "/healthz", "/metrics", "/metrics/process"})
"""What is asked for by address, as probes and scrapers of a cluster do; it is nobody's secret."""


class Hosts:
    """Passes on requests for names that are served; where none are named, for every name."""

    def __init__(self, app: ASGIApp, *, options: ApiOptions) -> None:
        self._app = app
        names = {name.lower() for name in options.hosts}
        only_local = options.host is not None and is_loopback(options.host)
        self._any = not names and not only_local
        self._open = frozenset() if only_local else PROBED
        if options.host is not None:
            names.add(options.host.lower().strip("[]"))
        self._names = frozenset(name for name in names if not name.startswith("*."))
        self._endings = tuple(name[1:] for name in names if name.startswith("*."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it when it is for another host."""
        if scope["type"] == "http" and not self._is_served(scope):
            problem = Problem(
                "host_refused",
                "ask under a name that this server knows as its own; an operator names them with "
                "HOLDFAST_HOST_NAMES",
            )
            await response_of(problem, scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_served(self, scope: Scope) -> bool:
        path = str(scope["path"]).removeprefix(str(scope.get("root_path", "")))
        if path in self._open:
            return True
        given = Headers(scope=scope).getlist("host")
        found = _HOST.fullmatch(given[0]) if len(given) == 1 else None
        if found is None:
            return False
        name = found[1].lower().strip("[]").removesuffix(".")
        if self._any or name in self._names or is_loopback(name):
            return True
        return name.endswith(self._endings) if self._endings else False


def safe_path(wanted: str | None, *, default: str) -> str:
    """Return a path of this server to send a browser to: `wanted`, or `default` if it is not one.

    Anything that a browser could read as leading elsewhere is not a path of this server.
    """
    if (
        wanted is None
        or len(wanted) > _LONGEST_PATH
        or not wanted.startswith("/")
        or wanted.startswith(("//", "/\\"))
        or not wanted.isascii()
        or not wanted.isprintable()
        or "\\" in wanted
        or " " in wanted
    ):
        return default
    return wanted
