"""A herald's process: it tells of due jobs, and looks after what hired workers do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import UsageError
from holdfast.runtime.dispatcher.dispatcher import Carrier, Dispatcher
from holdfast.runtime.kernel.service import Service
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.kernel.wakeups import WakeupListener
from holdfast.runtime.lanes.contract import Lane
from holdfast.runtime.worker.worker import Worker


class DispatcherProcess(Worker):
    """Runs no jobs: tells of them, sweeps, removes what is old, and makes deliveries."""

    def __init__(self, *args: Any, carrier: Carrier, **kwargs: Any) -> None:  # noqa: ANN401 - a worker's
        super().__init__(*args, **kwargs)
        self._carrier = carrier
        self._herald = Dispatcher(
            self._stores["claimer"],
            carrier,
            routes={
                Route(queue, bound.pipeline, bound.name): (
                    None if bound.upstream is None else bound.upstream.name
                )
                for queue in self._queues
                for bound in self._handlers.values()
            },
            allowances=lambda now, places: self.breakers.announced(now, places=places),
            chance=self._chance,
            poll_us=int(self._options.poll * SECOND_US),
            on_fatal=self.abort,
        )
        self._ear.close()
        self._ear = WakeupListener(self._stores["claimer"].listen(), heard=self._herald.wake)

    def start(self) -> None:
        """Look whether the broker is as it should be, then work in threads, and return.

        What a person has to repair there first is raised, as a `UsageError`.
        """
        try:
            self._carrier.waiting(self._queues)
        except UsageError:
            self._end()
            raise
        super().start()

    def _make_lanes(self) -> Mapping[LaneKind, Lane]:
        return {}

    def _wake_claimer(self) -> None:
        self._herald.wake.set()

    def _services(self) -> list[Service]:
        services: list[Service] = [self._keeper, self._herald, self._ear]
        services += [self._sweeper, self._janitor, self._tallying]
        services += self._courier_services()
        if self.breakers.watches:
            services.append(self.breakers)
        services.append(self._watchdog())
        return services

    def _end(self) -> int:
        status = super()._end()
        self._carrier.close()
        return status
