"""What every answer tells a browser: no frames, no guessing, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "media-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS: Final = (
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    # Not "no-referrer": browsers then send forms with the origin "null", as if from elsewhere.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
DEVICES: Final = ("camera", "microphone")
"""What pages may be given of a browser's devices."""
WITH_HTTPS: Final = (("Strict-Transport-Security", "max-age=31536000"),)


def _raw(headers: Iterable[tuple[str, str]]) -> tuple[tuple[bytes, bytes], ...]:
    """Return headers as ASGI has them."""
    return tuple((name.lower().encode(), value.encode()) for name, value in headers)


UNLESS_SAID: Final = _raw((("Cache-Control", "no-store"),))


def _with_devices(devices: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers of pages that may use devices, and show what those have recorded."""
    found = dict(ALWAYS)
    for device in devices:
        found["Permissions-Policy"] = found["Permissions-Policy"].replace(
            f"{device}=()", f"{device}=(self)"
        )
    found["Content-Security-Policy"] = CONTENT_SECURITY_POLICY.replace(
        "media-src 'self'", "media-src 'self' blob:"
    )
    return tuple(found.items())


class SecurityHeaders:
    """Adds the headers to every answer.

    `devices` are what the pages below a path may use of the browser's devices.
    """

    def __init__(
        self, app: ASGIApp, *, https: bool, devices: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._app = app
        more = WITH_HTTPS if https else ()
        self._always = _raw(ALWAYS + more)
        self._names = frozenset(name for name, _ in self._always)
        self._below = {
            f"{path.rstrip('/')}/": _raw(_with_devices(named) + more)
            for path, named in (devices or {}).items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and the headers with its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        always = self._headers(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [pair for pair in message.get("headers", ()) if pair[0] not in self._names]
                said = {name for name, _ in others}
                missing = (pair for pair in UNLESS_SAID if pair[0] not in said)
                message["headers"] = [*others, *always, *missing]
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _headers(self, scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
        if self._below:
            path = str(scope["path"]).removeprefix(str(scope.get("root_path", "")))
            for start, headers in self._below.items():
                if path.startswith(start):
                    return headers
        return self._always
