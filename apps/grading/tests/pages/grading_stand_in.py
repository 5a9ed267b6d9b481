"""What the page talks to in tests: the API as a script, with the real page under `/grading`."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import wave
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from grading.pages import DEVICES, pages
from holdfast import Holdfast
from holdfast.api import Server
from holdfast.api.middleware.headers import SecurityHeaders

PATIENCE_S = 30.0
ESSAY = (
    "Many people thinks that tourism is good for our country.\n\nIn my opinion tourism brings "
    "money 💶 and jobs, but it also bring noise and rubbish. For example, the beaches of my town "
    "is crowded every summer, and nobody cleans them."
)
QUESTIONS = [
    {
        "id": "w2-tourism",
        "skill": "writing",
        "taskNumber": 2,
        "title": "Tourism and towns",
        "prompt": "More and more people visit towns by the sea. Do the advantages outweigh the "
        "disadvantages? Give reasons and examples from your own experience.",
        "requirements": ["Discuss advantages", "Discuss disadvantages", "Give your opinion"],
        "minimumWords": 250,
    },
    {
        "id": "w1-hotel",
        "skill": "writing",
        "taskNumber": 1,
        "title": "A weekend at a hotel",
        "prompt": "You spent a weekend at a hotel. Write a letter to its manager.",
        "requirements": ["Say when you stayed"],
        "minimumWords": 120,
    },
    {
        "id": "s1-travel",
        "skill": "speaking",
        "partNumber": 1,
        "title": "Getting about",
        "prompt": "Let us talk about travelling. How do you go to work or to school?",
        "requirements": ["Say how you travel"],
        "minimumWords": 50,
    },
]


def _place(text: str, quote: str) -> dict[str, int]:
    return {"offset": text.index(quote), "length": len(quote)}


def result(**given: Any) -> dict[str, Any]:
    """A result of an essay, as the API has it."""
    return {
        "overallScore": 6.5,
        "band": "B2",
        "criteriaScores": {
            "taskFulfillment": 7.0,
            "organization": 6.5,
            "vocabulary": 6.0,
            "grammar": 5.5,
        },
        "feedback": {
            "strengths": ["A clear position from the first paragraph on."],
            "weaknesses": ["Verbs do not always agree with their subjects."],
            "suggestions": ["Read each sentence again and look for its subject."],
        },
        "annotations": [
            _place(ESSAY, "thinks") | {"message": "The subject is plural.", "suggestion": "think"},
            _place(ESSAY, "bring noise")
            | {"message": "The subject is singular.", "suggestion": None},
        ],
        "confidenceScore": 62,
        "reviewRequired": False,
        "reviewPriority": None,
        "auditFlag": False,
        "gradingMode": "auto",
        "caps": [],
        "wordCount": 41,
        "rubricVersion": 1,
        "grader": "rules",
        "gradedAt": "2026-01-31T12:00:00Z",
        "cost": {"usd": 0, "inputTokens": 0, "outputTokens": 0},
        "basis": {},
        "transcript": None,
        "speech": None,
        "audioFlags": [],
        **given,
    }


def spoken_result(**given: Any) -> dict[str, Any]:
    """A result of a recording."""
    return (
        result(
            criteriaScores={
                "grammar": 6.0,
                "vocabulary": 6.0,
                "pronunciation": 6.5,
                "fluency": 7.0,
                "discourse": 6.0,
            },
            basis={"pronunciation": "estimate"},
            transcript="I usually go to work by bus because it is cheap.",
            annotations=[],
            speech={
                "seconds": 42.0,
                "wordsPerMinute": 118.0,
                "pauses": 4,
                "longestPauseSeconds": 1.4,
            },
        )
        | given
    )


def recording() -> bytes:
    """A second of silence as WAV."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(b"\0\0" * 8_000)
    return made.getvalue()


@dataclass
class Refusal:
    status: int
    code: str
    detail: str
    errors: list[dict[str, str]] = field(default_factory=list)

    def answer(self) -> JSONResponse:
        return JSONResponse(vars(self), self.status, media_type="application/problem+json")


