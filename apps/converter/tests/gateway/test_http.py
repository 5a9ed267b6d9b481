"""The gateway over HTTP, as any client meets it."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from apps.converter.tests.gateway.hostile_files import forms_that_multiply
from apps.converter.tests.gateway.pdf_maker import plain
from apps.converter.tests.gateway.running_gateway import running_gateway
from apps.converter.tests.gateway.schemas import texts, validated
from converter.gateway.mappings import MAPPINGS

MAX_BYTES = 4 * 1024 * 1024


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_pdf_becomes_xml_that_its_schema_accepts(gateway, mapping):
    answer = gateway.convert(plain(["Hello world"]), mapping)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/xml"
    assert "Hello world" in "".join(validated(answer.content, mapping).itertext())


def test_a_result_is_never_shown_by_a_browser(gateway):
    answer = gateway.convert(plain(["<script>alert(1)</script>"]))

    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_health_names_the_engine_and_the_mappings(gateway, engine):
    answer = gateway.client.get("/health")

    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    assert answer.json()["engine"] == engine.value
    assert answer.json()["mappings"] == ["text", "layout", "raw"]


@pytest.mark.parametrize("mapping", ["", "pretty", "TEXT", "../text", "x" * 5_000])
def test_an_unknown_mapping_is_not_acceptable(gateway, mapping):
    answer = gateway.convert(plain(), mapping)

    assert (answer.status_code, answer.json()["code"]) == (406, "mapping_unknown")
    assert len(answer.json()["detail"]) < 200


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html", "application/pdfx", ""])
def test_another_media_type_is_refused_unread(gateway, media_type):
    answer = gateway.convert(plain(), **{"Content-Type": media_type})

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_a_media_type_may_have_parameters(gateway):
    answer = gateway.convert(plain(), **{"Content-Type": "Application/PDF; name=a.pdf"})

    assert answer.status_code == 200


def test_a_file_that_is_declared_too_large_is_refused_unread(gateway):
    answer = _raw_answer(gateway, f"Content-Length: {MAX_BYTES + 1}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"pdf_too_large"' in answer


def test_a_file_without_a_length_is_refused_once_it_is_too_large(gateway):
    def pieces():
        for _ in range(MAX_BYTES // 65_536):
            yield b" " * 65_536
        yield b"!"

    answer = gateway.convert(pieces())

    assert (answer.status_code, answer.json()["code"]) == (413, "pdf_too_large")


def test_a_file_of_the_very_limit_is_taken(gateway):
    pdf = plain(["Full"])
    # Comments between two objects, so that the end stays the end; in lines, as files have them.
    lines, rest = divmod(MAX_BYTES - len(pdf), 1024)
    room = (b"%" + b" " * 1022 + b"\n") * lines + b" " * rest
    padded = pdf.replace(b"xref\n0 ", room + b"xref\n0 ", 1)
    assert len(padded) == MAX_BYTES

    answer = gateway.convert(padded)

    assert answer.status_code == 200


def test_other_paths_and_methods_are_problems_as_well(gateway):
    missing = gateway.client.get("/elsewhere")
    wrong = gateway.client.get("/convert")

    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert wrong.headers["content-type"] == "application/problem+json"
    assert wrong.headers["allow"] == "POST"


def test_a_client_that_goes_away_leaves_nothing_behind(gateway):
    with _sent(gateway, b"Content-Length: 1000\r\n\r\n%PDF-1.7\n"):
        _until(lambda: any(gateway.folder.iterdir()))

    _until(lambda: not any(gateway.folder.iterdir()))
    assert gateway.convert(plain()).status_code == 200


def test_twenty_at_once_all_get_their_own(tmp_path, any_engine):
    with (
        running_gateway(tmp_path, any_engine, "--concurrency", "2", "--waiting", "18") as gateway,
        ThreadPoolExecutor(20) as pool,
    ):
        answers = pool.map(lambda n: gateway.convert(plain([f"Number {n}"])), range(20))
        lines = [texts(validated(answer.content, "text"), "line") for answer in answers]

    assert lines == [[f"Number {number}"] for number in range(20)]


def test_one_too_many_is_told_to_come_back(tmp_path, any_engine):
    with running_gateway(
        tmp_path, any_engine, *("--concurrency", "1", "--waiting", "0", "--cpu-s", "2")
    ) as gateway:
        slow = threading.Thread(target=gateway.convert, args=[forms_that_multiply()])
        slow.start()
        _until(lambda: gateway.client.get("/health").json()["conversions"] == 1)
        answer = gateway.convert(plain())
        slow.join()
        following = gateway.convert(plain())

    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert int(answer.headers["retry-after"]) > 0
    assert following.status_code == 200


def test_a_conversion_that_does_not_end_is_killed(tmp_path, engine):
    with running_gateway(tmp_path, engine, *("--wall-s", "2", "--cpu-s", "60")) as gateway:
        answer = gateway.convert(forms_that_multiply())

    assert (answer.status_code, answer.json()["code"]) == (503, "conversion_timed_out")
    assert int(answer.headers["retry-after"]) > 0
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_drips_is_given_up(tmp_path, any_engine):
    with running_gateway(tmp_path, any_engine, "--body-s", "0.5") as gateway:
        answer = _raw_answer(gateway, b"Content-Length: 1000\r\n\r\n%PDF-1.7\n")

    assert answer.startswith(b"HTTP/1.1 408 ")


def _sent(gateway, rest: bytes) -> socket.socket:
    """Send a request to /convert whose last headers and body are these bytes."""
    address = urlsplit(str(gateway.client.base_url))
    sock = socket.create_connection((address.hostname, address.port), timeout=30)
    sock.sendall(
        b"POST /convert?mapping=text HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/pdf\r\n" + rest
    )
    return sock


def _raw_answer(gateway, rest: bytes) -> bytes:
    with _sent(gateway, rest) as sock:
        answer = b""
        # A server that has answered may cut off what it did not read.
        with suppress(ConnectionResetError):
            while piece := sock.recv(65_536):
                answer += piece
    return answer


def _until(condition, *, seconds: float = 30) -> None:
    waiting = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        waiting.wait(0.02)
    pytest.fail("it did not happen in time")
