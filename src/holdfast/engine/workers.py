"""Workers of an application, and what tells other systems' workers of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.core.values.retention import Retention
from holdfast.errors import UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import checked_name
from holdfast.runtime import tracing
from holdfast.runtime.attempts.job_secrets import JobSecrets
from holdfast.runtime.attempts.spans import traced
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import BoundProvider, Provider, Providers
from holdfast.runtime.dispatcher.dispatcher import Carrier
from holdfast.runtime.dispatcher.dispatcher_process import DispatcherProcess
from holdfast.runtime.dispatcher.embedded_worker import EmbeddedWorker
from holdfast.runtime.events.announce import Announcer
from holdfast.runtime.events.decision_messages import DecisionMessages
from holdfast.runtime.events.signals import Signals
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.stage import BoundStage
from holdfast.runtime.maintenance.activity import Counter
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.parts import WorkerParts
from holdfast.runtime.worker.roster import Roster
from holdfast.runtime.worker.worker import Worker
from holdfast.store.contract import Store

if TYPE_CHECKING:
    from celery import Celery

    from holdfast.bridges.celery import CeleryBridge
    from holdfast.bridges.celery.bridge import Engine


class WorkerFactory:
    """Makes workers for the pipelines there are when it is asked."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        pipelines: Mapping[str, Pipeline],
        plans: PlanCache,
        clock: Clock,
        chance: Chance,
        announcer: Announcer,
        counter: Counter,
        callback_key: Callable[[], bytes],
        secrets: JobSecrets,
        dispatch: Dispatch,
        retention: Callable[[], Retention],
        chores: Callable[[], Sequence[Chore]],
        running: Roster,
    ) -> None:
        self._store = store
        self._pipelines = pipelines
        self._plans = plans
        self._clock = clock
        self._chance = chance
        self._announcer = announcer
        self._counter = counter
        self._callback_key = callback_key
        self._secrets = secrets
        self._dispatch = dispatch
        self._retention = retention
        self._chores = chores
        self._running = running

    def worker(
        self, *, queues: Sequence[str] | None = None, options: WorkerOptions | None = None
    ) -> Worker:
        """Return a worker for this application's pipelines.

        It serves `queues`, or the queues that the pipelines name.
        """
        return Worker(self._parts(queues, options))

    def embedded_worker(self, options: WorkerOptions) -> EmbeddedWorker:
        """Return a worker for a process such as Celery's, which hands it its jobs."""
        return EmbeddedWorker(self._parts(None, options))

    def dispatcher(
        self,
        carrier: Carrier,
        *,
        queues: Sequence[str] | None = None,
        options: WorkerOptions | None = None,
    ) -> DispatcherProcess:
        """Return a dispatcher that sends a fleet the ids of due jobs, by way of `carrier`.

        It sends those of `queues`, or of the queues that the pipelines name. `herald` is its name
        of before.
        """
        return DispatcherProcess(self._parts(queues, options), carrier=carrier)

    def _parts(self, queues: Sequence[str] | None, options: WorkerOptions | None) -> WorkerParts:
        """Return what every kind of worker is made with; what it runs is stored with it."""
        if not self._pipelines and not len(self._dispatch.providers):
            raise UsageError("a worker needs pipelines; pass them to Holdfast(pipelines=[…])")
        store, now = self._store(), self._clock.now()
        stages: list[BoundStage] = []
        for pipeline in self._pipelines.values():
            bound = pipeline.bound()
            self._plans.save(bound.plan, now=now)
            stages.extend(map(traced, bound.stages) if tracing.enabled() else bound.stages)
        served = queues or sorted({pipeline.queue for pipeline in self._pipelines.values()})
        return WorkerParts(
            store=store,
            stages=stages,
            queues=[checked_name(queue, what="queue") for queue in served],
            clock=self._clock,
            chance=self._chance,
            announcer=self._announcer,
            counter=self._counter,
            options=options or WorkerOptions(),
            retention=self._retention(),
            callback_key=self._callback_key,
            secrets=self._secrets,
            dispatch=self._dispatch,
            decisions=DecisionMessages(self._pipelines.get),
            chores=self._chores(),
            running=self._running,
        )


def dispatch_of(
    providers: Iterable[Provider], options: CourierOptions, signals: Signals
) -> Dispatch:
    """Return how workers use these providers, each by its own retry policy if it has one."""
    bound: list[BoundProvider] = []
    for provider in providers:
        checked_name(provider.name, what="provider")
        upstream = getattr(provider, "upstream", None)
        terms = None if upstream is None else upstream.terms()
        own = getattr(provider, "retry", None)
        used = options if own is None else replace(options, retry=own)
        bound.append(BoundProvider(provider, used.terms(provider.promise), terms))
    return Dispatch(Providers(bound), options, signals)


def celery_bridge(engine: Engine, celery: Celery, *, exchange: str, **given: Any) -> CeleryBridge:  # noqa: ANN401 - the bridge's own
    """Return what has the workers of a Celery application run the jobs of `engine`."""
    try:
        from holdfast.bridges.celery import CeleryBridge  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("Celery takes an extra: pip install 'holdfast[celery]'") from error
    chosen = {name: value for name, value in given.items() if value is not None}
    return CeleryBridge(celery, engine=engine, exchange=exchange, **chosen)
