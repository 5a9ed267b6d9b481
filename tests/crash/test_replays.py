"""A replay whose runners are killed: each letter leads to one run, whoever goes on with it."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState
from holdfast.core.dead_letter.replay import Counts, ReplayState
from holdfast.core.job.decision import Kind
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing.inline import run_inline
from tests.crash import dying_replay
from tests.crash.fleet import PATIENCE_S, REPOSITORY, environment_of, eventually
from tests.warm.process import WarmProcess

READY = {"cause": "transient", "evidence": "the gateway answers", "confirm_idempotent": True}
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def app(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holdfast]:
    monkeypatch.setenv(dying_replay.MENDED_VARIABLE, str(tmp_path / "mended"))
    with Holdfast(database_url, pipelines=[dying_replay.replayed]) as made:
        yield made


@pytest.fixture
def runner(database_url: str) -> Iterator[Start]:
    """Starts processes that run a replay."""
    started: list[subprocess.Popen[str]] = []

    def start(replay_id: str, *dies: str) -> "subprocess.Popen[str]":
        process = WarmProcess(
            [sys.executable, dying_replay.__file__, database_url, replay_id, *dies],
            cwd=REPOSITORY,
            env=environment_of(),
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def dead(app: Holdfast, count: int, mended: Path) -> list[str]:
    """Make that many dead letters, and mend the gateway."""
    ids = [app.submit("replayed", {"n": n}).id for n in range(count)]
    run_inline(app)
    mended.touch()
    return ids


def assert_each_ran_once(app: Holdfast, ids: list[str]) -> None:
    for job_id in ids:
        kinds = [line.entry.kind for line in app.store.ledger(job_id)]
        assert kinds == [Kind.FAILED, Kind.REVIVED, Kind.COMPLETED]
        assert app.job(job_id).state is JobState.COMPLETE
    assert app.verify() == []


def killed(process: "subprocess.Popen[str]") -> bool:
    return process.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_runner_may_be_killed_around_every_letter(app: Holdfast, runner: Start, tmp_path: Path):
    ids = dead(app, 6, tmp_path / "mended")
    replay = app.replays.start("outage", LetterFilter(), by="ada", rate=None, **READY)

    # Around the canary, then in the middle of the rest, which is marked as a whole.
    deaths = [("before", "1"), ("before", "1"), ("after", "1"), ("before", "3"), ("after", "2")]
    for dies in deaths:
        process = runner(replay.id, *dies)
        assert killed(process), dies
        run_inline(app)
    left = app.replays.show(replay.id)
    last = runner(replay.id)
    eventually(lambda: run_inline(app) is not None and last.poll() is not None, what="it ends")
    ended = app.replays.show(replay.id)

    assert not left.ended
    assert last.returncode == 0
    assert (ended.state, ended.counts) == (ReplayState.DONE, Counts(succeeded=6))
    assert_each_ran_once(app, ids)


def test_runners_killed_from_outside_and_runners_side_by_side(
    app: Holdfast, runner: Start, tmp_path: Path
):
    ids = dead(app, 40, tmp_path / "mended")
    replay = app.replays.start("outage", LetterFilter(), by="ada", canary=0, rate=40, **READY)

    for least in (5, 15):
        process = runner(replay.id)
        eventually(
            lambda least=least: app.replays.show(replay.id).counts.sent >= least,
            what=f"{least} letters are sent",
        )
        process.send_signal(signal.SIGKILL)
        assert killed(process)
    both = [runner(replay.id), runner(replay.id)]

    def work() -> bool:
        run_inline(app)
        return all(process.poll() is not None for process in both)

    eventually(work, what="both runners have ended")
    assert [process.returncode for process in both] == [0, 0]
    ended = app.replays.show(replay.id)
    assert (ended.state, ended.counts) == (ReplayState.DONE, Counts(succeeded=40))
    assert_each_ran_once(app, ids)
