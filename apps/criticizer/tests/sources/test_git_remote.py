"""Changes out of a repository elsewhere, of which a copy is kept."""

import base64
import os
import re
import shutil
import socket
import subprocess
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from apps.criticizer.tests.sources.conftest import Work
from criticizer.diffs import parse_diff
from criticizer.sources.errors import (
    ChangeMissing,
    SourceFailed,
    SourceTimedOut,
    SourceUnusable,
)
from criticizer.sources.git import GitSource
from criticizer.sources.git_place import is_remote, remote_place
from criticizer.sources.git_tidying import Tidiness

SECRET = "hunter2hunter2"


class GitServer:
    """Serves bare repositories under a folder over HTTP, through Git's own program for it."""

    def __init__(self, folder):
        self.folder, self.authorizations, self.requests = folder, [], []
        self.wanted = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.serve(self)

            def do_POST(self):
                outer.serve(self)

            def log_message(self, *_):
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def serve(self, handler):
        said = handler.headers.get("authorization")
        self.authorizations.append(said)
        self.requests.append(handler.path)
        if self.wanted is not None and said != self.wanted:
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="git"')
            handler.end_headers()
            return
        path, _, query = handler.path.partition("?")
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        ended = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=False,
            env={
                **os.environ,
                "GIT_PROJECT_ROOT": str(self.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": handler.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": handler.headers.get("content-type", ""),
                "HTTP_CONTENT_ENCODING": handler.headers.get("content-encoding", ""),
                "HTTP_GIT_PROTOCOL": handler.headers.get("git-protocol", ""),
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "uploadpack.allowFilter",
                "GIT_CONFIG_VALUE_0": "true",
            },
        )
        head, _, answer = ended.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        handler.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(answer)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="session")
def begun_elsewhere(begun_work, tmp_path_factory):
    """A repository with a bare one beside it that it is pushed to, to copy."""
    folder = tmp_path_factory.mktemp("elsewhere")
    made = Work(Path(shutil.copytree(begun_work, folder / "work")))
    made.git("clone", "-q", "--bare", ".", str(folder / "served" / "rope.git"))
    made.git("remote", "add", "origin", "../served/rope.git")
    return folder


@pytest.fixture(scope="session")
def begun_commits(begun_elsewhere, tmp_path_factory):
    """The same with commits that each change a file of their own, and their hashes."""
    folder = shutil.copytree(begun_elsewhere, tmp_path_factory.mktemp("commits") / "more")
    made = Work(folder / "work")
    hashes = [made.commit(f"Add {n}", **{f"f{n}_py": f"n = {n}\n"}) for n in range(8)]
    made.git("push", "-q", "origin", "main")
    return folder, hashes


@pytest.fixture
def begun(begun_elsewhere):
    return begun_elsewhere


@pytest.fixture
def work(begun, tmp_path):
    """A repository of the test's own, which is served elsewhere as well."""
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    return Work(tmp_path / "work")


@pytest.fixture
def git_server(work, tmp_path):
    serving = GitServer(tmp_path / "served")
    yield serving
    serving.close()


@pytest.fixture
def opened(git_server, tmp_path):
    def open_one(location=None, *, token=None, max_bytes=1_000_000, tidiness=None):
        place = location or f"http://127.0.0.1:{git_server.port}/rope.git"
        return GitSource(
            place,
            token=token,
            max_bytes=max_bytes,
            cache_dir=tmp_path / "cache",
            tidiness=tidiness,
        )

    return open_one


def added_in(change):
    return [line.text for file in parse_diff(change.diff) for line in file.added]


def test_a_change_is_fetched_from_elsewhere(opened, fetched):
    source = opened()
    for name in ("HEAD", "main", "HEAD~1..HEAD"):
        change = fetched(source, name)

        assert added_in(change) == ["loops = 2"]
        assert change.title == "Add a loop"


def test_a_branch_that_moved_is_seen(opened, fetched, work):
    source = opened()
    fetched(source, "main")
    work.commit("Add an end", rope_py="knots = 1\nloops = 2\nends = 3\n")
    work.git("push", "-q", "origin", "main")

    assert added_in(fetched(source, "main")) == ["ends = 3"]


