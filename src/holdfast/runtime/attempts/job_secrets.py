"""How a handler gets secrets: from its worker, also in a child process, which asks for them."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final, Protocol

from holdfast.classify import ProviderError, Verdict, classify
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import Instant
from holdfast.errors import UsageError
from holdfast.secrecy import keep_secret_document

_ASKS: Final = b'{"kind": "secret", '


class JobSecrets(Protocol):
    """The secrets of the pipelines that a worker runs."""

    def get(self, pipeline: str, name: str, *, fresh: bool) -> str:
        """Return the value that is in force, or raise what the attempt fails with."""
        ...


class NoSecrets:
    """For attempts that nobody runs."""

    def get(self, pipeline: str, name: str, *, fresh: bool) -> str:  # noqa: ARG002 - of its protocol
        """Refuse."""
        raise UsageError("secrets are handed out where a worker runs the stage")


NO_SECRETS: Final = NoSecrets()


class SecretsOfParent:
    """In a child process: asks the parent over the channel, until the attempt is over."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()
        self._over = False

    def get(self, pipeline: str, name: str, *, fresh: bool) -> str:
        """Return what the parent answers, hidden here as well."""
        request = {"kind": "secret", "pipeline": pipeline, "name": name, "fresh": fresh}
        with self._turn:
            if self._over:
                raise UsageError("secrets are handed out while the attempt runs")
            self._connection.send_bytes(json.dumps(request).encode())
            reply = json.loads(self._connection.recv_bytes())
        if "failure" in reply:
            raise _raised(Failure.from_document(reply["failure"]))
        value: str = reply["value"]
        keep_secret_document(value)
        return value

    def end(self) -> None:
        """Wait for what was asked, and ask nothing more: the next frame is another attempt's."""
        with self._turn:
            self._over = True


def asks_for_secret(frame: bytes) -> bool:
    """Return whether a child asks for a secret by this frame, and does not reply."""
    return frame.startswith(_ASKS)


def answer(frame: bytes, connection: Connection, secrets: JobSecrets, *, now: Instant) -> None:
    """Give a child the secret that it asked for, or why there is none."""
    request = json.loads(frame)
    try:
        value = secrets.get(request["pipeline"], request["name"], fresh=request["fresh"])
        reply: dict[str, object] = {"value": value}
    except Exception as error:  # noqa: BLE001 - whatever it is, the handler fails with it
        reply = {"failure": classify(error, (), now=now).to_document()}
    with suppress(OSError):
        # It may have been killed meanwhile.
        connection.send_bytes(json.dumps(reply).encode())


def _raised(failure: Failure) -> ProviderError:
    verdict = Verdict(
        failure.error_class,
        retryable=failure.retryable,
        category=failure.category,
        severity=failure.severity,
        outcome_known=failure.outcome_known,
        attempts=failure.attempts,
        retry_after_us=failure.retry_after_us,
        blames_upstream=failure.blames_upstream,
    )
    return ProviderError(verdict, failure.message)
