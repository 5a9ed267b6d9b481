from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest

from grading.audio import OwnLinks, SignedLinks

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
LINKS = SignedLinks(b"0123456789abcdef", "https://grading.example")


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def test_a_signed_link_is_good_until_it_expires_and_not_a_second_longer():
    query = query_of(LINKS.sign("a1", expires_at=NOW))

    assert LINKS.check("a1", query, NOW)
    assert not LINKS.check("a1", query, NOW + timedelta(seconds=1))


def test_a_signed_link_is_good_for_its_own_recording_only():
    query = query_of(LINKS.sign("a1", expires_at=NOW))

    assert not LINKS.check("a2", query, NOW)


def test_a_link_whose_expiry_was_moved_is_refused():
    query = query_of(LINKS.sign("a1", expires_at=NOW))

    assert not LINKS.check("a1", {**query, "expires": str(int(query["expires"]) + 60)}, NOW)


def test_a_link_of_another_secret_is_refused():
    other = SignedLinks(b"fedcba9876543210", "https://grading.example")

    assert not LINKS.check("a1", query_of(other.sign("a1", expires_at=NOW)), NOW)


@pytest.mark.parametrize(
    "query",
    [{}, {"expires": "9" * 300}, {"signature": "\udcff"}, {"expires": "x", "signature": "é"}],
)
def test_a_query_that_is_no_signature_is_refused_without_an_error(query):
    assert not LINKS.check("a1", query, NOW)


def test_a_signed_expiry_that_is_no_number_is_refused():
    signature = LINKS._signature("a1", "soon")

    assert not LINKS.check("a1", {"expires": "soon", "signature": signature}, NOW)


def test_an_id_with_odd_characters_stays_one_segment_of_the_path():
    url = LINKS.sign("../a b?c", expires_at=NOW)

    assert url.startswith("https://grading.example/api/audio/..%2Fa%20b%3Fc?expires=")


def test_a_short_secret_is_refused():
    with pytest.raises(ValueError, match="at least 16 bytes"):
        SignedLinks(b"short", "https://grading.example")


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("https://grading.example/api/audio/1", True),
        ("https://GRADING.example:443/x", True),
        ("https://grading.example.:443/x", True),
        ("http://grading.example/x", False),
        ("https://grading.example:444/x", False),
        ("https://grading.example@evil.example/x", False),
        ("https://user@grading.example/x", False),
        ("https://grading.example\\@evil.example/x", False),
        ("https://grading.example.evil.example/x", False),
        ("https://grading.example:port/x", False),
        ("//grading.example/x", False),
        ("file:///etc/passwd", False),
    ],
)
def test_a_url_is_own_by_scheme_host_and_port(url, is_own):
    assert OwnLinks("https://grading.example").owns(url) is is_own
