"""Replays of many dead letters: look first, send a few, then the rest at a rate, and stop early."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Final

from holdfast.core.dead_letter.dead_letter import (
    WAITING,
    Cause,
    DeadLetter,
    LetterState,
)
from holdfast.core.dead_letter.replay import (
    ENDED,
    Item,
    ItemState,
    Replay,
    ReplayState,
    Run,
    run_of_seen,
)
from holdfast.core.job.decision import Kind
from holdfast.core.job.event import Event, RetryRequested
from holdfast.core.job.job import Job
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH
from holdfast.core.values.ids import IdSequence, JobId
from holdfast.core.values.instant import SECOND_US
from holdfast.engine.arguments import PAGE, asked, checked_limit
from holdfast.engine.dead_letters.dead_letters import DeadLetters, Settle
from holdfast.engine.dead_letters.replay_terms import (
    DEFAULT_CANARY,
    DEFAULT_RATE,
    DEFAULT_STOP_AFTER,
    BulkTriage,
    checked_count,
    every_us,
    readied_by,
)
from holdfast.engine.dead_letters.selection import matching, nothing_to_send, why_not
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import (
    ConflictError,
    PipelineNeeded,
    RetryRefused,
    UnavailableError,
    UnknownJob,
    UnknownReplay,
    UsageError,
)
from holdfast.runtime.kernel.clock import Chance, Clock, monotonic_s, sleep_s
from holdfast.runtime.maintenance.replayer import Replayer
from holdfast.secrecy import safe_text
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.store.tables.replays import HANDED_OVER, SUBJECT, Frozen
from holdfast.views.replay import Preview, ReplayView

SAMPLE: Final = 5
TRIES: Final = 8
OUTAGE_S: Final = 60.0
"""How long a database that cannot be reached is waited for."""
_OUTAGE_POLL_S: Final = 1.0
_ID_BITS: Final = 62

_SENT_BACK: Final = "somebody else sent its job back"


class Replays:
    """The replays of a store."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        chance: Chance,
        settle: Settle,
        dead: DeadLetters,
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._settle = settle
        self._dead = dead
        self._ids = IdSequence()

    def preview(
        self,
        wanted: LetterFilter | str,
        *,
        confirm_idempotent: bool = False,
        readied: bool = False,
        owner: str | None = None,
    ) -> Preview:
        """Return what a replay of these letters would do, and change nothing.

        `wanted` is a filter or a fingerprint. With `readied`, letters that have yet to be triaged
        and remediated count as if they were. With `owner`, here and in what follows, letters and
        replays of others are as unknown as those that are not there.
        """
        letters, ready = 0, 0
        counters: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
        skipped: Counter[str] = Counter()
        first: list[DeadLetter] = []
        for letter, job in matching(self._store(), wanted, owner):
            letters += 1
            why = why_not(letter, job, confirmed=confirm_idempotent, readied=readied)
            if why is not None:
                skipped[why] += 1
                continue
            ready += 1
            for counter, name in zip(
                counters, (letter.pipeline, letter.stage, letter.error_class), strict=True
            ):
                counter[name] += 1
            # The newest come first here, and the oldest are sent first.
            first = [letter, *first[: SAMPLE - 1]]
        pipelines, stages, classes = (dict(counter.most_common()) for counter in counters)
        return Preview(
            letters,
            ready,
            pipelines,
            stages,
            classes,
            dict(skipped.most_common()),
            first=tuple(first),
        )

    def start(
        self,
        name: str,
        wanted: LetterFilter | str,
        *,
        by: str,
        reason: str | None = None,
        canary: int = DEFAULT_CANARY,
        rate: float | None = DEFAULT_RATE,
        stop_after: int | None = DEFAULT_STOP_AFTER,
        from_start: bool = False,
        confirm_idempotent: bool = False,
        cause: Cause | str | None = None,
        evidence: str | None = None,
        hand_over: bool = False,
        owner: str | None = None,
    ) -> ReplayView:
        """Freeze the list of matching letters, the oldest first; nothing is sent before `run`.

        `wanted` is a filter or a fingerprint; letters that die later are not in the list. `canary`
        letters have to succeed before the rest is sent, `rate` a second (None: as fast as jobs end,
        or at once if nothing stops it), until `stop_after` jobs have failed again (None: never).
        With `cause` and `evidence` every letter that has yet to be triaged or remediated is, by
        these words. With `hand_over` the replay is for the server to run; see `handed_over`.
        """
        who, why = asked("replay", by, reason)
        now = self._clock.now()
        replay = Replay(
            id=self._ids.next(now=now, chance=self._chance.bits(_ID_BITS)),
            name=safe_text(checked_text("replay", field="name", text=name), MAX_MESSAGE_LENGTH),
            asked_by=who,
            reason=why,
            created_at=now,
            updated_at=now,
            revision=0,
            state=ReplayState.PLANNED,
            from_start=from_start,
            canary=checked_count("canary", canary),
            every_us=every_us(rate),
            stop_after=0 if stop_after is None else checked_count("stop_after", stop_after, 1),
            last_sent_at=None,
            note=None,
            owner=owner,
        )
        readied = readied_by(cause, evidence, who)
        letters = [
            self._frozen(letter, job, confirmed=confirm_idempotent, readied=readied)
            for letter, job in matching(self._store(), wanted, owner)
        ]
        letters.reverse()
        if all(letter.note is not None for letter in letters):
            raise UsageError(nothing_to_send(letters))
        terms = {"name": replay.name, "canary": canary, "rate": rate, "stop_after": stop_after}
        entry = AuditEntry(now, who, "planned", SUBJECT, replay.id, replay.reason, detail=terms)
        handed = AuditEntry(now, who, HANDED_OVER, SUBJECT, replay.id) if hand_over else None
        self._store().replays.create(replay, letters, audit=entry, handed_over=handed)
        return self.show(replay.id)

    def run(
        self, replay_id: str, *, on_progress: Callable[[ReplayView], None] = lambda _view: None
    ) -> ReplayView:
        """Take a replay to its end and return how it ended; also one that was broken off.

        It may be ended at any point, and run again by anybody, also by several at once: every
        letter is sent once. Workers have to run elsewhere. `on_progress` is called whenever
        something has changed.
        """
        replayer = self.replayer(replay_id)
        told: ReplayView | None = None
        reachable_s = monotonic_s()
        while True:
            try:
                now = self._clock.now()
                until = replayer.tick(now)
                view = self.show(replay_id)
                reachable_s = monotonic_s()
            except UnavailableError:
                if monotonic_s() - reachable_s > OUTAGE_S:
                    raise
                sleep_s(_OUTAGE_POLL_S)
                continue
            if view != told:
                told = view
                on_progress(view)
            if replayer.over:
                return view
            if until > now:
                sleep_s(max(until - self._clock.now(), 0) / SECOND_US)

    def resume(
        self, replay_id: str, *, on_progress: Callable[[ReplayView], None] = lambda _view: None
    ) -> ReplayView:
        """Run a replay that has not ended."""
        self._open_one(replay_id, "resume")
        return self.run(replay_id, on_progress=on_progress)

    def advance(self, replay_id: str) -> ReplayView:
        """Take the steps that are due now, wait for nothing, and return how the replay stands."""
        replayer = self.replayer(replay_id)
        now = self._clock.now()
        while not replayer.over and replayer.tick(now) <= now:
            pass
        return self.show(replay_id)

    def cancel(
        self, replay_id: str, *, by: str, reason: str | None = None, owner: str | None = None
    ) -> ReplayView:
        """Send nothing more; what was sent goes on."""
        who, why = asked("cancel", by, reason)
        for _ in range(TRIES):
            replay = self._open_one(replay_id, "cancel", owner)
            now = self._clock.now()
            cancelled = replay._replace(state=ReplayState.CANCELLED, note=why, updated_at=now)
            entry = AuditEntry(now, who, "cancelled", SUBJECT, replay.id, why)
            if self._store().replays.advance(cancelled, audit=[entry]) is not None:
                return self.show(replay_id)
        raise ConflictError(f"replay {replay_id} moves on all the time; cancel it again")

    def hand_over(self, replay_id: str, *, by: str, owner: str | None = None) -> ReplayView:
        """Leave a replay that has not ended to the server, which goes on with it.

        One that was handed over before stays so, and nothing is written.
        """
        who, _ = asked("hand over", by, None)
        for _ in range(TRIES):
            replay = self._open_one(replay_id, "hand over", owner)
            if any(each.id == replay.id for each in self.handed_over()):
                return self.show(replay_id)
            now = self._clock.now()
            entry = AuditEntry(now, who, HANDED_OVER, SUBJECT, replay.id)
            moved = replay._replace(updated_at=now)
            if self._store().replays.advance(moved, audit=[entry]) is not None:
                return self.show(replay_id)
        raise ConflictError(f"replay {replay_id} moves on all the time; hand it over again")

    def handed_over(self) -> list[Replay]:
        """Return the replays for the server that have not ended, the oldest first."""
        return self._store().replays.handed_over()

    def replayer(self, replay_id: str) -> Replayer:
        """Return what takes a replay to its end turn by turn; any number may run one replay."""
        return Replayer(self._store(), self._get(replay_id).id, send_back=self._send_back)

    def show(self, replay_id: str, *, owner: str | None = None) -> ReplayView:
        """Read a replay and how its letters stand, or raise `UnknownReplay`."""
        replay = self._get(replay_id, owner)
        return ReplayView(replay, self._store().replays.counts(replay.id))

    def items(
        self, replay_id: str, *, after: int = 0, limit: int = PAGE, owner: str | None = None
    ) -> list[Item]:
        """Return letters of the list behind the position `after`, in order."""
        replay = self._get(replay_id, owner)
        return self._store().replays.items(replay.id, after=after, limit=limit)

    def failed_again(
        self, replay_id: str, *, limit: int = PAGE, owner: str | None = None
    ) -> list[Item]:
        """Return letters of the list whose jobs failed again, in order."""
        replay = self._get(replay_id, owner)
        rows = self._store().replays
        known = [seen.item for seen in rows.seen(replay.id, ItemState.FAILED_AGAIN, limit=limit)]
        # Those that nobody has looked at since they failed are still marked as sent.
        sent = rows.seen(replay.id, ItemState.SENT)
        fresh = [seen.item for seen in sent if run_of_seen(seen) is Run.FAILED_AGAIN]
        return sorted([*known, *fresh])[:limit]

    def rest_of(self, replay_id: str, *, owner: str | None = None) -> str | None:
        """Return the group whose letters an ended replay has not sent; None when none are left."""
        replay = self._get(replay_id, owner)
        if replay.state not in ENDED:
            return None
        for seen in self._store().replays.seen(replay.id, ItemState.PENDING, limit=1):
            letter = self._store().letters.get(seen.item.letter_id)
            return None if letter is None or letter.state not in WAITING else letter.fingerprint
        return None

    def latest(
        self, *, before: str | None = None, limit: int = PAGE, owner: str | None = None
    ) -> list[ReplayView]:
        """Return the latest replays, newest first; the last id is `before` of the next page."""
        rows = self._store().replays
        page = rows.latest(before=before, limit=checked_limit("replays", limit), owner=owner)
        return [ReplayView(replay, rows.counts(replay.id)) for replay in page]

    def _get(self, replay_id: str, owner: str | None = None) -> Replay:
        replay = self._store().replays.get(replay_id, owner=owner)
        if replay is None:
            raise UnknownReplay(replay_id)
        return replay

    def _open_one(self, replay_id: str, action: str, owner: str | None = None) -> Replay:
        replay = self._get(replay_id, owner)
        if replay.state in ENDED:
            raise ConflictError(
                f"cannot {action} replay {replay.id}: it is {replay.state}; "
                "letters that still wait can be sent by a new one"
            )
        return replay

    def _frozen(
        self, letter: DeadLetter, job: Job | None, *, confirmed: bool, readied: BulkTriage | None
    ) -> Frozen:
        """Return a letter for the list; what is said about all of them is said about it now."""
        why = why_not(letter, job, confirmed=confirmed, readied=readied is not None)
        if why is None and readied is not None and letter.state is not LetterState.REMEDIATED:
            cause, evidence, by = readied
            if not self._dead.ready(letter, cause=cause, evidence=evidence, by=by):
                why = "somebody else has just changed it"
        return Frozen(letter.id, 0 if job is None else job.retries, why)

    def _send_back(self, replay: Replay, item: Item) -> str | None:
        """Send a job back unless it was since the list was frozen; return why it cannot be."""
        reason = reason_of(replay)

        def once(job: Job) -> Event:
            if job.retries != item.retries:
                raise _WasSentBack
            if replay.owner is not None and job.owner != replay.owner:
                # Whose job it is counts when it is sent, whatever was true of the list.
                raise UnknownJob(job.id)
            return RetryRequested(replay.asked_by, reason, replay.from_start)

        try:
            settled = self._settle(item.letter_id, once)
        except _WasSentBack:
            return None if self._was_ours(item, reason) else _SENT_BACK
        except UnknownJob:
            return "its job is no longer there"
        except RetryRefused as error:
            return error.reason
        except PipelineNeeded as error:
            return str(error)
        return None if settled.ignored is None else settled.ignored.why

    def _was_ours(self, item: Item, reason: str) -> bool:
        """Return whether another runner of the same replay was first."""
        ledger = self._store().ledger(JobId(item.letter_id))
        returns = [line.entry for line in ledger if line.entry.kind is Kind.REVIVED]
        if len(returns) <= item.retries:
            return False
        detail = json.loads(returns[item.retries].detail or "{}")
        return bool(detail.get("reason") == reason)


class _WasSentBack(Exception):
    """The job was sent back since the list was frozen."""


def reason_of(replay: Replay) -> str:
    """Return the reason that the history of every job of a replay gives."""
    why = replay.name if replay.reason is None else f"{replay.name}: {replay.reason}"
    return safe_text(f"replay {replay.id}, {why}", MAX_MESSAGE_LENGTH)
