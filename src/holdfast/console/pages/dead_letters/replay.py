"""Replays of groups of dead letters: how far they have come, and closing what they verified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from starlette.responses import Response

from holdfast.api.replay_runner import background_of
from holdfast.console import words
from holdfast.console.charts import charts
from holdfast.console.rendering.filters import parts_of, progress_words
from holdfast.console.rendering.rendering import ACT, LOOK, Console
from holdfast.console.requests.ask import REASON, Ask, Done, Field
from holdfast.console.requests.visit import Visit
from holdfast.core.dead_letter.dead_letter import Standing
from holdfast.core.dead_letter.replay import Item, ItemState, ReplayState
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import HoldfastError, UnknownLetter, UsageError
from holdfast.views.dead_letter import LetterView
from holdfast.views.replay import ReplayView

MOST: Final = 50
MAX_FAILURES: Final = 20
PAGE: Final = 100
MAX_RESOLVED: Final = 1_000
"""At most so many letters are closed by one answer; the rest takes another."""
_SENT: Final = frozenset({ItemState.SENT, ItemState.SUCCEEDED})
_HEADLINES: Final = {
    ReplayState.PLANNED: ("It is about to begin.", words.BUSY),
    ReplayState.CANARY: ("The canary is under way; the rest waits for its success.", words.BUSY),
    ReplayState.RUNNING: ("The canary has succeeded; the rest is being sent.", words.BUSY),
    ReplayState.STOPPED: ("It stopped by its own rule.", words.BAD),
    ReplayState.CANCELLED: ("Somebody ended it.", words.OVER),
}


def add_to(console: Console) -> None:
    """Route to the replays and to what may be done with one."""
    console.page("/replays", LOOK, lambda visit: replays(console, visit))
    console.page("/replays/{replay_id}", LOOK, lambda visit: replay_page(console, visit))
    console.action("/replays/{replay_id}/cancel", ACT, CancelReplay(console))
    console.action("/replays/{replay_id}/resolve", ACT, ResolveVerified(console))
    console.action("/replays/{replay_id}/rest", ACT, ReplayRest(console))


def replays(console: Console, visit: Visit) -> Response:
    """Return the latest replays, newest first."""
    return console.render(
        visit,
        "replays.html",
        screen="replays",
        replays=[
            console.shown_to(visit).replay(view)
            for view in console.engine.replays.latest(limit=MOST, owner=visit.owner)
        ],
    )


def replay_page(console: Console, visit: Visit) -> Response:
    """Return how far a replay has come."""
    engine, seen = console.engine, console.shown_to(visit)
    view = seen.replay(engine.replays.show(visit.part("replay_id"), owner=visit.owner))
    replay = view.replay
    after = visit.position("after") or 0
    items = seen.replayed(engine.replays.items(replay.id, after=after, limit=PAGE + 1))
    headline, tone = _headline(view)
    shown = items[:PAGE]
    rest = engine.replays.rest_of(replay.id, owner=visit.owner) if visit.operator else None
    return console.render(
        visit,
        "replay.html",
        screen="replays",
        view=view,
        replay=replay,
        headline=headline,
        verdict_tone=tone,
        detail=_detail(view),
        parts=parts_of(view.counts),
        picture=charts.share(parts_of(view.counts), label=progress_words(view.counts)),
        rate=f"{SECOND_US / replay.every_us:g} a second" if replay.every_us else "no limit",
        failures=_failures(console, visit, view),
        rest=rest,
        rest_at_once=rest is not None
        and bool(replay.reason)
        and _all_repeatable(console, visit, rest),
        items=shown,
        next_href=visit.href(after=str(shown[-1].position)) if len(items) > PAGE else None,
        verified=view.ended and _any_verified(console, view),
    )


class CancelReplay(NamedTuple):
    """Send nothing more."""

    console: Console

    def ask(self, visit: Visit) -> Ask:
        """Ask with the number of letters that were not sent yet."""
        view = self.console.engine.replays.show(visit.part("replay_id"), owner=visit.owner)
        return Ask(
            title=f"Stop replay {view.replay.name}?",
            sentences=["Nothing more is sent. What was sent goes on."],
            touches=f"This keeps back {words.plural(view.counts.pending, 'dead letter')}.",
            verb="Stop it",
            back=f"/replays/{view.id}",
            fields=[REASON],
            dangerous=True,
        )

    def do(self, visit: Visit) -> Done:
        """End it, unless it has ended by itself."""
        view = self.console.engine.replays.cancel(
            visit.part("replay_id"),
            by=visit.who.name,
            reason=visit.reason(),
            owner=visit.owner,
        )
        return Done(f"/replays/{view.id}", "replay-cancelled")


class ResolveVerified(NamedTuple):
    """Close the letters of a replay whose jobs are complete."""

    console: Console

    def ask(self, visit: Visit) -> Ask:
        """Ask with the number of letters that are verified."""
        view = self.console.engine.replays.show(visit.part("replay_id"), owner=visit.owner)
        count = sum(1 for _ in _verified(self.console, view))
        return Ask(
            title=f"Resolve what {view.replay.name} has verified?",
            sentences=["Their jobs were sent back and are complete."],
            touches=f"This closes {words.plural(count, 'dead letter')}.",
            verb="Resolve them",
            back=f"/replays/{view.id}",
            fields=[
                Field(
                    name="note",
                    label="How did it end?",
                    hint="Goes into the audit log of every letter.",
                    needed=True,
                )
            ],
            blocked=count == 0,
        )

    def do(self, visit: Visit) -> Done:
        """Resolve each; one that has moved meanwhile is left alone."""
        note = visit.text("note")
        view = self.console.engine.replays.show(visit.part("replay_id"), owner=visit.owner)
        resolved = 0
        for letter_id in _verified(self.console, view):
            try:
                self.console.engine.dead.resolve(letter_id, note=note, by=visit.who.name)
            except HoldfastError:
                continue
            resolved += 1
        return Done(f"/replays/{view.id}", "letters-resolved", resolved)


class ReplayRest(NamedTuple):
    """Replay what a replay that ended has not sent, on the same terms."""

    console: Console

    def ask(self, visit: Visit) -> Ask:
        """Ask with the number of letters that were not sent."""
        view, rest = self._rest(visit)
        return Ask(
            title=f"Replay the rest of {view.replay.name}?",
            sentences=["It goes on as before, with a canary first where there was one."],
            touches=f"This sends {words.plural(view.counts.pending, 'dead letter')}.",
            verb="Replay the rest",
            back=f"/replays/{view.id}",
            fields=[replace(REASON, value=view.replay.reason or "")],
            blocked=rest is None,
        )

    def do(self, visit: Visit) -> Done:
        """Start a replay of the same group; its letters were triaged for the first one."""
        view, rest = self._rest(visit)
        if rest is None:
            raise UsageError("all letters of this replay were sent; there is no rest to replay")
        replay = view.replay
        further = self.console.engine.replays.start(
            replay.name,
            rest,
            by=visit.who.name,
            reason=visit.reason(),
            canary=replay.canary,
            rate=SECOND_US / replay.every_us if replay.every_us else None,
            stop_after=replay.stop_after or None,
            from_start=replay.from_start,
            hand_over=True,
            owner=visit.owner,
        )
        background_of(visit.request.app).look()
        return Done(f"/replays/{further.id}", "replay-started")

    def _rest(self, visit: Visit) -> tuple[ReplayView, str | None]:
        replays = self.console.engine.replays
        view = replays.show(visit.part("replay_id"), owner=visit.owner)
        return view, replays.rest_of(view.id, owner=visit.owner)


class Failure(NamedTuple):
    """A letter that failed again, and of what."""

    position: int
    view: LetterView


def _failures(console: Console, visit: Visit, view: ReplayView) -> list[Failure]:
    """Return the letters that failed again with their new errors, as many as one looks at."""
    if not view.counts.failed_again:
        return []
    engine, seen = console.engine, console.shown_to(visit)
    found = []
    for item in engine.replays.failed_again(view.id, limit=MAX_FAILURES, owner=visit.owner):
        try:
            letter = engine.dead.get(item.letter_id, owner=visit.owner)
        except UnknownLetter:
            continue
        found.append(Failure(item.position, seen.letter(letter)))
    return found


def _all_repeatable(console: Console, visit: Visit, fingerprint: str) -> bool:
    """Return whether no letter of a group needs a person's word that it may be repeated."""
    replays, owner = console.engine.replays, visit.owner
    safe = replays.preview(fingerprint, readied=True, owner=owner)
    confirmed = replays.preview(fingerprint, readied=True, confirm_idempotent=True, owner=owner)
    return safe.ready == confirmed.ready


