"""What the page talks to in tests: the API as a script, with the real page under `/convert`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from converter.pages import pages
from holdfast import Holdfast
from holdfast.api import Server
from holdfast.api.middleware.headers import SecurityHeaders

MAX_BYTES = 50 * 1024 * 1024
PATIENCE_S = 30.0
WORDS = {
    "queued": "Waiting for its turn.",
    "processing": "Being converted.",
    "complete": "Ready.",
    "failed": "It could not be converted.",
    "cancelled": "It was cancelled.",
    "expired": "Its time was up.",
    "removed": "Removed.",
}
GATEWAY_FAILS = "Converter service had an issue. Try again later."


@dataclass
class Refusal:
    status: int
    code: str
    detail: str

    def answer(self) -> JSONResponse:
        body = {"type": "about:blank", "title": self.code, **vars(self)}
        return JSONResponse(body, self.status, media_type="application/problem+json")


@dataclass
class Received:
    """An upload that arrived, in the order of its fields."""

    fields: list[str]
    mapping: str
    filename: str
    content: bytes


@dataclass
class StandInApi:
    """`rows` are what is listed, newest first; everything else says how it answers."""

    app: Holdfast
    rows: list[dict[str, Any]] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    """Refusals by what they answer: `conversions`, `stream`, `retry`, `remove`, or a file name."""
    paused: bool = False
    csrf_token: str | None = None
    """What somebody with a session has to send along."""
    console: bool = False
    """Whether whoever looks is let into the console."""
    keeps_removed: bool = False
    """Whether what was removed is listed still, without its files."""
    most_at_once: int = 0
    reading: threading.Event = field(default_factory=threading.Event)
    """While it is not set, uploads are begun and not read to their end."""
    answering_retries: threading.Event = field(default_factory=threading.Event)
    """While it is not set, retries are made and not answered."""

    listing: threading.Event = field(default_factory=threading.Event)
    """While it is not set, nobody learns what is listed, and which mappings there are."""

    def __post_init__(self) -> None:
        self.listing.set()
        self.reading.set()
        self.answering_retries.set()
        self._at_once = 0
        self._streams: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        routes = [
            Route("/api/conversions", self._list),
            Route("/api/session", self._session),
            Route("/api/upload", self._upload, methods=["POST"]),
            Route("/api/stream", self._stream),
            Route("/api/jobs/{id}/retry", self._retry, methods=["POST"]),
            Route("/api/jobs/{id}/download", self._download),
            Route("/api/jobs/{id}", self._remove, methods=["DELETE"]),
            Route("/convert", lambda _: RedirectResponse("/convert/")),
            Mount("/convert", pages(self.app)),
        ]
        self._server = Server(SecurityHeaders(Starlette(routes=routes), https=False))
        self._server.start()

    @property
    def address(self) -> str:
        return self._server.address

    def add(self, filename: str, state: str = "queued", **given: Any) -> dict[str, Any]:
        """List a conversion as the newest; nobody is told."""
        made = conversion(f"job-{len(self.rows) + 1}-{filename}", filename, state) | given
        self.rows.insert(0, made)
        return made

    def tell(self, name: str) -> None:
        """Send an event to whoever listens."""
        self.until(lambda: bool(self._streams))
        for each in self._streams:
            self._loop.call_soon_threadsafe(each.put_nowait, name)

    def until(self, holds: Callable[[], bool]) -> None:
        given_up_at = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < given_up_at, "it has not come about in time"
            sleep(0.02)

    def close(self) -> None:
        self.listing.set()
        self.reading.set()
        self.answering_retries.set()
        self._server.request_stop()
        self._server.wait(10)

    async def _list(self, request: Request) -> Response:
        self.asked.append("list")
        await asyncio.to_thread(self.listing.wait, PATIENCE_S)
        if "conversions" in self.refusals:
            return self.refusals["conversions"].answer()
        mappings = ["text", "layout", "raw"]
        return JSONResponse(
            {
                "items": self.rows[:100],
                "paused": self.paused,
                "mappings": mappings,
                "max_bytes": MAX_BYTES,
            }
        )

    async def _session(self, request: Request) -> Response:
        return JSONResponse({"name": "ada", "csrf_token": self.csrf_token, "console": self.console})

    def _refused(self, request: Request, what: str) -> Refusal | None:
        if request.headers.get("x-csrf-token") != self.csrf_token:
            return Refusal(403, "csrf_refused", "a request with a session has to carry its token")
        return self.refusals.get(what)

    async def _upload(self, request: Request) -> Response:
        self.asked.append("upload")
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.to_thread(self.reading.wait)
            async with request.form() as form:
                file = form["file"]
                content = await file.read()
                arrived = Received(list(form), str(form["mapping"]), file.filename, content)
        finally:
            self._at_once -= 1
        if (refused := self._refused(request, arrived.filename)) is not None:
            return refused.answer()
        self.received.append(arrived)
        for row in self.rows:
            if (row["filename"], row["mapping"]) == (arrived.filename, arrived.mapping):
                return JSONResponse(row, 200)
        sent = {"size": len(content), "mapping": arrived.mapping}
        return JSONResponse(self.add(arrived.filename, **sent), 201)

    async def _stream(self, request: Request) -> Response:
        self.asked.append(f"stream {request.url.query}")
        if "stream" in self.refusals:
            return self.refusals["stream"].answer()
        self._loop = asyncio.get_running_loop()
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        events: asyncio.Queue[str] = asyncio.Queue()
        self._streams.add(events)
        try:
            yield "retry: 2000\n\n"
            while (name := await events.get()) != "end":
                yield f"event: {name}\ndata: {{}}\n\n"
        finally:
            self._streams.discard(events)

    async def _retry(self, request: Request) -> Response:
        self.asked.append(f"retry {request.path_params['id']}")
        if (refused := self._refused(request, "retry")) is not None:
            return refused.answer()
        row = self._row(request)
        row |= {"state": "queued", "says": WORDS["queued"], "attempt": 0, "finished_at": None}
        row |= {"error_code": None, "error_message": None, "retryable": False, "can_retry": False}
        await asyncio.to_thread(self.answering_retries.wait)
        return JSONResponse(row)

    async def _remove(self, request: Request) -> Response:
        if (refused := self._refused(request, "remove")) is not None:
            return refused.answer()
        row = self._row(request)
        if self.keeps_removed:
            row |= {"state": "removed", "says": WORDS["removed"], "download": None}
            row |= {"removable": False}
        else:
            self.rows.remove(row)
        return Response(status_code=204)

    async def _download(self, request: Request) -> Response:
        name = self._row(request)["filename"].replace(".pdf", ".xml")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response("<document/>", headers=headers, media_type="application/xml")

    def _row(self, request: Request) -> dict[str, Any]:
        return next(row for row in self.rows if row["id"] == request.path_params["id"])


def conversion(job_id: str, filename: str, state: str) -> dict[str, Any]:
    """A conversion as the API tells of it."""
    now = datetime.now(UTC)
    ended = state not in {"queued", "processing"}
    failed = state == "failed"
    return {
        "id": job_id,
        "filename": filename,
        "size": 48_213,
        "mapping": "text",
        "state": state,
        "says": WORDS[state],
        "attempt": 3 if failed else 0 if state == "queued" else 1,
        "attempts": 3,
        "created_at": (now - timedelta(seconds=75)).isoformat(),
        "finished_at": (now - timedelta(seconds=71)).isoformat() if ended else None,
        "error_code": "GW_5XX" if failed else None,
        "error_message": GATEWAY_FAILS if failed else None,
        "retryable": failed,
        "removable": failed or state in {"queued", "processing", "complete"},
        "can_retry": failed,
        "download": f"/api/jobs/{job_id}/download" if state == "complete" else None,
    }
