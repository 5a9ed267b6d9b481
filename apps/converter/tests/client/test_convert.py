"""What the client makes of a gateway that does its work, and of one that says why it does not."""

import asyncio
import itertools
import time
from urllib.parse import quote

import pytest

from apps.converter.tests.client.conftest import PDF, Job
from apps.converter.tests.scripted_gateway import XML, Reply, ScriptedGateway
from converter.codes import CODES
from converter.gateway_client import GatewayClient
from converter.gateway_failures import GATEWAY_RULES, GatewayFailed, safe_line
from converter.storage.errors import StorageFailed, StorageFull
from holdfast.classify import classify
from tests.bridges.fake_mail_server import trusted_tls

REFUSED = "Couldn’t convert this file with the selected mapping."
NOW = 1_700_000_000_000_000


def failure_of(error):
    return classify(error, rules=GATEWAY_RULES, now=NOW)


def failed(convert, client):
    with pytest.raises(GatewayFailed) as raised:
        convert(client)
    return failure_of(raised.value)


def test_a_pdf_is_sent_as_it_is_and_its_xml_is_kept(convert, client, gateway):
    assert convert(client, "layout") == XML

    (call,) = gateway.calls
    assert (call.method, call.path, call.parameter("mapping"), call.body) == (
        "POST",
        "/convert",
        "layout",
        PDF,
    )
    assert call.headers["content-type"] == "application/pdf"
    assert call.headers["content-length"] == str(len(PDF))
    assert call.headers["accept-encoding"] == "identity"
    assert call.headers["host"] in gateway.url


def test_an_answer_in_chunks_is_taken_as_well(convert, client, gateway):
    gateway.then(Reply(body=[XML[:10], XML[10:]], chunked=True))

    assert convert(client) == XML


def test_the_address_of_a_gateway_may_have_a_path(convert, gateway):
    client = GatewayClient(f"{gateway.url}/tenant/one", timeout_s=20.0)
    convert(client)

    assert [call.path for call in gateway.every_call] == ["/tenant/one/convert"]


def test_a_gateway_is_called_over_tls_as_well(convert, storage):
    storage.put("source.pdf", itertools.repeat(b"x" * 65536, 40))
    with ScriptedGateway(tls=trusted_tls().server) as gateway:
        assert convert(GatewayClient(gateway.url, timeout_s=20.0, tls=trusted_tls().client)) == XML

    assert len(gateway.calls[0].body) == 40 * 65536


def test_the_trace_of_the_job_is_carried_on(convert, client, gateway):
    convert(client, job=Job(trace_headers={"traceparent": "00-aa-bb-01"}))

    assert gateway.calls[0].headers["traceparent"] == "00-aa-bb-01"


@pytest.mark.parametrize("mapping", ["a b&c=d#e?f/g", "Übersicht", "../../health", "%2e%2e"])
def test_a_mapping_is_handed_on_letter_by_letter(convert, client, gateway, mapping):
    convert(client, mapping)

    assert gateway.calls[0].parameter("mapping") == mapping
    assert gateway.calls[0].path == "/convert"
    assert quote(mapping, safe="") not in gateway.calls[0].path


@pytest.mark.parametrize("mapping", ["", "a\r\nX-Evil: 1", "a\x00", "x" * 101, "\ud800"])
def test_what_cannot_be_a_mapping_is_refused_without_a_call(convert, client, gateway, mapping):
    with pytest.raises(GatewayFailed) as raised:
        convert(client, mapping)

    failure = failure_of(raised.value)
    assert (failure.error_class, failure.retryable) == ("INVALID_MAPPING", False)
    assert CODES.of(failure).code == "GW_4XX"
    assert failure.message == f"{REFUSED} Unsupported mapping."
    assert gateway.calls == []


