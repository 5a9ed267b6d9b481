"""What happens in all jobs, as it happens: events that can be picked up where they were left.

An event is sent once its change is committed, and once only: the cursor says what could be seen
when it was last looked. Only that an attempt began may be sent twice to a client that resumes, for
a claim is no entry of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.runtime.events.presentation import PresentationOf, plain
from holdfast.runtime.events.stream_event import StreamEvent, event_of_action, in_order, job_events
from holdfast.runtime.events.tail_cursor import Cursor, cursor_from_text
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import Store
from holdfast.store.tables.tail import Entered, Mark

PAGE: Final = 500
BEGUN_US: Final = 5 * SECOND_US
"""How long after it is said to have begun an attempt may be seen first."""


class Page(NamedTuple):
    """What happened next; with `more`, not all of it."""

    events: list[StreamEvent]
    cursor: Cursor
    more: bool


class Tail:
    """Reads what happened since a cursor, page by page; every page moves the cursor on.

    Events are called as `shown_as` has it for the pipeline of their job. Not for several threads
    at a time.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        since: str | Cursor | None = None,
        shown_as: PresentationOf = plain,
    ) -> None:
        self._store = store
        self._shown_as = shown_as
        self._rows = store.tail
        self._clock = clock
        if since is None:
            self._at = Cursor(self.mark())
        else:
            self._at = cursor_from_text(since) if isinstance(since, str) else since
        self._begun: dict[tuple[JobId, str, int, Instant], None] = {}
        self._begun_at_most = PAGE

    @property
    def cursor(self) -> str:
        """How far it has come; `since` of one that goes on from there."""
        return self._at.to_text()

    @property
    def at(self) -> Cursor:
        """The same, as a value."""
        return self._at

    def mark(self) -> Mark:
        """Return what can be seen now."""
        return self._rows.mark(self._clock.now)

    def read(self, *, limit: int = PAGE) -> list[StreamEvent]:
        """Return what happened since it was last read, oldest first; empty when nothing did.

        `limit` is for jobs and for entries of their histories alike; an entry may tell of two
        events.
        """
        while True:
            page = self.page(limit=limit)
            if page.events or not page.more:
                return page.events

    def page(self, *, until: Mark | None = None, limit: int = PAGE) -> Page:
        """Return the next page; with `until` nothing that was committed after that mark."""
        at, rows = self._at, self._rows
        since = Instant(at.since.at - BEGUN_US)
        # Before the mark: a job that is seen to run then is one that the mark shows.
        begun = rows.begun(since=since) if at.until is None else None
        until = at.until or until or self.mark()
        jobs = [] if at.jobs_done else rows.jobs(at.since, until, after=at.job_after, limit=limit)
        if len(jobs) == limit:
            # New jobs first: nobody hears of a job's end before its beginning.
            following = Cursor(at.since, until, job_after=jobs[-1].job_id)
            events = job_events(jobs, [], {}, shown_as=self._shown_as)
            return self._told(events, following, more=True)
        entries = rows.entries(at.since, until, after=at.entry_after, limit=limit)
        lines = [entered.line for entered in entries]
        whose = {job.job_id: job.whose for job in jobs}
        whose |= rows.whose({line.job_id for line in lines} - whose.keys())
        events = job_events(jobs, lines, whose, begun_since=since, shown_as=self._shown_as)
        if len(entries) == limit:
            following = Cursor(at.since, until, jobs_done=True, entry_after=_place(entries[-1]))
            return self._told(events, following, more=True)
        if begun is None:
            begun = rows.begun(since=since)
        events += [
            StreamEvent.of_begun(each, self._shown_as(each.whose.pipeline))
            for each in begun
            if each.at <= until.at
        ]
        events += [
            event
            for action in rows.actions(at.since, until, limit=limit)
            if (event := event_of_action(action)) is not None
        ]
        return self._told(events, Cursor(until), more=False)

    def _told(self, events: Iterable[StreamEvent], following: Cursor, *, more: bool) -> Page:
        """Move on; every event but the last leads back to the beginning of its page."""
        fresh = in_order(self._not_told_before(events))
        before, after = self._at.to_text(), following.to_text()
        told = [event._replace(cursor=before) for event in fresh]
        if told:
            told[-1] = told[-1]._replace(cursor=after)
        self._at = following
        self._forget_begun()
        return Page(told, following, more)

    def _not_told_before(self, events: Iterable[StreamEvent]) -> Iterable[StreamEvent]:
        for event in events:
            if event.begins and event.job_id is not None:
                key = (event.job_id, event.data["stage"], event.data["attempt"], event.at)
                if key in self._begun:
                    continue
                self._begun[key] = None
            yield event

    def _forget_begun(self) -> None:
        if len(self._begun) > self._begun_at_most:
            oldest = self._at.since.at - 2 * BEGUN_US
            self._begun = {key: None for key in self._begun if key[-1] >= oldest}
            self._begun_at_most = 2 * len(self._begun) + PAGE


def _place(entered: Entered) -> tuple[int, JobId, int]:
    return entered.number, entered.line.job_id, entered.line.revision
