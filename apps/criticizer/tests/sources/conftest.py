import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.criticizer.tests.change_server import ChangeServer

WHO = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Work:
    """A repository with its work tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        ended = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**os.environ, **WHO},
            capture_output=True,
            check=True,
        )
        return ended.stdout.decode().strip()

    def commit(self, title: str, **files: str | bytes) -> str:
        """Write files and commit them; a file's name has `.` where its argument has `_`."""
        for name, content in files.items():
            path = self.folder / name.replace("_", ".")
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", title)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="session")
def begun_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, to copy."""
    made = Work(tmp_path_factory.mktemp("begun") / "work")
    made.folder.mkdir()
    made.git("init", "-q", "-b", "main")
    made.commit("Begin a rope", rope_py="knots = 1\n")
    made.commit("Add a loop", rope_py="knots = 1\nloops = 2\n")
    return made.folder


@pytest.fixture
def work(begun_work: Path, tmp_path: Path) -> Work:
    """A repository of the test's own with two commits."""
    return Work(Path(shutil.copytree(begun_work, tmp_path / "work")))


@pytest.fixture
def server() -> Iterator[ChangeServer]:
    with ChangeServer() as serving:
        yield serving


@pytest.fixture
def fetched() -> Callable[..., object]:
    def fetch(source, changelist_id, *, timeout_s=30.0, headers=None):
        return source.fetch(changelist_id, timeout_s=timeout_s, headers=headers or {})

    return fetch