def test_a_commit_that_is_there_by_its_hash_is_not_asked_for_again(
    opened, fetched, work, git_server
):
    source = opened()
    pinned = source.pin("main", timeout_s=30).changelist_id
    fetched(source, pinned)
    git_server.requests.clear()

    assert added_in(fetched(source, pinned)) == ["loops = 2"]
    assert git_server.requests == []


def test_files_nobody_asked_for_are_not_copied(opened, fetched, work, tmp_path):
    work.commit("A large file", large_bin=os.urandom(300_000))
    work.commit("Add an end", rope_py="knots = 1\nloops = 2\nends = 3\n")
    work.git("push", "-q", "origin", "main")
    fetched(opened(), "HEAD")

    packed = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*.pack"))
    assert packed < 100_000


def test_several_at_once_share_one_copy(opened, fetched, tmp_path):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fetched(opened(), "HEAD").diff))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    assert len(set(found)) == 1
    assert len(list((tmp_path / "cache").glob("*.git"))) == 1


def test_the_copy_is_readable_by_nobody_else(opened, fetched, tmp_path):
    fetched(opened(), "HEAD")

    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0
    (copy,) = (tmp_path / "cache").glob("*.git")
    assert copy.stat().st_mode & 0o077 == 0


def test_locks_and_halves_that_a_killed_program_left_do_no_harm(opened, fetched, work, tmp_path):
    fetched(opened(), "main")
    (copy,) = (tmp_path / "cache").glob("*.git")
    (copy / "packed-refs.lock").touch()
    (copy / "refs" / "heads" / "main.lock").touch()
    copy.with_suffix(".new").mkdir()
    work.commit("Add an end", rope_py="knots = 1\nloops = 2\nends = 3\n")
    work.git("push", "-q", "origin", "main")

    assert added_in(fetched(opened(), "main")) == ["ends = 3"]


def test_a_revision_that_is_not_there_is_missing(opened, fetched):
    source = opened()
    for unknown in ("nobody", "0" * 40, "HEAD~99"):
        with pytest.raises(ChangeMissing):
            fetched(source, unknown)


def test_a_repository_that_is_not_there_is_missing(opened, fetched, git_server):
    source = opened(f"http://127.0.0.1:{git_server.port}/nobody.git")

    with pytest.raises(ChangeMissing):
        fetched(source, "HEAD")


def test_a_server_that_is_down_may_be_up_another_time(opened, fetched, git_server):
    source = opened()
    git_server.close()

    with pytest.raises(SourceFailed):
        fetched(source, "HEAD")


def test_a_server_that_does_not_answer_is_not_waited_for(fetched, opened):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        source = opened(f"http://127.0.0.1:{deaf.getsockname()[1]}/rope.git")
        with pytest.raises(SourceTimedOut):
            fetched(source, "HEAD", timeout_s=1.0)


@pytest.mark.parametrize("way", ["token", "in the address"])
def test_credentials_go_to_the_server_and_nowhere_else(opened, fetched, git_server, tmp_path, way):
    if way == "token":
        source = opened(token=SECRET)
        said = f"x-access-token:{SECRET}"
    else:
        source = opened(f"http://ada:{SECRET}@127.0.0.1:{git_server.port}/rope.git")
        said = f"ada:{SECRET}"
    git_server.wanted = f"Basic {base64.b64encode(said.encode()).decode()}"

    assert added_in(fetched(source, "HEAD")) == ["loops = 2"]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert base64.b64encode(said.encode()) not in kept


def test_refused_credentials_are_a_matter_of_configuration_and_not_told(
    opened, fetched, git_server
):
    git_server.wanted = "Basic nothing"
    source = opened(f"http://ada:{SECRET}@127.0.0.1:{git_server.port}/rope.git")

    with pytest.raises(SourceUnusable) as raised:
        fetched(source, "HEAD")
    told = "".join(traceback.format_exception(raised.value))
    assert SECRET not in told
    assert "127.0.0.1" not in str(raised.value)


def test_who_has_other_credentials_has_another_copy(opened, fetched, git_server, tmp_path):
    fetched(opened(token="one" * 5), "HEAD")
    fetched(opened(token="two" * 5), "HEAD")

    assert len(list((tmp_path / "cache").glob("*.git"))) == 2


