"""`holdfast dev`: everything at once on a developer's machine, with the fault lab."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.processes.observing import observing
from holdfast.cli.processes.one_process import OneProcess
from holdfast.cli.processes.serving import give_options, log_options
from holdfast.cli.processes.site import request_grace_s, server_of
from holdfast.cli.processes.up import NO_SERVICES, engine_of, parts_of, run_here, runs_app
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.setting_option import setting_option
from holdfast.config.settings import DEFAULT_HOST, Settings
from holdfast.config.values import masked
from holdfast.engine.app import Holdfast
from holdfast.errors import UsageError
from holdfast.systems import LAB_VARIABLE, Built, System, build, find
from holdfast.systems.knobs import remarks_on

if TYPE_CHECKING:
    from holdfast.lab.stand_ins import StandIns

_LOOPBACK: Final = frozenset({DEFAULT_HOST, "localhost", "::1"})
_ENDING: Final = "Ending: what runs is finished first. Ctrl-C again hands it back at once."
_QUIETLY: Final = {
    "holdfast.worker": logging.CRITICAL,
    "holdfast.delivery": logging.CRITICAL,
    "holdfast.alert": logging.CRITICAL + 1,
}


@click.command("dev", cls=Command, example="holdfast dev --port 8001")
@setting_option("--systems", metavar="NAME[,NAME]", help="Systems to run, not all.")
@setting_option("--port", metavar="NUMBER", help="The port to listen on; 0 for a free one.")
@NO_SERVICES
@log_options
@pass_invocation
def dev(invocation: Invocation, /, *, no_services: bool, **options: str | None) -> int:
    """Run everything on this machine, with stand-ins for upstreams and the fault lab.

    API, console, worker, the services of systems and, where a broker is named, the relay run in
    this process. Every installed system is run, and a small one to look at: postcards.
    Upstreams that no variable names are stood in for on loopback, and the page /lab makes them
    slow, fail or go away. With -A it runs that app instead, without stand-ins.

    Who can log in to this machine can use it. For anything else there is holdfast up.

    Exits with 0 after a clean end, and with 1 when something had to be cut off.
    """
    give_options(invocation, options)
    settings = invocation.settings
    if settings.host not in _LOOPBACK:
        raise UsageError(
            f"holdfast dev lets everybody do everything, so it does not listen on {settings.host}; "
            "leave HOLDFAST_HOST out, or run holdfast up"
        )
    from holdfast.lab.stand_ins import StandIns  # noqa: PLC0415 - for development only

    _log(invocation)
    systems = [] if runs_app(invocation) else _systems(settings.systems)
    with StandIns(systems, os.environ) as stand_ins:
        engine, built = _assembled(invocation, systems, stand_ins)
        server = server_of(engine, settings, built=built, stand_ins=stand_ins, port=_port(settings))
        with observing(engine, settings):
            parts = parts_of(invocation, engine, built=built, worker=True, services=not no_services)
            together = OneProcess(server, parts, grace_s=request_grace_s(settings))
            return run_here(
                invocation,
                together,
                started=lambda address: _welcome(
                    invocation, engine, built=built, services=not no_services, address=address
                ),
                ending=lambda: invocation.output.remark(_ENDING),
            )


def _assembled(
    invocation: Invocation, systems: Sequence[System], stand_ins: StandIns
) -> tuple[Holdfast, list[Built]]:
    if runs_app(invocation):
        return invocation.application(), []
    environment = {**os.environ, LAB_VARIABLE: "1"}
    stand_ins.tell(environment)
    built = build(systems, environment)
    return engine_of(invocation, built), built


def _systems(names: Sequence[str]) -> list[System]:
    """Return the systems of those names, or all; the one of the lab is always at hand."""
    from holdfast.lab import postcards  # noqa: PLC0415 - for development only

    own = postcards.SYSTEM
    if not names:
        return [own, *find()]
    others = find(name for name in names if name != own.name)
    return [own, *others] if own.name in names else others


def _port(settings: Settings) -> int:
    """Return the port to listen on: the usual one, or any that is free where nobody chose one."""
    if settings.origin("port").kind != "default":
        return settings.port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((DEFAULT_HOST, settings.port))
            probe.listen()
        except OSError:
            return 0
    return settings.port


def _log(invocation: Invocation) -> None:
    """Keep the terminal for what is wrong here: what fails upstream is on the pages."""
    invocation.log("error")
    if invocation.settings.origin("log_level").kind == "default":
        for name, level in _QUIETLY.items():
            logging.getLogger(name).setLevel(level)


def _welcome(
    invocation: Invocation,
    engine: Holdfast,
    *,
    built: Sequence[Built],
    services: bool,
    address: str,
) -> None:
    output = invocation.output
    output.line(f"holdfast {version('holdfast')}")
    output.line()
    pages = {one.system.title: f"{one.place}/" for one in built if one.parts.pages is not None}
    places = {"Console": "/", **pages, "Fault lab": "/lab", "API": "/api"}
    width = max(len(title) for title in places)
    for title, place in places.items():
        style = "bold" if place == "/" else None
        output.line(f"  {title:<{width}}  {address}{place}", style=style)
    output.line()
    output.line(f"Jobs are kept in {masked(engine.unopened_store.url)}.")
    beside = [f"{one.system.name}-{name}" for one in built for name in one.parts.services]
    if beside and services:
        output.line(f"Beside the worker run {', '.join(beside)}.")
    for remark in remarks_on([(one.system, one.variables) for one in built], os.environ):
        output.remark(remark.message)
    output.line("Ctrl-C ends it: what runs is finished first, what waits stays where it is.")
