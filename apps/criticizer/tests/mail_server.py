"""A mail service in Resend's dialect, whose ledger says who was told, whatever it answered."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.deployed.scripted_server import Call, Reply, ScriptedServer, json_reply

RESET = Reply(cut="before")
FAILED = json_reply({"name": "internal_server_error", "message": "no"}, status=500)


class MailServer(ScriptedServer):
    """Takes each mail once per idempotency key, and then answers as `after` says.

    `before` may refuse a mail instead: what it replies was not taken.
    """

    def __init__(self) -> None:
        super().__init__(answer=self._answer)
        self._lock = threading.Lock()
        self._taken: dict[str, dict[str, Any]] = {}
        self.sends: list[str] = []
        """The recipient of every send that came in, taken or not."""
        self.before: Callable[[dict[str, Any], int], Reply | None] = lambda _mail, _number: None
        self.after: Callable[[dict[str, Any], int], Reply | None] = lambda _mail, _number: None

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The mails that were taken."""
        with self._lock:
            return list(self._taken.values())

    def told(self) -> Counter[str]:
        """How often each recipient was told."""
        return Counter(_recipient(mail) for mail in self.ledger)

    def forget(self) -> None:
        """Lose everything, as if nothing had ever been sent."""
        with self._lock:
            self._taken.clear()

    def _answer(self, call: Call) -> Reply:
        if call.method == "GET":
            return self._lookup(call.path.rpartition("/")[2])
        mail, token = call.document, call.headers["idempotency-key"]
        with self._lock:
            self.sends.append(_recipient(mail))
            number = self.sends.count(_recipient(mail))
            refused = self.before(mail, number)
            if refused is not None:
                return refused
            kept = self._taken.setdefault(token, {**mail, "id": f"mail-{len(self._taken) + 1}"})
        return self.after(mail, number) or json_reply({"id": kept["id"]})

    def _lookup(self, mail_id: str) -> Reply:
        if any(mail["id"] == mail_id for mail in self.ledger):
            return json_reply({"id": mail_id, "last_event": "delivered"})
        return json_reply({"name": "not_found", "message": "no such mail"}, status=404)


def _recipient(mail: dict[str, Any]) -> str:
    to = mail["to"]
    return to if isinstance(to, str) else to[0]
