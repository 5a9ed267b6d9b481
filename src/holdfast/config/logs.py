"""How log records are written when a command of holdfast runs: as JSON lines, or for people.

The library itself only emits through `logging.getLogger("holdfast…")` and configures nothing.
A record's `extra` becomes keys of the line: `event`, `job_id`, `status`, `attempt`, `duration_ms`,
`gateway_status`, `error_code` and whatever else it carries. Secrets are taken out of all of it.
One record is one line: control characters in values are written as escapes, and only a traceback
for people spans several, indented, so that no text in it can pass for a line of its own.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict

from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.redaction.printable import json_text, text_of, visible
from holdfast.secrecy import OF_THIS_PROCESS, private, private_value

MAX_VALUE_LENGTH: Final = 8_000
MAX_EXCEPTION_LENGTH: Final = 64_000
MAX_WORD_LENGTH: Final = 64

_OF_EVERY_RECORD: Final = frozenset(
    {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "_logger", "_name"}
)
_OF_EVERY_FORM: Final = frozenset({"timestamp", "level", "logger", "message", "value"})
"""Names that mean something to every line, or to redaction."""
_PLAIN: Final = frozenset({int, float, bool, type(None)})
_PROBES: Final = ("convert", 7)
_TIME_OF_DAY: Final = slice(11, 23)


def configure(*, level: str, log_format: str, stream: TextIO) -> None:
    """Write every record from `level` up to `stream`; `auto` is for people on a terminal only."""
    for_people = log_format == "console" or (log_format == "auto" and stream.isatty())
    render = _for_people(colour=_has_colour(stream)) if for_people else _as_json
    formatter = _Formatter(processors=[_facts_of, render], quick=not for_people)
    handler = _Handler(stream)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for previous in root.handlers[:]:
        # Only its own of an earlier call: an embedding program keeps its handlers.
        if isinstance(previous.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(previous)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.filter_by_level,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


class Redacting(logging.Formatter):
    """Another formatter, and secrets taken out of what it writes: for handlers of your own."""

    def __init__(self, formatter: logging.Formatter | None = None) -> None:
        super().__init__()
        self._formatter = formatter or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        """Return what the other formatter makes of the record, without secrets."""
        return private(self._formatter.format(record), limit=MAX_EXCEPTION_LENGTH)


class _Formatter(structlog.stdlib.ProcessorFormatter):
    """Writes a record by structlog's processors, or at once where that comes to the same.

    Every attempt of a job may be a line, and the processors take several times as long for it as
    everything else.
    """

    def __init__(self, *, processors: Sequence[Any], quick: bool) -> None:
        super().__init__(processors=processors)
        self._quick = quick

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = _quick_line(record) if self._quick else None
        return super().format(record) if line is None else line


class _Handler(logging.StreamHandler[TextIO]):
    """Writes records to a stream; of one that cannot be written it tells only where it was made."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own
        """Say that a record is missing, and nothing of what it holds: nobody has looked at that."""
        place = f"{record.pathname}:{record.lineno}"
        known = {"level": "error", "logger": record.name, "message": "a record is missing here"}
        with suppress(Exception):
            self.stream.write(json_text(private_value(known | {"made_at": place})) + "\n")


def _facts_of(_logger: object, _method: str, found: EventDict) -> EventDict:
    """Return what is known of a record in the order in which it is written."""
    record: logging.LogRecord = found.pop("_record")
    from_structlog = found.pop("_from_structlog")
    message = found.pop("event", "")
    exception = found.pop("exc_info", None) or record.exc_info
    facts: EventDict = {
        "timestamp": to_rfc3339(Instant(int(record.created * 1_000_000))),
        "level": record.levelname.lower(),
        "logger": private(record.name),
        "message": _bounded(private(text_of(message), limit=MAX_VALUE_LENGTH)),
    }
    extra = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    if from_structlog:
        extra = {**found, **extra}
    for name, value in private_value(extra).items():
        facts.setdefault(name, _bounded(value))
    if isinstance(exception, tuple) and exception[0] is not None:
        told = "".join(traceback.format_exception(*exception)).rstrip()
        facts["exception"] = private(told, limit=MAX_EXCEPTION_LENGTH)
    return facts


