import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from grading.audio import AUDIO_RULES, AudioUnavailable, OwnLinks, check_url, fetch
from grading.states import FailureReason
from holdfast.classify import classify

CONTENT = b"a recording" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        self.server.answer(self)

    def log_message(self, *_):
        pass


def send(handler: Handler, status: int = 200, content: bytes = CONTENT, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


@contextmanager
def serving(answer: Callable[[Handler], None] = send) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer, server.seen = answer, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def target(tmp_path):
    (tmp_path / "fetched").mkdir()
    return tmp_path / "fetched" / "recording"


@pytest.fixture
def refused(target):
    """Why a recording could not be fetched."""

    def of(url: str, *, own: str = "https://grading.example", **options) -> AudioUnavailable:
        options = {"sha256": SHA256, "max_bytes": 100_000, "timeout_s": 5.0, **options}
        with pytest.raises(AudioUnavailable) as caught:
            fetch(url, target=target, own=OwnLinks(own), **options)
        assert caught.value.reason is FailureReason.AUDIO_UNAVAILABLE
        assert list(target.parent.iterdir()) == []
        return caught.value

    return of


def nobody(host, port):
    raise AssertionError(f"{host} was looked up")


def test_a_recording_of_this_system_is_fetched_also_from_a_private_address(target):
    with serving() as server:
        fetch(
            f"{server.url}/api/audio/1?signature=x",
            sha256=SHA256,
            target=target,
            own=OwnLinks(server.url),
            max_bytes=len(CONTENT),
            timeout_s=5,
        )

    assert target.read_bytes() == CONTENT
    [(path, headers)] = server.seen
    assert path == "/api/audio/1?signature=x"
    assert headers["accept-encoding"] == "identity"


def test_another_port_of_this_host_is_not_this_system(refused):
    with serving() as server:
        own = f"http://127.0.0.1:{server.server_port - 1}"
        failure = refused(f"{server.url}/1", own=own, hosts=["127.0.0.1"])

    assert server.seen == []
    assert not failure.retryable


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://example.org/",
        "/etc/passwd",
        "",
        "https://user:pass@audio.example/1",
        "https://audio.example\\@grading.example/1",
        "http://audio.example/1",
        "https://other.example/1",
        "https://audio.example:8443/1",
        "https://audio.example.evil.example/1",
        "https://xaudio.example/1",
        "https://[::1]/1",
        "https://169.254.169.254/latest/meta-data",
        "https://audio.example:99999/1",
    ],
)
def test_a_url_that_is_not_allowed_is_refused_before_anything_is_looked_up(refused, url):
    failure = refused(url, hosts=["audio.example", "*.media.example"], resolve=nobody)

    assert not failure.retryable


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://audio.example/1", ["audio.example"]),
        ("https://AUDIO.example./1", [" Audio.Example "]),
        ("https://audio.example:8443/1", ["audio.example:8443"]),
        ("https://a.b.media.example/1", ["*.media.example"]),
        ("https://grading.example/api/audio/1", []),
    ],
)
def test_this_system_and_allowed_hosts_may_be_called(url, hosts):
    check_url(url, own=OwnLinks("https://grading.example"), hosts=hosts)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["192.168.1.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["0.0.0.0"],
        ["::1"],
        ["fe80::1%eth0"],
        ["fd00::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["93.184.216.34", "10.0.0.1"],
    ],
)
def test_an_allowed_host_at_an_address_that_is_not_public_is_refused(refused, addresses):
    looked_up = []

    def resolve(host, port):
        looked_up.append((host, port))
        return addresses

    failure = refused("https://audio.example/1", hosts=["audio.example"], resolve=resolve)

    assert not failure.retryable
    assert looked_up == [("audio.example", 443)]


def test_the_connection_goes_to_the_address_that_was_looked_at(target):
    """A name that leads elsewhere when it is looked up again has no second chance."""
    looked_up = []

    def resolve(host, port):
        looked_up.append(host)
        return ["127.0.0.1"]

    with serving() as server:
        url = f"http://grading.invalid:{server.server_port}"
        fetch(
            f"{url}/1",
            sha256=SHA256,
            target=target,
            own=OwnLinks(url),
            max_bytes=100_000,
            timeout_s=5,
            resolve=resolve,
        )

    assert looked_up == ["grading.invalid"]
    assert target.read_bytes() == CONTENT


