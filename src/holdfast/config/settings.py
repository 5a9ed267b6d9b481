"""What an operator sets: one frozen record, read once at the edge.

A value comes from the first of these that has it: a flag of the command line, the environment
(`HOLDFAST_` and the setting's name in capitals), `holdfast.toml` or `[tool.holdfast]` of
`pyproject.toml` in the current folder, the default. Where each value came from is kept with it.
Durations are written `500ms`, `30s`, `5m`, `1h30m`, or as a plain number of seconds. The database
URL may also be kept in a file of its own that `HOLDFAST_DATABASE_URL_FILE` names, and the direct
one, the broker's and the API's token in those that `HOLDFAST_DATABASE_DIRECT_URL_FILE`,
`HOLDFAST_BROKER_URL_FILE` and `HOLDFAST_API_TOKEN_FILE` name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from holdfast.config.sources import (
    Flag,
    Found,
    Origin,
    from_environment,
    from_file,
    from_flags,
    invalid,
)
from holdfast.config.values import (
    COUNTS,
    FOR_EVER,
    HIDDEN,
    KEPT,
    READERS,
    RELAY_PREFIX,
    RELAYED,
    WORKER_OPTIONS,
    Masked,
    masked,
)
from holdfast.core.values.retention import Retention
from holdfast.errors import InvalidValue
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.runtime.worker.options import WorkerOptions

DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"
DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8000
_DEFAULT: Final = Origin("default", "")
_PLAIN: Final = (
    "app",
    "systems",
    "host",
    "port",
    "host_names",
    "https",
    "queues",
    "log_level",
    "log_format",
    "error_log",
    "trace_url",
    "metrics_host",
    "metrics_port",
    "alert_debounce",
    "alert_deadline_within",
    "secret_variables",
)
"""Settings that are shown as they are."""
_HIDDEN: Final = ("api_token", "alert_webhook_url", "alert_webhook_secret")
"""Settings that are not shown at all."""
_Options = TypeVar("_Options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. URLs may hold passwords, so they are never shown as they are."""

    database_url: str = field(default=DEFAULT_DATABASE_URL, repr=False)
    database_direct_url: str | None = field(default=None, repr=False)
    """The same database past a pooler, for listening and for migrations."""
    app: str | None = None
    systems: tuple[str, ...] = ()
    """Which of the installed systems `holdfast up` runs; empty for all of them."""
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    host_names: tuple[str, ...] = ()
    """Under which names people reach it, besides those of this machine."""
    https: bool = False
    """Whether people reach it by HTTPS only, which a proxy may end."""
    api_token: str | None = field(default=None, repr=False)
    """A token of an operator that is kept in no database."""
    queues: tuple[str, ...] = ()
    log_level: str = "info"
    log_format: str = "auto"
    error_log: str | None = None
    trace_url: str | None = None
    """Where the console leads to for a trace, with `{trace_id}` in place of its id."""
    metrics_host: str = DEFAULT_HOST
    metrics_port: int | None = None
    """Where a process serves its metrics, besides those of the API; None for nowhere."""
    alert_webhook_url: str | None = field(default=None, repr=False)
    alert_webhook_secret: str | None = field(default=None, repr=False)
    alert_debounce: float = 300.0
    alert_deadline_within: float = 300.0
    secret_variables: tuple[str, ...] = ()
    """Names of environment variables whose values are secret, besides those that say so."""
    max_queued: int | None = None
    retention: Retention = field(default_factory=Retention)
    broker_url: str | None = field(default=None, repr=False)
    exchange: str = "holdfast"
    reply_to: str | None = None
    """The queue in which replies to published messages are awaited."""
    relay: RelayOptions = field(default_factory=RelayOptions)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def origin(self, name: str) -> Origin:
        """Return where the setting of that name came from."""
        return self.origins.get(name, _DEFAULT)

    def shown(self) -> Iterator[tuple[str, object, Origin]]:
        """Yield name, value and origin of every setting; passwords are masked."""
        yield "database_url", masked(self.database_url), self.origin("database_url")
        direct = None if self.database_direct_url is None else masked(self.database_direct_url)
        yield "database_direct_url", direct, self.origin("database_direct_url")
        for name in _PLAIN:
            value = getattr(self, name)
            yield name, list(value) if isinstance(value, tuple) else value, self.origin(name)
        for name in _HIDDEN:
            yield name, None if getattr(self, name) is None else "***", self.origin(name)
        for name in WORKER_OPTIONS:
            yield name, getattr(self.worker, name), self.origin(name)
        yield "max_queued", self.max_queued, self.origin("max_queued")
        for setting, name in KEPT.items():
            value = getattr(self.retention, name)
            yield setting, FOR_EVER if value is None else value, self.origin(setting)
        broker = None if self.broker_url is None else masked(self.broker_url)
        yield "broker_url", broker, self.origin("broker_url")
        yield "exchange", self.exchange, self.origin("exchange")
        yield "reply_to", self.reply_to, self.origin("reply_to")
        for setting, name in RELAYED.items():
            yield setting, getattr(self.relay, name), self.origin(setting)

    def keeps(self) -> bool:
        """Return whether an operator said how long anything is kept."""
        return any(setting in self.origins for setting in KEPT)

    def kept_over(self, own: Retention) -> Retention:
        """Return what a program keeps, changed by what an operator said."""
        said = [name for setting, name in KEPT.items() if setting in self.origins]
        return replace(own, **{name: getattr(self.retention, name) for name in said})


def load(
    *, environment: Mapping[str, str], folder: Path, flags: Mapping[str, Flag] | None = None
) -> Settings:
    """Return the settings, or raise `InvalidSetting` that names the value and its limit."""
    found: dict[str, Found] = {}
    for source in (from_file(folder), from_environment(environment), from_flags(flags or {})):
        found.update(source)
    values: dict[str, Any] = {}
    options: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    relayed: dict[str, Any] = {}
    for name, given in found.items():
        value = _read(name, given)
        if name in WORKER_OPTIONS:
            options[name] = value
        elif name in KEPT:
            kept[KEPT[name]] = value
        elif name in RELAYED:
            relayed[RELAYED[name]] = value
        else:
            values[name] = value
    return Settings(
        **values,
        worker=_made(WorkerOptions, options, found, prefix=""),
        retention=Retention(**kept),
        relay=_made(RelayOptions, relayed, found, prefix=RELAY_PREFIX),
        origins={name: given.origin for name, given in found.items()},
    )


def _made(
    kind: Callable[..., _Options],
    values: Mapping[str, Any],
    found: Mapping[str, Found],
    *,
    prefix: str,
) -> _Options:
    """Return options, or raise which of the settings is wrong."""
    try:
        return kind(**values)
    except InvalidValue as error:
        name = f"{prefix}{error.field}"
        if name not in found:  # two of them do not go together, and one is a default
            name = next(f"{prefix}{value}" for value in values)
        given = found[name]
        unit = "" if name in COUNTS else " seconds"
        raise invalid(given.origin, name, given.raw, limit=f"{error.limit}{unit}") from None


def _read(name: str, given: Found) -> Any:  # noqa: ANN401 - as its reader returns
    try:
        return READERS[name](given.raw, given.unit)
    except ValueError as error:
        shown = Masked(given.raw) if name in HIDDEN else given.raw
        raise invalid(given.origin, name, shown, limit=str(error)) from None
