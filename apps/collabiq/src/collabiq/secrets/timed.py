"""Requests of the `requests` library that end in limited time."""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import HTTPAdapter


class Timed(HTTPAdapter):
    """Gives every request a limit: those of Infisical's SDK have none."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(max_retries=0)
        self._timeout_s = timeout_s

    def send(
        self,
        request: requests.PreparedRequest,
        *given: Any,  # noqa: ANN401 - as requests calls it
        **named: Any,  # noqa: ANN401
    ) -> requests.Response:
        """Send a request, in limited time."""
        if named.get("timeout") is None:
            named["timeout"] = self._timeout_s
        return super().send(request, *given, **named)
