"""Names and their values in running text: `key=value`, JSON, YAML, reprs, options, headers."""

from __future__ import annotations

import json
import re
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from holdfast.redaction.marker import Inspection, Kind, bare, has_markers, marker_around
from holdfast.redaction.patterns import looks
from holdfast.redaction.patterns.alternation import any_of, words
from holdfast.redaction.patterns.headers import end_of_header, hide_authorization, hide_cookies
from holdfast.redaction.patterns.judgement import HIDES_PARTS, is_hidden
from holdfast.redaction.patterns.key_names import Care, KeyNames, Sensitivity, words_of
from holdfast.redaction.patterns.pair_values import Extent, value_at, value_below

# Pieces of names, in lower case: where none of them occurs, no name is looked for.
_CORES: Final[tuple[str | tuple[str, str], ...]] = (
    *words("adgangskode assertion auth contrase clave cookie cpf credential creds creditcard"),
    *words("ccnumber connstr csrf cvc cvv dsn geheim haslo heslo hmac iban jelsz jeton jwt"),
    *words("kennwort kodeord losenord lozinka mdp mobile msisdn nino otp palavra parol"),
    *words("pass pesel phone psw pwd salasana salt secret segredo senha sessid session sifre"),
    *words("signature ssn telefon telephone token totp wachtwoord xsrf"),
    *((word, "(?![a-z])") for word in ("pin", "sid", "sig")),
    *((word, "(?==)") for word in ("?code", "&code")),
    ("key", r"(?:(?<=[a-z][ _.\-]key)|(?<=[a-z][a-z]key))"),
    ("card", r"[ _.\-]?(?:number|code)"),
    ("code", r"(?:[ _.\-]?verifier|(?=[=\"']))"),
    ("connection", r"[ _.\-]?str"),
    ("mat", r"[ _.\-]?khau"),
    ("mfa", r"[ _.\-]?code"),
    ("mot", r"[ _.\-]?de[ _.\-]?passe"),
    ("one", r"[ _.\-]?time"),
    ("saml", "re(?:sponse|quest)"),
    ("security", r"[ _.\-]?code"),
    ("verification", r"[ _.\-]?code"),
)
_FURTHER_CORES: Final = words(
    """
    hasło lösenord slaptaž şifre пароль парола секрет токен 密码 密碼 口令 パスワード 暗証番号
    비밀번호 암호 סיסמה κωδικός รหัสผ่าน
    """
)
_ESCAPED_CORES: Final = tuple(
    escaped
    for core in _FURTHER_CORES
    for escaped in (json.dumps(core)[1:-1], repr(core.encode())[2:-1])
)
_AFTER_NAME: Final = r"""
    (?P<rest>(?:[\w.\-]|\\{1,15}(?:u[0-9a-f]{4}|x[0-9a-f]{2})){0,48}+)(?=[\s"'`\\\]=:\uff1a,;])
    (?:
        (?P<close>\\{0,15}["'`])?+\]?+["'`]?+
        [ \t]{0,32}+(?P<sign>:=|=>|={1,3}+|:(?!:|//)|\uff1a)
        (?P<gap>(?:[ \t]|\r?\n|\\{1,15}[nrt](?=[\s\\])){0,24}+)
      | \\{0,15}+["']?+[ \t]{0,8}+[,;\r\n]?+[ \t\r\n]{0,16}+(?P<named>\\{0,15}+["']?+)value
        \\{0,15}+["']?+[ \t]{0,4}+[:=][ \t]{0,4}+
      | (?P<comma>\\{0,15}["'`])[ \t]{0,8}+,[ \t\r\n]{0,8}+(?=[br]{0,2}\\{0,15}["'`])
      | (?P<form>["']\r?\n\r?\n)
      | (?P<space>[ \t]{1,4}+(?:(?:is|was)[ \t]{1,4}+)?+)(?=[br]?\\{0,15}["'`]|[^\s0-9]{0,24}+[0-9])
    )
"""
_READING_COSTS: Final = 2
_MAX_PREFIX: Final = 64
_FAR: Final = 1_024
_BACKWARDS: Final = re.compile(r"[\w.\-]{0,64}+")
_ENVIRONMENT_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{1,99}")
_BEFORE_LINE_VALUE: Final = re.compile(r"[ \t]{0,64}(?:- |export |set |ENV |ARG )?[ \t]{0,8}")
_LITERAL_ARGUMENT: Final = re.compile(
    r"[\w.]{1,128}[\[(][ \t]{0,4}[bBrR]?(?P<quote>[\"'])(?P<literal>[^\"'\s]{1,4096})(?P=quote)"
)
_FORM_VALUE: Final = re.compile(r"[^\r\n]++")
_PAIR: Final = re.compile(r"[A-Za-z_][\w.\-]{1,40}(?:=(?!=|\s|$)|:$)")
_FIRST_WORD: Final = re.compile(r"[^\s,;|)\]=]{1,64}")


