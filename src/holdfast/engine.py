"""Holdfast: the composition root and the public way in."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from holdfast.admission import Admission
from holdfast.bridges.inbound import buried, once, submitted
from holdfast.core.breaker_policy import Breaker
from holdfast.core.instant import SECOND_US
from holdfast.core.job import DEFAULT_OWNER, DEFAULT_PRIORITY
from holdfast.core.redaction import secrets_in_environment, secrets_in_url
from holdfast.core.retention import Retention
from holdfast.dead_letters import DeadLetters
from holdfast.deliveries import Deliveries
from holdfast.delivery_view import DeliveryView
from holdfast.error_log import ErrorLog
from holdfast.errors import (
    InvalidValue,
    UnknownPipeline,
    UsageError,
)
from holdfast.handle import JobHandle
from holdfast.job_verbs import JobVerbs, asked
from holdfast.outbox import Outbox
from holdfast.pipeline import Pipeline, Span, checked_name
from holdfast.replays import Replays
from holdfast.runtime.announce import Announcer, Applied, Subscriber
from holdfast.runtime.aside import Aside
from holdfast.runtime.callbacks import CallbackTokens
from holdfast.runtime.clock import Chance, Clock, StoreClock
from holdfast.runtime.courier_options import CourierOptions
from holdfast.runtime.dispatch import Dispatch
from holdfast.runtime.janitor import Walk, purge
from holdfast.runtime.notify import Recipient
from holdfast.runtime.plans import PlanCache
from holdfast.runtime.provider import BoundProvider, Provider, Providers
from holdfast.runtime.received import Received
from holdfast.runtime.relay import RelayOptions
from holdfast.runtime.relaying import Relay
from holdfast.runtime.settle import Settler
from holdfast.runtime.stage import BoundStage
from holdfast.runtime.transport import Transport
from holdfast.runtime.worker import Worker, WorkerOptions
from holdfast.secrecy import keep_secret
from holdfast.store.contract import (
    QueueCounts,
    Store,
    Violation,
    WorkerRow,
)
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.retention import Batch
from holdfast.store.sqlite.store import SqliteStore
from holdfast.submission import Submit, Submitted, checked_text
from holdfast.submitter import Submitter
from holdfast.upstreams import Upstreams

if TYPE_CHECKING:
    from holdfast.bridges.rabbitmq_consumer import RabbitMqConsumer
    from holdfast.bridges.rabbitmq_topology import Queue

LOGGER: Final = logging.getLogger("holdfast.engine")
LEARN_EVERY_US: Final = 60 * SECOND_US


def open_store(url: str) -> Store:
    """Return the store of a URL; nothing is connected yet."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return SqliteStore(url)
    if scheme in ("postgresql", "postgres"):
        # What urllib cannot take apart is refused like a URL of another kind.
        with suppress(ValueError):
            return PostgresStore(url)
    raise InvalidValue(
        "Holdfast",
        field="url",
        value=f"{scheme}:…",
        limit="like sqlite:///holdfast.db or postgresql://host/database",
    )


