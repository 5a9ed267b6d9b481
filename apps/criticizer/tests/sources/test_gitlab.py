"""Changes from GitLab."""

import pytest

from apps.criticizer.tests.change_server import ROPE_DIFF
from criticizer.diffs import parse_diff
from criticizer.sources.errors import (
    BadChangeId,
    ChangeMissing,
    ChangeTooLarge,
    NotADiff,
    SourceFailed,
)
from criticizer.sources.gitlab import GitLabSource
from tests.deployed.scripted_server import Reply, json_reply

PROJECT = "/api/v4/projects/team%2Fsub%2Frope"
COMMIT = f"{PROJECT}/repository/commits/abc123/diff"


@pytest.fixture
def source(server):
    return GitLabSource(f"{server.url}/api/v4", token="t0k3n", max_bytes=10_000)


def file_entry(**said):
    usual = {
        "old_path": "rope.py",
        "new_path": "rope.py",
        "a_mode": "100644",
        "b_mode": "100644",
        "new_file": False,
        "renamed_file": False,
        "deleted_file": False,
        "diff": "@@ -1 +1,2 @@\n knots = 1\n+loops = None\n",
    }
    return {**usual, **said}


def test_a_merge_request_is_asked_for_as_a_diff(server, source, fetched):
    server.add_file(f"{PROJECT}/merge_requests/12/raw_diffs", ROPE_DIFF)
    server.add_file(f"{PROJECT}/merge_requests/12", {"iid": 12, "title": "Add a loop"})
    change = fetched(source, "team/sub/rope!12")

    assert (change.diff, change.title) == (ROPE_DIFF, "Add a loop")
    assert change.url == f"{server.url}/team/sub/rope/-/merge_requests/12"
    assert server.calls[0].headers["private-token"] == "t0k3n"


def test_the_files_of_a_commit_become_one_diff(server, source, fetched):
    server.then(
        json_reply(
            [
                file_entry(),
                file_entry(
                    new_path="n.py", old_path="n.py", new_file=True, diff="@@ -0,0 +1 @@\n+x\n"
                ),
                file_entry(old_path="d", new_path="d", deleted_file=True, diff="@@ -1 +0,0 @@\n-x"),
                file_entry(old_path="o", new_path="m", renamed_file=True, diff=""),
                file_entry(
                    old_path="u", new_path="u", diff="--- a/u\n+++ b/u\n@@ -1 +1 @@\n-a\n+b\n"
                ),
                file_entry(old_path='q"\n', new_path='q"\n'),
            ]
        )
    )
    change = fetched(source, "team/sub/rope@abc123")
    changed, new, deleted, moved, full, odd = parse_diff(change.diff)

    assert (changed.path, [line.text for line in changed.added]) == ("rope.py", ["loops = None"])
    assert (new.is_new, deleted.is_deleted) == (True, True)
    assert (moved.old_path, moved.new_path) == ("o", "m")
    assert [line.text for line in full.added] == ["b"]
    assert odd.path == 'q"\N{REPLACEMENT CHARACTER}'
    assert change.url == f"{server.url}/team/sub/rope/-/commit/abc123"
    assert server.calls[0].path == COMMIT


def test_a_commit_of_several_pages_is_read_to_the_last(server, source, fetched):
    first = json_reply([file_entry()], headers={"X-Next-Page": "2"})
    second = json_reply([file_entry(old_path="b", new_path="b")], headers={"X-Next-Page": ""})
    server.then(first, second)
    change = fetched(source, "team/sub/rope@abc123")

    assert [file.path for file in parse_diff(change.diff)] == ["rope.py", "b"]
    assert [call.query for call in server.calls if call.path == COMMIT] == [
        "per_page=100&page=1&unidiff=true",
        "per_page=100&page=2&unidiff=true",
    ]


def test_a_commit_is_called_what_gitlab_calls_it(server, source, fetched):
    server.then(json_reply([file_entry()]), json_reply({"id": "abc123", "title": "Add a loop"}))

    assert fetched(source, "team/sub/rope@abc123").title == "Add a loop"
    assert server.calls[1].path == COMMIT.removesuffix("/diff")


