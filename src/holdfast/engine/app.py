"""Holdfast: the composition root and the public way in."""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from holdfast.core.job.job import Job
from holdfast.core.values.retention import Retention
from holdfast.engine.attention import Attention, Need, Needs
from holdfast.engine.dead_letters.dead_letters import DeadLetters
from holdfast.engine.dead_letters.replays import Replays
from holdfast.engine.deliveries import Deliveries
from holdfast.engine.erasure import Eraser, ErasureVerbs
from holdfast.engine.figures import Figure
from holdfast.engine.jobs.access import JobAccess
from holdfast.engine.jobs.waits import Waits
from holdfast.engine.messaging import Messaging
from holdfast.engine.operations import Upkeep
from holdfast.engine.outbox import Outbox
from holdfast.engine.submit.submitter import Submitter
from holdfast.engine.tokens import Tokens
from holdfast.engine.transactions import TransactionVerbs
from holdfast.engine.upstreams import Upstreams
from holdfast.error_log import ErrorLog
from holdfast.errors import InvalidValue, UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import checked_name
from holdfast.redaction import secrets_in_environment, secrets_in_url
from holdfast.runtime import tracing
from holdfast.runtime.attempts.spans import traced
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import BoundProvider, Provider, Providers
from holdfast.runtime.dispatcher.dispatcher import Carrier
from holdfast.runtime.dispatcher.dispatcher_process import DispatcherProcess
from holdfast.runtime.dispatcher.embedded_worker import EmbeddedWorker
from holdfast.runtime.events.announce import Announcer, Applied, Subscriber
from holdfast.runtime.events.decision_messages import DecisionMessages
from holdfast.runtime.events.presentation import PLAIN, Presentation
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.background import BackgroundQueue
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.stage import BoundStage, UpstreamTerms
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.runtime.maintenance.tally import Counter
from holdfast.runtime.outbox.callbacks import CallbackTokens
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.worker import Worker
from holdfast.secrecy import keep_secret
from holdfast.secrets import SecretProvider, Secrets
from holdfast.secrets.secrets import SecretsOfPipelines, asked_and_listed
from holdfast.store.contract import NewJob, Store
from holdfast.store.schema.system_tables import load_tables
from holdfast.store.sqlite.store import SqliteStore
from holdfast.views.disclosure import Disclosure

if TYPE_CHECKING:
    from celery import Celery

    from holdfast.bridges.celery import CeleryBridge

LOGGER: Final = logging.getLogger("holdfast.engine")


_POSTGRES: Final = ("postgresql", "postgres")


def open_store(url: str, *, direct_url: str | None = None) -> Store:
    """Return the store of a URL; nothing is connected yet."""
    scheme = url.partition(":")[0]
    direct = None if direct_url is None else direct_url.partition(":")[0]
    if direct is not None and (direct not in _POSTGRES or scheme not in _POSTGRES):
        raise InvalidValue(
            "Holdfast",
            field="direct_url",
            value=f"{direct}:…",
            limit="like postgresql://host/database, and left out where url is of another kind",
        )
    if scheme == "sqlite":
        return SqliteStore(url)
    if scheme in _POSTGRES:
        # The driver takes a good part of the time in which a program on SQLite starts.
        from holdfast.store.postgres.store import PostgresStore  # noqa: PLC0415

        # What urllib cannot take apart is refused like a URL of another kind.
        with suppress(ValueError):
            return PostgresStore(url, direct_url=direct_url)
    raise InvalidValue(
        "Holdfast",
        field="url",
        value=f"{scheme}:…",
        limit="like sqlite:///holdfast.db or postgresql://host/database",
    )


