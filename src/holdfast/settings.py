"""What an operator sets: one frozen record, read once at the edge.

A value comes from the first of these that has it: a flag of the command line, the environment
(`HOLDFAST_` and the setting's name in capitals), `holdfast.toml` or `[tool.holdfast]` of
`pyproject.toml` in the current folder, the default. Where each value came from is kept with it.
Durations are written `500ms`, `30s`, `5m`, `1h30m`, or as a plain number of seconds. The database
URL may also be kept in a file of its own that `HOLDFAST_DATABASE_URL_FILE` names, and the broker's
in one that `HOLDFAST_BROKER_URL_FILE` names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from holdfast.admission import MOST
from holdfast.core.retention import Retention
from holdfast.errors import InvalidSetting, InvalidValue
from holdfast.pipeline import checked_name
from holdfast.runtime.relay import RelayOptions
from holdfast.runtime.worker import WorkerOptions

PREFIX: Final = "HOLDFAST_"
FILE_SUFFIX: Final = "_FILE"
SETTINGS_FILE: Final = "holdfast.toml"
PROJECT_FILE: Final = "pyproject.toml"
OTHER_VARIABLES: Final = frozenset(
    {
        "HOLDFAST_DEBUG",
        "HOLDFAST_FAILPOINTS",
        "HOLDFAST_TEST_AMQP_URL",
        "HOLDFAST_TEST_POSTGRES_URL",
    }
)
"""Variables with the prefix that are no settings."""

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
LOG_FORMATS: Final = ("auto", "json", "console")
MAX_SECRET_BYTES: Final = 64 * 1024

_UNIT_S: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|m|h|d)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,12}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_SECRET_OPTIONS: Final = frozenset({"password", "sslpassword", "passfile"})
_SCHEMES: Final = frozenset({"sqlite", "postgresql", "postgres"})
_BROKERS: Final = frozenset({"amqp", "amqps"})

FOR_EVER: Final = "forever"
DURATION_FORM: Final = "a duration such as 500ms, 30s or 5m"

DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"

_Options = TypeVar("_Options")


class Origin(NamedTuple):
    """Where a value came from: `flag`, `environment`, `file` or `default`, and its name there."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


