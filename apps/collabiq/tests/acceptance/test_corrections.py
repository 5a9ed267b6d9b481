"""Mails that are sent in, and what people say about rows."""

import hashlib

import pytest

from apps.collabiq.tests.world import World, mail
from collabiq.emails.submitting import correct, receive
from collabiq.refusals import WrongState

TEXT = "Lumenkit and Orchard Retail agreed on a pilot on 2026-11-03."


def send_in(world: World) -> str:
    """Send a mail in, and return its id."""
    raw = mail("Lumenkit x Orchard Retail", TEXT)
    email_id = hashlib.sha256(raw).hexdigest()
    assert receive(world.engine, raw, email_id=email_id, mailbox="collab@example.com")
    assert not receive(world.engine, raw, email_id=email_id, mailbox="collab@example.com")
    return email_id


def corrected(world: World, email_id: str) -> dict:
    """Return what was found in a mail, with another name in it."""
    found = world.engine.results(world.email(email_id).job_id or "")["gemini_extract"]
    return {**found, "startup_name": "Brightfold"}


def test_a_mail_that_is_sent_in_becomes_a_row(world: World):
    email_id = send_in(world)
    world.run()

    assert world.page_of(email_id)["id"] == world.email(email_id).page_id
    assert world.email(email_id).startup_name == "Lumenkit"


def test_a_correction_changes_the_row_and_nobody_has_to_look_at_it_any_more(world: World):
    email_id = send_in(world)
    world.run()
    page_id = world.email(email_id).page_id
    correct(world.engine, world.email(email_id), corrected(world, email_id), by="kim")
    world.run()
    page = world.page_of(email_id)

    assert page["id"] == page_id
    assert page["properties"]["제목"]["title"][0]["plain_text"] == "Brightfold-Orchard Retail"
    assert page["properties"]["검토필요"]["checkbox"] is False
    assert (world.email(email_id).status, world.email(email_id).startup_name) == (
        "processed",
        "Brightfold",
    )


def test_a_correction_of_a_row_that_somebody_deleted_makes_it_again(world: World):
    email_id = send_in(world)
    world.run()
    page_id = world.email(email_id).page_id or ""
    notion = world.stand_ins.notion
    notion.sources[notion.databases[world.stand_ins.rows_id]].rows.remove(page_id)
    del notion.pages[page_id]
    correct(world.engine, world.email(email_id), corrected(world, email_id), by="kim")
    world.run()

    assert world.page_of(email_id)["id"] == world.email(email_id).page_id


def test_a_mail_that_is_under_way_cannot_be_corrected(world: World):
    email_id = send_in(world)

    with pytest.raises(WrongState):
        correct(world.engine, world.email(email_id), {}, by="kim")