@pytest.mark.parametrize("status", [400, 402, 406, 407, 409, 410, 413, 415, 422, 499])
def test_a_refusal_is_not_tried_again_and_no_sign_of_ill_health(convert, client, gateway, status):
    gateway.then(Reply(status=status, body=b""))

    failure = failed(convert, client)

    assert (failure.error_class, failure.retryable) == ("GW_4XX", False)
    assert (failure.http_status, failure.blames_upstream) == (status, False)
    assert failure.message == REFUSED


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_what_is_wrong_with_the_configuration_is_no_fault_of_the_file(
    convert, client, gateway, status
):
    gateway.then(Reply(status=status, body=b"Unsupported mapping."))

    failure = failed(convert, client)

    assert (failure.error_class, CODES.of(failure).code) == ("GW_MISCONFIGURED", "GW_5XX")
    assert (failure.retryable, failure.spends_attempt) == (True, False)
    assert (failure.http_status, failure.blames_upstream) == (status, True)
    assert failure.category == "CRITICAL"
    assert "check GATEWAY_URL" in failure.message


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (b"Unsupported mapping.", "Unsupported mapping."),
        (b"Unsupported mapping\n", "Unsupported mapping."),
        (b'{"detail": "The file is encrypted."}', "The file is encrypted."),
        (b'{"title": "Bad", "detail": "More than 500 pages."}', "More than 500 pages."),
        (b'{"error": "no such mapping: x"}', "no such mapping: x."),
        ('{"message": "Kein Text: Größe 0 %"}'.encode(), "Kein Text: Größe 0 %."),
    ],
)
def test_what_the_gateway_says_about_a_refusal_is_told(convert, client, gateway, said, line):
    gateway.then(Reply(status=406, body=said))

    assert failed(convert, client).message == f"{REFUSED} {line}"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"<h1>Bad Request</h1>",
        b"open /srv/app/in.pdf failed",
        b"C:\\in.pdf is broken",
        b"see https://internal.example/x",
        b"ask gw7.internal",
        b"Traceback (most recent call last)\n  File",
        b"two\nlines",
        b"\x1b[31mred",
        b"\xff\xfe",
        b"x" * 121,
        b"x" * 10_000,
        b'{"detail": {"no": "text"}}',
        b'{"detail": "broken',
        b'{"detail": null}',
        b"[" * 5000,
        b'{"detail":' + b"[" * 4000,
        "right \u202eto left".encode(),
    ],
)
def test_what_is_not_safe_to_show_is_left_out(said):
    assert safe_line(said) == ""


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 599])
def test_a_gateway_that_fails_is_tried_again_and_unwell(convert, client, gateway, status):
    gateway.then(Reply(status=status, body=b"/srv/secret"))

    failure = failed(convert, client)

    assert (failure.error_class, failure.retryable) == ("GW_5XX", True)
    assert (failure.http_status, failure.blames_upstream) == (status, True)
    assert "secret" not in failure.message


def test_a_gateway_that_is_asked_too_often_is_asked_again_when_it_says(convert, client, gateway):
    gateway.then(Reply(status=429, headers={"Retry-After": "7"}))

    failure = failed(convert, client)

    assert (failure.error_class, failure.retryable) == ("GW_5XX", True)
    assert (failure.retry_after_us, failure.blames_upstream) == (7_000_000, False)


def test_a_gateway_that_rests_is_asked_again_when_it_says(convert, client, gateway):
    gateway.then(Reply(status=503, headers={"Retry-After": "3"}))

    assert failed(convert, client).retry_after_us == 3_000_000


def test_a_gateway_that_says_time_out_timed_out(convert, client, gateway):
    gateway.then(Reply(status=408))

    failure = failed(convert, client)

    assert (failure.error_class, failure.retryable) == ("GW_TIMEOUT", True)


@pytest.mark.parametrize("status", [201, 204, 206, 300, 304])
def test_only_200_is_a_success(convert, client, gateway, status):
    gateway.then(Reply(status=status, body=b"" if status in {204, 304} else XML))

    assert failed(convert, client).error_class == "GW_5XX"


class Sent:
    """A PDF that says it has a size."""

    whole = None

    def __init__(self, size):
        self.size = size
        self._parts = [PDF]

    async def read(self):
        return self._parts.pop() if self._parts else b""


class Full:
    async def write(self, _chunk):
        raise StorageFull("results", "the disk is full; free some space on it")


def test_a_full_disk_is_not_blamed_on_the_gateway(client):
    with pytest.raises(StorageFull):
        asyncio.run(client.convert(Sent(len(PDF)), "text", into=Full(), job=Job()))


@pytest.mark.parametrize("size", [len(PDF) - 1, len(PDF) + 1])
def test_a_source_that_has_another_size_is_not_blamed_on_the_gateway(client, size):
    with pytest.raises(StorageFailed):
        asyncio.run(client.convert(Sent(size), "text", into=Full(), job=Job()))


def test_failures_nobody_knows_are_tried_again_as_unknown():
    failure = failure_of(KeyError("pages"))

    assert (failure.error_class, failure.retryable) == ("UNKNOWN", True)
    assert not failure.blames_upstream


def test_a_gateway_that_is_well_passes_the_probe(client, gateway):
    client.probe()

    assert [(call.method, call.path) for call in gateway.probes] == [("GET", "/health")]


@pytest.mark.parametrize("status", [302, 404, 429, 500, 503])
def test_a_gateway_that_is_not_well_fails_the_probe(client, gateway, status):
    gateway.health = Reply(status=status)

    with pytest.raises(GatewayFailed):
        client.probe()


def test_the_probe_waits_no_longer_than_a_call_may(gateway):
    gateway.health = Reply(delay_s=30.0)
    started_at_s = time.monotonic()

    with pytest.raises(GatewayFailed, match="in time"):
        GatewayClient(gateway.url, timeout_s=0.2).probe()

    assert time.monotonic() - started_at_s < 5.0
