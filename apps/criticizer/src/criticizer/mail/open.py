"""Chooses through whom mail goes, by the variables of the environment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from holdfast import Retry, Upstream
from holdfast.bridges.file import File
from holdfast.bridges.postmark import Postmark
from holdfast.bridges.resend import Resend
from holdfast.bridges.smtp import Smtp
from holdfast.deliveries import Provider
from holdfast.errors import InvalidValue
from holdfast.variables import Variables, invalid

PROVIDERS: Final = ("resend", "postmark", "smtp", "file")
DEFAULT_SENDER: Final = "Criticizer <criticizer@localhost.localdomain>"
RESEND_URL: Final = "https://api.resend.com"
POSTMARK_URL: Final = "https://api.postmarkapp.com"
_OF_PROVIDERS: Final = (
    "RESEND_API_KEY",
    "RESEND_API_URL",
    "POSTMARK_SERVER_TOKEN",
    "POSTMARK_API_URL",
    "SMTP_URL",
)
"""What some of the providers take, and others do not."""
_SECURITY: Final[dict[str, Literal["starttls", "tls", "none"]]] = {
    "smtp": "starttls",
    "smtps": "tls",
    "smtp+plain": "none",
}
_SMTP_LIMIT: Final = "like smtp://user:password@mail.example.org:587, smtps://… or smtp+plain://…"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailConfig:
    """Through whom mail goes, and from whom it comes."""

    provider: str = "file"
    sender: str = DEFAULT_SENDER
    file: str = "criticizer-mail.jsonl"
    url: str = ""
    key: str = field(default="", repr=False)
    smtp_url: str = field(default="", repr=False)

    @classmethod
    def read(cls, given: Variables) -> MailConfig:
        """Return what the variables say; a provider without its key is refused by name."""
        given.knows(*_OF_PROVIDERS)
        wanted = given.one_of("MAIL_PROVIDER", PROVIDERS, default=_usual(given))
        usual = cls()
        common = cls(
            provider=wanted,
            sender=given.text("MAIL_FROM", usual.sender),
            file=given.text("MAIL_FILE", usual.file),
        )
        match wanted:
            case "resend":
                return _with_key(common, given, "RESEND_API_URL", RESEND_URL, "RESEND_API_KEY")
            case "postmark":
                return _with_key(
                    common, given, "POSTMARK_API_URL", POSTMARK_URL, "POSTMARK_SERVER_TOKEN"
                )
            case "smtp":
                return replace(common, smtp_url=_needed(given, "SMTP_URL", _SMTP_LIMIT))
        return common


def open_mail(config: MailConfig, *, retry: Retry, upstream: Upstream) -> Provider:
    """Return the provider, guarded by the upstream's breaker where there is a network."""
    match config.provider:
        case "resend":
            return Resend(config.key, base_url=config.url, upstream=upstream, retry=retry)
        case "postmark":
            return Postmark(config.key, base_url=config.url, upstream=upstream, retry=retry)
        case "smtp":
            return _smtp(config.smtp_url, retry=retry, upstream=upstream)
    return File(config.file, retry=retry)


def _usual(given: Variables) -> str:
    # Where a stand-in takes the place of Resend, mail goes there.
    return "resend" if given.maybe("RESEND_API_URL") else "file"


def _with_key(
    common: MailConfig, given: Variables, url_name: str, usual_url: str, key_name: str
) -> MailConfig:
    url = given.text(url_name, usual_url)
    stands_in = urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}
    key = given.maybe(key_name) or ("stand-in" if stands_in else None)
    if key is None:
        raise given.invalid(key_name, "", f"set, because MAIL_PROVIDER is {common.provider}")
    return replace(common, url=url, key=key)


def _needed(given: Variables, name: str, limit: str) -> str:
    found = given.maybe(name)
    if found is None:
        raise given.invalid(name, "", f"set, {limit}")
    return found


def _smtp(url: str, *, retry: Retry, upstream: Upstream) -> Smtp:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _bad_smtp() from None
    if parts.scheme not in _SECURITY or not host:
        raise _bad_smtp()
    try:
        return Smtp(
            host,
            port,
            security=_SECURITY[parts.scheme],
            username=None if parts.username is None else unquote(parts.username),
            password=None if parts.password is None else unquote(parts.password),
            retry=retry,
            upstream=upstream,
        )
    except InvalidValue as error:
        raise invalid("SMTP_URL", "…", f"{error.field} {error.limit}") from None


def _bad_smtp() -> InvalidValue:
    return invalid("SMTP_URL", "…", _SMTP_LIMIT)