def _quick_line(record: logging.LogRecord) -> str | None:
    """Return a record as JSON; None of one that holds more than plain texts and numbers."""
    if record.exc_info or record.stack_info or type(record.msg) is not str:
        return None
    extra = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    if not extra or not _are_plain(tuple(extra), OF_THIS_PROCESS.state):
        return None
    secrets = OF_THIS_PROCESS.state
    facts: dict[str, Any] = {
        "timestamp": to_rfc3339(Instant(int(record.created * 1_000_000))),
        "level": record.levelname.lower(),
        "logger": _private_text(record.name, secrets),
        "message": _private_text(record.getMessage(), secrets),
    }
    for name, value in extra.items():
        kind = type(value)
        if kind is str:
            value = _private_text(value, secrets)  # noqa: PLW2901 - as it may be shown
        elif kind not in _PLAIN:
            return None
        facts[name] = value
    line = json_text(facts)
    return line if len(line) < MAX_VALUE_LENGTH else None


def _private_text(text: str, secrets: object) -> str:
    """Return a text as it may be shown; most words of a line are those of the lines before."""
    return _private_word(text, secrets) if len(text) <= MAX_WORD_LENGTH else private(text)


@lru_cache(maxsize=4096)
def _private_word(text: str, _secrets: object) -> str:
    """Return the same of a short text, remembered for as long as the same things are secret."""
    return private(text)


@lru_cache(maxsize=256)
def _are_plain(names: tuple[str, ...], _secrets: object) -> bool:
    """Return whether nothing but its own text makes what stands under these names secret.

    `_secrets` is what is secret now: another one has another answer.
    """
    taken = _OF_EVERY_FORM.intersection(names)
    return not taken and all(
        private_value({name: probe}) == {name: probe} for name in names for probe in _PROBES
    )


def _as_json(_logger: object, _method: str, facts: EventDict) -> str:
    try:
        return json_text(facts)
    except (TypeError, ValueError, RecursionError):
        # A value that JSON cannot carry must not cost the line.
        return json_text({name: text_of(value) for name, value in facts.items()})


def _for_people(*, colour: bool) -> Any:  # noqa: ANN401 - a processor of structlog
    renderer = structlog.dev.ConsoleRenderer(
        colors=colour,
        pad_event_to=18,
        sort_keys=False,
        exception_formatter=structlog.dev.plain_traceback,
    )

    def render(logger: Any, method: str, facts: EventDict) -> str:  # noqa: ANN401 - as above
        kept = dict(_flat(facts))
        kept["timestamp"] = facts["timestamp"][_TIME_OF_DAY]
        # The message says what the event's name says, and structlog calls it the event.
        kept["event"] = visible(facts["message"])
        del kept["message"]
        if facts["logger"].partition(".")[0] == "holdfast":
            kept.pop("logger")
        exception = facts.get("exception")
        kept.pop("exception", None)
        line = renderer(logger, method, kept)
        if exception is None:
            return line
        return "\n".join([line, *(f"  {visible(row)}" for row in exception.splitlines())])

    return render


def _flat(facts: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the facts as words and numbers; a mapping's entries stand for themselves."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            taken = {*facts} - {name}
            inner = {f"{name}.{key}" if key in taken else str(key): value[key] for key in value}
            yield from _flat(inner)
        elif isinstance(value, str):
            yield visible(name), visible(value)
        elif isinstance(value, list | tuple | set | frozenset):
            yield visible(name), visible(",".join(map(text_of, value)))
        elif value is not None:
            plain = value if isinstance(value, int | float) else visible(text_of(value))
            yield visible(name), plain


def _bounded(value: object) -> object:
    if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
        return f"{value[:MAX_VALUE_LENGTH]}… [cut, {len(value)} characters]"
    return value


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def set_level(level: str) -> None:
    """Write every record from `level` up, from now on."""
    logging.getLogger().setLevel(level.upper())
