"""Calls to a guarded upstream, and what they meet."""

from email.message import Message
from urllib.error import HTTPError

import pytest

from holdfast import Guard, Retry
from holdfast.testing import ManualClock, Script

DOWN = ConnectionResetError("gone")
STEADY = Retry(attempts=4, base=1, factor=2, jitter="none")
PATIENCE_S = 20.0


def http_error(status: int, retry_after: str | None = None) -> HTTPError:
    headers = Message()
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    return HTTPError("https://payments.example", status, "said no", headers, None)


class Sleeper:
    """Moves a clock instead of waiting, and remembers how far."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)


def fail(guard: Guard, ask, times: int, error: BaseException = DOWN) -> None:
    for _ in range(times):
        with pytest.raises(type(error)):
            ask(guard, Script(error))


def awaiting(upstream):
    async def call():
        return upstream()

    return call


def guard_call(guard: Guard, upstream):
    return guard.call(upstream)
