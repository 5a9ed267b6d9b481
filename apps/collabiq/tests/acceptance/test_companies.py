"""Companies that are made for names nobody has, where that is wanted."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from apps.collabiq.tests.world import World, status
from collabiq.notion.errors import NotionFailure
from collabiq.rows import get_listed, replace_listed
from collabiq.samples import COMPANIES
from holdfast import RetryLater
from holdfast.systems import Answer, Call

CREATE = ("POST", "/v1/pages")
NEW = "Zephyrworks"
KEY = "company zephyrworks"
STARTUP = "스타트업명"
PARTNER = "협업기관"


@pytest.fixture
def world(world_of) -> Iterator[World]:
    """The system, which makes companies."""
    with world_of(NOTION_CREATE_COMPANIES="1") as made:
        yield made


def made(world: World) -> Sequence[str]:
    """Return the titles of the companies that were made."""
    notion, companies_id = world.stand_ins.notion, world.stand_ins.companies_id
    rows = notion.rows_of(companies_id)[len(COMPANIES) :]
    return [notion.texts_of(row, ["Name"])[0] for row in rows]


def related(world: World, email_id: str) -> dict[str, str]:
    """Return the names of the companies that a mail's row has."""
    texts = world.stand_ins.notion.texts_of(world.page_of(email_id), [STARTUP, PARTNER])
    return dict(zip((STARTUP, PARTNER), texts, strict=True))


def lookups(world: World) -> list[Any]:
    """Return when companies were queried."""
    notion = world.stand_ins.notion
    return world.notion.times("POST", f"/{notion.databases[world.stand_ins.companies_id]}/query")


def test_no_company_is_made_by_default(world_of):
    with world_of() as world:
        email_id = world.deliver(subject=f"{NEW} x Orchard Retail")
        world.run()

        assert made(world) == []
        assert related(world, email_id) == {STARTUP: "", PARTNER: "Orchard Retail"}
        assert f"nothing fits the startup {NEW}" in world.email(email_id).review


def test_a_company_is_made_once_and_the_next_mail_has_it_too(world: World):
    first = world.deliver(subject=f"{NEW} x Orchard Retail")
    world.run()
    requests = len(world.notion.calls)
    second = world.deliver(subject=f"{NEW} x 해담푸드")
    world.poll()

    assert made(world) == [NEW]
    assert related(world, first) == {STARTUP: NEW, PARTNER: "Orchard Retail"}
    assert related(world, second) == {STARTUP: NEW, PARTNER: "해담푸드"}
    assert f"the company {NEW} was made" in world.email(first).review
    assert f"nothing fits the startup {NEW}" not in world.email(first).review
    assert NEW not in " ".join(world.email(second).review)
    assert len(lookups(world)) == 2  # the list, and the company before it was made
    assert len(world.notion.calls) == requests + 2  # a row that is looked for, and made


def test_mails_of_one_new_company_that_come_together_make_one(world: World):
    names = [NEW, NEW.upper(), NEW]
    ids = [world.deliver(subject=f"{name} x Orchard Retail") for name in names]
    world.run()

    assert len(made(world)) == 1
    for email_id in ids:
        assert related(world, email_id)[STARTUP] == made(world)[0]


def test_both_companies_of_a_mail_are_made(world: World):
    email_id = world.deliver(subject=f"{NEW} x Quillstone", text=f"{NEW} and Quillstone met.")
    world.run()

    assert sorted(made(world)) == ["Quillstone", NEW]
    assert related(world, email_id) == {STARTUP: NEW, PARTNER: "Quillstone"}


def test_an_answer_that_is_lost_makes_one_company(world: World):
    world.stand_ins.notion.index_lag_s = 3.0
    world.notion.next(*CREATE, world.notion.fault("lost_answer"))
    email_id = world.deliver(subject=f"{NEW} x Orchard Retail")
    world.run()
    began_at = world.notion.times(*CREATE)[0]

    assert made(world) == [NEW]
    assert related(world, email_id)[STARTUP] == NEW
    assert f"the company {NEW} was made" in world.email(email_id).review
    assert lookups(world)[-1] - began_at >= 5.0


def test_a_lost_answer_is_looked_for_by_the_title_that_was_sent(world: World):
    world.deliver()
    world.run()
    works = world.built.flow.works
    api, _ = works.tools.notion()
    companies = works.writer.companies
    world.notion.next(*CREATE, world.notion.fault("lost_answer"))
    for reason in (RetryLater, NotionFailure):
        with pytest.raises(reason):
            companies.get(api, NEW)
    world.clock.advance(6)
    with pytest.raises(RetryLater, match="is there"):
        companies.get(api, f"{NEW} Inc.")

    assert companies.get(api, f"{NEW} Inc.") == companies.get(api, NEW)
    assert made(world) == [NEW]


def test_a_failure_that_made_no_company_is_tried_again_after_a_lookup(world: World):
    world.notion.next(*CREATE, status(502))
    email_id = world.deliver(subject=f"{NEW} x Orchard Retail")
    world.run()

    assert made(world) == [NEW]
    assert related(world, email_id)[STARTUP] == NEW
    assert len(lookups(world)) == 3  # the list, before, and after the failure


def test_a_company_that_somebody_has_added_since_is_taken(world: World):
    world.deliver()
    world.run()
    notion, companies_id = world.stand_ins.notion, world.stand_ins.companies_id
    notion.add_row(companies_id, {"Name": {"title": [{"text": {"content": NEW}}]}})
    email_id = world.deliver(subject=f"{NEW} x Orchard Retail")
    world.poll()

    assert made(world) == [NEW]
    assert related(world, email_id)[STARTUP] == NEW
    assert f"the company {NEW} is newer than the lists" in world.email(email_id).review


def test_nothing_is_made_where_several_companies_fit(world: World):
    email_id = world.deliver(
        subject="한빛소프트 x 해담푸드", text="한빛소프트와 해담푸드가 만납니다."
    )
    world.run()

    assert made(world) == []
    assert related(world, email_id)[STARTUP] == ""


def test_of_two_workers_that_begin_a_company_one_makes_it(world: World):
    world.deliver()
    world.run()
    works = world.built.flow.works
    api, _ = works.tools.notion()
    companies = works.writer.companies
    with pytest.raises(RetryLater, match="is made next"):
        companies.get(api, NEW)

    with world.engine.reading() as tx:
        seen = get_listed(tx, KEY)

    def meanwhile(call: Call) -> Answer:
        with pytest.raises(RetryLater, match="may have made"):
            companies.get(api, f"{NEW} Inc.")
        # What a worker does that has read the same before the other one began.
        with world.engine.transaction() as tx:
            assert not replace_listed(tx, KEY, {"state": "writing", "title": NEW}, before=seen)
        return world.notion.stand_in(call)

    world.notion.next(*CREATE, meanwhile)
    with pytest.raises(RetryLater, match="was made"):
        companies.get(api, NEW)

    assert made(world) == [NEW]
    assert companies.get(api, f"{NEW} Inc.") == companies.get(api, NEW)
