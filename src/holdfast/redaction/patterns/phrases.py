"""Secrets introduced by the grammar of a command line, of SQL or of XML."""

from __future__ import annotations

import re
from typing import Final

from holdfast.redaction.marker import Inspection, Kind
from holdfast.redaction.patterns import looks
from holdfast.redaction.patterns.judgement import is_hidden
from holdfast.redaction.patterns.key_names import KeyNames

_USER_OPTION: Final = re.compile(
    r"-(?<![\w\-].)(?:[uU]|-user|-proxy-user)(?:[ \t=]{1,4}|\\{0,3}[\"'],?[ \t]{0,4})\\{0,3}[\"']?"
    r"(?P<user>[^\s:\"'\\]{0,64}):(?P<password>[^\s\"'\\]{4,4096}+)"
)
_PASSWORD_OPTION: Final = re.compile(r"-(?<![\w\-].)p(?P<password>[^\s\"'=&\\]{4,4096}+)")
_LONG_OPTION: Final = re.compile(
    r"--(?<![\w\-]..)(?=[\w.\-]{0,40}?(?i:pass|pwd|secret|token|key|auth|cred))"
    r"(?P<name>[A-Za-z][\w.\-]{0,63}+)[ \t]{1,4}+(?P<value>[^\s\-\"'`][^\s\"'`]*+)"
)
_TAKES_PASSWORD: Final = re.compile(r"\b(?:mysql|mariadb|sshpass|mysqldump|mysqladmin)\b")
_CONTEXT: Final = 200

_TOOL_OPTION: Final = re.compile(
    r"\b(?:sshpass|redis-cli|(?:docker|podman|registry)[ \t]login)\b[^\r\n|;&]{0,120}?"
    r"[ \t]-[pa][ \t]{1,4}(?P<password>[^\s\"']++)"
)
_MAIL_LOGIN: Final = re.compile(
    r"(?i:\bauth[ \t](?:plain|login|cram-md5|xoauth2|scram-sha-(?:1|256)))[ \t]{1,4}"
    r"(?P<password>[A-Za-z0-9+/=]{8,}+)"
)
_IDENTIFIED: Final = re.compile(
    r"(?i:identified[ \t]{1,8}(?:with[ \t]{1,8}[\w\"'`]{1,64}[ \t]{1,8})?(?:by|as)[ \t]{1,8}"
    r"(?:password[ \t]{1,8})?)(?P<quote>[\"'])(?P<password>[^\"'\r\n]{1,4096}+)"
)
_ELEMENT: Final = re.compile(
    r"<(?:[\w.\-]{1,64}:)?(?P<name>[\w.\-]{1,64}+)(?:\s[^<>]{0,200}+)?>(?P<value>[^<>]++)</"
)


def redact_phrases(text: str, inspection: Inspection, *, names: KeyNames) -> str:
    """Return the text without passwords that no name with a sign introduces."""
    if "-" in text:
        text = _redact_options(text, inspection, names)
    if "dentified" in text or "DENTIFIED" in text:
        text = _redact_literals(text, inspection, _IDENTIFIED)
    if "AUTH " in text or "auth " in text:
        text = _redact_literals(text, inspection, _MAIL_LOGIN)
    if "</" in text:
        text = _redact_elements(text, inspection, names)
    return text


def _redact_options(text: str, inspection: Inspection, names: KeyNames) -> str:
    def hide_value(found: re.Match[str]) -> str:
        inspection.step()
        sensitivity = names.sensitivity(found["name"])
        if sensitivity is None or not is_hidden(found["value"], sensitivity.care, in_prose=False):
            return found.group()
        return _without(found, "value", inspection, kind=sensitivity.kind)

    def hide_user(found: re.Match[str]) -> str:
        inspection.step()
        user, password = found["user"], found["password"]
        if password.isdigit() or password == user or looks.is_stand_in(password):
            # A user and a group, as Docker takes them.
            return found.group()
        in_curl = "curl" in text[max(0, found.start() - _CONTEXT) : found.start()]
        if not in_curl and not looks.is_random(password.partition("&")[0]):
            return found.group()
        return _without(found, "password", inspection)

    def hide_password(found: re.Match[str]) -> str:
        inspection.step()
        inspection.step()
        before = text[max(0, found.start() - _CONTEXT) : found.start()]
        expected = _TAKES_PASSWORD.search(before) or looks.is_random(found["password"])
        if not expected or looks.is_stand_in(found["password"]):
            return found.group()
        return _without(found, "password", inspection)

    if "-u" in text or "-U" in text:
        text = _USER_OPTION.sub(hide_user, text)
    if "sshpass" in text or "redis-cli" in text or " login" in text:
        text = _redact_literals(text, inspection, _TOOL_OPTION)
    if "--" in text:
        text = _LONG_OPTION.sub(hide_value, text)
    if "-p" in text:
        text = _PASSWORD_OPTION.sub(hide_password, text)
    return text


def _redact_literals(text: str, inspection: Inspection, pattern: re.Pattern[str]) -> str:
    def hide_literal(found: re.Match[str]) -> str:
        inspection.step()
        if looks.is_stand_in(found["password"]):
            return found.group()
        return _without(found, "password", inspection)

    return pattern.sub(hide_literal, text)


def _redact_elements(text: str, inspection: Inspection, names: KeyNames) -> str:
    def hide_element(found: re.Match[str]) -> str:
        inspection.step()
        sensitivity = names.sensitivity(found["name"])
        if sensitivity is None:
            return found.group()
        if not is_hidden(found["value"].strip(), sensitivity.care, in_prose=False):
            return found.group()
        return _without(found, "value", inspection, kind=sensitivity.kind)

    return _ELEMENT.sub(hide_element, text)


def _without(
    found: re.Match[str], group: str, inspection: Inspection, *, kind: Kind = Kind.PASSWORD
) -> str:
    start, end = found.span(group)
    whole, offset = found.group(), found.start()
    marker = inspection.mark(kind, found[group])
    return whole[: start - offset] + marker + whole[end - offset :]