@pytest.mark.parametrize("about", [Reply(status=503), Reply(body=b"[]"), Reply(cut="before")])
def test_a_change_whose_title_cannot_be_had_is_called_by_its_id(server, source, fetched, about):
    server.then(Reply(body=ROPE_DIFF.encode()), about)
    change = fetched(source, "team/rope!12")

    assert (change.diff, change.title) == (ROPE_DIFF, "team/rope!12")


def test_a_comparison_is_between_its_ends(server, source, fetched):
    answer = {"diffs": [file_entry()], "compare_timeout": False, "commit": {"title": "Add a loop"}}
    server.then(json_reply(answer))
    change = fetched(source, "team/rope@v1.0...feature/x")

    assert [file.path for file in parse_diff(change.diff)] == ["rope.py"]
    assert server.calls[0].query == "from=v1.0&to=feature%2Fx&unidiff=true"
    assert change.url.endswith("/team/rope/-/compare/v1.0...feature%2Fx")
    assert change.title == "Add a loop"


def test_a_comparison_that_took_gitlab_too_long_may_not_another_time(server, source, fetched):
    server.then(json_reply({"diffs": [], "compare_timeout": True}))

    with pytest.raises(SourceFailed):
        fetched(source, "team/rope@a...b")


@pytest.mark.parametrize("flag", ["too_large", "collapsed"])
def test_a_change_that_gitlab_does_not_show_whole_is_too_large(server, source, fetched, flag):
    server.then(json_reply([file_entry(diff="", **{flag: True})]))

    with pytest.raises(ChangeTooLarge):
        fetched(source, "team/rope@abc")


def test_files_that_are_too_large_together_are_too_large(server, source, fetched):
    server.then(json_reply([file_entry(diff="@@ -0,0 +1 @@\n+" + "x" * 6_000)] * 2))

    with pytest.raises(ChangeTooLarge):
        fetched(source, "team/rope@abc")


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b"[1]", b'[{"diff": 1}]', b"[" * 5_000, b'"secret words"']
)
def test_an_answer_that_is_not_gitlabs_is_said_to_be_none(server, source, fetched, body):
    server.then(Reply(body=body))

    with pytest.raises(NotADiff) as raised:
        fetched(source, "team/rope@abc")
    assert "secret" not in str(raised.value)


def test_letters_that_are_none_become_text(server, source, fetched):
    server.then(
        Reply(body=b'[{"old_path": "a", "new_path": "a", "diff": "@@ -0,0 +1 @@\\n+\\ud800"}]')
    )

    assert fetched(source, "team/rope@abc").digest


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "rope!1",
        "team/rope",
        "team/rope!0",
        "team/../x!1",
        "team/rope@a..b",
        "team/rope#1",
        "/a!1",
    ],
)
def test_what_is_no_id_is_refused_without_a_call(server, source, fetched, bad):
    with pytest.raises(BadChangeId):
        fetched(source, bad)
    assert server.calls == []


OLD, NEW = "a" * 40, "b" * 40


def test_branches_are_pinned_to_the_commits_that_they_stand_for(server, source):
    server.add_file(f"{PROJECT}/repository/commits/main", {"id": OLD})
    server.add_file(f"{PROJECT}/repository/commits/x", {"id": NEW})

    pinned = source.pin("team/sub/rope@main...x", timeout_s=30)

    assert pinned == (f"team/sub/rope@{OLD}...{NEW}", "team/sub/rope")
    assert source.located(pinned.changelist_id) == pinned
    assert source.located("team/sub/rope@main") is None


def test_a_merge_request_keeps_its_number_and_is_looked_for(server, source):
    server.add_file(f"{PROJECT}/merge_requests/12", {"iid": 12})

    assert source.pin("team/sub/rope!12", timeout_s=30).changelist_id == "team/sub/rope!12"
    with pytest.raises(ChangeMissing):
        source.pin("team/sub/rope!13", timeout_s=30)
    with pytest.raises(BadChangeId):
        source.pin("rope", timeout_s=30)