def test_a_redirect_to_another_server_is_not_followed(opened, fetched, tmp_path, git_server):
    class Redirect(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{git_server.port}{self.path}")
            self.end_headers()

        def log_message(self, *_):
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirect) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        source = opened(f"http://127.0.0.1:{server.server_port}/rope.git", token=SECRET)
        with pytest.raises((SourceUnusable, SourceFailed)):
            fetched(source, "HEAD")
        server.shutdown()

    assert git_server.requests == []


@pytest.mark.parametrize(
    ("location", "remote"),
    [
        (".", False),
        ("/srv/rope", False),
        ("C:/rope", False),
        ("file:///srv/rope.git", False),
        ("https://example.org/rope.git", True),
        ("ssh://git@example.org/rope.git", True),
        ("git@example.org:team/rope.git", True),
        ("ext::sh -c id", False),
    ],
)
def test_where_a_repository_is_shows_in_its_address(location, remote):
    assert is_remote(location) == remote


@pytest.mark.parametrize(
    "location",
    ["ftp://example.org/x", "ext://x", "https://", "https://-x/y", "https://a:port/x", "ssh://"],
)
def test_other_addresses_are_refused(location):
    with pytest.raises(SourceUnusable) as raised:
        remote_place(location, token=None)
    assert location not in str(raised.value)


def test_an_address_shows_no_secret():
    place = remote_place(f"https://ada:{SECRET}@example.org:8443/rope.git?x={SECRET}", token=None)

    assert place.url == "https://example.org:8443/rope.git"
    assert SECRET not in repr(place)
    assert not re.search("Basic", repr(place))


class TestTheCopyStaysTidy:
    """Every change that is read brings packs of its own into the copy."""

    @pytest.fixture
    def begun(self, begun_commits):
        return begun_commits[0]

    @pytest.fixture
    def commits(self, begun_commits):
        """The hashes of commits that each change a file of their own."""
        return begun_commits[1]

    @pytest.fixture
    def packs(self, tmp_path):
        return lambda: len(list((tmp_path / "cache").glob("*.git/objects/pack/*.pack")))

    def test_packs_are_put_together_and_every_change_is_there_still(
        self, opened, fetched, git_server, commits, packs
    ):
        source = opened(tidiness=Tidiness(max_new_packs=3))
        seen = []
        for n, commit in enumerate(commits):
            assert added_in(fetched(source, commit)) == [f"n = {n}"]
            seen.append(packs())

        assert max(seen) <= 5
        assert min(seen[3:]) < max(seen)
        asked = len(git_server.requests)
        assert added_in(fetched(source, commits[0])) == ["n = 0"]
        assert len(git_server.requests) == asked, "what was fetched was lost"

    def test_a_tidying_that_takes_too_long_fails_no_review_and_is_not_begun_each_time(
        self, opened, fetched, commits, tmp_path, monkeypatch
    ):
        begun = tmp_path / "begun"
        slow_git(tmp_path / "slow", begun, monkeypatch)
        source = opened(tidiness=Tidiness(max_new_packs=3, timeout_s=0.3))

        for n, commit in enumerate(commits[:6]):
            assert added_in(fetched(source, commit)) == [f"n = {n}"]

        assert begun.read_text().count("gc") == 1

    def test_what_a_tidying_left_that_was_ended_is_removed(
        self, opened, fetched, commits, tmp_path
    ):
        source = opened()
        fetched(source, commits[0])
        (copy,) = (tmp_path / "cache").glob("*.git")
        left = [copy / "gc.pid", *(copy / "objects/pack" / name for name in ("tmp_p", ".tmp-1-p"))]
        for path in left:
            path.write_text("left")
        fetched(source, commits[1])

        assert [path.name for path in left if path.exists()] == []


def slow_git(folder, begun, monkeypatch):
    """Put a `git` first that takes for ever to tidy up, and notes that it began to."""
    folder.mkdir()
    program = folder / "git"
    real = shutil.which("git")
    program.write_text(
        f"#!/bin/sh\nfor word; do\n"
        f'  if [ "$word" = gc ]; then echo gc >> "{begun}"; exec sleep 60; fi\ndone\n'
        f'exec "{real}" "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
