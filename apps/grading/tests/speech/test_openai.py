import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from apps.grading.tests.recordings import silence, tone, write_wav
from grading.audio import DecodeLimits, decode
from grading.speech import STT_RULES, SttConfig, Transcript, open_transcriber
from grading.speech.stand_in import form_of
from grading.speech.upload import small_file
from holdfast import errors
from holdfast.classify import classify
from holdfast.systems import Call
from holdfast.variables import Variables
from tests.first_use import openai

TRANSCRIPT = {"text": "Hello.", "segments": [{"start": 0.1, "end": 0.9, "text": "Hello."}]}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers["content-length"]))
        self.server.seen.append(Call("POST", self.path, headers, body))
        status, content, more = self.server.reply
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def serving(status=200, document=None, **more: str) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    content = document if isinstance(document, bytes) else json.dumps(document or TRANSCRIPT)
    content = content if isinstance(content, bytes) else content.encode()
    server.reply = (status, content, {name.replace("_", "-"): each for name, each in more.items()})
    server.seen = []
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def recording(tmp_path):
    source = write_wav(tmp_path / "a.wav", tone(6))
    return decode(source, tmp_path / "decoded", limits=DecodeLimits()).path


@pytest.fixture
def transcribe(recording):
    def call(server, *, path=None, timeout_s=20.0, headers=None, **options):
        config = SttConfig(base_url=server.url, api_key="sk-test", **options)
        return open_transcriber(config).transcribe(
            path or recording, token="token-1", timeout_s=timeout_s, headers=headers or {}
        )

    return call


@pytest.fixture
def failure(transcribe):
    """What the rules make of an answer."""

    def of(status, document=None, **more):
        with (
            serving(status, document, **more) as server,
            pytest.raises(openai.APIStatusError) as caught,
        ):
            transcribe(server)
        assert len(server.seen) == 1
        return classify(caught.value, STT_RULES, now=0)

    return of


def test_a_call_sends_a_small_file_and_keeps_the_answer_as_it_came(transcribe):
    with serving() as server:
        raw = transcribe(server, price_per_minute_usd=0.006)
    [call] = server.seen
    form = form_of(call)

    assert call.path == "/v1/audio/transcriptions"
    assert form["model"] == b"whisper-1"
    assert form["response_format"] == b"verbose_json"
    assert form["file"].startswith(b"fLaC")
    assert json.loads(raw.body) == TRANSCRIPT
    assert raw.provider == "openai:whisper-1"
    assert raw.usage == {"inputTokens": 0, "outputTokens": 0, "usd": 0.0006}
    assert Transcript.from_raw(raw).segments[0].text == "Hello."


def test_a_model_without_times_is_called_for_plain_json(transcribe):
    usage = {"type": "tokens", "input_tokens": 70, "output_tokens": 5}
    with serving(document={"text": "Hello.", "usage": usage}) as server:
        raw = transcribe(server, model="gpt-transcribe")

    assert form_of(server.seen[0])["response_format"] == b"json"
    assert raw.usage == {"inputTokens": 70, "outputTokens": 5, "usd": 0.0}


def test_the_idempotency_key_and_the_trace_are_sent_and_nothing_of_the_environment(
    transcribe, monkeypatch
):
    for name in ("ORG_ID", "PROJECT_ID", "ADMIN_KEY", "API_KEY", "BASE_URL"):
        monkeypatch.setenv(f"OPENAI_{name}", "http://127.0.0.1:9/leaked")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leaked\nAuthorization: Bearer leaked")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with serving() as server:
        transcribe(server, headers={"traceparent": "00-1"})
    [call] = server.seen

    assert call.headers["idempotency-key"] == "token-1"
    assert call.headers["traceparent"] == "00-1"
    assert call.headers["authorization"] == "Bearer sk-test"
    assert "leaked" not in json.dumps(dict(call.headers))
    assert set(call.headers) == {
        *("host", "accept", "accept-encoding", "connection", "user-agent", "authorization"),
        *("content-length", "content-type", "idempotency-key", "traceparent"),
    }


def test_without_a_key_no_credentials_are_sent(recording):
    with serving() as server:
        config = SttConfig(base_url=server.url)
        open_transcriber(config).transcribe(recording, token="t", timeout_s=20, headers={})

    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("status", [500, 529])
