"""Between an application of Celery's and one of holdfast's."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload

from celery import Celery
from celery.exceptions import Reject
from celery.signals import (
    celeryd_init,
    worker_process_shutdown,
    worker_shutdown,
    worker_shutting_down,
)
from kombu.entity import Exchange
from kombu.entity import Queue as KombuQueue

from holdfast.bridges.celery.carrier import due_queue
from holdfast.bridges.celery.hand import Hand
from holdfast.bridges.celery.message import TASK, PoisonMessage, broker_queue, due_of
from holdfast.bridges.celery.pool import Closing, options_for, refuse_greenlets
from holdfast.bridges.celery.task import DurableTask, handler_of, refuse_unknown
from holdfast.bridges.rabbitmq.topology import EXCHANGE, arguments_of, checked
from holdfast.classify.table import Rule
from holdfast.core.job.job import DEFAULT_QUEUE
from holdfast.core.values.retry import Retry
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import Span
from holdfast.pipeline.upstream import Upstream
from holdfast.runtime.dispatcher.embedded_worker import EmbeddedWorker
from holdfast.runtime.worker.options import WorkerOptions

if TYPE_CHECKING:
    from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.worker")
HOLD_S: Final = 600.0
"""How long a message is held while its jobs run: a third of what RabbitMQ allows by default."""
_OWN_CONSUMER: Final = "holdfast.bridges.celery.consumer:DeadLetteringConsumer"
_ITS_CONSUMER: Final = "celery.worker.consumer:Consumer"
_TASK_OPTIONS: Final = frozenset(
    {"name", "bind", "queue", "retry", "timeout", "deadline", "calls", "rules"}
)

Function = TypeVar("Function", bound=Callable[..., Any])


class Engine(Protocol):
    """What the bridge asks of holdfast's application."""

    @property
    def store(self) -> Store:
        """The store."""
        ...

    def add(self, pipeline: Pipeline) -> None:
        """Take one more pipeline."""
        ...

    @property
    def submit(self) -> Callable[..., Any]:
        """Make a job; see `Holdfast.submit`."""
        ...

    def embedded_worker(self, options: WorkerOptions) -> EmbeddedWorker:
        """Return a worker for this process, which is handed what to run."""
        ...