class Flag(NamedTuple):
    """A value given on the command line, and the option that gave it."""

    option: str
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. URLs may hold passwords, so they are never shown as they are."""

    database_url: str = field(default=DEFAULT_DATABASE_URL, repr=False)
    app: str | None = None
    queues: tuple[str, ...] = ()
    log_level: str = "info"
    log_format: str = "auto"
    error_log: str | None = None
    secret_variables: tuple[str, ...] = ()
    """Names of environment variables whose values are secret, besides those that say so."""
    max_queued: int | None = None
    retention: Retention = field(default_factory=Retention)
    broker_url: str | None = field(default=None, repr=False)
    exchange: str = "holdfast"
    relay: RelayOptions = field(default_factory=RelayOptions)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def origin(self, name: str) -> Origin:
        """Return where the setting of that name came from."""
        return self.origins.get(name, _DEFAULT)

    def shown(self) -> Iterator[tuple[str, object, Origin]]:
        """Yield name, value and origin of every setting; passwords are masked."""
        yield "database_url", masked(self.database_url), self.origin("database_url")
        for name in ("app", "queues", "log_level", "log_format", "error_log", "secret_variables"):
            value = getattr(self, name)
            yield name, list(value) if isinstance(value, tuple) else value, self.origin(name)
        for name in _OPTIONS:
            yield name, getattr(self.worker, name), self.origin(name)
        yield "max_queued", self.max_queued, self.origin("max_queued")
        for setting, name in _KEPT.items():
            value = getattr(self.retention, name)
            yield setting, FOR_EVER if value is None else value, self.origin(setting)
        broker = None if self.broker_url is None else masked(self.broker_url)
        yield "broker_url", broker, self.origin("broker_url")
        yield "exchange", self.exchange, self.origin("exchange")
        for setting, name in _RELAYED.items():
            yield setting, getattr(self.relay, name), self.origin(setting)

    def keeps(self) -> bool:
        """Tell whether an operator said how long anything is kept."""
        return any(setting in self.origins for setting in _KEPT)

    def kept_over(self, own: Retention) -> Retention:
        """Return what a program keeps, changed by what an operator said."""
        said = [name for setting, name in _KEPT.items() if setting in self.origins]
        return replace(own, **{name: getattr(self.retention, name) for name in said})


def load(
    *, environment: Mapping[str, str], folder: Path, flags: Mapping[str, Flag] | None = None
) -> Settings:
    """Return the settings, or raise `InvalidSetting` that names the value and its limit."""
    found: dict[str, _Found] = {}
    for source in (_from_file(folder), _from_environment(environment), _from_flags(flags or {})):
        found.update(source)
    values: dict[str, Any] = {}
    options: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    relayed: dict[str, Any] = {}
    for name, given in found.items():
        value = _read(name, given)
        if name in _OPTIONS:
            options[name] = value
        elif name in _KEPT:
            kept[_KEPT[name]] = value
        elif name in _RELAYED:
            relayed[_RELAYED[name]] = value
        else:
            values[name] = value
    return Settings(
        **values,
        worker=_made(WorkerOptions, options, found, prefix=""),
        retention=Retention(**kept),
        relay=_made(RelayOptions, relayed, found, prefix=_RELAY_PREFIX),
        origins={name: given.origin for name, given in found.items()},
    )


def _made(
    kind: Callable[..., _Options],
    values: Mapping[str, Any],
    found: Mapping[str, _Found],
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
        unit = "" if name in _COUNTS else " seconds"
        raise _invalid(given.origin, name, given.raw, limit=f"{error.limit}{unit}") from None


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that have the prefix and name no setting, as a typing error does."""
    known = {variable for name in _READERS for variable, _ in _variables(name)} | OTHER_VARIABLES
    known |= {f"{PREFIX}{name.upper()}{FILE_SUFFIX}" for name in _SECRETS}
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def seconds_of(given: object, *, unit: str = "s") -> float:
    """Return a duration in seconds; `unit` is what a number without one counts.

    Raises `ValueError` for anything that is not a duration.
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given * _UNIT_S[unit]
    if isinstance(given, str):
        text = given.strip().lower()
        if _NUMBER.fullmatch(text):
            return float(text) * _UNIT_S[unit]
        if _DURATION.fullmatch(text):
            parts = _PART.findall(text)
            return float(sum(float(number) * _UNIT_S[name] for number, name in parts))
    raise ValueError(DURATION_FORM)


def masked(url: str) -> str:
    """Return the URL as it may be shown, its password hidden; of what is no URL of ours, little."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return "…"
    if scheme not in _SCHEMES | _BROKERS:
        return f"{scheme}:…" if parts.netloc else "…"
    credentials, at, place = parts.netloc.rpartition("@")
    user, has_password, _ = credentials.partition(":")
    hidden = ":***" if has_password else ""
    options = [
        (name, "***" if name.lower() in _SECRET_OPTIONS else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    query = f"?{urlencode(options, safe='*/')}" if options else ""
    return f"{scheme}://{user}{hidden}{at}{place}{parts.path}{query}"


class _Masked:
    """A value whose representation holds no password."""

    def __init__(self, url: object) -> None:
        self._shown = masked(url) if isinstance(url, str) else type(url).__name__

    def __repr__(self) -> str:
        return repr(self._shown)


class _Found(NamedTuple):
    """A value as it was written, and what a number without a unit counts."""

    raw: object
    origin: Origin
    unit: str = "s"


def _duration(raw: object, unit: str) -> float:
    return seconds_of(raw, unit=unit)


def _keep(raw: object, unit: str) -> float | None:
    if isinstance(raw, str) and raw.strip().lower() == FOR_EVER:
        return None
    try:
        return Retention(complete=seconds_of(raw, unit=unit)).complete
    except (ValueError, InvalidValue):
        raise ValueError(f"a duration such as 12h or 7d, or {FOR_EVER}") from None


def _limit(raw: object, unit: str) -> int:
    limit = _count(raw, unit)
    if not 1 <= limit <= MOST:
        raise ValueError(f"a whole number from 1 to {MOST}")
    return limit


def _count(raw: object, _unit: str) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and _WHOLE_NUMBER.fullmatch(raw.strip()):
        return int(raw)
    raise ValueError("a whole number")


def _text(raw: object, _unit: str) -> str:
    if isinstance(raw, str) and raw.strip() and raw.isprintable():
        return raw.strip()
    raise ValueError("printable text")


def _url(raw: object, unit: str) -> str:
    try:
        url = _text(raw, unit)
        _ = urlsplit(url).port  # raises when it is no number
    except ValueError:
        url = ""
    if not _is_ours(url):
        raise ValueError("like sqlite:///holdfast.db or postgresql://host/database")
    return url


def _broker(raw: object, unit: str) -> str:
    try:
        url = _text(raw, unit)
        parts = urlsplit(url)
        fine = parts.scheme in _BROKERS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        url, fine = "", False
    if not fine:
        raise ValueError("like amqp://user:password@host:5672/")
    return url


def _is_ours(url: str) -> bool:
    return url.partition(":")[0] in _SCHEMES


def _one_of(allowed: Sequence[str]) -> Callable[[object, str], str]:
    def read(raw: object, _unit: str) -> str:
        text = raw.strip().lower() if isinstance(raw, str) else ""
        if text not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text

    return read


def _names(raw: object, _unit: str) -> tuple[str, ...]:
    given = raw.split(",") if isinstance(raw, str) else raw
    names = given if isinstance(given, list | tuple) else [given]
    names = [name.strip() if isinstance(name, str) else name for name in names]
    try:
        return tuple(checked_name(name, what="queue") for name in names if name != "")
    except InvalidValue as error:
        raise ValueError(f"queue names, each {error.limit}") from None


def _variable_names(raw: object, _unit: str) -> tuple[str, ...]:
    given = raw.split(",") if isinstance(raw, str) else raw
    names = given if isinstance(given, list | tuple) else [given]
    names = [name.strip() for name in names if isinstance(name, str) and name.strip()]
    if not names or not all(map(_VARIABLE.fullmatch, names)):
        raise ValueError("names of environment variables, not their values")
    return tuple(names)


_KEPT: Final = {f"keep_{option.name}": option.name for option in fields(Retention)}
_RELAY_PREFIX: Final = "outbox_"
_RELAYED: Final = {f"{_RELAY_PREFIX}{option.name}": option.name for option in fields(RelayOptions)}
_READERS: Final[Mapping[str, Callable[[object, str], Any]]] = {
    "database_url": _url,
    "app": _text,
    "queues": _names,
    "log_level": _one_of(LOG_LEVELS),
    "log_format": _one_of(LOG_FORMATS),
    "error_log": _text,
    "secret_variables": _variable_names,
    "concurrency": _count,
    "processes": _count,
    "lease": _duration,
    "poll": _duration,
    "sweep": _duration,
    "grace": _duration,
    "max_queued": _limit,
    **dict.fromkeys(_KEPT, _keep),
    "broker_url": _broker,
    "exchange": _text,
    **dict.fromkeys(_RELAYED, _duration),
    "outbox_batch_size": _count,
}
_OPTIONS: Final = tuple(option.name for option in fields(WorkerOptions))
_COUNTS: Final = frozenset({"concurrency", "processes", "outbox_batch_size"})
_SECRETS: Final = frozenset({"database_url", "broker_url"})
_HIDDEN: Final = _SECRETS | {"secret_variables"}
"""What is not shown when it is wrong: somebody may have written a secret where its name belongs."""
_DEFAULT: Final = Origin("default", "")

# Names that other systems gave these settings, with the unit they count in. The prefixed name,
# where both are given, wins.
_FURTHER_VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "database_url": ("DATABASE_URL", ""),
    "concurrency": ("WORKER_CONCURRENCY", ""),
    "lease": ("WORKER_LEASE_TTL_SEC", "s"),
    "sweep": ("TIMEOUT_CHECK_INTERVAL_MS", "ms"),
    "outbox_batch_size": ("OUTBOX_BATCH_SIZE", ""),
    "outbox_poll_interval": ("OUTBOX_POLL_INTERVAL_MS", "ms"),
    "outbox_stale_threshold": ("OUTBOX_STALE_THRESHOLD_MS", "ms"),
}


def _variables(name: str) -> list[tuple[str, str]]:
    own = (f"{PREFIX}{name.upper()}", "s")
    further = _FURTHER_VARIABLES.get(name)
    return [own] if further is None else [own, further]


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, _Found]]:
    for name in _READERS:
        # An empty variable counts as one that is not there: compose files make them so.
        given = [
            _Found(environment[variable], Origin("environment", variable), unit)
            for variable, unit in _variables(name)
            if environment.get(variable, "").strip() and _is_meant(variable, environment[variable])
        ]
        if name in _SECRETS:
            given[:0] = _from_secret_file(environment, name)
        if given:
            yield name, given[0]