class Holdfast(JobVerbs):
    """Pipelines on a store: submit jobs, look after them, and run workers.

    `secrets` are values that appear in nothing this process stores of failures, logs or shows, and
    `secret_names` names whose values do not; both besides what is known to be secret anyway.
    `error_log` gets a record of every attempt that fails. `retention` says how long what has ended
    is kept; workers remove the rest. `max_queued` limits how many jobs may wait in each queue.
    `providers` are what deliveries are sent through, and `courier` how.
    """

    def __init__(
        self,
        url: str,
        *,
        pipelines: Iterable[Pipeline] = (),
        providers: Iterable[Provider] = (),
        courier: CourierOptions | None = None,
        auto_migrate: bool = True,
        retention: Retention | None = None,
        max_queued: int | None = None,
        secrets: Iterable[str] = (),
        secret_names: Iterable[str] = (),
        error_log: ErrorLog | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        keep_secret((*secrets_in_environment(os.environ), *secrets_in_url(url)))
        self.add_secrets(secrets, names=secret_names)
        self._closed_store = open_store(url)
        self._auto_migrate = auto_migrate
        self.retention = retention or Retention()
        self._opened = False
        self._opening = threading.Lock()
        self._pipelines: dict[str, Pipeline] = {}
        for pipeline in pipelines:
            if self._pipelines.setdefault(pipeline.name, pipeline) is not pipeline:
                raise UsageError(f"two pipelines are called {pipeline.name!r}")
        self.dispatch = _dispatch(providers, courier or CourierOptions())
        self.chance = chance or Chance()
        self.clock: Clock = clock or StoreClock(
            self._closed_store.read_clock, learn_every_us=LEARN_EVERY_US
        )
        self.announcer = Announcer(self._closed_store.letters.escalated)
        self.callback_tokens = CallbackTokens(
            self._closed_store, clock=self.clock, chance=self.chance
        )
        self._plans = PlanCache(self._closed_store)
        self._submitter = Submitter(
            self._closed_store, plans=self._plans, clock=self.clock, chance=self.chance
        )
        self.limit_queues(max_queued)
        self._settler = Settler(
            self._closed_store, plans=self._plans, chance=self.chance, announcer=self.announcer
        )
        self._error_logs: list[Aside[Applied]] = []
        if error_log is not None:
            self.log_errors(error_log)
        self.dead = DeadLetters(lambda: self.store, clock=self.clock, settle=self._settle)
        self.replays = Replays(
            lambda: self.store,
            clock=self.clock,
            chance=self.chance,
            settle=self._settle,
            dead=self.dead,
        )
        self.deliveries = Deliveries(
            lambda: self.store,
            providers=self.dispatch.providers,
            clock=self.clock,
            chance=self.chance,
        )
        self.outbox = Outbox(lambda: self.store, clock=self.clock, chance=self.chance)
        self.upstreams = Upstreams(
            lambda: self.store, clock=self.clock, declared=self._declared_breakers
        )

    def limit_queues(self, max_queued: int | None) -> None:
        """From now on refuse jobs with `QueueFull` while so many are queued in their queue."""
        self._submitter.admission = (
            None if max_queued is None else Admission(self._closed_store, max_queued=max_queued)
        )

    @property
    def store(self) -> Store:
        """The store, its schema brought up to date or checked on first use."""
        self._open()
        return self._closed_store

    def _open(self) -> None:
        if self._opened:
            return
        with self._opening:
            if self._auto_migrate:
                self._closed_store.migrate()
            self._closed_store.check_schema()
            self._opened = True

    @property
    def unopened_store(self) -> Store:
        """The store as it is, for commands that look at its schema."""
        return self._closed_store

    @property
    def pipelines(self) -> dict[str, Pipeline]:
        """The pipelines by name."""
        return dict(self._pipelines)

    def close(self) -> None:
        """Write what the error log has yet to get, and close the store's connections."""
        for error_log in self._error_logs:
            error_log.close()
        self._closed_store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self,
        pipeline: Pipeline | str,
        payload: Any = None,  # noqa: ANN401 - checked against the pipeline
        *,
        key: str | None = None,
        key_alone: bool = False,
        owner: str = DEFAULT_OWNER,
        version: int = 1,
        rerun: bool = False,
        queue: str | None = None,
        priority: int = DEFAULT_PRIORITY,
        delay: Span | None = None,
        run_at: datetime | None = None,
        deadline: Span | datetime | None = None,
        trace: str | None = None,
        connection: object = None,
    ) -> JobHandle:
        """Make a job, or find the one that the key already names; see `Submit`.

        With `connection` the job is part of the caller's own transaction on the same database:
        it exists if and only if that transaction commits.
        """
        submit = Submit(
            payload=payload,
            key=key,
            key_alone=key_alone,
            owner=owner,
            version=version,
            rerun=rerun,
            queue=queue,
            priority=priority,
            delay=delay,
            run_at=run_at,
            deadline=deadline,
            trace=trace,
        )
        found = self._pipeline(pipeline)
        self._open()
        job_id, created = self._submitter.one(found, submit, connection=connection)
        return JobHandle(job_id, created=created, read=self.job)

    def deliver(
        self,
        subject: str,
        *,
        recipients: Sequence[str | Recipient],
        message: Mapping[str, Any],
        version: int = 1,
        provider: str | None = None,
        connection: object = None,
    ) -> list[DeliveryView]:
        """Have recipients told, each once per subject and version, and return how that stands.

        A delivery that a recipient has for that subject and version stays as it is. `message` is
        what the provider needs, but for the recipient. With `connection` the deliveries are part
        of the caller's own transaction on the same database.
        """
        return self.deliveries.make(
            subject,
            recipients=recipients,
            message=message,
            version=version,
            provider=provider,
            connection=connection,
        )

    def publish(
        self,
        message_type: str,
        payload: object = None,
        *,
        aggregate_id: str | None = None,
        trace: str | None = None,
        connection: object = None,
    ) -> str:
        """Have a message published by a relay, and return its id.

        With `connection` it is part of the caller's own transaction on the same database: it is
        published if and only if that transaction commits. Messages of one aggregate are published
        one after the other; without an aggregate a message waits for no other.
        """
        self._open()
        return self.outbox.publish(
            message_type,
            payload,
            aggregate_id=aggregate_id,
            trace=trace,
            connection=connection,
        )

    def submit_many(
        self,
        pipeline: Pipeline | str,
        submits: Iterable[Submit],
        *,
        connection: object = None,
    ) -> list[Submitted]:
        """Make many jobs in few statements, in order; one that is refused spares the others."""
        found = self._pipeline(pipeline)
        self._open()
        return self._submitter.many(found, submits, connection=connection)

    def pause_queue(self, queue: str, *, by: str) -> bool:
        """Stop workers from taking jobs of a queue; False when it was paused already."""
        checked_name(queue, what="queue")
        who, _ = asked("pause", by, None)
        return self.store.pause_queue(queue, by=who, now=self.clock.now())

    def resume_queue(self, queue: str) -> bool:
        """Let workers take jobs of a queue again; False when it was not paused."""
        return self.store.resume_queue(checked_name(queue, what="queue"))

    def queues(self) -> list[QueueCounts]:
        """Return how every queue with active jobs stands."""
        return self.store.queues(now=self.clock.now())

    def workers(self) -> list[WorkerRow]:
        """Return the workers on record."""
        return self.store.workers()

    def verify(self) -> list[Violation]:
        """Check the store's invariants; an empty list means that all hold."""
        return self.store.verify(now=self.clock.now())

    def purge(
        self, *, dry_run: bool = False, told: Callable[[Batch], object] | None = None
    ) -> dict[str, int]:
        """Remove now what `retention` lets go, and return how many of each; workers do so anyway.

        With `dry_run` they are only counted. `told` hears of every batch.
        """
        cutoffs = self.retention.cutoffs(self.clock.now())
        return purge(Walk(self.store, cutoffs, dry_run=dry_run), told=told)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` after each decision this process applies; returns the undoing."""
        return self.announcer.subscribe(subscriber)

    def log_errors(self, error_log: ErrorLog) -> None:
        """Have a record of every attempt that fails from now on written to `error_log`.

        That is done beside the jobs and after the fact: it delays and fails none.
        """
        aside = Aside(error_log.keep, name="error-log")
        self._error_logs.append(aside)
        self.announcer.subscribe(lambda item: aside(item) if item.decision.failure else None)

    def add_secrets(self, values: Iterable[str], *, names: Iterable[str] = ()) -> None:
        """Hide these values, and what stands under these names, in this process from now on.

        Values that were given before stay hidden, so that a secret can be replaced at any time.
        """
        plain = keep_secret(values, names=names)
        if plain:
            LOGGER.warning(
                "%d of the secrets are too short or too plain to be told from ordinary words; "
                "they are hidden only where a name or a shape gives them away",
                plain,
            )

    def worker(
        self, *, queues: Sequence[str] | None = None, options: WorkerOptions | None = None
    ) -> Worker:
        """Return a worker for this application's pipelines.

        It serves `queues`, or the queues that the pipelines name.
        """
        if not self._pipelines and not len(self.dispatch.providers):
            raise UsageError("a worker needs pipelines; pass them to Holdfast(pipelines=[…])")
        self._open()
        now = self.clock.now()
        stages: list[BoundStage] = []
        for pipeline in self._pipelines.values():
            bound = pipeline.bound()
            self._plans.save(bound.plan, now=now)
            stages.extend(bound.stages)
        served = queues or sorted({pipeline.queue for pipeline in self._pipelines.values()})
        return Worker(
            self.store,
            stages=stages,
            queues=[checked_name(queue, what="queue") for queue in served],
            clock=self.clock,
            chance=self.chance,
            announcer=self.announcer,
            options=options or WorkerOptions(),
            retention=self.retention,
            callback_key=self.callback_tokens.key,
            dispatch=self.dispatch,
        )

    def relay(self, transport: Transport, *, options: RelayOptions | None = None) -> Relay:
        """Return a relay that publishes what the outbox holds through `transport`."""
        self._open()
        return Relay(
            self.store,
            transport,
            clock=self.clock,
            chance=self.chance,
            options=options or RelayOptions(),
        )

    def consumer(
        self,
        broker_url: str,
        *,
        queue: Queue,
        handler: Callable[[Received, Any], None] | None = None,
        pipeline: Pipeline | str | None = None,
        name: str | None = None,
        exchange: str = "holdfast",
        prefetch: int = 10,
    ) -> RabbitMqConsumer:
        """Return a consumer of a queue of RabbitMQ that handles each message once.

        Either `handler(message, connection)` runs in a transaction that also notes the message, or
        a job of `pipeline` is made of it, with the message's id as its key. `name` is under which
        messages are noted, the queue's unless given: consumers that share it share the work.
        """
        if (handler is None) == (pipeline is None):
            raise UsageError("a consumer needs a handler or a pipeline, and not both")
        kind = _rabbitmq_consumer()
        self._open()
        if handler is not None:
            who = checked_text("consumer", field="name", text=name or queue.name)
            handle = once(self.store, consumer=who, clock=self.clock, handler=handler)
        else:
            found = self._pipeline(pipeline or "")
            handle = submitted(lambda payload, **how: self.submit(found, payload, **how))
        return kind(
            broker_url,
            queue=queue,
            handle=handle,
            clock=self.clock,
            chance=self.chance,
            exchange=exchange,
            prefetch=prefetch,
        )

    def dead_letter_consumer(
        self, broker_url: str, *, queue: Queue, exchange: str = "holdfast"
    ) -> RabbitMqConsumer:
        """Return a consumer that makes the dead letters of a queue dead letters of this store."""
        kind = _rabbitmq_consumer()
        self._open()
        return kind(
            broker_url,
            queue=queue,
            handle=buried(self.store, clock=self.clock, queue=queue.name),
            clock=self.clock,
            chance=self.chance,
            exchange=exchange,
            of_dead_letters=True,
        )

    def _declared_breakers(self) -> dict[str, Breaker | None]:
        return {
            terms.name: terms.breaker
            for pipeline in self._pipelines.values()
            for terms in pipeline.upstreams
        } | {
            bound.upstream.name: bound.upstream.breaker
            for bound in self.dispatch.providers
            if bound.upstream is not None
        }

    def _pipeline(self, wanted: Pipeline | str) -> Pipeline:
        name = wanted.name if isinstance(wanted, Pipeline) else wanted
        found = self._pipelines.get(name)
        if found is None or (isinstance(wanted, Pipeline) and found is not wanted):
            raise UnknownPipeline(name, known=self._pipelines)
        return found


def _dispatch(providers: Iterable[Provider], options: CourierOptions) -> Dispatch:
    bound: list[BoundProvider] = []
    for provider in providers:
        checked_name(provider.name, what="provider")
        upstream = getattr(provider, "upstream", None)
        terms = None if upstream is None else upstream.terms()
        bound.append(BoundProvider(provider, options.terms(provider.promise), terms))
    return Dispatch(Providers(bound), options)


def _rabbitmq_consumer() -> type[RabbitMqConsumer]:
    try:
        from holdfast.bridges.rabbitmq_consumer import (  # noqa: PLC0415 - an extra brings it
            RabbitMqConsumer,
        )
    except ModuleNotFoundError as error:
        raise UsageError("RabbitMQ takes an extra: pip install 'holdfast[rabbitmq]'") from error
    return RabbitMqConsumer
