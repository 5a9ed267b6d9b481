"""Changes from any place that serves diffs."""

import pytest

from apps.criticizer.tests.change_server import ROPE_DIFF
from criticizer.sources.errors import BadChangeId, ChangeMissing, NotADiff
from criticizer.sources.url import UrlSource
from tests.deployed.scripted_server import Reply


@pytest.fixture
def source(server):
    return UrlSource(f"{server.url}/diffs/", token=None, max_bytes=1_000_000)


def test_a_change_is_asked_for_by_its_id(source, server, fetched):
    change = fetched(source, "cl-1", headers={"traceparent": "00-aa-bb-01"})

    assert change.diff == ROPE_DIFF
    (call,) = server.calls
    assert (call.method, call.target) == ("GET", "/diffs/cl-1.diff")
    assert call.headers["traceparent"] == "00-aa-bb-01"
    assert call.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "odd", ["../../secret", "a/b?c#d", "..", ".", "Übersicht 1", "%2e%2e", "a&b"]
)
def test_an_id_stays_one_name_in_the_folder(source, server, fetched, odd):
    server.changes[odd] = ROPE_DIFF

    assert fetched(source, odd).diff == ROPE_DIFF
    assert server.calls[0].path.startswith("/diffs/")
    assert server.calls[0].path.count("/") == 2


@pytest.mark.parametrize("bad", ["", "a\nb", "a\x00", "x" * 251, "\ud800"])
def test_what_is_no_id_is_refused_without_a_call(source, server, fetched, bad):
    with pytest.raises(BadChangeId):
        fetched(source, bad)
    assert server.calls == []


@pytest.mark.parametrize("status", [404, 410])
def test_what_is_not_served_is_missing(source, server, fetched, status):
    server.then(Reply(status=status, body=b"secret words"))

    with pytest.raises(ChangeMissing, match="cl-1") as raised:
        fetched(source, "cl-1")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("body", ["<html>Sign in</html>", "{}", "not a diff\n"])
def test_what_is_no_diff_is_said_to_be_none_without_a_word_of_it(source, server, fetched, body):
    server.changes["cl-1"] = body

    with pytest.raises(NotADiff) as raised:
        fetched(source, "cl-1")
    assert body not in str(raised.value)


def test_an_empty_change_is_a_change(source, server, fetched):
    server.changes["cl-1"] = ""

    assert fetched(source, "cl-1").diff == ""


def test_bytes_that_are_no_text_are_replaced(source, server, fetched):
    server.changes["cl-1"] = ROPE_DIFF.encode().replace(b"None", b"\xff\xfe")

    assert "loops = \N{REPLACEMENT CHARACTER}" in fetched(source, "cl-1").diff


def test_a_token_is_shown_to_the_server(server, fetched):
    fetched(UrlSource(server.url, token="t0k3n", max_bytes=1_000_000), "cl-1")

    assert server.calls[0].headers["authorization"] == "Bearer t0k3n"
