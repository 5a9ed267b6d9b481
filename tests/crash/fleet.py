"""Worker processes that a test starts, hurts, watches and always ends."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import Any, NamedTuple, TypeVar

from holdfast import Holdfast, JobState
from holdfast.core.job.job import Job
from holdfast.errors import UnknownJob
from tests.crash import program
from tests.warm.process import WarmProcess

PROGRAM = Path(program.__file__)
REPOSITORY = PROGRAM.parents[2]
SHORT = {"lease": 1.0, "poll": 0.1, "sweep": 0.1, "grace": 3.0}
PATIENCE_S = 20.0

_T = TypeVar("_T")


def eventually(look: Callable[[], _T], *, what: str, within_s: float = PATIENCE_S) -> _T:
    """Return what `look` returns once it is true; fail when that takes too long."""
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s} s: {what} (last look: {found!r})")
        time.sleep(0.02)


def environment_of() -> dict[str, str]:
    """The environment in which a process of these tests finds this very code."""
    path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
    return {**os.environ, "PYTHONPATH": path}


class Execution(NamedTuple):
    """A handler's body began to run."""

    job: str
    stage: str
    attempt: int
    pid: int
    at: float


class Lines:
    """The whole lines of a file that others write, each read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._found: list[dict[str, Any]] = []

    def all(self) -> list[dict[str, Any]]:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                whole = file.read().rpartition(b"\n")[0]
            if whole:
                self._read_bytes += len(whole) + 1
                self._found += [json.loads(line) for line in whole.split(b"\n")]
        return self._found


class WorkerProcess:
    """A worker in a process of its own."""

    def __init__(
        self,
        url: str,
        *,
        folder: Path,
        number: int,
        environment: dict[str, str],
        cold: bool,
        **options: Any,
    ) -> None:
        self.log_path = folder / f"worker-{number}.log"
        self.errors_path = folder / f"worker-{number}.stderr"
        self._lines = Lines(self.log_path)
        arguments = ["--url", url, "--log", str(self.log_path)]
        for name, value in {**SHORT, **options}.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                arguments.append(flag)
            elif value is not None:
                arguments += [flag, str(value)]
        start = subprocess.Popen if cold else WarmProcess
        with self.errors_path.open("wb") as errors:
            self._process = start(
                [sys.executable, str(PROGRAM), *arguments],
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def id(self) -> str:
        return self.said("made")["worker"]

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: Signals) -> None:
        self._process.send_signal(number)

    def signal_group(self, number: Signals) -> None:
        """Signal the process and its children, as a service manager does."""
        os.killpg(self.pid, number)

    def ended(self, *, within_s: float = PATIENCE_S) -> int:
        """Wait for the end and return the exit status, negative for a signal."""
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {within_s} s") from None

    def stopped(self, *, within_s: float = PATIENCE_S) -> None:
        """Wait until the process stands still, by SIGSTOP."""
        eventually(lambda: self._state() == "T", what="the worker is stopped", within_s=within_s)

    def log(self) -> list[dict[str, Any]]:
        return self._lines.all()

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.log() if line.get("event") == event]

    def said(self, event: str, *, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until the worker has logged `event`, and return the first such line."""

        def look() -> list[dict[str, Any]]:
            found = self.events(event)
            assert found or self.is_alive, f"ended without {event!r}"
            return found

        return eventually(look, what=f"the worker says {event!r}", within_s=within_s)[0]

    def story(self) -> str:
        """Everything the process said, for a failing test."""
        said = [self.errors_path.read_text(encoding="utf-8", errors="replace")]
        said += [json.dumps(line) for line in self.log()]
        return "\n".join(said)

    def end(self) -> None:
        """Make sure that neither the process nor a child of it is left."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _state(self) -> str:
        assert self.is_alive, f"ended with {self._process.returncode}"
        status = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0]


class Fleet:
    """The workers of one test, the database they share, and what their handlers did."""

    def __init__(self, url: str, *, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.workers: list[WorkerProcess] = []
        self.app = Holdfast(url, pipelines=program.PIPELINES.values())
        self._record = folder / "executions"
        self._executions = Lines(self._record)

    def start(
        self,
        *,
        failpoints: str = "",
        url: str | None = None,
        environment: dict[str, str] | None = None,
        cold: bool = False,
        **options: Any,
    ) -> WorkerProcess:
        """Start a worker, `cold` in a new interpreter; see `program` for the options."""
        worker = WorkerProcess(
            url or self.url,
            folder=self.folder,
            number=len(self.workers) + 1,
            environment={
                **environment_of(),
                program.RECORD_VARIABLE: str(self._record),
                "HOLDFAST_FAILPOINTS": failpoints,
                **(environment or {}),
            },
            cold=cold,
            **options,
        )
        self.workers.append(worker)
        return worker

    def stopped_with(
        self,
        submit: Callable[[], list[str]],
        failpoints: str,
        *,
        retract: Callable[[list[str]], object] | None = None,
        **options: Any,
    ) -> tuple[WorkerProcess, list[str]]:
        """Submit jobs and start a worker that stops itself, and return both.

        A process that stands still while it writes to SQLite holds up all others, which is another
        fault; then it is done over with other jobs, after `retract`, which cancels those so far.
        """
        retract = retract or self._cancel
        for _ in range(5):
            jobs = submit()
            worker = self.start(failpoints=failpoints, **options)
            worker.stopped()
            if self.url.startswith("postgres") or not _is_write_locked(self.url):
                return worker, jobs
            worker.end()
            retract(jobs)
        raise AssertionError("stopped in the middle of a write five times in a row")

    def _cancel(self, jobs: list[str]) -> None:
        for job in jobs:
            self.app.cancel(job, by="test")

    def submit(self, pipeline: str, count: int = 1, **payload: Any) -> list[str]:
        """Submit jobs; those of `steps` and `noop` are numbered."""
        return [
            self.app.submit(pipeline, {"n": number, **payload}).id for number in range(1, count + 1)
        ]

    def executions(self, job: str | None = None, stage: str | None = None) -> list[Execution]:
        """What handlers began to do, in order."""
        found = (Execution(**line) for line in self._executions.all())
        return [item for item in found if job in (None, item.job) and stage in (None, item.stage)]

    def states(self, jobs: Iterable[str]) -> dict[str, JobState]:
        return {job: self.app.job(job).state for job in jobs}

    def ended(self, jobs: Sequence[str], *, within_s: float = PATIENCE_S) -> list[Job]:
        """Wait until all jobs have ended, and return them."""
        found: dict[str, Job] = {}

        def all_ended() -> bool:
            found.update(self.app.store.get(left := [job for job in jobs if not has_ended(job)]))
            return all(has_ended(job) for job in left)

        def has_ended(job: str) -> bool:
            return job in found and found[job].finished_at is not None

        try:
            eventually(all_ended, what="all jobs have ended", within_s=within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{_summary(found.values())}") from None
        return [found[job] for job in jobs]

    def finished(
        self,
        jobs: Sequence[str],
        *,
        state: JobState = JobState.COMPLETE,
        within_s: float = PATIENCE_S,
    ) -> None:
        """Wait until all jobs have ended, and see that they ended in `state`."""
        wrong = [job for job in self.ended(jobs, within_s=within_s) if job.state is not state]
        assert not wrong, f"not {state}: {wrong}"

    def sound(self) -> None:
        """See that the store's invariants hold."""
        assert self.app.verify() == []

    def story(self) -> str:
        """Everything that happened, for a failing test."""
        parts = [worker.story() for worker in self.workers]
        parts += [str(execution) for execution in self.executions()]
        for job in {execution.job for execution in self.executions()}:
            with suppress(UnknownJob):  # removed since
                parts += [f"{job} {line}" for line in self.app.history(job)]
        return "\n".join(parts)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()
        self.app.close()


def _summary(jobs: Iterable[Job]) -> str:
    return "\n".join(
        f"{job.id} {job.pipeline}/{job.stage} {job.state} attempt {job.attempt}" for job in jobs
    )


def _is_write_locked(url: str) -> bool:
    """Whether some process is in the middle of a write to a SQLite database."""
    path = url.removeprefix("sqlite:///")
    with Path(f"{path}-lock").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