class Holdfast(Messaging, Upkeep, ErasureVerbs, TransactionVerbs):
    """Pipelines on a store: submit jobs, look after them, and run workers.

    `direct_url` leads to the same database past a pooler such as PgBouncer, for listening and for
    migrations.
    `secrets` are values that appear in nothing this process stores of failures, logs or shows, and
    `secret_names` names whose values do not; both besides what is known to be secret anyway.
    Given a provider, `secrets` is asked for them by name, when they are used.
    `error_log` gets a record of every attempt that fails. `retention` says how long what has ended
    is kept; workers remove the rest. `max_queued` limits how many jobs may wait in each queue.
    `providers` are what deliveries are sent through, and `courier` how. `chores` are functions that
    every worker calls about once a minute, each in parts that do not take long. `erasers` remove
    what is kept elsewhere of an owner who is erased. `tables` names for each system the package
    whose SQL files make its tables.
    """

    def __init__(
        self,
        url: str,
        *,
        direct_url: str | None = None,
        pipelines: Iterable[Pipeline] = (),
        providers: Iterable[Provider] = (),
        courier: CourierOptions | None = None,
        chores: Iterable[Chore] = (),
        erasers: Iterable[Eraser] = (),
        tables: Mapping[str, str] | None = None,
        auto_migrate: bool = True,
        retention: Retention | None = None,
        max_queued: int | None = None,
        secrets: Iterable[str] | SecretProvider | Secrets = (),
        secret_names: Iterable[str] = (),
        error_log: ErrorLog | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        secret = (*secrets_in_environment(os.environ), *secrets_in_url(url))
        keep_secret((*secret, *secrets_in_url(direct_url or "")))
        self.secrets, values = asked_and_listed(secrets)
        self.add_secrets(values, names=secret_names)
        self.job_secrets = SecretsOfPipelines(self.secrets)
        store = open_store(url, direct_url=direct_url)
        store.tables = load_tables(tables or {})
        super().__init__(store, auto_migrate=auto_migrate, clock=clock)
        self.retention = retention or Retention()
        self.chores = tuple(chores)
        self.erasers = tuple(erasers)
        self._pipelines: dict[str, Pipeline] = {}
        for pipeline in pipelines:
            self.add(pipeline)
        self.dispatch = _dispatch(providers, courier or CourierOptions())
        self.chance = chance or Chance()
        self._shown_as = self._presentation_of
        self.announcer = Announcer(self._closed_store.letters.escalated, self._shown_as)
        self._counter = Counter()
        # A program that ends without closing has its last figures added as well.
        flush = weakref.WeakMethod(self._flush_figures)
        self._at_exit = partial(_flush_figures, flush, os.getpid())
        atexit.register(self._at_exit)
        self.announcer.subscribe(self._counter)
        self._figures = BackgroundQueue[bool](
            lambda _: self._counter.flush(self.store), name="figures"
        )
        self.callback_tokens = CallbackTokens(
            self._closed_store, clock=self.clock, chance=self.chance
        )
        self._plans = PlanCache(self._closed_store)
        self._submitter = Submitter(
            self._closed_store,
            plans=self._plans,
            clock=self.clock,
            chance=self.chance,
            created=self._on_created,
            decisions=DecisionMessages(self._pipelines.get),
        )
        self.limit_queues(max_queued)
        self.access = JobAccess(lambda: self.store, self._pipelines)
        self._settler = Settler(
            self._closed_store,
            plans=self._plans,
            chance=self.chance,
            announcer=self.announcer,
            decisions=DecisionMessages(self.access.find_pipeline),
        )
        self._error_logs: list[BackgroundQueue[Applied]] = []
        if error_log is not None:
            self.log_errors(error_log)
        self.dead = DeadLetters(
            lambda: self.store,
            clock=self.clock,
            settle=self._settle_replay,
            providers=self.dispatch.providers,
            shown_as=self._shown_as,
        )
        self.replays = Replays(
            lambda: self.store,
            clock=self.clock,
            chance=self.chance,
            settle=self._settle_replay,
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
            lambda: self.store, clock=self.clock, declared=self._declared_upstreams
        )
        self.waits = Waits(
            lambda: self.store, plans=self._plans, upstreams=self.upstreams, clock=self.clock
        )
        self.needs = Needs(lambda: self.store, waits=self.waits, clock=self.clock)
        self.figure_sources: tuple[Callable[[], Iterable[Figure]], ...] = ()
        """What is asked for figures besides the engine's own."""
        self.tokens = Tokens(lambda: self.store, clock=self.clock, chance=self.chance)

    @property
    def pipelines(self) -> dict[str, Pipeline]:
        """The pipelines by name."""
        return dict(self._pipelines)

    def add(self, pipeline: Pipeline) -> None:
        """Take one more pipeline; workers that were made before do not know it."""
        if self._pipelines.setdefault(pipeline.name, pipeline) is not pipeline:
            raise UsageError(f"two pipelines are called {pipeline.name!r}")

    def keeps_personal_data(self, job: Job) -> bool:
        """Return whether people are shown the personal data of a job, as its pipeline wants it."""
        plan = self._plans.of(job)
        return plan is not None and plan.keeps_personal_data

    def secret_names(self, job: Job) -> tuple[str, ...]:
        """Return the names in a job's documents whose values are shown to nobody."""
        plan = self._plans.of(job)
        return () if plan is None else plan.secret_names

    def _presentation_of(self, pipeline: str) -> Presentation:
        """Return how the jobs of a pipeline appear; plainly where it is not known here."""
        found = self.access.find_pipeline(pipeline)
        return PLAIN if found is None else found.presentation

    def disclosure(self, *, end_user: bool) -> Disclosure:
        """Return what jobs, events and dead letters look like to an end user, or to operators.

        An end user sees one owner's rows and is no operator: of a failure they get the public code
        and its line.
        """
        return Disclosure(self.access.find_pipeline, end_user=end_user)

    def close(self) -> None:
        """Write what the error log and the figures have yet to get, and close the connections."""
        self.flush_error_logs()
        self._figures.close()
        atexit.unregister(self._at_exit)
        self._flush_figures()
        self._closed_store.close()

    def _flush_figures(self) -> None:
        """Add what this process has counted to the store's figures."""
        if self._opened:
            self._counter.flush_last(self._closed_store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _on_created(self, job: NewJob, count: int) -> None:
        """Count new jobs; a program that only submits has no worker that adds the figures up."""
        if self._counter.created(job, count):
            self._figures(True)  # noqa: FBT003 - that it is time is all there is to say

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` after each decision this process applies; returns the undoing."""
        return self.announcer.subscribe(subscriber)

    def log_errors(self, error_log: ErrorLog) -> None:
        """Have a record of every attempt that fails from now on written to `error_log`.

        That is done beside the jobs and after the fact: it delays and fails none.
        """
        aside = BackgroundQueue(error_log.keep, name="error-log")
        self._error_logs.append(aside)
        self.announcer.subscribe(lambda item: aside(item) if item.decision.failure else None)

    def flush_error_logs(self) -> None:
        """Wait until the records of the failures so far are written, for a few seconds at most."""
        for error_log in self._error_logs:
            error_log.close()

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

    def add_figures(self, read: Callable[[Holdfast], Iterable[Figure]]) -> None:
        """Show the figures that `read` returns of this application on `/metrics` from now on.

        It is called when somebody asks for them, at most every few seconds, in any thread.
        """
        self.figure_sources = (*self.figure_sources, lambda: read(self))

    def add_needs(self, read: Callable[[Holdfast], Iterable[Need]]) -> None:
        """List what `read` returns of this application among what needs a person from now on.

        It is called whenever the list is made, in any thread, and has to be quick.
        """

        def entries() -> list[Attention]:
            return [need.entry() for need in read(self)]

        self.needs.add(entries)

    def worker(
        self, *, queues: Sequence[str] | None = None, options: WorkerOptions | None = None
    ) -> Worker:
        """Return a worker for this application's pipelines.

        It serves `queues`, or the queues that the pipelines name.
        """
        return Worker(self.store, **self._crew(queues, options))

    def embedded_worker(self, options: WorkerOptions) -> EmbeddedWorker:
        """Return a worker that is told which jobs to run, for a process of somebody else's."""
        return EmbeddedWorker(self.store, **self._crew(None, options))

    def herald(
        self,
        carrier: Carrier,
        *,
        queues: Sequence[str] | None = None,
        options: WorkerOptions | None = None,
    ) -> DispatcherProcess:
        """Return a herald that tells a fleet, by way of `carrier`, which jobs are due.

        It tells of the jobs of `queues`, or of the queues that the pipelines name.
        """
        return DispatcherProcess(self.store, carrier=carrier, **self._crew(queues, options))

    def celery(
        self,
        celery: Celery,
        *,
        exchange: str = "holdfast",
        options: WorkerOptions | None = None,
        hold: float | None = None,
    ) -> CeleryBridge:
        """Return what makes durable tasks, and has the workers of a Celery application run jobs.

        `options` are those of the workers in its processes, which run as many jobs at a time as
        Celery runs tasks there unless told otherwise. `hold` is for how many seconds a message
        waits for its jobs.
        """
        bridge = _celery_bridge()
        given: dict[str, Any] = {"options": options, "hold": hold}
        chosen = {name: value for name, value in given.items() if value is not None}
        return bridge(celery, engine=self, exchange=exchange, **chosen)

    def _crew(self, queues: Sequence[str] | None, options: WorkerOptions | None) -> dict[str, Any]:
        """Return what every kind of worker is made with; what it runs is stored with it."""
        if not self._pipelines and not len(self.dispatch.providers):
            raise UsageError("a worker needs pipelines; pass them to Holdfast(pipelines=[…])")
        self._open()
        now = self.clock.now()
        stages: list[BoundStage] = []
        for pipeline in self._pipelines.values():
            bound = pipeline.bound()
            self._plans.save(bound.plan, now=now)
            stages.extend(map(traced, bound.stages) if tracing.enabled() else bound.stages)
        served = queues or sorted({pipeline.queue for pipeline in self._pipelines.values()})
        return {
            "stages": stages,
            "queues": [checked_name(queue, what="queue") for queue in served],
            "clock": self.clock,
            "chance": self.chance,
            "announcer": self.announcer,
            "counter": self._counter,
            "options": options or WorkerOptions(),
            "retention": self.retention,
            "callback_key": self.callback_tokens.key,
            "secrets": self.job_secrets,
            "dispatch": self.dispatch,
            "decisions": DecisionMessages(self._pipelines.get),
            "chores": self.chores,
        }

    def _declared_upstreams(self) -> dict[str, UpstreamTerms]:
        return {
            terms.name: terms
            for pipeline in self._pipelines.values()
            for terms in pipeline.upstreams
        } | {
            bound.upstream.name: bound.upstream
            for bound in self.dispatch.providers
            if bound.upstream is not None
        }


def _flush_figures(flush: weakref.WeakMethod[Callable[[], None]], pid: int) -> None:
    flush_of_app = flush()
    # A fork has inherited the counts, but they are its parent's to add.
    if flush_of_app is not None and os.getpid() == pid:
        flush_of_app()


def _dispatch(providers: Iterable[Provider], options: CourierOptions) -> Dispatch:
    bound: list[BoundProvider] = []
    for provider in providers:
        checked_name(provider.name, what="provider")
        upstream = getattr(provider, "upstream", None)
        terms = None if upstream is None else upstream.terms()
        own = getattr(provider, "retry", None)
        used = options if own is None else replace(options, retry=own)
        bound.append(BoundProvider(provider, used.terms(provider.promise), terms))
    return Dispatch(Providers(bound), options)


def _celery_bridge() -> type[CeleryBridge]:
    try:
        from holdfast.bridges.celery import CeleryBridge  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("Celery takes an extra: pip install 'holdfast[celery]'") from error
    return CeleryBridge
