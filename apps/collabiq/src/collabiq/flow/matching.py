"""The stage that finds the companies and the person a mail means, and builds its row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

from collabiq.match.names import Candidate, Match
from collabiq.notion.properties import RowValues, collaboration_type, row_properties
from collabiq.rows import EmailRow, get_email, others_of_pair, want_page
from collabiq.services.directory import Directory, ListedCompany, Lists
from collabiq.settings.config import Config
from collabiq.shapes import (
    CandidateDocument,
    ExtractionResult,
    FetchResult,
    MatchedDocument,
    MatchResult,
)
from holdfast import Holdfast
from holdfast.transactions import Reading

SIMILAR_WITHIN: Final = timedelta(days=7)
_UNKNOWN: Final = "?"


def match_mail(
    engine: Holdfast,
    config: Config,
    directory: Directory,
    *,
    email_id: str,
    extraction: ExtractionResult,
    fetched: FetchResult | None,
    corrected: bool = False,
) -> MatchResult:
    """Return the properties of a mail's row; a person who `corrected` it has looked at it."""
    lists = directory.current()
    startup = _company(
        lists, extraction["startup_name"], extraction["matched_company_id"], corrected=corrected
    )
    partner = _company(
        lists, extraction["partner_org"], extraction["matched_partner_id"], corrected=corrected
    )
    person = _matched(
        extraction["person_in_charge"], lists.people_names.match(extraction["person_in_charge"])
    )
    with engine.reading() as tx:
        row = get_email(tx, email_id)
        similar = _similar(tx, row, extraction)
    review = (
        []
        if corrected
        else [
            *_doubts(config, extraction, fetched),
            *_unclear("startup", startup),
            *_unclear("partner", partner),
            *_unclear("person", person),
            *(f"same companies as {each.email_id} within a week" for each in similar),
        ]
    )
    kind = collaboration_type(
        startup_is_portfolio=_flag(lists, startup, "is_portfolio"),
        partner_is_portfolio=_flag(lists, partner, "is_portfolio"),
        partner_is_affiliate=_flag(lists, partner, "is_affiliate"),
        options=_options(lists, config),
    )
    values = _values(email_id, extraction, startup, partner, person, kind, fetched, review)
    built = row_properties(values, lists.source, config.notion_fields)
    review += [f"the column {name} is missing" for name in built.lost]
    with engine.transaction() as tx:
        want_page(tx, email_id)
    return MatchResult(
        startup=startup,
        partner=partner,
        person=person,
        type=kind,
        database_id=lists.source.database_id,
        properties=built.properties,
        missing_columns=built.missing,
        lost_columns=built.lost,
        new_companies=_new_companies(lists, config, startup=startup, partner=partner),
        similar=[each.email_id for each in similar],
        review=review,
    )


def _values(  # noqa: PLR0917 - the parts of a row
    email_id: str,
    extraction: ExtractionResult,
    startup: MatchedDocument,
    partner: MatchedDocument,
    person: MatchedDocument,
    kind: str,
    fetched: FetchResult | None,
    review: list[str],
) -> RowValues:
    found_date = extraction["date"]
    title = f"{extraction['startup_name'] or _UNKNOWN}-{extraction['partner_org'] or _UNKNOWN}"
    thread = "" if fetched is None else fetched["thread_id"]
    return RowValues(
        email_id=email_id,
        title=title,
        person_ids=_ids(person),
        startup_ids=_ids(startup),
        partner_ids=_ids(partner),
        details=extraction["details"],
        summary=extraction["summary"],
        date=date.fromisoformat(found_date) if found_date else None,
        type=kind,
        intensity=extraction["collaboration_intensity"],
        confidences={name: float(value) for name, value in _confidences(extraction).items()},
        needs_review=bool(review),
        message_url=f"https://mail.google.com/mail/u/0/#all/{thread}" if thread else None,
    )


def _confidences(extraction: ExtractionResult) -> Mapping[str, Any]:
    return dict(extraction["confidence"])


