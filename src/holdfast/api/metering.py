"""The metrics of a process that serves: counted from its start, or from the first request for them.

Where another application mounts the API nobody says when it starts and ends.
"""

from __future__ import annotations

import threading
from typing import cast

from starlette.applications import Starlette

from holdfast.engine.app import Holdfast
from holdfast.metrics import Exposition


class Metering:
    """Makes the metrics when they are needed, once."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._exposition: Exposition | None = None

    def exposition(self) -> Exposition:
        """Return the metrics; the first time they begin to count."""
        with self._lock:
            if self._exposition is None:
                self._exposition = Exposition(self._app)
                self._exposition.begin()
            return self._exposition

    def stop(self) -> None:
        """Count no more."""
        with self._lock:
            exposition, self._exposition = self._exposition, None
        if exposition is not None:
            exposition.close()


def metering_of(api: Starlette) -> Metering:
    """Return the metrics of a served API."""
    return cast("Metering", api.state.metering)
