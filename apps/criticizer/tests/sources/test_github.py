"""Changes from GitHub."""

import pytest

from apps.criticizer.tests.change_server import ROPE_DIFF
from criticizer.sources.errors import BadChangeId, ChangeMissing, ChangeTooLarge
from criticizer.sources.github import GitHubSource, _pages_at
from tests.deployed.scripted_server import Reply, json_reply

REPOSITORY = "/api/v3/repos/team/rope"


@pytest.fixture
def source(server):
    return GitHubSource(f"{server.url}/api/v3/", token="t0k3n", max_bytes=1_000_000)


@pytest.mark.parametrize(
    ("changelist_id", "places"),
    [
        ("team/rope#12", ("pulls/12", "pull/12")),
        ("team/rope@abc123", ("commits/abc123", "commit/abc123")),
        ("team/rope@feature/x", ("commits/feature%2Fx", "commit/feature%2Fx")),
        ("team/rope@v1.0...main", ("compare/v1.0...main", "compare/v1.0...main")),
    ],
)
def test_each_kind_of_change_has_its_place(server, source, fetched, changelist_id, places):
    path, page = places
    server.add_file(f"{REPOSITORY}/{path}", ROPE_DIFF)
    change = fetched(source, changelist_id)

    assert change.diff == ROPE_DIFF
    assert change.url == f"{server.url}/team/rope/{page}"
    assert server.calls[0].headers["accept"] == "application/vnd.github.diff"
    assert {call.headers["authorization"] for call in server.calls} == {"Bearer t0k3n"}


@pytest.mark.parametrize(
    ("changelist_id", "about"),
    [
        ("team/rope#12", ("pulls/12", {"title": "Add a loop"})),
        (
            "team/rope@abc123",
            ("commits/abc123?per_page=1", {"commit": {"message": "Add a loop\n\nAs asked."}}),
        ),
        (
            "team/rope@v1.0...feature/x",
            ("commits/feature%2Fx?per_page=1", {"commit": {"message": "Add a loop"}}),
        ),
    ],
)
def test_a_change_is_called_what_github_calls_it(server, source, fetched, changelist_id, about):
    path, said = about
    server.then(Reply(body=ROPE_DIFF.encode()))
    server.add_file(f"{REPOSITORY}/{path}", said)

    assert fetched(source, changelist_id).title == "Add a loop"
    assert server.calls[1].headers["accept"] == "application/vnd.github+json"


@pytest.mark.parametrize(
    "about",
    [
        Reply(status=404),
        Reply(status=503),
        Reply(cut="before"),
        Reply(body=b"<html>"),
        json_reply({"title": None}),
        json_reply({"title": " \n"}),
        json_reply(["title"]),
        Reply(body=b'{"title": "' + b"x" * 2_000_000 + b'"}'),
    ],
    ids=["404", "503", "cut", "page", "none", "blank", "list", "long"],
)
def test_a_change_whose_title_cannot_be_had_is_called_by_its_id(server, source, fetched, about):
    server.then(Reply(body=ROPE_DIFF.encode()), about)
    change = fetched(source, "team/rope#12")

    assert (change.diff, change.title) == (ROPE_DIFF, "team/rope#12")


def test_a_title_takes_one_line_of_letters(server, source, fetched):
    title = "A \x1b[31mloop\ud800" + "o" * 600
    server.then(Reply(body=ROPE_DIFF.encode()), json_reply({"title": title}))

    found = fetched(source, "team/rope#12").title

    assert found.startswith("A  [31mloop ooo")
    assert len(found) == 500


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


OLD, NEW = "a" * 40, "b" * 40


def test_branches_are_pinned_to_the_commits_that_they_stand_for(server, source):
    server.add_file(f"{REPOSITORY}/commits/main?per_page=1", {"sha": OLD})
    server.add_file(f"{REPOSITORY}/commits/feature%2Fx?per_page=1", {"sha": NEW})

    one = source.pin("team/rope@main", timeout_s=30)
    two = source.pin("team/rope@main...feature/x", timeout_s=30)

    assert one == (f"team/rope@{OLD}", "team/rope")
    assert two == (f"team/rope@{OLD}...{NEW}", "team/rope")
    assert source.located(one.changelist_id) == one
    assert source.located("team/rope@main") is None


def test_a_pull_request_keeps_its_number_and_is_looked_for(server, source):
    server.add_file(f"{REPOSITORY}/pulls/12", {"title": "Add a loop"})

    assert source.pin("team/rope#12", timeout_s=30) == ("team/rope#12", "team/rope")
    with pytest.raises(ChangeMissing):
        source.pin("team/rope#13", timeout_s=30)


@pytest.mark.parametrize("reply", [Reply(status=404), Reply(status=422)])
def test_a_mistyped_commit_cannot_be_pinned(server, source, reply):
    server.then(reply)

    with pytest.raises(ChangeMissing):
        source.pin("team/rope@mian", timeout_s=30)
