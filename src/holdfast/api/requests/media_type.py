"""Bodies are JSON: what is sent as something else is refused before it is read."""

from __future__ import annotations

from starlette.requests import Request

from holdfast.api.problems import Problem


def check_media_type(request: Request) -> None:
    """Raise a problem when a request has a body that is not declared to be JSON."""
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        return
    raise Problem(
        "unsupported_media_type",
        "send the body as JSON, with 'Content-Type: application/json'",
        headers={"Accept": "application/json"},
    )
