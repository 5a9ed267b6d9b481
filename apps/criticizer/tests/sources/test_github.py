"""Changes from GitHub."""

import pytest

from apps.criticizer.tests.change_server import ROPE_DIFF
from apps.criticizer.tests.scripted_server import Reply
from criticizer.sources.errors import BadChangeId, ChangeMissing, ChangeTooLarge
from criticizer.sources.github import GitHubSource, _pages_at


@pytest.fixture
def source(server):
    return GitHubSource(f"{server.url}/api/v3/", token="t0k3n", max_bytes=1_000_000)


@pytest.mark.parametrize(
    ("changelist_id", "places"),
    [
        ("team/rope#12", ("/repos/team/rope/pulls/12", "/team/rope/pull/12")),
        ("team/rope@abc123", ("/repos/team/rope/commits/abc123", "/team/rope/commit/abc123")),
        (
            "team/rope@feature/x",
            ("/repos/team/rope/commits/feature%2Fx", "/team/rope/commit/feature%2Fx"),
        ),
        (
            "team/rope@v1.0...main",
            ("/repos/team/rope/compare/v1.0...main", "/team/rope/compare/v1.0...main"),
        ),
    ],
)
def test_each_kind_of_change_has_its_place(server, source, fetched, changelist_id, places):
    path, page = places
    server.add_file(f"/api/v3{path}", ROPE_DIFF)
    change = fetched(source, changelist_id)

    assert (change.diff, change.title) == (ROPE_DIFF, changelist_id)
    assert change.url == f"{server.url}{page}"
    (call,) = server.calls
    assert call.headers["accept"] == "application/vnd.github.diff"
    assert call.headers["authorization"] == "Bearer t0k3n"


def test_pages_of_the_public_github_are_not_where_its_api_is():
    assert _pages_at("https://api.github.com") == "https://github.com"


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "rope#1",
        "team/rope",
        "team/rope#0",
        "team/rope#x",
        "team/rope#1/../../user",
        "../rope#1",
        "team/..#1",
        "team/rope@",
        "team/rope@a..b",
        "team/rope@a....b",
        "team/rope@-x",
        "team/rope@a b",
        "team/rope@a?x=1",
        "team/rope#1\n",
        "team/rope@" + "x" * 201,
    ],
)
def test_what_is_no_id_is_refused_without_a_call(server, source, fetched, bad):
    with pytest.raises(BadChangeId):
        fetched(source, bad)
    assert server.calls == []


def test_a_diff_that_github_does_not_make_is_too_large(server, source, fetched):
    server.then(Reply(status=406, body=b'{"message": "diff exceeded the maximum"}'))

    with pytest.raises(ChangeTooLarge):
        fetched(source, "team/rope#12")


def test_a_commit_that_github_cannot_find_is_missing(server, source, fetched):
    server.then(Reply(status=422, body=b'{"message": "No commit found for SHA"}'))

    with pytest.raises(ChangeMissing):
        fetched(source, "team/rope@abc123")
