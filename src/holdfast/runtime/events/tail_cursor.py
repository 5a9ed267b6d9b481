"""How far a client has looked at what happens, as a text that outlives processes."""

from __future__ import annotations

import base64
import json
from typing import Any, Final, NamedTuple
from uuid import UUID

from holdfast.core.values.ids import JobId
from holdfast.errors import InvalidValue
from holdfast.store.tables.tail import Mark

LONGEST: Final = 8_000
_VERSION: Final = 1


class Cursor(NamedTuple):
    """How far a client has looked; while there is too much for one page, also how far in that."""

    since: Mark
    until: Mark | None = None
    job_after: JobId | None = None
    jobs_done: bool = False
    entry_after: tuple[int, JobId, int] | None = None

    def to_text(self) -> str:
        """Return an opaque text that `cursor_from_text` understands."""
        parts: list[Any] = [_VERSION, list(self.since)]
        if self.until is not None:
            parts += [list(self.until), self.job_after, self.jobs_done, self.entry_after]
        text = json.dumps(parts, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def cursor_from_text(text: str) -> Cursor:
    """Return the cursor of a text; raise `InvalidValue` for one that was not made here."""
    try:
        return _cursor(text)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise InvalidValue(
            "tail", field="since", value=text[:40], limit="the cursor of an event, as it was told"
        ) from None


def _cursor(text: str) -> Cursor:
    if len(text) > LONGEST:
        raise ValueError(text[:40])
    padded = text + "=" * (-len(text) % 4)
    version, since, *more = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if version != _VERSION:
        raise ValueError(version)
    return Cursor(_mark(since), *(_in_between(*more) if more else ()))


def _mark(values: object) -> Mark:
    if not isinstance(values, list) or not isinstance(values[0], str):
        raise TypeError
    if not all(type(value) is int for value in values[1:]):
        raise TypeError
    mark = Mark._make(values)
    if not mark.is_sound:
        raise ValueError
    return mark


def _in_between(
    until: object, job_after: object, jobs_done: object, entry_after: object
) -> tuple[Mark, JobId | None, bool, tuple[int, JobId, int] | None]:
    return _mark(until), _job_id(job_after), bool(jobs_done), _entry(entry_after)


def _job_id(value: object) -> JobId | None:
    return None if value is None else JobId(str(UUID(str(value))))


def _entry(value: object) -> tuple[int, JobId, int] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise TypeError
    number, job_id, revision = value
    if type(number) is not int or type(revision) is not int or not 0 <= number < 1 << 63:
        raise TypeError
    if not 0 <= revision < 1 << 31:
        raise ValueError
    return number, JobId(str(UUID(str(job_id)))), revision
