"""Holdfast: the composition root and the public way in."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from holdfast.core.job.job import Job
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retention import Retention
from holdfast.engine.aio import AsyncVerbs
from holdfast.engine.attention import Need, Needs
from holdfast.engine.dead_letters.dead_letters import DeadLetters
from holdfast.engine.dead_letters.replays import Replays
from holdfast.engine.delegate import Delegate
from holdfast.engine.deliveries import Deliveries
from holdfast.engine.erasure import Eraser, Erasures
from holdfast.engine.figures import Figure
from holdfast.engine.functions import Functions
from holdfast.engine.handles.endings import Endings
from holdfast.engine.jobs.access import JobAccess
from holdfast.engine.jobs.answers import Answers
from holdfast.engine.jobs.changes import JobChanges
from holdfast.engine.jobs.following import JobFollowing
from holdfast.engine.jobs.jobs import Jobs
from holdfast.engine.jobs.waits import Waits
from holdfast.engine.lifespan import Lifespan, lifespan_of
from holdfast.engine.messaging import Messaging
from holdfast.engine.opening import OpenedStore, store_of
from holdfast.engine.operations import Operations
from holdfast.engine.outbox import Outbox
from holdfast.engine.recording import ErrorLogs, OwnActivity
from holdfast.engine.submit.submissions import Submissions
from holdfast.engine.threads import CallThreads
from holdfast.engine.tokens import Tokens
from holdfast.engine.transactions import Transactions
from holdfast.engine.upstreams import Upstreams, declared_upstreams
from holdfast.engine.workers import WorkerFactory, celery_bridge, dispatch_of
from holdfast.error_log import ErrorLog
from holdfast.errors import UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.redaction import secrets_in_environment, secrets_in_url
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import Provider
from holdfast.runtime.events.announce import Announcer
from holdfast.runtime.events.decision_messages import DecisionMessages
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.events.signals import Signals
from holdfast.runtime.kernel.clock import Chance, Clock, StoreClock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.runtime.outbox.callbacks import CallbackTokens
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.roster import Roster
from holdfast.secrecy import keep_secret
from holdfast.secrets import SecretProvider, Secrets
from holdfast.secrets.secrets import SecretsOfPipelines, asked_and_listed
from holdfast.store.contract import Store
from holdfast.store.schema.system_tables import load_tables
from holdfast.views.disclosure import Disclosure

if TYPE_CHECKING:
    from celery import Celery

    from holdfast.bridges.celery import CeleryBridge

LOGGER: Final = logging.getLogger("holdfast.engine")
LEARN_EVERY_US: Final = 60 * SECOND_US


class Holdfast:
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

    What it does is done by its parts, such as `jobs` and `deliveries`; the verbs that programs use
    most are its own as well.
    """

    submit = Delegate("submissions", Submissions.submit)
    submit_many = Delegate("submissions", Submissions.submit_many)
    refuse = Delegate("submissions", Submissions.refuse)
    limit_queues = Delegate("submissions", Submissions.limit_queues)
    deliver = Delegate("deliveries", Deliveries.make)
    publish = Delegate("outbox", Outbox.publish)
    publish_many = Delegate("outbox", Outbox.publish_many)

    read_jobs = Delegate("jobs", Jobs.read_many)
    held_jobs = Delegate("jobs", Jobs.held)
    was_made_for = Delegate("jobs", Jobs.was_made_for)
    of_key = Delegate("jobs", Jobs.of_key)
    count = Delegate("jobs", Jobs.count)
    history = Delegate("jobs", Jobs.history)
    attempts = Delegate("jobs", Jobs.attempts)
    results = Delegate("jobs", Jobs.results)
    results_of = Delegate("jobs", Jobs.results_of)
    waiting = Delegate("waits", Waits.of)
    labelled = Delegate("waits", Waits.labelled)

    cancel = Delegate("changes", JobChanges.cancel)
    cancel_many = Delegate("changes", JobChanges.cancel_many)
    retry = Delegate("changes", JobChanges.retry)
    retry_many = Delegate("changes", JobChanges.retry_many)
    retry_obstacle = Delegate("changes", JobChanges.retry_obstacle)
    correct_payload = Delegate("changes", JobChanges.correct_payload)
    note_result_removed = Delegate("changes", JobChanges.note_result_removed)

    answer = Delegate("answers", Answers.give)
    resume = Delegate("answers", Answers.resume)
    receive_answer = Delegate("answers", Answers.receive)
    receive_answers = Delegate("answers", Answers.receive_many)
    check_callback_token = Delegate("answers", Answers.check_token)

    relay = Delegate("messaging", Messaging.relay)
    consumer = Delegate("messaging", Messaging.consumer)
    dead_letter_consumer = Delegate("messaging", Messaging.dead_letter_consumer)
    handle_once = Delegate("messaging", Messaging.handle_once)
    handle_dead_letters = Delegate("messaging", Messaging.handle_dead_letters)
    handle_replies = Delegate("messaging", Messaging.handle_replies)

    pause_queue = Delegate("operations", Operations.pause_queue)
    resume_queue = Delegate("operations", Operations.resume_queue)
    queues = Delegate("operations", Operations.queues)
    knows_queue = Delegate("operations", Operations.knows_queue)
    workers = Delegate("operations", Operations.workers)
    drain_worker = Delegate("operations", Operations.drain_worker)
    activity = Delegate("operations", Operations.activity)
    counted_since = Delegate("operations", Operations.counted_since)
    audit = Delegate("operations", Operations.audit)
    tail = Delegate("operations", Operations.tail)
    verify = Delegate("operations", Operations.verify)
    purge = Delegate("operations", Operations.purge)
    attention = Delegate("needs", Needs.read)
    erase = Delegate("erasures", Erasures.erase)

    worker = Delegate("worker_factory", WorkerFactory.worker)
    embedded_worker = Delegate("worker_factory", WorkerFactory.embedded_worker)
    dispatcher = herald = Delegate("worker_factory", WorkerFactory.dispatcher)

    transaction = Delegate("transactions", Transactions.open)
    reading = Delegate("transactions", Transactions.reading)
    subscribe = Delegate("announcer", Announcer.subscribe)
    log_errors = Delegate("error_logs", ErrorLogs.add)
    flush_error_logs = Delegate("error_logs", ErrorLogs.flush)

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
        store = store_of(url, direct_url=direct_url)
        store.tables = load_tables(tables or {})
        self.clock: Clock = clock or StoreClock(store.read_clock, learn_every_us=LEARN_EVERY_US)
        self.chance = chance or Chance()
        self.retention = retention or Retention()
        self.chores = tuple(chores)
        self.erasers = tuple(erasers)
        self.signals = Signals()
        self.running = Roster()
        """The workers that run in this process."""
        self.dispatch = dispatch_of(providers, courier or CourierOptions(), self.signals)
        self._pipelines: dict[str, Pipeline] = {}
        for pipeline in pipelines:
            self.add(pipeline)
        self._opened = OpenedStore(store, auto_migrate=auto_migrate)
        self._compose(max_queued)
        if error_log is not None:
            self.error_logs.add(error_log)

    def _compose(self, max_queued: int | None) -> None:
        """Make the parts, those first that others are made of."""
        store, opened = self._opened.unopened, self._opened.open
        clock, chance, pipelines = self.clock, self.chance, self._pipelines
        self._plans = plans = PlanCache(store)
        self.access = JobAccess(opened, pipelines)
        shown_as = self.access.presentation_of
        self.announcer = Announcer(
            store.letters.escalated,
            shown_as,
            breaker_of=self.running.breaker_of,
            signal=self.signals.escalations,
        )
        self._own_activity = OwnActivity(self._opened)
        self.announcer.subscribe(self._own_activity.counter)
        self.error_logs = ErrorLogs(self.announcer)
        self.callback_tokens = CallbackTokens(store, clock=clock, chance=chance)
        settler = Settler(
            store,
            plans=plans,
            chance=chance,
            announcer=self.announcer,
            decisions=DecisionMessages(self.access.find_pipeline),
        )
        self.upstreams = Upstreams(
            opened,
            clock=clock,
            declared=partial(declared_upstreams, pipelines, self.dispatch),
            moved=self.signals.gates,
        )
        self.waits = Waits(opened, plans=plans, upstreams=self.upstreams, clock=clock)
        self.jobs = Jobs(opened, clock=clock, waits=self.waits, shown_as=shown_as)
        self.changes = JobChanges(
            opened, clock=clock, jobs=self.jobs, access=self.access, settler=settler
        )
        self.threads = CallThreads()
        self.endings = Endings(opened, subscribe=self.announcer.subscribe)
        self._following = JobFollowing(
            opened,
            jobs=self.jobs,
            changes=self.changes,
            endings=self.endings,
            threads=self.threads,
            disclosure=self.disclosure(end_user=True),
        )
        self.submissions = Submissions(
            self._opened,
            pipelines,
            plans=plans,
            clock=clock,
            chance=chance,
            announcer=self.announcer,
            created=self._own_activity.created,
            follow=self._following,
            max_queued=max_queued,
        )
        self.job = Functions(
            self.add, read=self.jobs.get, submissions=self.submissions, threads=self.threads
        )
        self.aio = AsyncVerbs(self, threads=self.threads)
        self.answers = Answers(
            opened,
            clock=clock,
            jobs=self.jobs,
            changes=self.changes,
            settler=settler,
            tokens=self.callback_tokens,
            pipelines=pipelines,
        )
        self.dead = DeadLetters(
            opened,
            clock=clock,
            settle=self.changes.settle_replay,
            providers=self.dispatch.providers,
            shown_as=shown_as,
        )
        self.replays = Replays(
            opened,
            clock=clock,
            chance=chance,
            settle=self.changes.settle_replay,
            dead=self.dead,
        )
        self.deliveries = Deliveries(opened, dispatch=self.dispatch, clock=clock, chance=chance)
        self.outbox = Outbox(opened, clock=clock, chance=chance)
        self.messaging = Messaging(
            opened,
            clock=clock,
            chance=chance,
            access=self.access,
            submissions=self.submissions,
            answers=self.answers,
        )
        self.tokens = Tokens(opened, clock=clock, chance=chance)
        self.needs = Needs(opened, waits=self.waits, clock=clock)
        self.figure_sources: tuple[Callable[[], Iterable[Figure]], ...] = ()
        """What is asked for figures besides the engine's own."""
        self.operations = Operations(
            opened,
            clock=clock,
            retention=lambda: self.retention,
            pipelines=pipelines,
            shown_as=shown_as,
            activity=self._own_activity,
        )
        self.erasures = Erasures(
            opened,
            clock=clock,
            jobs=self.jobs,
            changes=self.changes,
            erasers=lambda: self.erasers,
        )
        self.transactions = Transactions(opened, clock=clock)
        self.worker_factory = WorkerFactory(
            opened,
            pipelines=pipelines,
            plans=plans,
            clock=clock,
            chance=chance,
            announcer=self.announcer,
            counter=self._own_activity.counter,
            callback_key=self.callback_tokens.key,
            secrets=self.job_secrets,
            dispatch=self.dispatch,
            retention=lambda: self.retention,
            chores=lambda: self.chores,
            running=self.running,
        )

    @property
    def store(self) -> Store:
        """The store, its schema brought up to date or checked on first use."""
        return self._opened.open()

    @property
    def unopened_store(self) -> Store:
        """The store as it is, for commands that look at its schema."""
        return self._opened.unopened

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

    def disclosure(self, *, end_user: bool) -> Disclosure:
        """Return what jobs, events and dead letters look like to an end user, or to operators.

        An end user sees one owner's rows and is no operator: of a failure they get the public code
        and its line.
        """
        return Disclosure(self.access.find_pipeline, end_user=end_user)

    def close(self) -> None:
        """Write what the error log and the activity have yet to get, and close the connections."""
        self.error_logs.flush()
        self._own_activity.close()
        self.endings.close()
        self.threads.close()
        self._opened.unopened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lifespan(self, *, worker: bool | WorkerOptions = False) -> Lifespan:
        """Return the lifespan of a FastAPI or Starlette application that uses this one.

        `FastAPI(lifespan=app.lifespan(worker=True))` also runs a worker in its process, given
        options if that is to say more than True, and lets it finish when the server ends.
        """
        return lifespan_of(self, worker=worker)

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

        It is called when they are asked for, at most every few seconds, in any thread.
        """
        self.figure_sources = (*self.figure_sources, lambda: read(self))

    def add_needs(self, read: Callable[[Holdfast], Iterable[Need]]) -> None:
        """List what `read` returns of this application among what needs a person from now on.

        It is called whenever the list is made, in any thread, and has to be quick.
        """
        self.needs.add(lambda: read(self))

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
        Celery runs tasks there by default. `hold` is for how many seconds a message
        waits for its jobs.
        """
        return celery_bridge(self, celery, exchange=exchange, options=options, hold=hold)
