"""The sample mailbox through all parts and the real SDKs, without the engine."""

from collections.abc import Callable

from apps.collabiq.tests.gmail.mailbox import NOW, Mailbox
from apps.collabiq.tests.notion.world import World
from collabiq.extract import ExtractTask, extract_by_rules
from collabiq.gmail import sync
from collabiq.mail import clean, parse_mail
from collabiq.match import company_index, person_index
from collabiq.notion import RowValues, body_blocks, collaboration_type, field_map, row_properties
from collabiq.samples import ALERT_SENDER, COMPANIES, PEOPLE, mailbox
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.notion import NotionStandIn
from collabiq.stand_ins.serving import Serving

FIELDS = field_map(None)


def written(notion: World, raw: bytes, email_id: str, matched: Callable) -> bool:
    """Write a row for a mail, unless it is one to skip."""
    mail = parse_mail(raw, own_addresses=[ALERT_SENDER])
    cleaned = clean(mail.text, subject=mail.subject)
    if mail.automatic or cleaned.empty:
        return False
    found = extract_by_rules(
        ExtractTask(
            text=cleaned.text, subject=mail.subject, sender=mail.sender.name, sent_at=mail.date
        )
    )
    startup, partner, person = matched(found)
    values = RowValues(
        email_id=email_id,
        title=f"{found.startup_name}-{found.partner_org}",
        person_ids=[person.found.id] if person.found else [],
        startup_ids=[startup.found.id] if startup.found else [],
        partner_ids=[partner.found.id] if partner.found else [],
        details=found.details,
        summary=found.summary,
        date=found.date,
        type=collaboration_type(
            startup_is_portfolio=startup.found is not None,
            partner_is_portfolio=False,
            partner_is_affiliate=partner.found is not None,
            options=notion.api.source(notion.rows).columns["협업형태"].options,
        ),
        intensity=found.collaboration_intensity,
        confidences=found.to_document()["confidence"],
        needs_review=True,
    )
    built = row_properties(values, notion.api.source(notion.rows), FIELDS)
    notion.api.create(notion.rows, properties=built.properties, children=body_blocks(cleaned.text))
    return True


def test_every_mail_of_a_person_becomes_a_row_that_notion_takes(tmp_path):
    samples = mailbox()
    with Serving(GmailStandIn()) as at_gmail, Serving(NotionStandIn(rate_per_s=None)) as at_notion:
        gmail = Mailbox(at_gmail.stand_in, at_gmail, tmp_path)
        notion = World(at_notion.stand_in, at_notion)
        now_ms = int(NOW.timestamp() * 1_000)
        names = {
            gmail.stand_in.deliver(sample.raw, received_ms=now_ms): sample.name
            for sample in samples
        }
        for company in COMPANIES:
            notion.add_company(company.name, portfolio=company.is_portfolio)
        for person in PEOPLE:
            notion.stand_in.add_user(person)
        companies = company_index(
            (row.id, row.properties["Name"]["title"][0]["plain_text"])
            for row in notion.api.rows(notion.companies)
        )
        people = person_index((each.id, each.name) for each in notion.api.people())

        api = gmail.api()
        new = sync(api, cursor=None, query="", now=NOW).ids
        made = {
            names[each]
            for each in new
            if written(
                notion,
                api.message(each).raw,
                each,
                lambda found: (
                    companies.match(found.startup_name),
                    companies.match(found.partner_org),
                    people.match(found.person_in_charge),
                ),
            )
        }
        rows = notion.stand_in.rows_of(notion.rows)
        by_title = {row["properties"]["제목"]["title"][0]["plain_text"]: row for row in rows}
        gmail.close()
        notion.api.close()

    skipped = {"odd-auto-reply", "odd-bounce", "odd-own-alert", "korean-only-a-signature"}
    assert made == {sample.name for sample in samples} - skipped
    assert len(rows) == len(made)
    typo = by_title["Brigthfold-Orchard Retial"]["properties"]
    assert len(typo["스타트업명"]["relation"]) == len(typo["협업기관"]["relation"]) == 1
    assert by_title["한빛소프트-해담푸드"]["properties"]["스타트업명"]["relation"] == []
    assert by_title["Mossgarden-Orchard Retail"]["properties"]["스타트업명"]["relation"] == []
    assert all(
        text["text"]["link"] is None
        for row in rows
        for text in row["properties"]["협업내용"]["rich_text"]
    )
