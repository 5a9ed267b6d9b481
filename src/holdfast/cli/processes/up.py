"""`holdfast up` and `holdfast serve`."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

import click

from holdfast.cli.processes.observing import observing
from holdfast.cli.processes.one_process import OneProcess
from holdfast.cli.processes.serving import give_options, log_options, on_hangup, transport_of
from holdfast.cli.processes.site import request_grace_s, server_of
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.setting_option import setting_option
from holdfast.core.values.retention import Retention, longest
from holdfast.engine.app import Holdfast
from holdfast.error_log import ErrorLog
from holdfast.errors import UsageError
from holdfast.runtime.kernel.process_tuning import tune_process
from holdfast.systems import Built, Service, build, find, observe, tables_of
from holdfast.systems.knobs import remarks_on

LOGGER: Final = logging.getLogger("holdfast.cli")

_COUNT: Final = "INTEGER"
_SPAN: Final = "DURATION"
_F = TypeVar("_F", bound=Callable[..., Any])


NO_SERVICES: Final = click.option(
    "--no-services", is_flag=True, help="Leave out the services of systems: they run elsewhere."
)


def _listening_options(command: _F) -> _F:
    for option in (
        setting_option("--port", metavar="NUMBER", help="The port to listen on; 0 for a free one."),
        setting_option("--host", metavar="ADDRESS", help="The address to listen on."),
    ):
        command = option(command)
    return command


@click.command("up", cls=Command, example="holdfast up -A app:app --port 8001")
@setting_option("--systems", metavar="NAME[,NAME]", help="Installed systems to run, not all.")
@_listening_options
@click.option("--no-worker", is_flag=True, help="Run no jobs here: workers run elsewhere.")
@NO_SERVICES
@setting_option(
    "-c", "--concurrency", metavar=_COUNT, help="Attempts at a time, in each kind of lane."
)
@setting_option("-q", "--queues", multiple=True, metavar="NAME[,NAME]", help="Queues to serve.")
@setting_option("--broker-url", metavar="URL", help="The broker, such as amqp://host/.")
@setting_option("--grace", metavar=_SPAN, help="Time for attempts and requests after SIGTERM.")
@log_options
@setting_option("--error-log", metavar="FOLDER", help="Where to keep a record of every failure.")
@pass_invocation
def up(
    invocation: Invocation,
    /,
    queues: tuple[str, ...],
    *,
    no_worker: bool,
    no_services: bool,
    **options: str | None,
) -> int:
    """Run API, console, worker and relay in one process until stopped.

    Runs every installed system, or those of --systems, on --database-url; with -A it runs that
    app, on the app's own database. The relay runs where a broker is named, and what systems bring
    as services runs beside it.

    It listens on this machine only, unless --host says otherwise, which takes credentials: a
    token of holdfast tokens create, or HOLDFAST_API_TOKEN.

    SIGTERM and Ctrl-C end it: it takes no more requests, event streams end, running attempts
    finish within the grace period and the rest is handed back; a second signal asks for haste.

    Exits with 0 after a clean end, and with 1 when something had to be cut off.
    """
    give_options(invocation, options)
    invocation.give("queues", "--queues", ",".join(queues) or None)
    engine, built = assembled_here(invocation)
    invocation.log("info")
    for remark in remarks_on([(one.system, one.variables) for one in built], os.environ):
        LOGGER.warning("%s", remark.message, extra={"event": remark.event})
    if not no_worker and not engine.pipelines and not len(engine.dispatch.providers):
        raise UsageError(
            "there is nothing to run: no system is installed; name your app with -A module:app, "
            "or leave the worker out with --no-worker"
        )
    with observing(engine, invocation.settings):
        server = server_of(engine, invocation.settings, built=built)
        parts = parts_of(
            invocation, engine, built=built, worker=not no_worker, services=not no_services
        )
        together = OneProcess(server, parts, grace_s=request_grace_s(invocation.settings))
        return run_here(invocation, together, started=_log_address)


@click.command(
    "serve", cls=Command, example="holdfast serve --database-url postgresql://db.example.org/app"
)
@_listening_options
@setting_option("--grace", metavar=_SPAN, help="Time for requests after SIGTERM.")
@log_options
@pass_invocation
def serve(invocation: Invocation, /, **options: str | None) -> int:
    """Serve API and console alone, for jobs that workers run elsewhere.

    Without -A it serves the database of --database-url: everything can be looked at and looked
    after, but jobs cannot be submitted, because that takes their pipelines.

    It listens on this machine only, unless --host says otherwise, which takes credentials: a
    token of holdfast tokens create, or HOLDFAST_API_TOKEN.

    Exits with 0 after a clean end, and with 1 when something had to be cut off.
    """
    give_options(invocation, options)
    engine = invocation.engine()
    invocation.log("info")
    with observing(engine, invocation.settings):
        server = server_of(engine, invocation.settings)
        together = OneProcess(server, {}, grace_s=request_grace_s(invocation.settings))
        return run_here(invocation, together, started=_log_address)


def assembled_here(invocation: Invocation) -> tuple[Holdfast, Sequence[Built]]:
    """Return the engine that systems run on, or the app that was named."""
    if runs_app(invocation):
        return invocation.application(), ()
    built = build(find(invocation.settings.systems or None), os.environ)
    return engine_of(invocation, built), built


def runs_app(invocation: Invocation) -> bool:
    """Return whether an app is to be run, and not systems."""
    settings = invocation.settings
    if "app" in invocation.flags and "systems" in invocation.flags:
        raise UsageError("give -A or --systems, not both: an app names its own pipelines")
    return settings.app is not None and "systems" not in invocation.flags


def engine_of(invocation: Invocation, built: Sequence[Built]) -> Holdfast:
    """Return an engine with all that systems bring."""
    engine = invocation.assembled(
        pipelines=[each for one in built for each in one.parts.pipelines],
        providers=[each for one in built for each in one.parts.providers],
        chores=[each for one in built for each in one.parts.chores],
        retention=longest([Retention(), *(one.parts.retention for one in built)]),
        tables=tables_of(built),
    )
    more = [each.parts.chores_of(engine) for each in built if each.parts.chores_of is not None]
    engine.chores = (*engine.chores, *chain.from_iterable(more))
    erasers = [one.parts.erase for one in built if one.parts.erase is not None]
    engine.erasers = (*engine.erasers, *erasers)
    engine.add_secrets((), names=[name for one in built for name in one.parts.secret_names])
    for one in built:
        if one.parts.secrets is not None:
            own = [pipeline.name for pipeline in one.parts.pipelines]
            engine.job_secrets.use(one.parts.secrets, pipelines=own)
        if one.parts.bind is not None:
            one.parts.bind(engine)
    observe(built, engine)
    return engine


def parts_of(
    invocation: Invocation,
    engine: Holdfast,
    *,
    built: Sequence[Built],
    worker: bool,
    services: bool,
) -> dict[str, Service]:
    """Return the worker, the relay where there is a broker, and the services of systems.

    What a relay among the services publishes, here or elsewhere, is not the general relay's.
    """
    settings = invocation.settings
    parts: dict[str, Service] = {}
    if worker:
        if settings.error_log is not None:
            engine.log_errors(ErrorLog(settings.error_log))
        parts["worker"] = engine.worker(queues=settings.queues or None, options=settings.worker)
    if settings.broker_url is not None:
        transport = transport_of(
            settings.broker_url, exchange=settings.exchange, reply_to=settings.reply_to
        )
        elsewhere = [each for one in built for each in one.parts.message_types]
        parts["relay"] = engine.relay(transport, options=settings.relay, without_types=elsewhere)
    for one in built if services else ():
        for name, service in one.services(engine).items():
            if parts.setdefault(name, service) is not service:
                raise UsageError(f"two services are called {name!r}; rename one of them")
            LOGGER.info(
                "service %s runs beside the worker",
                name,
                extra={"event": "service", "system": one.system.name, "service": name},
            )
    return parts


def run_here(
    invocation: Invocation,
    together: OneProcess,
    *,
    started: Callable[[str], None],
    ending: Callable[[], None] = lambda: None,
) -> int:
    """Run to the end, and return the exit status; `started` gets the address."""
    signal.signal(signal.SIGHUP, lambda *_: on_hangup(invocation, together.request_stop))
    tune_process()

    def tell(address: str) -> None:
        if invocation.as_json:
            invocation.output.document({"address": address})
        else:
            started(address)

    return together.run(tell, ending=ending)


def _log_address(address: str) -> None:
    LOGGER.info("listening", extra={"event": "listening", "address": address})