class _Found(NamedTuple):
    """A name that holds secrets, and where its value begins."""

    match: re.Match[str]
    name: str
    name_start: int
    sensitivity: Sensitivity
    value_start: int


class Patterns:
    """What finds the built-in names and the given ones in lower-case text.

    Each is made when it is first used: together they take long, and most programs start without.
    """

    def __init__(self, extra_names: tuple[str, ...] = ()) -> None:
        self._extra: Final = tuple(
            (first, "".join(rf"[ _.\-]?{re.escape(word)}" for word in others))
            for first, *others in filter(None, map(words_of, extra_names))
        )

    @cached_property
    def in_ascii(self) -> re.Pattern[str]:
        """What finds names where all is ASCII."""
        return self._compiled((*_CORES, *_ESCAPED_CORES))

    @cached_property
    def in_any(self) -> re.Pattern[str]:
        """What finds names in any text."""
        return self._compiled((*_CORES, *_FURTHER_CORES))

    def _compiled(self, cores: tuple[str | tuple[str, str], ...]) -> re.Pattern[str]:
        return re.compile(any_of((*cores, *self._extra)) + _AFTER_NAME, re.VERBOSE)


@lru_cache(maxsize=16)
def patterns_of(extra_names: tuple[str, ...]) -> Patterns:
    """Return the patterns of the built-in names and of the given ones."""
    return Patterns(extra_names)


def redact_pairs(
    text: str, lower: str, inspection: Inspection, *, names: KeyNames, patterns: Patterns
) -> str:
    """The text without the values of names that hold secrets; `lower` is it in lower case."""
    pieces: list[str] = []
    copied = position = 0
    pattern = patterns.in_ascii if text.isascii() else patterns.in_any
    is_marked = has_markers(text)
    while (match := pattern.search(lower, position)) is not None:
        inspection.step()
        position = match.end()
        marker = marker_around(text, match.start()) if is_marked else None
        if marker is not None:
            position = marker.end()
            continue
        found = _found(text, match, names)
        replaced = _replaced(text, found, inspection, names) if found else None
        if replaced is not None:
            extent, replacement = replaced
            pieces += (text[copied : extent.start], replacement)
            copied = position = max(extent.end, position)
    return "".join((*pieces, text[copied:])) if pieces else text


def _found(text: str, match: re.Match[str], names: KeyNames) -> _Found | None:
    start = _start_of_name(text, match.start())
    name = text[start : match.end("rest")]
    sensitivity = names.sensitivity(name)
    if sensitivity is None or not _is_introduced(text, start, match, name, sensitivity):
        return None
    return _Found(match, name, start, sensitivity, match.end())


def _start_of_name(text: str, core: int) -> int:
    """Where the name begins that holds what was found at `core`."""
    if text[core] in "?&":
        return core + 1
    start = core - _before(text, core)
    if start == core and core > 1 and text[core - 1] == " " and text[core] in "kK":
        # Two words, as in "API key".
        start -= 1 + _before(text, core - 1)
    if start and text[start - 1] == "\\" and text[start] in "nrt":
        start += 1
    return start


def _before(text: str, position: int) -> int:
    """How many characters of a name stand directly before `position`."""
    if not position or not (text[position - 1].isalnum() or text[position - 1] in "_.-"):
        return 0
    found = _BACKWARDS.match(text[max(0, position - _MAX_PREFIX) : position][::-1])
    return found.end() if found else 0


def _is_introduced(
    text: str, start: int, match: re.Match[str], name: str, sensitivity: Sensitivity
) -> bool:
    """Return whether what stands between name and value makes it one, and not a sentence."""
    if text.endswith(("//", "@"), 0, start):
        # A host, whose port follows.
        return False
    if match["comma"]:
        return name.startswith("--") or _opening_before(text, start) in {"(", "["}
    if match["space"]:
        if name.startswith("-"):
            return True
        return sensitivity.care is Care.ALWAYS or sensitivity.care is Care.UNLESS_PLAIN
    return True


def _opening_before(text: str, start: int) -> str:
    """What stands before a quoted name."""
    return text[max(0, start - 20) : start].rstrip("\\\"'`").rstrip("bBrRuU")[-1:]


def _replaced(
    text: str, found: _Found, inspection: Inspection, names: KeyNames
) -> tuple[Extent, str] | None:
    inspection.step(_READING_COSTS)
    extent = _extent(text, found, inspection)
    if extent is None or extent.end <= extent.start:
        return None
    inspection.scan(extent.end - extent.start)
    value = text[extent.start : extent.end]
    kind, care = found.sensitivity
    if not _is_value(text, extent, value, found):
        return None
    if not extent.is_quoted and not extent.is_container and _is_prose(value, found, names):
        return _literal_argument(text, found, inspection)
    if extent.is_container:
        return _container(value, extent, found)
    if care is Care.AUTHORIZATION or care is Care.COOKIE:
        hide = hide_authorization if care is Care.AUTHORIZATION else hide_cookies
        if not is_hidden(value, care, in_prose=not extent.is_quoted):
            return None
        return extent, hide(value, inspection)
    sign = found.match["sign"]
    in_prose = sign in {"==", None} if extent.is_quoted else sign != "="
    if not is_hidden(value, care, in_prose=in_prose):
        return None
    return extent, _in_quotes(inspection.mark(kind, value), extent, found)