def _doubts(config: Config, extraction: ExtractionResult, fetched: FetchResult | None) -> list[str]:
    doubts = [
        f"the confidence of {name} is {value:.2f}"
        for name, value in _confidences(extraction).items()
        if value < config.confidence_threshold
    ]
    doubts += extraction["review"]
    if fetched is not None:
        if fetched["authentication"] == "fail":
            doubts.append("the sender could not be authenticated")
        doubts += [f"not all of the mail was read: {each}" for each in fetched["limits_met"]]
    return doubts


def _similar(tx: Reading, row: EmailRow | None, extraction: ExtractionResult) -> list[EmailRow]:
    startup, partner = extraction["startup_name"], extraction["partner_org"]
    if row is None or not startup or not partner:
        return []
    came: datetime = row.received_at or row.noticed_at
    others = others_of_pair(
        tx,
        email_id=row.email_id,
        startup_name=startup,
        partner_org=partner,
        since=came - SIMILAR_WITHIN,
    )
    return [
        each for each in others if (each.received_at or each.noticed_at) <= came + SIMILAR_WITHIN
    ]


def _company(
    lists: Lists, name: str | None, named_id: str | None, *, corrected: bool
) -> MatchedDocument:
    """Return which company a name means; an id of a model counts where the name does not decide."""
    found = _matched(name, lists.company_names.match(name))
    given = lists.companies.get(named_id or "")
    if given is None:
        return found
    candidate = CandidateDocument(id=given.id, name=given.name, score=_score(found, given))
    if corrected:
        return found | {"found": candidate, "ambiguous": False, "sure": True}
    if found["found"] is None:
        return found | {"found": candidate, "ambiguous": False, "sure": False}
    if found["found"]["id"] != given.id:
        return found | {"found": None, "ambiguous": True, "sure": False}
    return found


def _score(found: MatchedDocument, given: ListedCompany) -> float:
    scores = [each["score"] for each in found["alternatives"] if each["id"] == given.id]
    return scores[0] if scores else 0.0


def _new_companies(lists: Lists, config: Config, **matched: MatchedDocument) -> dict[str, str]:
    """Return the names that no company fits, where companies are made for such."""
    if not config.notion_creates_companies:
        return {}
    return {
        field: each["name"]
        for field, each in matched.items()
        if each["name"]
        and each["found"] is None
        and not each["ambiguous"]
        and lists.source.column(field, config.notion_fields) is not None
    }


def nothing_fits(what: str, name: str) -> str:
    """Return why a person should look at a name that nothing is known of."""
    return f"nothing fits the {what} {name}"


def _unclear(what: str, matched: MatchedDocument) -> list[str]:
    if matched["name"] is None:
        return []
    if matched["ambiguous"]:
        return [f"several fit the {what} {matched['name']}"]
    if matched["found"] is None:
        return [nothing_fits(what, matched["name"])]
    return [] if matched["sure"] else [f"the {what} {matched['name']} is not sure"]


def _matched(name: str | None, match: Match) -> MatchedDocument:
    return MatchedDocument(
        name=name,
        found=None if match.found is None else _candidate(match.found),
        alternatives=[_candidate(each) for each in match.alternatives],
        ambiguous=match.ambiguous,
        sure=match.sure,
    )


def _candidate(found: Candidate) -> CandidateDocument:
    return CandidateDocument(id=found.id, name=found.name, score=found.score)


def _ids(matched: MatchedDocument) -> list[str]:
    return [] if matched["found"] is None else [matched["found"]["id"]]


def _flag(lists: Lists, matched: MatchedDocument, name: str) -> bool:
    found = matched["found"]
    company = None if found is None else lists.companies.get(found["id"])
    return company is not None and bool(getattr(company, name))


def _options(lists: Lists, config: Config) -> tuple[str, ...]:
    column = lists.source.column("type", config.notion_fields)
    return () if column is None else tuple(column.options)
