"""One run of a command: its common options, its settings, and the engine it talks to."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import click

from holdfast.cli.shell.output import Output
from holdfast.config.settings import Settings, load
from holdfast.config.sources import Flag
from holdfast.core.values.retention import Retention
from holdfast.engine.app import Holdfast
from holdfast.errors import StoreUnavailable, UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.redaction import secrets_in_environment, secrets_in_url
from holdfast.runtime.deliveries.options import CourierOptions
from holdfast.runtime.deliveries.provider import Provider
from holdfast.runtime.maintenance.janitor import Chore
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.secrecy import keep_secret
from holdfast.systems import InstalledPipelines

QUIET: Final = "error"
"""What commands other than a worker log by default."""
_SQLITE_FILE: Final = "sqlite:///"


class Invocation:
    """What every command gets; nothing is read or opened before it is needed."""

    def __init__(self) -> None:
        self.as_json = False
        self.flags: dict[str, Flag] = {}

    def give(self, name: str, option: str, value: object) -> None:
        """Take a setting from the command line."""
        if value is not None:
            self.flags[name] = Flag(option, value)

    @cached_property
    def settings(self) -> Settings:
        """The settings, the command line's included; what is secret in them is kept so."""
        settings = self.read_settings()
        keep_secret(secrets_in_url(settings.database_url))
        keep_secret(secrets_in_url(settings.database_direct_url or ""))
        keep_secret(secrets_in_environment(os.environ, settings.secret_variables))
        if settings.api_token is not None:
            keep_secret([settings.api_token])
        return settings

    def read_settings(self) -> Settings:
        """Read the settings afresh."""
        return load(environment=os.environ, folder=Path.cwd(), flags=self.flags)

    @cached_property
    def output(self) -> Output:
        """Where to print."""
        return Output(as_json=self.as_json)

    def application(self) -> Holdfast:
        """Return the application with its pipelines; it names its own database."""
        settings = self.settings
        if "database_url" in self.flags:
            raise UsageError(
                "this command runs the app's own code on the app's own database; "
                "leave --database-url out, and change the URL where the app is made"
            )
        if settings.app is None:
            raise UsageError(
                "this command needs your pipelines; say where they are: "
                "-A module:app, or set HOLDFAST_APP"
            )
        return self._located(settings.app)

    @property
    def names_app(self) -> bool:
        """Whether commands that need no pipelines use an app and its own database."""
        return self.settings.app is not None and "database_url" not in self.flags

    def engine(self, *, may_create: bool = False) -> Holdfast:
        """Return an engine for commands that need no pipelines: the app, or a bare URL."""
        settings = self.settings
        if "app" in self.flags and "database_url" in self.flags:
            raise UsageError("give -A or --database-url, not both: the app names its own database")
        if self.names_app and settings.app is not None:
            return self._located(settings.app)
        if not may_create:
            refuse_missing_file(settings.database_url)
        self.log(QUIET)
        return self._prepared(
            Holdfast(settings.database_url, direct_url=self._direct_url(), auto_migrate=False)
        )

    def assembled(
        self,
        *,
        pipelines: Iterable[Pipeline],
        providers: Iterable[Provider],
        chores: Iterable[Chore] = (),
        retention: Retention | None = None,
        tables: Mapping[str, str] | None = None,
    ) -> Holdfast:
        """Return an engine with these parts, on the database of the settings."""
        self.log(QUIET)
        return self._prepared(
            Holdfast(
                self.settings.database_url,
                direct_url=self._direct_url(),
                pipelines=pipelines,
                providers=providers,
                courier=_courier_of(self.settings.worker),
                chores=chores,
                retention=retention,
                tables=tables,
            )
        )

    def _direct_url(self) -> str | None:
        """Return the direct URL; a database that the command line names has none."""
        return None if "database_url" in self.flags else self.settings.database_direct_url

    def log(self, default_level: str) -> None:
        """Write logs to stderr; `default_level` counts unless a level was set."""
        from holdfast.config import logs  # noqa: PLC0415 - structlog only when something is run

        settings = self.settings
        chosen = settings.origin("log_level").kind != "default"
        logs.configure(
            level=settings.log_level if chosen else default_level,
            log_format=settings.log_format,
            stream=sys.stderr,
        )

    def _located(self, location: str) -> Holdfast:
        from holdfast.cli.shell.app_location import locate  # noqa: PLC0415 - runs the user's code

        self.log(QUIET)
        return self._prepared(locate(location))

    def _prepared(self, engine: Holdfast) -> Holdfast:
        """Let an engine follow the settings, and close it when the command ends."""
        settings = self.settings
        engine.access.elsewhere = InstalledPipelines(os.environ, engine)
        engine.retention = settings.kept_over(engine.retention)
        if settings.max_queued is not None:
            engine.limit_queues(settings.max_queued)
        click.get_current_context().call_on_close(engine.close)
        return engine


def os_user() -> str:
    """Return the name of the user who runs this, for `--by`."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def refuse_missing_file(url: str) -> None:
    """Keep a mistyped path from becoming an empty database."""
    if url.startswith(_SQLITE_FILE) and not Path(url.removeprefix(_SQLITE_FILE)).exists():
        raise StoreUnavailable(
            url,
            reason="there is no such file (name another with -A, --database-url or "
            "HOLDFAST_DATABASE_URL; holdfast migrate would create it)",
        )


def _courier_of(options: WorkerOptions) -> CourierOptions:
    """Return couriers that are missed as soon as a worker is, where it is set how soon."""
    usual = CourierOptions()
    if options.lease == WorkerOptions().lease:
        return usual
    return CourierOptions(lease=options.lease, timeout=min(usual.timeout, options.lease / 2))


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