@dataclass
class StandInApi:
    """`rows` are submissions, newest first; everything else says how it answers."""

    app: Holdfast
    rows: list[dict[str, Any]] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    uploads: list[tuple[str, bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    """By what they answer: `submit`, `upload`, `list`, `claim`, `review`, `operations`."""
    paused: bool = False
    session: dict[str, Any] = field(
        default_factory=lambda: {"name": "ada", "role": "operator", "owner": None}
    )
    reviews: list[dict[str, Any]] = field(default_factory=list)
    graded: list[dict[str, Any]] = field(default_factory=list)
    letters: list[dict[str, Any]] = field(default_factory=list)
    operations: dict[str, Any] = field(default_factory=dict)
    max_seconds: float = 600.0
    reading: threading.Event = field(default_factory=threading.Event)
    """While it is not set, uploads are begun and not read to their end."""

    def __post_init__(self) -> None:
        self.reading.set()
        self._streams: dict[str, set[asyncio.Queue[str]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        post = {"methods": ["POST"]}
        routes = [
            Route("/api/session", self._session),
            Route("/api/stream", self._stream),
            Route("/api/grading/service", self._service),
            Route("/api/grading/operations", self._operations),
            Route("/api/grading/dlq", lambda _: JSONResponse({"items": self.letters})),
            Route("/api/grading/dlq/{id}/{what}", self._letter, **post),
            Route("/api/questions", lambda _: JSONResponse({"items": QUESTIONS})),
            Route("/api/progress", self._progress),
            Route("/api/submissions", self._list),
            Route("/api/submissions", self._submit, **post),
            Route("/api/submissions/{id}", self._get),
            Route("/api/submissions/{id}/events", self._history),
            Route("/api/submissions/{id}/cancel", self._cancel, **post),
            Route("/api/sse/submissions/{id}", self._sse),
            Route("/api/audio", self._upload, **post),
            Route("/api/audio/{id}", self._audio),
            Route("/api/admin/submissions/pending-review", self._pending),
            Route("/api/admin/submissions/{id}/review", self._review, methods=["PUT"]),
            Route("/api/admin/submissions/{id}/{what}", self._claim, **post),
            Route("/grading", lambda _: RedirectResponse("/grading/")),
            Mount("/grading", pages(self.app)),
        ]
        site = SecurityHeaders(Starlette(routes=routes), https=False, devices={"/grading": DEVICES})
        self._server = Server(site)
        self._server.start()

    @property
    def address(self) -> str:
        return self._server.address

    def add(self, status: str = "PENDING", **given: Any) -> dict[str, Any]:
        """Make a submission the newest; nobody is notified."""
        made = submission(f"sub-{len(self.rows) + 1}", status) | given
        self.rows.insert(0, made)
        return made

    def tell(self, stream: str, name: str, data: dict[str, Any] | None = None) -> None:
        """Send an event to whoever listens to a stream: `all`, or the id of a submission."""
        self.until(lambda: bool(self._streams.get(stream)))
        text = f"id: {name}\nevent: {name}\ndata: {json.dumps(data or {})}\n\n"
        for each in tuple(self._streams[stream]):
            self._loop.call_soon_threadsafe(each.put_nowait, text)

    def until(self, holds: Callable[[], bool]) -> None:
        given_up_at = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < given_up_at, "it has not come about in time"
            sleep(0.02)

    def close(self) -> None:
        self.reading.set()
        self._server.request_stop()
        self._server.wait(10)

    def _row(self, request: Request) -> dict[str, Any]:
        return next(row for row in self.rows if row["submissionId"] == request.path_params["id"])

    async def _session(self, request: Request) -> Response:
        return JSONResponse({"csrf_token": None, "console": True, **self.session})

    async def _service(self, request: Request) -> Response:
        return JSONResponse(
            {
                "paused": self.paused,
                "audioMaxBytes": 1_000_000,
                "audioMaxSeconds": self.max_seconds,
                "reviews": True,
            }
        )

    async def _progress(self, request: Request) -> Response:
        none = {"count": 0, "windowAvg": None, "trend": "insufficient_data"}
        done = [row for row in self.rows if row["status"] == "COMPLETED"]
        some = {"count": len(done), "windowAvg": 6.5, "trend": "improving"}
        return JSONResponse({"writing": some if done else none, "speaking": none})

    async def _list(self, request: Request) -> Response:
        self.asked.append("list")
        if "list" in self.refusals:
            return self.refusals["list"].answer()
        begin = int(request.query_params.get("cursor", "0"))
        end = begin + int(request.query_params["limit"])
        more = str(end) if end < len(self.rows) else None
        items = [{k: v for k, v in row.items() if k != "answer"} for row in self.rows[begin:end]]
        return JSONResponse({"items": items, "nextCursor": more})

    async def _submit(self, request: Request) -> Response:
        body = await request.json()
        self.sent.append(body)
        self.keys.append(request.headers["idempotency-key"])
        if "submit" in self.refusals:
            return self.refusals["submit"].answer()
        given = {name: body[name] for name in ("skill", "questionId", "answer")}
        return JSONResponse(self.add(**given), 201)

    async def _get(self, request: Request) -> Response:
        return JSONResponse(self._row(request))

    async def _history(self, request: Request) -> Response:
        row = self._row(request)
        items = [{"at": row["createdAt"], "event": "created", "text": "Handed in."}]
        if row["status"] != "PENDING":
            items.append({"at": row["createdAt"], "event": "taken", "text": "Taken by a grader."})
        return JSONResponse({"items": items, "nextCursor": None})

    async def _cancel(self, request: Request) -> Response:
        row = self._row(request)
        row |= {"status": "FAILED", "failureReason": "CANCELLED", "step": None}
        return JSONResponse(row)

    async def _upload(self, request: Request) -> Response:
        await asyncio.to_thread(self.reading.wait, PATIENCE_S)
        async with request.form() as form:
            file = form["file"]
            content = await file.read()
        self.uploads.append((file.filename, content))
        if "upload" in self.refusals:
            return self.refusals["upload"].answer()
        document = {
            "audioUrl": f"{self.address}/api/audio/rec-{len(self.uploads)}",
            "sha256": "0" * 64,
            "bytes": len(content),
            "mediaType": file.content_type,
            "durationSeconds": 2.5,
        }
        return JSONResponse(document, 201)

    async def _audio(self, request: Request) -> Response:
        self.asked.append(f"audio {request.path_params['id']}")
        return Response(recording(), media_type="audio/wav")

    async def _pending(self, request: Request) -> Response:
        if "pending" in self.refusals:
            return self.refusals["pending"].answer()
        return JSONResponse({"items": self.reviews, "nextCursor": None})

    async def _claim(self, request: Request) -> Response:
        if "claim" in self.refusals:
            return self.refusals["claim"].answer()
        item = next(e for e in self.reviews if e["submissionId"] == request.path_params["id"])
        until = (datetime.now(UTC) + timedelta(minutes=15)).isoformat()
        is_claim = request.path_params["what"] == "claim"
        item |= {"claimedBy": "ada" if is_claim else None}
        item |= {"claimedUntil": until if is_claim else None}
        return JSONResponse(item)

    async def _review(self, request: Request) -> Response:
        self.graded.append(await request.json())
        if "review" in self.refusals:
            return self.refusals["review"].answer()
        self.reviews = [e for e in self.reviews if e["submissionId"] != request.path_params["id"]]
        return JSONResponse({})

    async def _operations(self, request: Request) -> Response:
        if "operations" in self.refusals:
            return self.refusals["operations"].answer()
        return JSONResponse(
            {
                "outbox": {"pending": 0, "oldestSeconds": None},
                "broker": {"connected": None},
                "grader": {"lastSeenAt": datetime.now(UTC).isoformat()},
                "breakers": [
                    {"name": "llm", "state": "closed"},
                    {"name": "stt", "state": "closed"},
                ],
                "timedOutToday": 0,
                "lateToday": 0,
                "dlqOpen": len(self.letters),
                "callsInDoubt": 0,
                "costTodayUsd": 0.0,
                **self.operations,
            }
        )

    async def _letter(self, request: Request) -> Response:
        self.asked.append(f"{request.path_params['what']} {request.path_params['id']}")
        self.letters = [e for e in self.letters if e["id"] != request.path_params["id"]]
        return JSONResponse({})

    async def _stream(self, request: Request) -> Response:
        return self._events_of("all", "retry: 2000\n\n")

    async def _sse(self, request: Request) -> Response:
        return self._events_of(request.path_params["id"], "retry: 5000\n\n")

    def _events_of(self, stream: str, opening: str) -> Response:
        self._loop = asyncio.get_running_loop()
        return StreamingResponse(self._events(stream, opening), media_type="text/event-stream")

    async def _events(self, stream: str, opening: str) -> AsyncIterator[str]:
        events: asyncio.Queue[str] = asyncio.Queue()
        self._streams.setdefault(stream, set()).add(events)
        try:
            yield opening
            while text := await events.get():
                yield text
        finally:
            self._streams[stream].discard(events)


def submission(submission_id: str, status: str) -> dict[str, Any]:
    """A submission as the API shows it."""
    now = datetime.now(UTC)
    under_way = status in {"PENDING", "PROCESSING"}
    done = status == "COMPLETED"
    return {
        "submissionId": submission_id,
        "requestId": "00000000-0000-4000-8000-000000000000",
        "userId": "ada",
        "skill": "writing",
        "questionId": "w2-tourism",
        "attempt": 1,
        "status": status,
        "step": ("queued" if status == "PENDING" else "analyzing") if under_way else None,
        "progress": (0.0 if status == "PENDING" else 0.4) if under_way else None,
        "failureReason": "TIMEOUT" if status == "FAILED" else None,
        "lastError": None,
        "attemptsMade": 1,
        "createdAt": (now - timedelta(minutes=3)).isoformat(),
        "deadlineAt": (now + timedelta(minutes=17)).isoformat(),
        "completedAt": now.isoformat() if done else None,
        "isLate": False,
        "result": result() if done else None,
        "lateResult": None,
        "versions": [],
        "answer": {"text": ESSAY},
    }


def pending(submission_id: str, priority: str, **given: Any) -> dict[str, Any]:
    """A submission that waits for a teacher."""
    return submission(submission_id, "REVIEW_REQUIRED") | {
        "result": result(confidenceScore=40, reviewRequired=True, reviewPriority=priority),
        "reviewPriority": priority,
        "claimedBy": None,
        "claimedUntil": None,
        "listenUrl": None,
        **given,
    }


def letter(letter_id: str, **given: Any) -> dict[str, Any]:
    """A dead letter as the API shows it."""
    return {
        "id": letter_id,
        "requestId": "00000000-0000-4000-8000-000000000000",
        "submissionId": "01J8-sub",
        "skill": "speaking",
        "failureReason": "AUDIO_DECODE_ERROR",
        "attemptsMade": 1,
        "lastError": "the recording has no audio stream",
        "stage": "decode",
        "timestamp": datetime.now(UTC).isoformat(),
        "canRetry": True,
        **given,
    }