def _is_meant(variable: str, value: str) -> bool:
    """Tell whether a variable speaks to holdfast: DATABASE_URL may name another program's."""
    return variable != "DATABASE_URL" or _is_ours(value.strip())


def _from_secret_file(environment: Mapping[str, str], name: str) -> Iterator[_Found]:
    own = f"{PREFIX}{name.upper()}"
    origin = Origin("environment", own + FILE_SUFFIX)
    path = environment.get(origin.name, "").strip()
    if not path:
        return
    if environment.get(own, "").strip():
        raise _invalid(origin, name, path, limit=f"left out, as {own} is given")
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
        yield _Found(content[:MAX_SECRET_BYTES].decode().strip(), origin)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        limit = f"the path of a file that can be read ({reason})"
        raise _invalid(origin, name, path, limit=limit) from error


def _from_file(folder: Path) -> Iterator[tuple[str, _Found]]:
    for path, table in (
        (folder / SETTINGS_FILE, ()),
        (folder / PROJECT_FILE, ("tool", "holdfast")),
    ):
        section = _section(path, table)
        if section is None:
            continue
        for name, value in section.items():
            if name not in _READERS:
                limit = f"one of {', '.join(sorted(_READERS))}"
                raise InvalidSetting(path.name, field="setting", value=name, limit=limit)
            yield name, _Found(value, Origin("file", path.name))
        return


