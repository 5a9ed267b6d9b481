"""A copy of the tree in which faults are planted, so that nobody's working tree ever has one."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mutants.fault import Fault

SOURCES = (
    "src",
    "apps/collabiq/src",
    "apps/converter/src",
    "apps/criticizer/src",
    "apps/grading/src",
)
NOT_SLOW = ("-m", "not slow")


class Stopped(Exception):
    """The run was broken off."""


@dataclass(frozen=True)
class TestRun:
    """What pytest made of a selection."""

    status: int | None
    """None when the time was up."""
    output: str
    seconds: float

    @property
    def failed_test(self) -> str:
        """The first test that failed, or nothing."""
        for line in self.output.splitlines():
            if line.startswith(("FAILED ", "ERROR ")) and "::" in line:
                return line.split(" - ")[0].partition(" ")[2]
        return ""

    @property
    def summary(self) -> str:
        """The last line that says something."""
        return next((line for line in reversed(self.output.splitlines()) if line.strip()), "")


class Scratch:
    """A copy of the files that git knows or would add; its tests import nothing but the copy."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder
        self._stamp = int(folder.stat().st_mtime)
        self._running: subprocess.Popen[str] | None = None
        self._given_up = False
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=tree,
            check=True,
            capture_output=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (tree / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, folder / name)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Plant a fault, and take it out afterwards."""
        path = self.folder / fault.file
        sound, times = path.read_bytes(), path.stat()
        path.write_text(fault.planted_in(sound.decode()), encoding="utf-8")
        # Compiled files are told apart by whole seconds: each planting gets one of its own.
        self._stamp += 10
        os.utime(path, (self._stamp, self._stamp))
        try:
            yield
        finally:
            path.write_bytes(sound)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def test(
        self, tests: Sequence[str], *, keyword: str = "", limit_s: float, first_only: bool = True
    ) -> TestRun:
        """Run tests of the copy as `make test` would, up to the first that fails."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *NOT_SLOW]
        command += ["-x"] if first_only else []
        command += ["-k", keyword] if keyword else []
        if self._given_up:
            raise Stopped
        began = time.monotonic()
        # A session of its own: what outlives the limit is ended with all that it has started.
        self._running = process = subprocess.Popen(
            [*command, *tests],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit_s)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            status = None
        return TestRun(status, output, time.monotonic() - began)

    def stop(self) -> None:
        """End the tests that are running, if any are, and run no more."""
        self._given_up = True
        if self._running is not None and self._running.poll() is None:
            os.killpg(self._running.pid, signal.SIGKILL)

    def imports_itself(self, packages: Sequence[str]) -> bool:
        """Return whether Python takes the packages from the copy."""
        names = ", ".join(packages) + ","
        code = f"import {names[:-1]}\nfor package in ({names}): print(package.__file__)"
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=self._environment(),
            check=True,
            capture_output=True,
            text=True,
        )
        inside = self.folder.resolve()
        return all(Path(line).resolve().is_relative_to(inside) for line in found.stdout.split())

    def _environment(self) -> dict[str, str]:
        folders = [str(self.folder / source) for source in SOURCES]
        given = os.environ.get("PYTHONPATH")
        joined = os.pathsep.join(folders + ([given] if given else []))
        return {**os.environ, "PYTHONPATH": joined}
