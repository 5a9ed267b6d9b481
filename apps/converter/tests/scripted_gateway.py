"""A gateway on loopback that does what a script says, call by call, and keeps a ledger of calls."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tests.deployed import scripted_server
from tests.deployed.scripted_server import Call, ScriptedServer

XML: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n<document><page/></document>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(scripted_server.Reply):
    """What one call gets: a document, unless told otherwise."""

    content_type: str = "application/xml"
    body: bytes | Iterable[bytes] = XML


class ScriptedGateway(ScriptedServer):
    """Answers conversions by the script, then as `answer` says if it is set, or as `usual`.

    Its health is scripted apart.
    """

    def __init__(
        self, *script: Reply, usual: Reply | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(*script, tls=tls)
        self.usual = usual or Reply()
        self.health = Reply(body=b"{}")

    @property
    def every_call(self) -> list[Call]:
        """What was asked for so far, wherever."""
        return super().calls

    @property
    def calls(self) -> list[Call]:
        """The conversions that were asked for so far."""
        return [call for call in self.every_call if call.path == "/convert"]

    @property
    def probes(self) -> list[Call]:
        return [call for call in self.every_call if call.path == "/health"]

    def scripted(self, begun: Call) -> scripted_server.Reply | None:
        if begun.path == "/health":
            return self.health
        return super().scripted(begun) or (None if self.answer else self.usual)
