"""What work left behind for a person: dead letters, deliveries, messages, stopped replays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from holdfast.core.dead_letter.replay import Replay
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.values.instant import SECOND_US
from holdfast.engine.attention.entry import Action, Attention, Kind, Urgency, are, number_of
from holdfast.engine.attention.read import Read
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.store.tables.deliveries import DeliveryStanding
from holdfast.views.dead_letter import advice_of
from holdfast.views.durations import span
from holdfast.views.explain.advice import UNSURE, Mover

STUCK_US: Final = 60 * SECOND_US
"""A message that is due for longer than this is taken by no relay."""
_CALLED_BY_NONE: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})
MAX_CAUSES: Final = 10
"""So many causes of dead letters have an entry of their own."""


def letters(
    groups: Sequence[LetterGroup], called: Mapping[tuple[str, str], str] = _CALLED_BY_NONE
) -> Iterator[Attention]:
    """Yield the causes for which dead letters wait, with the upstreams that their stages call."""
    for group in groups[:MAX_CAUSES]:
        said = f"{number_of(group.letters, 'dead letter')}: {_where(group, called)}. "
        said += f"Last: {group.message}"
        found = advice_of(group)
        whose, advice = found.mover, found.action
        kind, urgency = Kind.DEAD_LETTERS, Urgency.WARNING
        if group.escalated:
            kind, urgency, whose = Kind.ESCALATED, Urgency.CRITICAL, Mover.DEVELOPER
            back = number_of(group.escalated, "letter")
            said = f"{back} came back from a replay with the same error. {said}"
            advice = "Repeating does not cure it: show it to those who wrote the code."
        yield Attention(
            kind=kind,
            urgency=urgency,
            subject=group.fingerprint,
            sentence=said,
            whose=whose,
            advice=advice,
            action=_next_step(group, whose),
            page=f"/dead-letters?fingerprint={group.fingerprint}",
            count=group.letters,
            since=group.first_failure_at,
        )
    others = groups[MAX_CAUSES:]
    if others:
        letters = sum(group.letters for group in others)
        yield Attention(
            kind=Kind.DEAD_LETTERS,
            urgency=Urgency.WARNING,
            subject="others",
            sentence=f"{number_of(letters, 'dead letter')} of "
            f"{number_of(len(others), 'other cause')}.",
            whose=UNSURE.mover,
            advice=UNSURE.action,
            action=Action("All causes", "/groups", "holdfast dead groups"),
            page="/groups",
            count=letters,
            since=min(group.first_failure_at for group in others),
        )


def _where(group: LetterGroup, called: Mapping[tuple[str, str], str]) -> str:
    """Return what went wrong in which stage, and the upstream that it calls."""
    calls = {called.get((pipeline, group.stage)) for pipeline in group.pipelines} - {None}
    calling = f", which calls {', '.join(sorted(map(str, calls)))}" if calls else ""
    return f"{group.error_class} in stage {group.stage} of {', '.join(group.pipelines)}{calling}"


def _next_step(group: LetterGroup, whose: Mover) -> Action:
    """Return what the advice comes down to: a replay, unless that cannot cure it."""
    listed = f"/dead-letters?fingerprint={group.fingerprint}"
    if group.in_doubt:
        sample = group.sample_id
        command = f"holdfast deliveries list --job {sample} --state unknown"
        return Action("Look at it", f"/dead-letters/{sample}", command)
    if whose is Mover.SUBMITTER or group.escalated:
        return Action("Look at them", listed, f"holdfast dead list --group {group.fingerprint}")
    return Action(
        "Replay…",
        f"/groups/{group.fingerprint}/replay",
        f"holdfast dead replay --group {group.fingerprint} --preview",
        asks=True,
    )


def deliveries(unattended: Sequence[DeliveryStanding]) -> Iterator[Attention]:
    """Yield deliveries that a person has to decide about."""
    for provider, state, count, since in unattended:
        unknown = state is DeliveryState.UNKNOWN
        what = number_of(count, "delivery", "deliveries")
        page = f"/deliveries?state={state.value}"
        yield Attention(
            kind=Kind.DELIVERY_UNKNOWN if unknown else Kind.DELIVERY_FAILED,
            urgency=Urgency.WARNING,
            subject=provider,
            sentence=f"{what} by {provider} {are(count)} in doubt: nobody knows whether "
            f"{'it' if count == 1 else 'they'} arrived."
            if unknown
            else f"{what} by {provider} failed for good, and no dead letter says so.",
            whose=Mover.OPERATOR,
            advice="Find out whether it arrived; then mark it as sent, or have it sent again."
            if unknown
            else "Put right what the provider refused and have it sent again, or give it up.",
            action=Action(
                "Decide",
                page,
                f"holdfast deliveries list --state {state.value} --provider {provider}",
            ),
            page=page,
            count=count,
            since=since or None,
        )


def outbox(read: Read) -> Iterator[Attention]:
    """Yield messages that no relay takes, and those that were given up."""
    pending, oldest, failed = read.outbox
    due_at = read.message_due_at
    if pending and due_at is not None and read.now - due_at > STUCK_US:
        waits = span(read.now - (oldest or due_at))
        yield Attention(
            kind=Kind.OUTBOX_STUCK,
            urgency=Urgency.CRITICAL,
            subject="outbox",
            sentence=f"{number_of(pending, 'message')} {are(pending)} not going out, "
            f"the first for {waits}: no relay takes them.",
            whose=Mover.OPERATOR,
            advice="Start a relay, and see in its log that it reaches the broker.",
            action=Action("Look at the outbox", "/outbox", "holdfast -A module:app relay"),
            page="/outbox",
            count=pending,
            since=oldest,
        )
    if failed:
        yield Attention(
            kind=Kind.MESSAGE_FAILED,
            urgency=Urgency.WARNING,
            subject="outbox",
            sentence=f"{number_of(failed, 'message')} {'was' if failed == 1 else 'were'} given up: "
            "the broker did not take them.",
            whose=Mover.OPERATOR,
            advice="See what the broker said, put that right, then have them tried again.",
            action=Action(
                "Look at them", "/outbox?status=failed", "holdfast outbox list --status failed"
            ),
            page="/outbox?status=failed",
            count=failed,
        )


def replays(stopped: Sequence[tuple[Replay, int]]) -> Iterator[Attention]:
    """Yield replays that stopped before all letters were sent."""
    for replay, left in stopped:
        why = f": {replay.note}" if replay.note else ""
        yield Attention(
            kind=Kind.REPLAY_STOPPED,
            urgency=Urgency.WARNING,
            subject=replay.id,
            sentence=f"Replay {replay.name} stopped{why}. {number_of(left, 'letter')} "
            f"{'was' if left == 1 else 'were'} not sent.",
            whose=Mover.OPERATOR,
            advice="See why the first ones failed again; remove that, then replay the rest.",
            action=Action(
                "Look at it", f"/replays/{replay.id}", f"holdfast dead replays {replay.id}"
            ),
            page=f"/replays/{replay.id}",
            count=left,
            since=replay.updated_at,
        )
