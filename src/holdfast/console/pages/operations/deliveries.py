"""Deliveries: who is to be notified, how far that is, and what a person decides in doubt."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from holdfast.console import words
from holdfast.console.rendering.filters import short_id
from holdfast.console.rendering.rendering import ACT, LOOK, Console
from holdfast.console.requests.ask import REASON, Ask, Done
from holdfast.console.requests.tabs import tabs
from holdfast.console.requests.visit import Visit
from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.event import Word
from holdfast.errors import InvalidValue, UsageError
from holdfast.secrecy import redacted
from holdfast.store.tables.deliveries import DeliveryFilter
from holdfast.views.delivery import DeliveryView
from holdfast.views.explain.delivery import situation
from holdfast.views.explain.sentence import facts

PAGE: Final = 50
_STATES: Final = (
    ("All", None),
    *((words.spoken(state).capitalize(), state.value) for state in DeliveryState),
)
_WORDS: Final = {
    Word.SENT: ("Mark as sent", "The recipient has been told. It is not sent again.", False),
    Word.RESEND: ("Send again", "It is sent, though the recipient may be told twice.", False),
    Word.FAIL: ("Do not send", "The recipient is not to be told, and never will be.", True),
}
_OFFERED: Final = {
    DeliveryState.INTENT: (Word.SENT, Word.RESEND, Word.FAIL),
    DeliveryState.SENDING: (),
    DeliveryState.SENT: (),
    DeliveryState.FAILED: (Word.FAIL, Word.SENT, Word.RESEND),
    DeliveryState.UNKNOWN: (Word.FAIL, Word.RESEND, Word.SENT),
}


def add_to(console: Console) -> None:
    """Route to the list, to a delivery, and to what a person says about it."""
    console.page("/deliveries", LOOK, lambda visit: deliveries(console, visit))
    console.page("/deliveries/{delivery_id}", LOOK, lambda visit: delivery_page(console, visit))
    for word in Word:
        console.action(f"/deliveries/{{delivery_id}}/{word}", ACT, Resolve(console, word))


def deliveries(console: Console, visit: Visit) -> Response:
    """Return matching deliveries, newest first."""
    engine, trouble = console.engine, None
    found: list[DeliveryView] = []
    try:
        wanted = _wanted(visit)
        found = engine.deliveries.find(
            wanted, before=visit.asked("before"), limit=PAGE + 1, owner=visit.owner
        )
    except UsageError as error:
        trouble = str(error)
    shown = [console.shown_to(visit).delivery(view) for view in found[:PAGE]]
    return console.render(
        visit,
        "deliveries.html",
        screen="deliveries",
        status=200 if trouble is None else 422,
        deliveries=shown,
        counts=_counts(console) if visit.owner is None else [],
        filtered=visit.asked("state") is not None,
        tabs=tabs(visit, "state", _STATES),
        next_href=visit.href(before=shown[-1].id) if len(found) > PAGE else None,
        first_href=visit.href(before=None) if visit.asked("before") else None,
        trouble=trouble,
    )


def delivery_page(console: Console, visit: Visit) -> Response:
    """Return a delivery with its log and what was done about it."""
    found = console.engine.deliveries.show(visit.part("delivery_id"), owner=visit.owner)
    report = console.shown_to(visit).delivery_report(found)
    view, row = report.view, report.view.delivery
    return console.render(
        visit,
        "delivery.html",
        screen="deliveries",
        view=view,
        row=row,
        says=" ".join(facts(situation(view))),
        moves=[
            (word.value, f"{_WORDS[word][0]}…", "danger" if _WORDS[word][2] else "")
            for word in _OFFERED[view.state]
        ],
        facts=_facts(view, row),
        moments=[
            ("Made", row.created_at),
            ("Due", row.run_at if view.state is not DeliveryState.SENT else None),
            ("Send began", row.began_at),
            ("Accepted", row.notified_at),
            ("Last confirmed", row.checked_at),
        ],
        log=report.log,
        actions=report.actions,
    )


class Resolve(NamedTuple):
    """What a person says became, or is to become, of a delivery."""

    console: Console
    word: Word

    def ask(self, visit: Visit) -> Ask:
        """Ask about the delivery as it stands."""
        delivery_id = visit.part("delivery_id")
        view = self.console.engine.deliveries.get(delivery_id, owner=visit.owner)
        button, means, dangerous = _WORDS[self.word]
        return Ask(
            title=f"{button}: {short_id(view.id)}?",
            sentences=[*facts(situation(view)), means],
            touches=f"This touches 1 delivery, to {view.recipient}.",
            verb=button,
            back=f"/deliveries/{view.id}",
            fields=[REASON],
            dangerous=dangerous,
        )

    def do(self, visit: Visit) -> Done:
        """Say it, unless the delivery has moved."""
        view = self.console.engine.deliveries.resolve(
            visit.part("delivery_id"),
            self.word,
            by=visit.who.name,
            reason=visit.reason(),
            owner=visit.owner,
        )
        return Done(f"/deliveries/{view.id}", f"delivery-{self.word}")


def _wanted(visit: Visit) -> DeliveryFilter:
    state = visit.asked("state")
    if state is None:
        return DeliveryFilter(provider=visit.asked("provider"))
    try:
        return DeliveryFilter(states=(DeliveryState(state),), provider=visit.asked("provider"))
    except ValueError:
        known = ", ".join(DeliveryState)
        raise InvalidValue(
            "deliveries", field="state", value=state, limit=f"one of {known}"
        ) from None


def _counts(console: Console) -> list[tuple[str, int]]:
    found = console.engine.deliveries.counts()
    return [
        (f"{provider}: {state.value}", count)
        for provider, states in sorted(found.items())
        for state, count in sorted(states.items())
    ]


def _facts(view: DeliveryView, row: Delivery) -> list[tuple[str, object]]:
    return [
        ("Recipient", view.recipient),
        ("Subject", redacted(row.subject)),
        ("Version", row.version),
        ("Provider", row.provider),
        ("Sends", row.attempts),
        ("Lookups in vain", row.lookups),
        ("Required", "yes" if row.required else "no"),
        ("Provider's id", row.notification_id or "—"),
    ]
