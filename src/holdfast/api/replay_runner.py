"""Runs replays that were handed over, in the background of a process that serves.

What it knows stands in the store: a process that ends takes nothing with it, and the next one goes
on. Several processes may run one replay, and still every letter is sent once.
"""

from __future__ import annotations

import logging
import threading
from typing import Final, cast

from starlette.applications import Starlette

from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, later
from holdfast.engine.app import Holdfast
from holdfast.errors import UnavailableError, UnknownReplay, UsageError
from holdfast.runtime.kernel.service import Supervisor
from holdfast.runtime.maintenance.replayer import Replayer

LOGGER: Final = logging.getLogger("holdfast.replay")
LOOK_US: Final = 2 * SECOND_US
"""How often to look for replays that another process was to run."""
PAUSE_US: Final = 5 * SECOND_US
"""How long a replay that failed is left alone."""


class ReplayRunner:
    """Gives every handed over replay its turns, in a thread of its own once it is needed."""

    name = "replay-runner"

    def __init__(self, engine: Holdfast) -> None:
        self.wake = threading.Event()
        self._engine = engine
        self._replayers: dict[str, Replayer] = {}
        self._due: dict[str, Instant] = {}
        self._looks_at = Instant(0)
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._supervisor: Supervisor | None = None
        self._stopped = False

    def ensure(self) -> None:
        """Run what was handed over from now on, unless that is done already.

        For an API that is mounted in another application, which may never tell it that it is
        served: looking at replays has them go on.
        """
        with self._lock:
            if self._stopped or self._supervisor is not None:
                return
            self._supervisor = Supervisor(
                clock=self._engine.clock, chance=self._engine.chance, on_fatal=_log_end
            )
            self._supervisor.start(self)

    def look(self) -> None:
        """Look at once for replays that were handed over."""
        self._asked.set()
        self.wake.set()
        self.ensure()

    def stop(self) -> None:
        """End; the next process that serves goes on with what is under way."""
        with self._lock:
            self._stopped = True
            supervisor = self._supervisor
        if supervisor is not None:
            supervisor.stop()

    def tick(self, now: Instant) -> Instant:
        """Give every replay that is due its turn, and return when the next one is."""
        if now >= self._looks_at or self._asked.is_set():
            self._asked.clear()
            self._find(now)
        for replay_id in [each for each, due in self._due.items() if due <= now]:
            self._turn(replay_id, now)
        return min([self._looks_at, *self._due.values()])

    def _find(self, now: Instant) -> None:
        try:
            open_ids = {replay.id for replay in self._engine.replays.handed_over()}
        except UsageError as error:
            # Closed, or of another schema: nothing will come of asking again.
            LOGGER.warning("replays rest: %s", error)
            self._due.clear()
            self._looks_at = FAR_FUTURE
            return
        for gone in self._due.keys() - open_ids:
            self._forget(gone)
        for found in open_ids - self._due.keys():
            self._due[found] = now
        self._looks_at = later(now, LOOK_US)

    def _turn(self, replay_id: str, now: Instant) -> None:
        try:
            replayer = self._replayers.get(replay_id)
            if replayer is None:
                replayer = self._engine.replays.replayer(replay_id)
                self._replayers[replay_id] = replayer
            self._due[replay_id] = replayer.tick(now)
            if replayer.over:
                self._forget(replay_id)
        except UnavailableError:
            raise  # of the database, not of this replay: the supervisor waits for it
        except UnknownReplay:
            self._forget(replay_id)
        except Exception:  # one replay that fails must not stop the others
            LOGGER.exception("replay %s failed", replay_id, extra={"replay": replay_id})
            self._due[replay_id] = later(now, PAUSE_US)

    def _forget(self, replay_id: str) -> None:
        self._due.pop(replay_id, None)
        self._replayers.pop(replay_id, None)


def background_of(api: Starlette) -> ReplayRunner:
    """Return what runs replays behind an API."""
    return cast("ReplayRunner", api.state.replays)


def _log_end(why: str) -> None:
    LOGGER.error("replays have ended: %s", why)
