"""Calls over HTTP, as a handler makes them."""

import json
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class Reply(NamedTuple):
    """What a call got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


def call(url: str, *, data: bytes | None = None, timeout_s: float = 10.0, **headers: str) -> Reply:
    """Make a call; a status of any kind is a reply, everything else raises."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(url, data=data, headers=names), timeout=timeout_s) as response:
            return Reply(response.status, _lower(response.headers), response.read())
    except HTTPError as error:
        with error:
            return Reply(error.code, _lower(error.headers), error.read())


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
