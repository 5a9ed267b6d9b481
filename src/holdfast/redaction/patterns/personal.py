"""What identifies a person: cards, phones, identity numbers, e-mail addresses."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final, NamedTuple

from holdfast.redaction.marker import Inspection, Kind, bare
from holdfast.redaction.patterns.alternation import any_of, words

# As printed on a card, or in one piece; not as part of an identifier, a version or a decimal.
_CARD: Final = re.compile(
    r"""
    [2-6][0-9]{3}(?=[ \-]?[0-9]{4})(?:(?<![\w.+\-]....)|(?<=\\[nrt]....))
    (?:
        (?P<gap>[ \-]?)[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{4}
      | (?P<wide>[ \-]?)[0-9]{6}(?P=wide)[0-9]{4,5}
    )
    (?![\w\-]|[.,][0-9])
    """,
    re.VERBOSE,
)
_ISSUERS: Final = re.compile(
    r"4[0-9]{15}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}"
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}|62[0-9]{14}"
)
_IBAN: Final = re.compile(
    r"[A-Z][A-Z][0-9]{2}(?<![A-Za-z0-9]....)(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?"
    r"(?![A-Za-z0-9])"
)
_INTERNATIONAL: Final = re.compile(
    r"\+(?:(?<![\w+.].)|(?<=\\[nrt].))[1-9][0-9]{0,2}"
    r"(?:[ .\-]?\(0?[0-9]{1,5}\))?(?:[ .\-/]?[0-9]{2,12}){1,5}(?![\w:%]|[.,][0-9])"
)
_NORTH_AMERICAN: Final = re.compile(
    r"\((?<![\w)].)[2-9][0-9]{2}\)[ \-.]?[2-9][0-9]{2}[\-. ][0-9]{4}(?![\w-])"
)
_MIN_PHONE_DIGITS: Final = 8
_MAX_PHONE_DIGITS: Final = 15

_PHONE_WORDS: Final = frozenset(words("phone tel telephone telefon mobile fax whatsapp"))
_BANK_WORDS: Final = frozenset({"bic", "swift"})
_IDENTITY_WORDS: Final = (
    *words("ssn itin tin nino nie nif dni pesel cpf bsn insee passport passeport reisepass"),
    *words("pasaporte permis personnummer steuer-id steuerid taxpayer"),
    *("social security", "tax id", "national insurance", "national id", "codice fiscale"),
    *(f"licen{letter}e {number}" for letter in "cs" for number in ("no", "number")),
    *(
        f"{whose} licen{letter}e"
        for whose in ("driver", "drivers", "driver's", "driving")
        for letter in "cs"
    ),
)
# In lower case. What the word announces is written in digits or capitals.
_ANNOUNCEMENT: Final = re.compile(
    rf"(?P<word>{any_of((*_PHONE_WORDS, *_BANK_WORDS, *_IDENTITY_WORDS))})(?![a-z])"
    r"(?: ?(?:card|code|id|bic))?(?:[ _]?(?:no|nr|number|num|nummer|n°|#))?[.:=#\s\"']{1,6}"
    r"(?=[+(a-z0-9])"
)
_ANNOUNCED_PHONE: Final = re.compile(r"\+?[0-9(][0-9() ./\-]{5,18}[0-9](?![\w-])")
_ANNOUNCED_IDENTITY: Final = re.compile(r"[A-Z0-9](?:[ \-./]?[A-Z0-9]){4,21}(?![A-Za-z0-9])")
_MIN_IDENTITY_DIGITS: Final = 4
_BANK: Final = re.compile(r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?")

_EMAIL: Final = re.compile(
    r"(?P<first>[A-Za-z0-9])(?<![\w.%+\-/:].)[\w.%+\-']{0,63}(?P<domain>@(?=[A-Za-z0-9])"
    r"[A-Za-z0-9.\-]{1,253}\.[A-Za-z]{2,63})(?![\w@]|[:/])"
)
_DIGIT: Final = re.compile(r"[0-9]")
_WITHOUT_GAPS: Final = str.maketrans("", "", " -")
# Twice the digit, and of that the sum of its digits.
_DOUBLED: Final = str.maketrans("0123456789", "0246813579")
_AS_NUMBERS: Final = {ord("A") + place: str(10 + place) for place in range(26)}


class MaskedRecipient(NamedTuple):
    """A recipient as it may be shown, and what finds it again."""

    shown: str
    digest: str


def mask_recipient(address: str, *, key: bytes) -> MaskedRecipient:
    """`j***@example.co.uk` of an e-mail address, and a keyed digest of the whole for searches.

    Upper and lower case, white space around and a name before `<…>` make no difference. Of what is
    no e-mail address nothing is shown.
    """
    normal = address.strip().casefold()
    if normal.endswith(">") and "<" in normal:
        normal = normal[normal.rindex("<") + 1 : -1].strip()
    local, at, domain = normal.rpartition("@")
    shown = f"{local[0]}***@{domain}" if at and local and domain else bare(Kind.EMAIL)
    digest = hmac.new(key, normal.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    return MaskedRecipient(shown=shown, digest=digest)


def redact_numbers(text: str, inspection: Inspection, *, phones: bool) -> str:
    """Return the text without cards, bank accounts and phones, which their own shape gives away."""
    if _CARD.search(text):
        text = _redact_cards(text, inspection)
    if _IBAN.search(text):
        text = _redact_accounts(text, inspection)
    if phones and ("+" in text or "(" in text):
        text = _redact_phones(text, inspection)
    return text


def _redact_cards(text: str, inspection: Inspection) -> str:
    def hide(found: re.Match[str]) -> str:
        inspection.step(2)
        digits = found.group().translate(_WITHOUT_GAPS)
        valid = _ISSUERS.fullmatch(digits) and _passes_luhn(digits)
        return inspection.mark(Kind.CARD, digits) if valid else found.group()

    return _CARD.sub(hide, text)


def _redact_accounts(text: str, inspection: Inspection) -> str:
    def hide(found: re.Match[str]) -> str:
        inspection.step()
        number = found.group().replace(" ", "")
        valid = int((number[4:] + number[:4]).translate(_AS_NUMBERS)) % 97 == 1
        return inspection.mark(Kind.IDENTITY, number) if valid else found.group()

    return _IBAN.sub(hide, text)


def _redact_phones(text: str, inspection: Inspection) -> str:
    def hide(found: re.Match[str]) -> str:
        inspection.step()
        number = found.group()
        valid = _MIN_PHONE_DIGITS <= len(_DIGIT.findall(number)) <= _MAX_PHONE_DIGITS
        return inspection.mark(Kind.PHONE, number) if valid else number

    return _NORTH_AMERICAN.sub(hide, _INTERNATIONAL.sub(hide, text))


def redact_emails(text: str) -> str:
    """Return the text with e-mail addresses as `j***@example.co.uk`."""
    return _EMAIL.sub(r"\g<first>***\g<domain>", text)


def redact_announced(text: str, lower: str, inspection: Inspection, *, phones: bool) -> str:
    """Return the text without numbers that only the word before them gives away.

    `lower` is the text in lower case.
    """
    pieces: list[str] = []
    copied = position = 0
    while (found := _ANNOUNCEMENT.search(lower, position)) is not None:
        inspection.step()
        position = found.end()
        if found.start() and lower[found.start() - 1].isalnum():
            continue
        kind = Kind.PHONE if found["word"] in _PHONE_WORDS else Kind.IDENTITY
        if kind is Kind.PHONE:
            number = _ANNOUNCED_PHONE.match(text, position) if phones else None
        else:
            number = _ANNOUNCED_IDENTITY.match(text, position)
            if number and not _identifies(number.group(), found["word"]):
                number = None
        if number is not None:
            pieces += (text[copied:position], inspection.mark(kind, number.group()))
            copied = position = number.end()
    return "".join((*pieces, text[copied:])) if pieces else text


def _identifies(value: str, word: str) -> bool:
    if word in _BANK_WORDS:
        return bool(_BANK.fullmatch(value))
    return len(_DIGIT.findall(value)) >= _MIN_IDENTITY_DIGITS


def _passes_luhn(digits: str) -> bool:
    doubled = digits[-2::-2].translate(_DOUBLED)
    return sum(map(int, digits[-1::-2] + doubled)) % 10 == 0