def test_an_api_that_fails_is_tried_again_by_the_store_and_not_by_the_sdk(failure, status):
    found = failure(status)

    assert (found.error_class, found.retryable, found.blames_upstream) == (
        "UPSTREAM_5XX",
        True,
        True,
    )


def test_a_rate_limit_is_tried_again_when_the_api_says_and_is_no_evidence(failure):
    found = failure(429, Retry_After="7")

    assert (found.error_class, found.retryable, found.blames_upstream) == (
        "RATE_LIMITED",
        True,
        False,
    )
    assert found.retry_after_us == 7_000_000


@pytest.mark.parametrize(
    ("status", "code"),
    [(403, "x"), (429, "insufficient_quota")],
)
def test_refused_credentials_and_spent_quotas_are_not_tried_again(failure, status, code):
    found = failure(status, {"error": {"message": "no", "type": "x", "code": code}})

    assert (found.error_class, found.retryable) == ("PROVIDER_AUTH", False)


@pytest.mark.parametrize("status", [302, 422])
def test_other_refusals_are_not_tried_again(failure, status):
    found = failure(status, Location="http://127.0.0.1:9/")

    assert (found.error_class, found.retryable) == ("PROVIDER_ERROR", False)


def test_refused_content_is_not_tried_again(failure):
    found = failure(400, {"error": {"code": "content_policy_violation", "message": "no"}})

    assert (found.error_class, found.retryable) == ("CONTENT_POLICY", False)


def test_what_an_api_says_about_a_failure_is_not_repeated(transcribe):
    said = {"error": {"message": "bad key sk-test for Anna", "type": "x y", "code": "nope"}}
    with serving(400, said) as server, pytest.raises(openai.BadRequestError) as caught:
        transcribe(server)

    assert "Anna" not in f"{caught.value!r} {caught.value.body}"
    assert caught.value.body == {"error": {"code": "nope", "type": None}}


def test_an_api_that_is_away_is_tried_again(transcribe):
    with serving() as server:
        pass
    with pytest.raises(openai.APIConnectionError) as caught:
        transcribe(server)

    found = classify(caught.value, STT_RULES, now=0)
    assert (found.retryable, found.blames_upstream) == (True, True)


def test_an_api_that_does_not_answer_ends_with_the_time_for_the_call(transcribe):
    released = threading.Event()

    class Hanging(Handler):
        def do_POST(self):
            released.wait(30)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        with pytest.raises((openai.APITimeoutError, TimeoutError)) as caught:
            transcribe(server, timeout_s=3)
    finally:
        released.set()
        server.shutdown()
        thread.join()
        server.server_close()

    found = classify(caught.value, STT_RULES, now=0)
    assert (found.error_class, found.retryable) == ("NETWORK_TIMEOUT", True)


def test_an_answer_that_is_no_json_is_kept_and_refused_when_it_is_read(transcribe):
    with serving(document=b"<html>Welcome</html>") as server:
        raw = transcribe(server)

    assert raw.body == "<html>Welcome</html>"
    with pytest.raises(Exception, match="not JSON") as caught:
        Transcript.from_raw(raw)
    found = classify(caught.value, STT_RULES, now=0)
    assert (found.error_class, found.retryable) == ("PROVIDER_ERROR", False)


@pytest.mark.slow
def test_the_longest_recording_stays_below_what_apis_take(tmp_path):
    rolls = np.random.default_rng(3)
    loud = rolls.uniform(-1, 1, 11 * 60 * 16_000).astype("float32")
    sent = small_file(write_wav(tmp_path / "noise.wav", loud), tmp_path, timeout_s=50)
    plain = small_file(write_wav(tmp_path / "a.wav", silence(60)), tmp_path, timeout_s=50)

    assert (sent.media_type, plain.media_type) == ("audio/ogg", "audio/flac")
    assert sent.path.stat().st_size < 20 * 1024 * 1024


def test_settings_are_read_strictly():
    given = {
        "STT_BASE_URL": "https://stt.example/v1",
        "STT_API_KEY": "secret-key",
        "STT_TIMEOUT_MS": "5000",
    }
    config = SttConfig.from_variables(Variables(given))

    assert (config.base_url, config.api_key, config.timeout_s) == (
        "https://stt.example/v1",
        "secret-key",
        5.0,
    )
    assert "secret-key" not in repr(config)
    with pytest.raises(errors.InvalidSetting, match="STT_BASE_URL"):
        SttConfig.from_variables(Variables({"STT_BASE_URL": "stt.example"}))
