"""Failure groups: dead letters by their cause, and the replay of a whole group."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from starlette.responses import Response

from holdfast.api.replay_runner import background_of
from holdfast.console import words
from holdfast.console.charts import charts
from holdfast.console.pages.dead_letters.letter import cause_field
from holdfast.console.rendering.rendering import ACT, LOOK, Console
from holdfast.console.requests.ask import Ask, Done, Field
from holdfast.console.requests.visit import Visit
from holdfast.core.dead_letter.dead_letter import Cause
from holdfast.engine.dead_letters.replay_terms import (
    DEFAULT_CANARY,
    DEFAULT_RATE,
    DEFAULT_STOP_AFTER,
)
from holdfast.errors import UnknownLetter
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.views.disclosure import Disclosure
from holdfast.views.explain.advice import MOVERS
from holdfast.views.replay import Preview

MOST: Final = 100
SHOWN_REPLAYS: Final = 5
_LONGEST_NAME: Final = 120


def add_to(console: Console) -> None:
    """Route to the groups and to replaying one."""
    console.page("/groups", LOOK, lambda visit: groups(console, visit))
    console.action("/groups/{fingerprint}/replay", ACT, GroupReplay(console))


def groups(console: Console, visit: Visit) -> Response:
    """Return the causes for which letters wait, the one with most letters first."""
    engine, shown = console.engine, console.shown_to(visit)
    return console.render(
        visit,
        "groups.html",
        screen="groups",
        groups=group_lines(engine.dead.groups(limit=MOST, owner=visit.owner), shown),
        movers=MOVERS,
        replays=[
            shown.replay(view)
            for view in engine.replays.latest(limit=SHOWN_REPLAYS, owner=visit.owner)
        ],
    )


def group_lines(found: list[LetterGroup], shown: Disclosure) -> list[dict[str, Any]]:
    """Return groups as rows show them, drawn to one scale."""
    most = max((group.letters for group in found), default=0)
    return [
        {
            **shown.group(group)._asdict(),
            "error_code": shown.group_error(group).error_code,
            "advice": shown.group_advice(group),
            "bar": charts.share([charts.Part("letters", "bad", group.letters)], whole=most),
        }
        for group in found
    ]


def group_of(console: Console, fingerprint: str, owner: str | None) -> LetterGroup | None:
    """Return the group of a fingerprint, if letters of it still wait."""
    found = console.engine.dead.groups(limit=1, owner=owner, fingerprint=fingerprint)
    return found[0] if found else None


class GroupReplay(NamedTuple):
    """Replay all letters of a group: a canary first, then the rest at a rate."""

    console: Console

    def ask(self, visit: Visit) -> Ask:
        """Ask with a preview: how many would be sent, and why others would not."""
        fingerprint = visit.part("fingerprint")
        engine = self.console.engine
        confirmed = visit.ticked("confirm_idempotent")
        safe = engine.replays.preview(fingerprint, readied=True, owner=visit.owner)
        all_of_them = engine.replays.preview(
            fingerprint, readied=True, confirm_idempotent=True, owner=visit.owner
        )
        group = group_of(self.console, fingerprint, visit.owner)
        ready = all_of_them if confirmed else safe
        return Ask(
            title=f"Replay {group.error_class}?" if group else "Replay this group?",
            sentences=_sentences(group, safe),
            touches=f"This sends {words.plural(ready.ready, 'dead letter')} of {ready.letters}.",
            notes=[_left_out(why, count) for why, count in safe.skipped.items()],
            verb="Start the replay",
            back=f"/dead-letters?fingerprint={fingerprint}" if group else "/groups",
            fields=_fields(
                likely=self._likely(group, visit.owner),
                needs_word=all_of_them.ready > safe.ready,
            ),
            blocked=all_of_them.ready == 0,
        )

    def do(self, visit: Visit) -> Done:
        """Freeze the list, start it, and leave it to this process to go on with."""
        engine, fingerprint = self.console.engine, visit.part("fingerprint")
        evidence = visit.text("evidence")
        group = group_of(self.console, fingerprint, visit.owner)
        canary = visit.count("canary")
        view = engine.replays.start(
            _name_of(group, fingerprint),
            fingerprint,
            by=visit.who.name,
            reason=evidence,
            canary=DEFAULT_CANARY if canary is None else canary,
            rate=visit.number("rate"),
            stop_after=visit.count("stop_after"),
            from_start=visit.ticked("from_start"),
            confirm_idempotent=visit.ticked("confirm_idempotent"),
            cause=visit.text("cause"),
            evidence=evidence,
            hand_over=True,
            owner=visit.owner,
        )
        background_of(visit.request.app).look()
        return Done(f"/replays/{view.id}", "replay-started")

    def _likely(self, group: LetterGroup | None, owner: str | None) -> Cause | None:
        """Return the cause to offer first: what was said of the latest letter, or fits it."""
        if group is None:
            return None
        try:
            view = self.console.engine.dead.get(group.sample_id, owner=owner)
        except UnknownLetter:
            return None
        return view.letter.cause or (None if view.advice is None else view.advice.cause)


def _left_out(why: str, count: int) -> str:
    return f"{count} left out{' because' if count == 1 else ', each because'} {why}."


def _sentences(group: LetterGroup | None, preview: Preview) -> list[str]:
    said = ["Each job goes back to the stage that failed, with a new budget of attempts."]
    if group is not None:
        said.insert(0, f"{group.stage} of {', '.join(group.pipelines)}: {group.message}")
    if preview.first:
        said.append("The oldest are sent first; the rest waits until the canary has succeeded.")
    return said


def _fields(*, likely: Cause | None, needs_word: bool) -> list[Field]:
    fields = [
        Field(
            name="evidence",
            label="How do you know that the cause is gone?",
            hint="What you fixed, and what shows it: the reason in the audit log, and the evidence "
            "in the audit log of every letter.",
            needed=True,
        ),
        cause_field("Cause", likely),
        Field(
            name="canary",
            label="Canary",
            kind="number",
            value=DEFAULT_CANARY,
            hint="So many have to succeed first.",
        ),
        Field(
            name="rate",
            label="Letters a second",
            kind="number",
            value=f"{DEFAULT_RATE:g}",
            step="any",
            hint="Empty: as fast as can be.",
        ),
        Field(
            name="stop_after",
            label="Stop after",
            kind="number",
            value=DEFAULT_STOP_AFTER,
            least=1,
            hint="Jobs that fail again. Empty: never.",
        ),
    ]
    if needs_word:
        fields.append(
            Field(
                name="confirm_idempotent",
                label="Their stages may be repeated without harm",
                kind="check",
                hint="Some of the jobs have no idempotency key. Unticked, they are left out.",
            )
        )
    return fields


def _name_of(group: LetterGroup | None, fingerprint: str) -> str:
    name = fingerprint if group is None else f"{group.error_class} in {group.stage}"
    return name[:_LONGEST_NAME]
