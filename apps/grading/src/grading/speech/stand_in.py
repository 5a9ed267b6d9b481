"""What stands in for a speech API on a developer's machine: the recogniser behind OpenAI's form.

`POST …/audio/transcriptions` transcribes, charges once for each idempotency key, and repeats the
answer of a known one. `GET /ledger` says what was called and charged.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any, Final

from grading.audio import AudioDecodeError, DecodeLimits, DecoderFailed, NotAudio, decode
from grading.speech.errors import RecogniserFailed
from grading.speech.recogniser import Recogniser
from grading.speech.records import Transcriber
from holdfast.systems import Answer, Call

MAX_BODY_BYTES: Final = 26 * 1024 * 1024
PRICE_PER_MINUTE_USD: Final = 0.006
_TIMEOUT_S: Final = 120.0
_MAX_KEYS: Final = 10_000
_TRANSCRIPTIONS: Final = "/audio/transcriptions"
_FORMATS: Final = ("json", "verbose_json", "text")


@dataclass(slots=True)
class _Entry:
    """What became of one idempotency key."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    calls: int = 0
    charges: int = 0
    usd: float = 0.0
    answer: Answer | None = None


class SttStandIn:
    """A speech API with a ledger. Any number of threads may call it."""

    def __init__(self, transcriber: Transcriber | None = None) -> None:
        self._transcriber = transcriber or Recogniser()
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._without_key = 0

    def answer(self, call: Call) -> Answer:
        """Answer as the API does."""
        path = call.path.partition("?")[0].rstrip("/")
        if call.method == "GET" and path == "/ledger":
            return _json(200, self.ledger())
        if call.method != "POST" or not path.endswith(_TRANSCRIPTIONS):
            return _error(404, "not_found_error", "There is nothing here.")
        entry = self._entry(call.headers.get("idempotency-key"))
        # A repeat that comes while the first call is under way waits for its answer.
        with entry.lock:
            entry.calls += 1
            if entry.answer is not None:
                return entry.answer
            answer, seconds = self._transcribed(call)
            if seconds is not None:
                entry.answer = answer
                entry.charges += 1
                entry.usd += PRICE_PER_MINUTE_USD * seconds / 60
            return answer

    def ledger(self) -> dict[str, Any]:
        """Return what was called and charged, in all and by idempotency key."""
        with self._lock:
            entries = dict(self._entries)
        return {
            "calls": sum(entry.calls for entry in entries.values()),
            "charges": sum(entry.charges for entry in entries.values()),
            "usd": round(sum(entry.usd for entry in entries.values()), 8),
            "keys": {
                key: {"calls": entry.calls, "charges": entry.charges}
                for key, entry in entries.items()
            },
        }

    def _entry(self, key: str | None) -> _Entry:
        with self._lock:
            if key is None:
                # Every call without a key is one of its own.
                self._without_key += 1
                key = f"(none {self._without_key})"
            entry = self._entries.setdefault(key, _Entry())
            if len(self._entries) > _MAX_KEYS:
                self._entries.popitem(last=False)
            return entry

    def _transcribed(self, call: Call) -> tuple[Answer, float | None]:
        """Return the answer, and the seconds it is charged for, None where nothing was done."""
        form = form_of(call)
        audio, model = form.get("file"), form.get("model")
        wanted = form.get("response_format", b"json").decode("utf-8", "replace")
        if audio is None or model is None or wanted not in _FORMATS:
            return _error(400, "invalid_request_error", "file, model or format is missing"), None
        with tempfile.TemporaryDirectory(prefix="grading-stand-in-") as name:
            source = Path(name) / "upload"
            source.write_bytes(audio)
            try:
                limits = DecodeLimits(min_seconds=0.0)
                decoded = decode(source, Path(name) / "decoded", limits=limits)
                raw = self._transcriber.transcribe(
                    decoded.path, token="", timeout_s=_TIMEOUT_S, headers={}
                )
            except (AudioDecodeError, NotAudio) as error:
                return _error(400, "invalid_request_error", error.message), None
            except (DecoderFailed, RecogniserFailed):
                return _error(500, "server_error", "The recogniser failed."), None
        return _as_asked(wanted, json.loads(raw.body), decoded.seconds), decoded.seconds


def _as_asked(wanted: str, found: Mapping[str, Any], seconds: float) -> Answer:
    if wanted == "text":
        return Answer(200, found["text"].encode(), "text/plain; charset=utf-8")
    usage = {"type": "duration", "seconds": round(seconds)}
    if wanted == "json":
        return _json(200, {"text": found["text"], "usage": usage})
    segments = [{"id": number, **segment} for number, segment in enumerate(found["segments"])]
    return _json(
        200,
        {
            "task": "transcribe",
            "language": "english",
            "duration": seconds,
            "text": found["text"],
            "segments": segments,
            "usage": usage,
        },
    )


def form_of(call: Call) -> dict[str, bytes]:
    """Return the fields of a form with files, by name; none where the body is no such form."""
    kind = call.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        return {}
    boundary = _headers(f"Content-Type: {kind}".encode("latin-1", "replace")).get_boundary("")
    fields: dict[str, bytes] = {}
    for part in (b"\r\n" + call.body).split(f"\r\n--{boundary}".encode())[1:]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = _headers(head.strip()).get_param("name", header="content-disposition")
        if isinstance(name, str):
            fields[name] = content
    return fields


def _headers(head: bytes) -> EmailMessage:
    return BytesParser(policy=HTTP).parsebytes(head, headersonly=True)


def _json(status: int, document: Mapping[str, Any]) -> Answer:
    return Answer(status, json.dumps(document).encode())


def _error(status: int, kind: str, message: str, *, code: str | None = None) -> Answer:
    return _json(status, {"error": {"message": message, "type": kind, "code": code}})


def _says_nothing(_call: Call) -> Answer:
    return _json(200, {"text": ""})


def _answers_html(_call: Call) -> Answer:
    return Answer(200, b"<html>Welcome</html>", "text/html")


def _has_no_credit(_call: Call) -> Answer:
    return _error(429, "insufficient_quota", "No credit is left.", code="insufficient_quota")


def _refuses_key(_call: Call) -> Answer:
    return _error(401, "invalid_request_error", "Incorrect API key.", code="invalid_api_key")


FAULTS: Final[Mapping[str, Callable[[Call], Answer]]] = {
    "Hears nothing": _says_nothing,
    "Answers with a web page": _answers_html,
    "Has no credit left": _has_no_credit,
    "Refuses the key": _refuses_key,
}
"""Further ways to fail, beside those that every stand-in has."""

STAND_IN: Final = SttStandIn()
"""The one of this process."""


def answer(call: Call) -> Answer:
    """Answer as a speech API does; see `SttStandIn`."""
    return STAND_IN.answer(call)
