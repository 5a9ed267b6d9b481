"""A dispatcher's process: it tells of due jobs, and looks after what embedded workers do not."""

from __future__ import annotations

from holdfast.core.job.plan import Route
from holdfast.errors import UsageError
from holdfast.runtime.dispatcher.dispatcher import Carrier, Dispatcher
from holdfast.runtime.kernel.service import Service
from holdfast.runtime.kernel.wakeups import WakeupListener
from holdfast.runtime.worker.parts import WorkerParts
from holdfast.runtime.worker.process import FleetProcess


class DispatcherProcess(FleetProcess):
    """Tells of due jobs, sweeps, removes what is old, and makes deliveries."""

    def __init__(self, parts: WorkerParts, *, carrier: Carrier) -> None:
        super().__init__(parts)
        store = self._stores["claimer"]
        self._carrier = carrier
        self._dispatcher = Dispatcher(
            store,
            carrier,
            routes={
                Route(queue, bound.pipeline, bound.name): (
                    None if bound.upstream is None else bound.upstream.name
                )
                for queue in parts.queues
                for bound in self._handlers.values()
            },
            allowances=lambda now, places: self.breakers.announced(now, places=places),
            chance=parts.chance,
            poll_us=self._poll_us,
            on_fatal=self.abort,
        )
        self._ear = WakeupListener(store.listen(), heard=self._dispatcher.wake)

    def start(self) -> None:
        """Look whether the broker is as it should be, then work in threads, and return.

        What a person has to repair there first is raised, as a `UsageError`.
        """
        try:
            self._carrier.waiting(self._parts.queues)
        except UsageError:
            self._end()
            raise
        super().start()

    def _wake(self) -> None:
        self._dispatcher.wake.set()

    def _services(self) -> list[Service]:
        return [self._dispatcher, *self._common_services(), *self._upkeep_services()]

    def _end(self) -> int:
        status = super()._end()
        self._carrier.close()
        return status
