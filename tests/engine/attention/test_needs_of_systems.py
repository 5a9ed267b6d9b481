"""What needs a person in a system, in the one list of that."""

import logging
from datetime import UTC, datetime

import pytest

from holdfast.engine.attention import Kind, Urgency
from holdfast.errors import InvalidValue
from holdfast.systems import Need

SINCE = datetime(2026, 1, 2, tzinfo=UTC)


def need(**options) -> Need:
    given = {
        "subject": "shop: returns",
        "sentence": "2 returns wait to be looked at",
        "advice": "Look at them.",
        "label": "Look at returns",
        "path": "/shop/returns",
        **options,
    }
    return Need(**given)


def test_what_a_system_says_is_in_the_list_ranked_by_urgency(app) -> None:
    app.submit("p")
    app.add_needs(lambda _: [need(count=2, since=SINCE, command="shop returns")])
    app.add_needs(lambda _: [need(subject="shop: fire", urgency="critical", whose="developer")])

    found = app.attention()

    assert [(each.kind, each.urgency) for each in found] == [
        (Kind.NO_WORKER, Urgency.CRITICAL),
        (Kind.SYSTEM, Urgency.CRITICAL),
        (Kind.SYSTEM, Urgency.WARNING),
    ]
    document = found[-1].to_document()
    assert document["action"] == {
        "label": "Look at returns",
        "path": "/shop/returns",
        "command": "shop returns",
        "asks": False,
    }
    assert (document["count"], document["since"]) == (2, "2026-01-02T00:00:00.000000Z")
    assert (document["whose"], document["page"]) == ("operator", "/shop/returns")


def test_it_gets_the_application_and_is_asked_each_time(app) -> None:
    app.add_needs(lambda seen: [need()] if seen is app and seen.jobs() else [])
    assert app.attention() == []

    app.submit("p", delay=3600)

    assert [each.kind for each in app.attention()] == [Kind.SYSTEM]


def test_a_system_that_fails_takes_nothing_from_the_list(app, caplog) -> None:
    app.submit("p")
    app.add_needs(lambda _: 1 / 0)
    with caplog.at_level(logging.ERROR, logger="holdfast.engine"):
        found = app.attention()

    assert [each.kind for each in found] == [Kind.NO_WORKER]
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("wrong", [{"urgency": "soon"}, {"whose": "me"}, {"path": "returns"}])
def test_a_need_that_makes_no_sense_is_refused(wrong) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        need(**wrong)
