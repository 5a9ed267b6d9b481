import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from grading.audio import AudioDecodeError
from grading.calls import FREE, RawAnswer
from grading.speech import STT_RULES, SttConfig, Transcript, open_transcriber
from grading.speech.stand_in import FAULTS, MAX_BODY_BYTES, SttStandIn, answer, form_of
from holdfast.classify import classify
from holdfast.lab.stand_in_server import StandInServer
from holdfast.systems import Call, StandIn
from tests.first_use import openai

BOUNDARY = "xyz"


def call_with(audio: bytes, *, key: str | None = "k1", **fields: str) -> Call:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in {"model": "whisper-1", **fields}.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    body = b"".join([*parts, head.encode(), audio, f"\r\n--{BOUNDARY}--\r\n".encode()])
    headers = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
    if key is not None:
        headers["idempotency-key"] = key
    return Call("POST", "/v1/audio/transcriptions", headers, body)


class Scripted:
    """A recogniser that answers at once and counts."""

    name = "scripted"

    def __init__(self) -> None:
        self.calls = 0
        self._lock = threading.Lock()

    def transcribe(self, path, **_):
        with self._lock:
            self.calls += 1
        return RawAnswer(json.dumps({"text": "Hello.", "segments": []}), "scripted", dict(FREE))


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture
def stand_in(scripted) -> SttStandIn:
    return SttStandIn(scripted)


@pytest.mark.slow
def test_the_real_client_is_answered_by_the_real_recogniser(short_speech):
    ledger_of = SttStandIn()
    server = StandInServer(
        StandIn(
            upstream="stt",
            variable="STT_BASE_URL",
            answer=ledger_of.answer,
            max_body_bytes=MAX_BODY_BYTES,
        )
    )
    server.start()
    try:
        transcriber = open_transcriber(SttConfig(base_url=server.url))
        raws = [
            transcriber.transcribe(short_speech.path, token="t", timeout_s=55, headers={})
            for _ in range(2)
        ]
    finally:
        server.close()

    first, second = map(Transcript.from_raw, raws)
    assert "ever tried" in first.text.lower()
    assert len(first.segments) >= 4
    assert second == first
    assert ledger_of.ledger()["keys"] == {"t": {"calls": 2, "charges": 1}}


def test_one_idempotency_key_is_charged_once(stand_in, scripted, short_speech):
    call = call_with(short_speech.path.read_bytes())
    answers = [stand_in.answer(call) for _ in range(3)]

    assert all(answer == answers[0] for answer in answers)
    assert scripted.calls == 1
    ledger = json.loads(stand_in.answer(Call("GET", "/ledger", {}, b"")).body)
    assert (ledger["calls"], ledger["charges"]) == (3, 1)
    assert ledger["usd"] == pytest.approx(0.006 * short_speech.seconds / 60, abs=1e-6)


def test_repeats_at_the_same_time_are_charged_once(stand_in, scripted, short_speech):
    call = call_with(short_speech.path.read_bytes())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(stand_in.answer, [call] * 4))

    assert all(answer == answers[0] for answer in answers)
    assert scripted.calls == 1


def test_every_call_without_a_key_is_charged(stand_in, short_speech):
    call = call_with(short_speech.path.read_bytes(), key=None)
    stand_in.answer(call)
    stand_in.answer(call)

    assert stand_in.ledger()["charges"] == 2


@pytest.mark.parametrize(
    "call",
    [
        call_with(b"Dear Sir or Madam"),
        call_with(b"", response_format="srt"),
        Call("POST", "/audio/transcriptions", {"content-type": "application/json"}, b"{}"),
        Call("POST", "/audio/transcriptions", {"content-type": "multipart/form-data"}, b"--\r\n"),
    ],
)
def test_what_cannot_be_transcribed_is_refused_and_not_charged(stand_in, call):
    found = stand_in.answer(call)

    assert found.status == 400
    assert json.loads(found.body)["error"]["type"] == "invalid_request_error"
    assert stand_in.ledger()["charges"] == 0


def test_a_failure_is_not_remembered_under_its_key(scripted, short_speech):
    class Recovers(Scripted):
        def transcribe(self, path, **options):
            raw = super().transcribe(path, **options)
            if self.calls == 1:
                raise AudioDecodeError("unreadable", "no")
            return raw

    stand_in = SttStandIn(Recovers())
    call = call_with(short_speech.path.read_bytes())

    assert [stand_in.answer(call).status for _ in range(2)] == [400, 200]


def test_other_paths_are_not_found():
    assert answer(Call("GET", "/v1/models", {}, b"")).status == 404
    assert answer(Call("GET", "/ledger", {}, b"")).status == 200


def test_a_file_comes_out_of_its_form_byte_by_byte():
    content = bytes(range(256)) * 40 + b"\r\n--xy\r\n\r\n--" + b"\r\n" * 3

    assert form_of(call_with(content))["file"] == content


@pytest.mark.parametrize(
    ("name", "error_class"),
    [("Has no credit left", "PROVIDER_AUTH"), ("Refuses the key", "PROVIDER_AUTH")],
)
def test_faults_are_what_the_real_client_knows_them_for(short_speech, name, error_class):
    server = StandInServer(
        StandIn(
            upstream="stt",
            variable="STT_BASE_URL",
            answer=FAULTS[name],
            max_body_bytes=MAX_BODY_BYTES,
        )
    )
    server.start()
    try:
        with pytest.raises(openai.APIStatusError) as caught:
            open_transcriber(SttConfig(base_url=server.url)).transcribe(
                short_speech.path, token="t", timeout_s=30, headers={}
            )
    finally:
        server.close()

    assert classify(caught.value, STT_RULES, now=0).error_class == error_class