class CeleryBridge:
    """Makes durable tasks, and has the workers of a Celery application run jobs.

    A worker runs them when it consumes the queue of the broker that belongs to a queue of jobs:
    `celery -A … worker -Q holdfast.default`. A dispatcher tells it what is due.
    """

    def __init__(
        self,
        celery: Celery,
        *,
        engine: Engine,
        exchange: str = EXCHANGE,
        options: WorkerOptions | None = None,
        hold: float = HOLD_S,
    ) -> None:
        self.exchange = checked("CeleryBridge", "exchange", exchange)
        self._celery = celery
        self._engine = engine
        self._options = options
        self._controller: Any = None
        self._closing = Closing()
        self._connection: ContextVar[object] = ContextVar("holdfast-celery", default=None)
        self._hand = Hand(
            lambda: engine.embedded_worker(self._worker_options()),
            exist=lambda job_ids: bool(engine.store.get(job_ids)),
            hold_s=hold,
            closing=lambda: bool(self._closing),
        )
        # Celery runs a task of its own by these; nothing here depends on redelivery.
        celery.task(
            name=TASK, acks_late=True, reject_on_worker_lost=True, ignore_result=True, typing=False
        )(self._run)
        celeryd_init.connect(self._on_init, weak=False)
        worker_shutting_down.connect(self._closing.begin, weak=False)
        worker_process_shutdown.connect(self._on_shutdown, weak=False)
        worker_shutdown.connect(self._on_shutdown, weak=False)

    @overload
    def task(self, function: Function, /) -> DurableTask: ...

    @overload
    def task(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        bind: bool = False,
        queue: str = DEFAULT_QUEUE,
        retry: Retry | None = None,
        timeout: Span | None = None,
        deadline: Span | None = None,
        calls: Upstream | None = None,
        rules: Sequence[Rule] = (),
    ) -> Callable[[Callable[..., Any]], DurableTask]: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        bind: bool = False,
        queue: str = DEFAULT_QUEUE,
        retry: Retry | None = None,
        timeout: Span | None = None,
        deadline: Span | None = None,
        calls: Upstream | None = None,
        rules: Sequence[Rule] = (),
        **others: Any,
    ) -> Any:
        """Make a function a durable task: a pipeline of one stage, submitted as tasks are.

        Its name is that of its module and its own, as with Celery. With `bind` its first argument
        is the job as its handler sees it.
        """
        refuse_unknown("task", others, known=_TASK_OPTIONS)

        def register(given: Callable[..., Any]) -> DurableTask:
            its_name = name or f"{given.__module__}.{given.__name__}"
            pipeline = Pipeline(its_name, queue=queue, deadline=deadline, retry=retry)
            handler = handler_of(given, bind=bind)
            pipeline.stage(name="run", calls=calls, timeout=timeout, rules=rules)(handler)
            self._engine.add(pipeline)
            return DurableTask(given, pipeline=pipeline, submit=self._submit, bind=bind)

        return register if function is None else register(function)

    @contextmanager
    def using(self, connection: object) -> Iterator[None]:
        """Make what is submitted within part of the transaction of `connection`."""
        token = self._connection.set(connection)
        try:
            yield
        finally:
            self._connection.reset(token)

    def queue(self, queue: str = DEFAULT_QUEUE) -> KombuQueue:
        """Return the queue of the broker whose consumers run the jobs of a queue."""
        declared = due_queue(self.exchange, queue)
        return KombuQueue(  # type: ignore[no-untyped-call]
            declared.name,
            Exchange(self.exchange, type="topic"),  # type: ignore[no-untyped-call]
            routing_key=declared.name,
            durable=True,
            queue_arguments=arguments_of(declared, exchange=self.exchange),
        )

    def _submit(self, pipeline: Pipeline, payload: object, **options: Any) -> Any:  # noqa: ANN401 - a JobHandle
        options.setdefault("connection", self._connection.get())
        return self._engine.submit(pipeline, payload, **options)

    def _run(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - what a message says
        try:
            self._hand.run(due_of(args, kwargs))
        except PoisonMessage as error:
            LOGGER.warning("a message is a dead letter: %s", error, extra={"event": "poison"})
            raise Reject(str(error), requeue=False) from error

    def _on_init(self, instance: Any, conf: Any, options: dict[str, Any], **_: Any) -> None:  # noqa: ANN401 - Celery's
        """Declare the queues that a worker is to consume, as dispatchers declare them."""
        if instance.app is not self._celery:
            return
        self._controller = instance
        asked = options.get("queues") or ()
        names = asked.split(",") if isinstance(asked, str) else asked
        prefix = broker_queue(self.exchange, "")
        own = [name for name in names if name.startswith(prefix)]
        consumed = own or [queue.name for queue in conf.task_queues or ()]
        if any(name.startswith(prefix) for name in consumed):
            refuse_greenlets(options.get("pool") or conf.worker_pool)
        for name in own:
            self._celery.amqp.queues.add(self.queue(name.removeprefix(prefix)))
        if conf.worker_consumer == _ITS_CONSUMER:
            conf.worker_consumer = _OWN_CONSUMER

    def _worker_options(self) -> WorkerOptions:
        """Return the options that were given, or those that suit the pool of this process."""
        if self._options is not None:
            return self._options
        controller = self._controller
        pool = getattr(controller, "pool_cls", "prefork")
        return options_for(pool, getattr(controller, "concurrency", 1))

    def _on_shutdown(self, **_: Any) -> None:  # noqa: ANN401 - Celery's
        self._hand.stop()
