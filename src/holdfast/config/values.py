"""What may be written for a setting: its form, its limits, and how it is shown when it is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from holdfast.core.values.retention import Retention
from holdfast.engine.submit.admission import MOST
from holdfast.errors import InvalidValue
from holdfast.pipeline.names import checked_name
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.runtime.worker.options import WorkerOptions

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
LOG_FORMATS: Final = ("auto", "json", "console")
FOR_EVER: Final = "forever"
DURATION_FORM: Final = "a duration such as 500ms, 30s or 5m"
MAX_PORT: Final = 65_535
TRACE_PLACE: Final = "{trace_id}"
TRACE_URL_FORM: Final = "like https://traces.example.org/trace/{trace_id}"
RELAY_PREFIX: Final = "outbox_"

_UNIT_S: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|m|h|d)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,12}")
_HOST: Final = re.compile(r"[A-Za-z0-9_.-]{1,253}|[0-9A-Fa-f:.%]{2,64}")
_HOST_NAME: Final = re.compile(r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_SWITCH: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.~-]{20,255}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_SECRET_OPTIONS: Final = frozenset({"password", "sslpassword", "passfile"})
_SIGNING_SECRET: Final = re.compile(r"whsec_[A-Za-z0-9+/]{32,86}={0,2}")
_DAY_S: Final = 86_400.0
_SCHEMES: Final = frozenset({"sqlite", "postgresql", "postgres"})
_BROKERS: Final = frozenset({"amqp", "amqps"})


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


def duration_text(seconds: float) -> str:
    """Return a duration as a person would set it: 30d, 1h30m, 0.5s."""
    left_us = round(seconds * 1e6)
    parts = []
    for name in ("d", "h", "m"):
        count, left_us = divmod(left_us, round(_UNIT_S[name] * 1e6))
        if count:
            parts.append(f"{count}{name}")
    if left_us or not parts:
        # Eight digits, for up to a minute in microseconds.
        parts.append(f"{left_us / 1e6:.8g}s")
    return "".join(parts)


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


class Masked:
    """A value whose representation holds no password."""

    def __init__(self, url: object) -> None:
        self._shown = masked(url) if isinstance(url, str) else type(url).__name__

    def __repr__(self) -> str:
        return repr(self._shown)


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
    if not is_database_url(url):
        raise ValueError("like sqlite:///holdfast.db or postgresql://host/database")
    return url


def _direct_url(raw: object, unit: str) -> str:
    url = _url(raw, unit)
    if url.startswith("sqlite:"):
        raise ValueError("like postgresql://host/database: SQLite has no pooler")
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


def is_database_url(url: str) -> bool:
    """Return whether a URL is of a kind of database that jobs can be kept in."""
    return url.partition(":")[0] in _SCHEMES


def _host(raw: object, unit: str) -> str:
    try:
        host = _text(raw, unit)
    except ValueError:
        host = ""
    if not _HOST.fullmatch(host):
        raise ValueError("a name or an address to listen on, such as 127.0.0.1, without a port")
    return host


def _port(raw: object, unit: str) -> int:
    try:
        port = _count(raw, unit)
    except ValueError:
        port = -1
    if not 0 <= port <= MAX_PORT:
        raise ValueError(f"a whole number from 0 (any free one) to {MAX_PORT}")
    return port


def _host_names(raw: object, _unit: str) -> tuple[str, ...]:
    given = raw.split(",") if isinstance(raw, str) else raw
    names = given if isinstance(given, list | tuple) else [given]
    names = [name.strip() for name in names if isinstance(name, str) and name.strip()]
    if not names or not all(map(_HOST_NAME.fullmatch, names)):
        raise ValueError("host names without a port, such as jobs.example.org or *.example.org")
    return tuple(names)


def _switch(raw: object, _unit: str) -> bool:
    if isinstance(raw, bool):
        return raw
    text = raw.strip().lower() if isinstance(raw, str) else ""
    if text not in _SWITCH:
        raise ValueError("true or false")
    return _SWITCH[text]


def _token(raw: object, _unit: str) -> str:
    text = raw.strip() if isinstance(raw, str) else ""
    if not _TOKEN.fullmatch(text):
        raise ValueError("20 to 255 letters, digits, '_', '-', '.' or '~', made by chance")
    return text


def _web_url(raw: object, unit: str) -> str:
    try:
        url = _text(raw, unit)
        parts = urlsplit(url)
        fine = parts.scheme in {"https", "http"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        url, fine = "", False
    if not fine:
        raise ValueError("like https://example.org/hooks")
    return url


def is_trace_url(url: str) -> bool:
    """Return whether a text is an address with a place for the id of a trace."""
    try:
        _web_url(url, "")
    except ValueError:
        return False
    return url.count(TRACE_PLACE) == 1 and not set("{}") & set(url.replace(TRACE_PLACE, ""))


def _trace_url(raw: object, unit: str) -> str:
    try:
        url = _text(raw, unit)
    except ValueError:
        url = ""
    if not is_trace_url(url):
        raise ValueError(TRACE_URL_FORM)
    return url


def _signing_secret(raw: object, _unit: str) -> str:
    text = raw.strip() if isinstance(raw, str) else ""
    if not _SIGNING_SECRET.fullmatch(text):
        raise ValueError("whsec_ and then 24 to 64 bytes in base64")
    return text


def _watched(raw: object, unit: str) -> float:
    seconds = seconds_of(raw, unit=unit)
    if not 0 <= seconds <= _DAY_S:
        raise ValueError("a duration of at most a day, or 0 for none")
    return seconds


def is_port(text: str) -> bool:
    """Return whether a text is the number of a port."""
    return bool(_WHOLE_NUMBER.fullmatch(text)) and int(text) <= MAX_PORT


def _one_of(allowed: Sequence[str]) -> Callable[[object, str], str]:
    def read(raw: object, _unit: str) -> str:
        text = raw.strip().lower() if isinstance(raw, str) else ""
        if text not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text

    return read


def _names_of(what: str) -> Callable[[object, str], tuple[str, ...]]:
    def read(raw: object, _unit: str) -> tuple[str, ...]:
        given = raw.split(",") if isinstance(raw, str) else raw
        names = given if isinstance(given, list | tuple) else [given]
        names = [name.strip() if isinstance(name, str) else name for name in names]
        try:
            return tuple(checked_name(name, what=what) for name in names if name != "")
        except InvalidValue as error:
            raise ValueError(f"{what} names, each {error.limit}") from None

    return read


def _variable_names(raw: object, _unit: str) -> tuple[str, ...]:
    given = raw.split(",") if isinstance(raw, str) else raw
    names = given if isinstance(given, list | tuple) else [given]
    names = [name.strip() for name in names if isinstance(name, str) and name.strip()]
    if not names or not all(map(_VARIABLE.fullmatch, names)):
        raise ValueError("names of environment variables, not their values")
    return tuple(names)


KEPT: Final = {f"keep_{option.name}": option.name for option in fields(Retention)}
RELAYED: Final = {f"{RELAY_PREFIX}{option.name}": option.name for option in fields(RelayOptions)}
READERS: Final[Mapping[str, Callable[[object, str], Any]]] = {
    "database_url": _url,
    "database_direct_url": _direct_url,
    "app": _text,
    "systems": _names_of("system"),
    "host": _host,
    "port": _port,
    "host_names": _host_names,
    "https": _switch,
    "api_token": _token,
    "queues": _names_of("queue"),
    "log_level": _one_of(LOG_LEVELS),
    "log_format": _one_of(LOG_FORMATS),
    "error_log": _text,
    "trace_url": _trace_url,
    "metrics_host": _host,
    "metrics_port": _port,
    "alert_webhook_url": _web_url,
    "alert_webhook_secret": _signing_secret,
    "alert_debounce": _watched,
    "alert_deadline_within": _watched,
    "secret_variables": _variable_names,
    "concurrency": _count,
    "processes": _count,
    "lease": _duration,
    "poll": _duration,
    "sweep": _duration,
    "deadline_check": _duration,
    "grace": _duration,
    "max_queued": _limit,
    **dict.fromkeys(KEPT, _keep),
    "broker_url": _broker,
    "exchange": _text,
    "reply_to": _text,
    **dict.fromkeys(RELAYED, _duration),
    "outbox_batch_size": _count,
}
WORKER_OPTIONS: Final = tuple(option.name for option in fields(WorkerOptions))
COUNTS: Final = frozenset({"concurrency", "processes", "outbox_batch_size"})
SECRETS: Final = frozenset(
    {
        "database_url",
        "database_direct_url",
        "broker_url",
        "api_token",
        "alert_webhook_url",
        "alert_webhook_secret",
    }
)
HIDDEN: Final = SECRETS | {"secret_variables"}
"""What is not shown when it is wrong: a person may have written a secret where its name belongs."""