def test_a_redirect_is_not_followed(refused):
    with serving() as elsewhere:

        def redirect(handler):
            send(handler, 302, b"", Location=elsewhere.url)

        with serving(redirect) as server:
            failure = refused(f"{server.url}/1", own=server.url)

    assert elsewhere.seen == []
    assert not failure.retryable


def test_content_with_another_hash_is_refused(refused):
    with serving() as server:
        failure = refused(f"{server.url}/1", own=server.url, sha256="0" * 64)

    assert "not the one" in failure.message
    assert not failure.retryable


@pytest.mark.parametrize(("status", "retryable"), [(403, False), (404, False), (410, False)])
def test_a_recording_that_is_gone_is_not_tried_again(refused, status, retryable):
    with serving(lambda handler: send(handler, status)) as server:
        assert refused(f"{server.url}/1", own=server.url).retryable is retryable


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_host_that_fails_is_tried_again(refused, status):
    with serving(lambda handler: send(handler, status)) as server:
        assert refused(f"{server.url}/1", own=server.url).retryable


def test_a_host_that_is_away_is_tried_again(refused):
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    url = f"http://127.0.0.1:{port}"

    assert refused(f"{url}/1", own=url).retryable


def test_more_bytes_than_allowed_are_refused(refused):
    with serving() as server:
        failure = refused(f"{server.url}/1", own=server.url, max_bytes=len(CONTENT) - 1)

    assert "too large" in failure.message
    assert not failure.retryable


def test_a_transfer_that_breaks_off_is_tried_again(refused):
    def breaks_off(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:100])

    with serving(breaks_off) as server:
        assert refused(f"{server.url}/1", own=server.url).retryable


def test_what_trickles_in_ends_with_the_time_for_all_of_it(refused):
    ended = threading.Event()

    def trickle(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(200):
                handler.wfile.write(b"x")
                if ended.wait(0.05):
                    return
        except OSError:
            pass

    with serving(trickle) as server:
        failure = refused(f"{server.url}/1", own=server.url, timeout_s=0.5)
        ended.set()

    assert failure.retryable
    assert "in time" in failure.message


def test_a_recording_has_its_name_only_when_all_of_it_is_there(target):
    seen = []

    def halfway(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:100])
        handler.wfile.flush()
        ends_at = time.monotonic() + 3
        while not (parts := list(target.parent.iterdir())) and time.monotonic() < ends_at:
            time.sleep(0.01)
        seen.extend(path.name for path in parts)
        handler.wfile.write(CONTENT[100:])

    with serving(halfway) as server:
        own = OwnLinks(server.url)
        fetch(server.url, sha256=SHA256, target=target, own=own, max_bytes=100_000, timeout_s=5)

    assert len(seen) == 1
    assert seen != [target.name]
    assert list(target.parent.iterdir()) == [target]


def test_a_compressed_answer_is_refused(refused):
    with serving(lambda handler: send(handler, Content_Encoding="gzip")) as server:
        refused(f"{server.url}/1", own=server.url)


def test_failures_do_not_repeat_the_url_and_its_signature(refused):
    with serving(lambda handler: send(handler, 500)) as server:
        failure = refused(f"{server.url}/1?signature=secret", own=server.url)

    assert "secret" not in f"{failure!r} {failure.__cause__!r}"
    assert failure.__suppress_context__ or failure.__context__ is None


def test_no_proxy_is_taken_from_the_environment(target, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    with serving() as server:
        own = OwnLinks(server.url)
        fetch(server.url, sha256=SHA256, target=target, own=own, max_bytes=100_000, timeout_s=5)

    assert target.exists()


@pytest.mark.parametrize("retryable", [True, False])
def test_the_rules_say_whether_a_recording_is_fetched_again(retryable):
    failure = classify(AudioUnavailable("gone", retryable=retryable), rules=AUDIO_RULES, now=0)

    assert failure.error_class == "AUDIO_UNAVAILABLE"
    assert failure.retryable is retryable