def _headline(view: ReplayView) -> tuple[str, str]:
    counts = view.counts
    if view.state is ReplayState.STOPPED and view.replay.note:
        return f"It stopped: {view.replay.note}.", words.BAD
    if view.state is not ReplayState.DONE:
        return _HEADLINES[view.state]
    if counts.failed_again:
        again = words.plural(counts.failed_again, "job")
        return f"Done, but {again} failed again.", words.BAD
    verified = words.plural(counts.succeeded, "job")
    return f"Verified: {verified} sent back and complete.", words.GOOD


def _detail(view: ReplayView) -> str:
    said = progress_words(view.counts)
    sentence = f"{said[:1].upper()}{said[1:]}." if said else ""
    note = view.replay.note
    if view.state is ReplayState.STOPPED and view.counts.pending:
        kept = words.plural(view.counts.pending, "letter")
        return f"{sentence} {kept} stayed where they were, and nothing more is sent."
    return f"{sentence} Because {note}.".strip() if note else sentence


def _any_verified(console: Console, view: ReplayView) -> bool:
    return next(_verified(console, view), None) is not None


def _verified(console: Console, view: ReplayView) -> Iterator[str]:
    """Yield letters of a replay that only wait for a note."""
    found = 0
    for item in _items(console, view):
        if item.state not in _SENT:
            continue
        try:
            letter = console.engine.dead.get(item.letter_id)
        except UnknownLetter:
            continue
        if letter.standing is Standing.VERIFIED:
            yield item.letter_id
            found += 1
            if found == MAX_RESOLVED:
                return


def _items(console: Console, view: ReplayView) -> Iterator[Item]:
    after = 0
    while page := console.engine.replays.items(view.id, after=after, limit=PAGE):
        yield from page
        after = page[-1].position
