"""A process that runs a replay and may die at its nth letter: `… URL REPLAY [WHEN N]`.

It dies by SIGKILL, `before` its nth letter is sent, when that is marked already, or `after` it.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.core.dead_letter.replay import Item, Replay
from holdfast.core.values.instant import SECOND_US
from holdfast.runtime.kernel.clock import sleep_s
from holdfast.runtime.maintenance.replayer import Replayer

MENDED_VARIABLE = "REPLAY_MENDED"
"""Names a file; as long as it is not there, the gateway is down."""

replayed = Pipeline("replayed")


@replayed.stage
def call(job, n: int) -> int:
    if not Path(os.environ[MENDED_VARIABLE]).exists():
        raise GiveUp("GATEWAY_DOWN", "no answer")
    return n


def dying(app: Holdfast, when: str, number: int) -> Callable[[Replay, Item], str | None]:
    """Return what sends letters back until it is killed."""
    sent = 0

    def send_back(replay: Replay, item: Item) -> str | None:
        nonlocal sent
        sent += 1
        if when == "before" and sent == number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = app.replays._send_back(replay, item)
        if when == "after" and sent == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return send_back


def main(url: str, replay_id: str, when: str = "never", number: str = "0") -> None:
    app = Holdfast(url)
    replayer = Replayer(app.store, replay_id, send_back=dying(app, when, int(number)))
    print("ready", flush=True)
    while not replayer.over:
        now = app.clock.now()
        until = replayer.tick(now)
        sleep_s(max(until - app.clock.now(), 0) / SECOND_US)
    app.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