def _section(path: Path, table: Sequence[str]) -> dict[str, Any] | None:
    try:
        document: Any = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        limit = f"readable TOML ({error})"
        raise InvalidSetting(path.name, field="file", value=str(path), limit=limit) from error
    for name in table:
        document = document.get(name)
        if not isinstance(document, dict):
            return None
    return dict(document)


def _from_flags(flags: Mapping[str, Flag]) -> Iterator[tuple[str, _Found]]:
    for name, flag in flags.items():
        yield name, _Found(flag.value, Origin("flag", flag.option))


def _read(name: str, given: _Found) -> Any:  # noqa: ANN401 - as its reader returns
    try:
        return _READERS[name](given.raw, given.unit)
    except ValueError as error:
        shown = _Masked(given.raw) if name in _HIDDEN else given.raw
        raise _invalid(given.origin, name, shown, limit=str(error)) from None


def _invalid(origin: Origin, name: str, shown: object, *, limit: str) -> InvalidSetting:
    match origin.kind:
        case "file":
            return InvalidSetting(origin.name, field=name, value=shown, limit=limit)
        case "flag":
            return InvalidSetting("command line", field=origin.name, value=shown, limit=limit)
        case _:
            return InvalidSetting(origin.kind, field=origin.name, value=shown, limit=limit)
