"""A person's corrections of what was extracted: checked, and laid over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from collabiq.extract.record import (
    INTENSITIES,
    MAX_COMPANY,
    MAX_DETAILS,
    MAX_PERSON,
    MAX_SUMMARY,
)
from collabiq.match.names import NameIndex
from collabiq.refusals import Invalid, flaw

_TEXTS: Final = {
    "person_in_charge": MAX_PERSON,
    "startup_name": MAX_COMPANY,
    "partner_org": MAX_COMPANY,
    "details": MAX_DETAILS,
    "summary": MAX_SUMMARY,
}
_NEVER_NULL: Final = frozenset({"details", "summary"})
_MATCHES: Final = {"matched_company_id": "startup", "matched_partner_id": "partner"}
_ID_OF_NAME: Final = {"startup_name": "matched_company_id", "partner_org": "matched_partner_id"}
_CONFIDENCE: Final = {
    "person_in_charge": "person",
    "startup_name": "startup",
    "partner_org": "partner",
    "details": "details",
    "date": "date",
    "matched_company_id": "startup",
    "matched_partner_id": "partner",
}
FIELDS: Final = (*_TEXTS, "date", "collaboration_intensity", *_MATCHES)


def corrected(
    extraction: Mapping[str, Any],
    fields: Mapping[str, Any],
    *,
    matched: Mapping[str, Any] | None,
    companies: NameIndex | None = None,
) -> dict[str, Any]:
    """Return an extraction with a person's fields in it, each of them certain.

    Raises `Invalid` with every place that does not fit. `matched` has the companies that may be
    chosen: those that were found and their alternatives. Another name has to be one of
    `companies`, where those are known.
    """
    flaws = [
        flaw(f"/{_escaped(name)}", f"is not known; there are {', '.join(FIELDS)}")
        for name in fields
        if name not in FIELDS
    ]
    if not fields:
        flaws.append(flaw("", "give one field at least"))
    cleaned: dict[str, Any] = {}
    for name, value in fields.items():
        check = _CHECKS.get(name)
        if check is None:
            continue
        wrong, cleaned[name] = check(name, value, matched or {})
        if wrong is not None:
            flaws.append(flaw(f"/{name}", wrong))
    if companies is not None:
        flaws += _unknown_companies(extraction, cleaned, companies)
    if flaws:
        raise Invalid(flaws)
    confidence = dict(extraction.get("confidence") or {})
    for name in fields:
        if name in _CONFIDENCE:
            confidence[_CONFIDENCE[name]] = 1.0
    # Another name is another company: what was chosen for the one before does not hold.
    for name, of in _ID_OF_NAME.items():
        if name in cleaned and of not in cleaned and cleaned[name] != extraction.get(name):
            cleaned[of] = None
    return {**extraction, **cleaned, "confidence": confidence, "review": []}


def _unknown_companies(
    extraction: Mapping[str, Any], cleaned: Mapping[str, Any], companies: NameIndex
) -> list[dict[str, Any]]:
    """Return what is wrong with names that no company has, or that several may mean."""
    flaws = []
    for name, of in _ID_OF_NAME.items():
        value = cleaned.get(name)
        if not value or value == extraction.get(name) or cleaned.get(of):
            continue
        match = companies.match(value)
        if match.found is not None:
            continue
        near = ", ".join(each.name for each in match.alternatives)
        if match.ambiguous:
            said = f"several companies of Notion fit: {near}; write the name as one of them has it"
        else:
            said = "no company of Notion has this name; add it to the companies there first"
            said += f", or choose one that is similar: {near}" if near else ""
        flaws.append(flaw(f"/{name}", said))
    return flaws


_Checked = tuple[str | None, Any]


def _text(name: str, value: Any, _matched: Mapping[str, Any]) -> _Checked:  # noqa: ANN401 - JSON
    limit = _TEXTS[name]
    if value is None and name not in _NEVER_NULL:
        return None, None
    if not isinstance(value, str):
        return "has to be a text", None
    found = value.strip()
    if len(found) > limit:
        return f"has {len(found)} characters; {limit} are the most", None
    return None, found if found or name in _NEVER_NULL else None


def _date(_name: str, value: Any, _matched: Mapping[str, Any]) -> _Checked:  # noqa: ANN401 - JSON
    if value is None:
        return None, None
    wrong = "has to be a day such as 2025-11-03, or null"
    if not isinstance(value, str):
        return wrong, None
    try:
        found = date.fromisoformat(value)
    except ValueError:
        return wrong, None
    return (None, value) if found.isoformat() == value else (wrong, None)


def _intensity(_name: str, value: Any, _matched: Mapping[str, Any]) -> _Checked:  # noqa: ANN401 - JSON
    if value is None or value in INTENSITIES:
        return None, value
    return f"has to be one of {', '.join(INTENSITIES)}, or null", None


def _match(name: str, value: Any, matched: Mapping[str, Any]) -> _Checked:  # noqa: ANN401 - JSON
    if value is None:
        return None, None
    of = matched.get(_MATCHES[name]) or {}
    known = [each for each in (of.get("found"), *(of.get("alternatives") or ())) if each]
    if value in [each.get("id") for each in known]:
        return None, value
    return "has to be one of the companies that were found for it, or null", None


_CHECKS: Final[Mapping[str, Callable[[str, Any, Mapping[str, Any]], _Checked]]] = {
    **dict.fromkeys(_TEXTS, _text),
    "date": _date,
    "collaboration_intensity": _intensity,
    **dict.fromkeys(_MATCHES, _match),
}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
