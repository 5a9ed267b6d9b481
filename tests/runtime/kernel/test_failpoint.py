import os
import signal
import subprocess
import sys

import pytest

from holdfast.errors import InvalidSetting
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.failpoint import FailpointReached
from tests.warm import process

PROGRAM = """
from holdfast.runtime.kernel import failpoint
for _ in range(3):
    failpoint.reach("apply.before")
    print("passed", flush=True)
"""


def run(armed: str) -> subprocess.CompletedProcess:
    return process.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, failpoint.VARIABLE: armed},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_nothing_happens_at_a_point_that_is_not_armed():
    for point in failpoint.POINTS:
        failpoint.reach(point)

    assert run("claim.after=kill").stdout.count("passed") == 3


@pytest.mark.parametrize(
    ("armed", "passed", "status"),
    [
        ("apply.before=kill", 0, -signal.SIGKILL),
        ("apply.before=kill:3", 2, -signal.SIGKILL),
        ("apply.before=term:2", 1, -signal.SIGTERM),
        ("apply.before=exit:2", 1, 70),
        ("apply.before=raise, claim.before=kill", 0, 1),
    ],
)
def test_an_armed_point_acts_when_it_is_reached_for_the_nth_time(armed, passed, status):
    done = run(armed)

    assert (done.stdout.count("passed"), done.returncode) == (passed, status)


def test_what_it_raises_names_the_point():
    armed = failpoint._Failpoints(failpoint.parse("run.after=raise:2"))
    armed.reach("run.after")

    with pytest.raises(FailpointReached, match=r"run\.after"):
        armed.reach("run.after")


@pytest.mark.parametrize(
    "text", ["nowhere=kill", "apply.before", "apply.before=explode", "apply.before=kill:x", "="]
)
def test_what_cannot_be_armed_is_refused(text):
    with pytest.raises(InvalidSetting, match=failpoint.VARIABLE):
        failpoint.parse(text)


def test_points_stand_at_both_sides_of_every_effect():
    effects = {point.rpartition(".")[0] for point in failpoint.POINTS}

    assert set(failpoint.POINTS) == {
        f"{effect}.{side}" for effect in effects for side in ("before", "after")
    }
    assert effects == {
        *("claim", "run", "apply", "announce", "renew", "sweep", "purge"),
        *("send", "mark", "publish", "outbox.mark", "settle"),
    }
