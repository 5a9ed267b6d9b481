"""How the HTTP API is served: one frozen record, checked when it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from holdfast.api.middleware.headers import DEVICES
from holdfast.classify import PublicCode
from holdfast.errors import InvalidValue

MEBIBYTE: Final = 1024 * 1024
SHORTEST_TOKEN: Final = 20
MAX_CONNECTIONS: Final = 100_000
LONGEST_S: Final = 24 * 3600.0
_HOST: Final = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """How the API is served.

    `host` is the address it listens on, None when another application mounts it. `token` is an
    operator's of every owner, besides those in the store. `hosts` are the names it may be asked
    under, `*.` in front standing for any beginning; loopback names are always among them. With
    `https` people reach it by HTTPS only, also by a proxy. `body_limits` are limits of their own
    for what begins with a path. With `walk_ins` people without credentials may use the routes that
    say so, each as an owner of their own. `not_yours` is the answer to those who see one owner's
    jobs and ask for one that is another's, or not there: the same for both, so that nobody learns
    which ids there are. Without it both are a job that is not found. `devices` are what the pages
    below a path may use of a browser's devices: `{"/talk": ("microphone",)}`.
    """

    host: str | None = None
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    https: bool = False
    max_body_bytes: int = MEBIBYTE
    body_limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    walk_ins: bool = False
    not_yours: PublicCode | None = None
    devices: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    keep_alive_s: int = 5
    """How long a connection may stay open between requests."""
    header_s: float = 10.0
    """How long a client may take to send the head of a request."""
    body_s: float = 30.0
    """How long a client may take to send the body, besides a second for every 64 KiB."""
    write_s: float = 30.0
    """How long a client may read nothing of what it is sent."""
    read_s: float = 5.0
    """How long the database may look for what a `GET` asks."""
    max_connections: int = 1_000
    max_streams: int = 100
    """How many event streams one principal may have open at a time."""
    session_s: float = 12 * 3600.0

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InvalidValue(
                "ApiOptions",
                field="token",
                value=f"{len(self.token)} characters long",
                limit=f"at least {SHORTEST_TOKEN} characters, as a generated one has",
            )
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                limit = "host names without a port, like jobs.example.org or *.example.org"
                raise InvalidValue("ApiOptions", field="hosts", value=host, limit=limit)
        for device in (name for named in self.devices.values() for name in named):
            if device not in DEVICES:
                limit = f"one of {', '.join(DEVICES)}"
                raise InvalidValue("ApiOptions", field="devices", value=device, limit=limit)
        for size in (self.max_body_bytes, *self.body_limits.values()):
            if size < 1:
                limit = "at least 1 byte"
                raise InvalidValue("ApiOptions", field="max_body_bytes", value=size, limit=limit)
        for name in ("keep_alive_s", "header_s", "body_s", "write_s", "read_s", "session_s"):
            seconds = getattr(self, name)
            if not 0 < seconds <= LONGEST_S:
                limit = f"a number of seconds up to {LONGEST_S:.0f}"
                raise InvalidValue("ApiOptions", field=name, value=seconds, limit=limit)
        for name in ("max_connections", "max_streams"):
            value = getattr(self, name)
            if not 1 <= value <= MAX_CONNECTIONS:
                limit = f"from 1 to {MAX_CONNECTIONS}"
                raise InvalidValue("ApiOptions", field=name, value=value, limit=limit)