def _is_value(text: str, extent: Extent, value: str, found: _Found) -> bool:
    """Return whether what follows the name belongs to it."""
    match = found.match
    if match["space"]:
        quoted_password = extent.is_quoted and found.sensitivity.kind is Kind.PASSWORD
        return not extent.is_container and (quoted_password or looks.is_random(value))
    if match["comma"] and not found.name.startswith("--"):
        # A name and its value are alone between their brackets; in a list they may be two names.
        after = text[extent.end : extent.end + 20].lstrip("\\\"'`")
        in_list = _opening_before(text, found.name_start) == "["
        return after.startswith((")", "]")) and (not in_list or looks.is_random(value))
    return True


def _extent(text: str, found: _Found, inspection: Inspection) -> Extent | None:
    match, start = found.match, found.value_start
    if match["form"]:
        line = _FORM_VALUE.match(text, start)
        return Extent(start, line.end(), is_quoted=True) if line else None
    care = found.sensitivity.care
    in_header = match["sign"] == ":" and not match["close"] and "\n" not in match["gap"]
    if in_header and (care is Care.AUTHORIZATION or care is Care.COOKIE):
        end = end_of_header(text, start, is_authorization=care is Care.AUTHORIZATION)
        if end > start:
            return Extent(start, end, is_quoted=False)
    if _is_closing_quote(text, found):
        return None
    gap = match["gap"] or ""
    if "\n" in gap or "\\" in gap:
        indented = gap[-1] in " \t"
        below = value_below(text, start, inspection)
        if below is None or indented:
            return below
        return below if looks.is_random(text[below.start : below.end]) else None
    return value_at(text, start, inspection, whole_line=_fills_line(text, found))


def _is_closing_quote(text: str, found: _Found) -> bool:
    """Whether a quote in place of the value ends a text that asks for one, as in `"Password: "`."""
    quote = text[found.value_start : found.value_start + 1]
    if not quote or quote not in "\"'`":
        return False
    after = text[found.value_start + 1 : found.value_start + 2]
    if after and after not in ",)]}; \t\r\n+":
        return False
    return text.count(quote, _line_start(text, found), found.name_start) % 2 == 1


def _fills_line(text: str, found: _Found) -> bool:
    """Whether the value may hold spaces: a line of its own in YAML, an environment, headers."""
    care = found.sensitivity.care
    match = found.match
    if match["close"] or not match["sign"]:
        return False
    if care is not Care.ALWAYS:
        return False
    if not _BEFORE_LINE_VALUE.fullmatch(text, _line_start(text, found), found.name_start):
        return False
    return match["sign"] == ":" or bool(_ENVIRONMENT_NAME.fullmatch(found.name))


def _line_start(text: str, found: _Found) -> int:
    """Where the line of the name begins, or as far before it as matters."""
    earliest = max(0, found.name_start - _FAR)
    return max(earliest, text.rfind("\n", earliest, found.name_start) + 1)


def _is_prose(value: str, found: _Found, names: KeyNames) -> bool:
    """Return whether the value is a sentence about a secret, or a program that handles one."""
    word = _FIRST_WORD.match(value)
    first = word.group() if word else value
    care = found.sensitivity.care
    if care is Care.AUTHORIZATION or care is Care.COOKIE:
        return looks.is_type(first)
    if looks.is_code(value) or looks.is_type(first):
        return True
    if found.match["sign"] == ":":
        if looks.is_said_of_secrets(first):
            return True
        if care is not Care.ALWAYS and _PAIR.match(value):
            return True
    named = first.rpartition(".")[2]
    return looks.is_identifier(named) and names.sensitivity(named) is not None


def _literal_argument(
    text: str, found: _Found, inspection: Inspection
) -> tuple[Extent, str] | None:
    """A secret written out where a program is asked for it, as in `Secret('…')`."""
    call = _LITERAL_ARGUMENT.match(text, found.value_start)
    if call is None or not looks.is_random(call["literal"]):
        return None
    start, end = call.span("literal")
    marker = inspection.mark(found.sensitivity.kind, call["literal"])
    return Extent(start, end, is_quoted=True), marker


def _container(value: str, extent: Extent, found: _Found) -> tuple[Extent, str] | None:
    kind, care = found.sensitivity
    in_text = care is Care.AUTHORIZATION or care is Care.COOKIE
    if looks.is_stand_in(value) or not (in_text or care in HIDES_PARTS):
        return None
    return extent, _in_quotes(bare(kind), extent, found)


def _in_quotes(marker: str, extent: Extent, found: _Found) -> str:
    """The marker as its surroundings need it: text where a quoted name had a number or a list."""
    quote = found.match["close"] or found.match["named"]
    return f"{quote}{marker}{quote}" if quote and not extent.is_quoted else marker
