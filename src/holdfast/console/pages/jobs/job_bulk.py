"""What is done to all jobs that match a filter."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import QueryParams

from holdfast.console.rendering.rendering import ACT, Console
from holdfast.console.requests.ask import REASON, Ask, Done, Field
from holdfast.console.requests.counting import Counted, counted
from holdfast.console.requests.job_query import INPUTS, JobQuery, job_query, retry_obstacle
from holdfast.console.requests.visit import Visit, whole_number
from holdfast.console.words import plural
from holdfast.core.job.job import ACTIVE, JobState
from holdfast.core.values.instant import Instant
from holdfast.engine.jobs.changes import Chunk
from holdfast.errors import ConflictError, UsageError
from holdfast.store.contract import JobFilter

MOST: Final = 10_000
"""At most so many jobs are touched by one answer; the rest takes another."""
CHUNK: Final = 500
MANY: Final = 100
"""More jobs than this are cancelled only with their number given."""
NO_FILTER: Final = "Narrow the list first: all active jobs at once cannot be cancelled."
LABELLED: Final = "Held jobs come and go: choose them by pipeline and stage instead."
UNCOUNTED: Final = "They could not be counted in time; narrow the list first."
_FROM_START: Final = Field(
    name="from_start",
    label="From the start",
    kind="check",
    hint="Instead of from the stage that failed. What earlier stages did is done again.",
)


class Bulk(NamedTuple):
    """An action on many jobs: its word, and the states it concerns."""

    console: Console
    word: Literal["retry", "cancel"]

    def ask(self, visit: Visit) -> Ask:
        """Ask with a count of the jobs that match now."""
        query, until = self._query(visit)
        total = Counted(0)
        if not query.matches_nothing and (wanted := self._narrowed(query)) is not None:
            total = counted(self.console.engine, wanted)
        which = "failed" if self.word == "retry" else "active"
        obstacle = self._obstacle(query, total)
        return Ask(
            title=f"{self.word.capitalize()} {which} jobs that match",
            sentences=[_described(query), *([obstacle] if obstacle else [])],
            touches=_touched(total, which),
            notes=[
                "Jobs that come to match later are left alone.",
                *(
                    ["A handler that runs is stopped, and its result refused."]
                    if self.word == "cancel"
                    else [
                        "Each goes on with the stage that failed, with a new budget.",
                        "Those that their pipeline does not let be retried are left alone.",
                    ]
                ),
            ],
            verb=f"{self.word.capitalize()} {'them' if total.more else total}",
            back="/jobs?" + query.pairs(),
            fields=[REASON, *([_FROM_START] if self.word == "retry" else self._typed(total))],
            hidden={
                "filter": query.pairs(),
                "until": str(until),
                "total": visit.said("total") or str(total.jobs),
            },
            dangerous=self.word == "cancel",
            blocked=total == Counted(0) or bool(obstacle),
        )

    def do(self, visit: Visit) -> Done:
        """Settle the matching jobs in parts; those made since the question was asked stay."""
        reason = visit.reason()
        query, until = self._query(visit)
        wanted = None if query.matches_nothing else self._narrowed(query)
        if wanted is None:
            raise ConflictError("no job matches any more; look at the list again")
        wanted = wanted._replace(created_until=Instant(until + 1))
        if query.label is not None:
            raise UsageError(LABELLED)
        self._check_typed(visit, query, wanted)
        changed, touched, before = 0, 0, None
        refused: Counter[str] = Counter()
        while touched < MOST:
            chunk = self._part(visit, wanted, reason, before)
            changed += chunk.changed
            touched += chunk.matched
            refused.update(chunk.refused)
            before = chunk.before
            if before is None:
                break
        if refused and not changed:
            raise ConflictError(f"no job was retried: {refused.most_common(1)[0][0]}")
        word = "jobs-cancelled"
        if self.word == "retry":
            word = "some-jobs-retried" if refused else "jobs-retried"
        return Done("/jobs?" + query.pairs(), word, changed)

    def _obstacle(self, query: JobQuery, total: Counted) -> str:
        """Return why nothing can be done, as a sentence; empty where it can."""
        if query.label is not None:
            return LABELLED
        if self.word == "retry":
            return retry_obstacle(self.console.engine, query)
        if not query.filtered:
            return NO_FILTER
        return UNCOUNTED if total.more and not total.jobs else ""

    def _typed(self, total: Counted) -> list[Field]:
        """Return the field for the number of jobs, where there are many."""
        if total.jobs <= MANY:
            return []
        label = f"Type {total.jobs} to confirm"
        hint = "The number of jobs that match. It cannot be undone."
        return [Field(name="typed", label=label, kind="number", hint=hint, needed=True)]

    def _check_typed(self, visit: Visit, query: JobQuery, wanted: JobFilter) -> None:
        """Raise unless the number of jobs was typed, where there are many."""
        if self.word == "retry":
            return
        if not query.filtered:
            raise UsageError(NO_FILTER)
        now = counted(self.console.engine, wanted)
        if now.jobs <= MANY and not now.more:
            return
        asked = whole_number(visit.said("total") or "") or now.jobs
        if whole_number(visit.said("typed") or "") != asked:
            raise UsageError(f"Type the number of jobs, {asked}, to confirm; nothing was changed.")

    def _part(self, visit: Visit, wanted: JobFilter, reason: str, before: str | None) -> Chunk:
        engine, by = self.console.engine, visit.who.name
        if self.word == "cancel":
            return engine.cancel_many(wanted, by=by, reason=reason, before=before, limit=CHUNK)
        return engine.retry_many(
            wanted,
            by=by,
            reason=reason,
            from_start=visit.ticked("from_start"),
            before=before,
            limit=CHUNK,
        )

    def _query(self, visit: Visit) -> tuple[JobQuery, Instant]:
        """Return what is asked for: by the address, or by the form that was made of it."""
        now = self.console.engine.clock.now()
        until = whole_number(visit.said("until") or "")
        if "filter" not in visit.form:
            return job_query(visit, now), now
        frozen = _With(visit.request, visit.who, visit.csrf, visit.form)
        return job_query(frozen, now), now if until is None else Instant(until)

    def _narrowed(self, query: JobQuery) -> JobFilter | None:
        """Return the filter for the states that the action concerns; None when there are none."""
        states = {JobState.FAILED} if self.word == "retry" else ACTIVE
        chosen = tuple(state for state in query.wanted.states or JobState if state in states)
        return query.wanted._replace(states=chosen) if chosen else None


class _With(Visit):
    """A visit whose address is the one that the form remembers."""

    @property
    def query(self) -> QueryParams:
        """What stood behind the question mark when it was asked."""
        return QueryParams(parse_qsl(self.form.get("filter", ""), keep_blank_values=True))


def add_to(console: Console) -> None:
    """Route to the actions."""
    console.action("/jobs/bulk/retry", ACT, Bulk(console, "retry"))
    console.action("/jobs/bulk/cancel", ACT, Bulk(console, "cancel"))


def _touched(total: Counted, which: str) -> str:
    if not total.more:
        return f"This touches {plural(total.jobs, f'{which} job')}."
    many = f"{MOST:,} jobs or more" if total.jobs else "more jobs than could be counted in time"
    return f"This touches {many}; the newest {MOST:,} at a time."


def _described(query: JobQuery) -> str:
    wanted = query.wanted
    said = [f"{label.lower()} is {getattr(wanted, name)}" for name, label in INPUTS]
    told = [text for text, (name, _) in zip(said, INPUTS, strict=True) if getattr(wanted, name)]
    if wanted.states:
        told.insert(0, "state is " + " or ".join(wanted.states))
    if query.within:
        told.append("made lately")
    return "Jobs whose " + ", ".join(told) + "." if told else "All jobs, whatever they are."
