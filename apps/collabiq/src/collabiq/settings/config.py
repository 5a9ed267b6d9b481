"""What an operator sets for collabiq: one frozen record, read once from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypedDict
from urllib.parse import urlsplit

from collabiq.confined.children import LIMIT_S
from collabiq.gmail.sync import BACKFILL_DAYS, default_query
from collabiq.notion.client import API_URL
from collabiq.notion.schema import DEFAULT_FIELDS, InvalidFieldMap, field_map
from collabiq.secrets.infisical import HOST
from collabiq.secrets.provider import MAX_TTL_S, USUAL_TTL_S
from holdfast.variables import Variables

SYSTEM_NAME: Final = "collabiq"
EXTRACTORS: Final = ("gemini", "offline")
CIRCUIT_MODES: Final = ("fail-fast", "hold")
STRATEGIES: Final = ("skip", "update")
UNSET_MAILBOX: Final = "inbox"
"""Owns the mails that are sent in by hand where no mailbox is watched."""
REQUIRED_SECRETS: Final = (
    "GEMINI_API_KEY",
    "NOTION_API_KEY",
    "GMAIL_TOKEN",
    "NOTION_DATABASE_ID_COLLABIQ",
    "NOTION_DATABASE_ID_COMPANIES",
)
"""Looked up in Infisical first, then in the file and the environment."""
_ADDRESS: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_MEBIBYTE: Final = 1024 * 1024


class _PushSettings(TypedDict):
    gmail_notification_account: str | None
    gmail_notification_audience: str | None
    gmail_certs_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InfisicalConfig:
    """Where secrets are fetched from, and as whom."""

    enabled: bool = False
    host: str = HOST
    project_id: str = ""
    environment: str = "dev"
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    cache_ttl_s: float = USUAL_TTL_S
    dlq_always: bool = False
    """Whether a fallback that worked leaves an entry in the dead letter queue as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting of collabiq that is no secret. Times are in seconds, sizes in bytes."""

    email_address: str | None = None
    """The mailbox that is watched; without one nothing is polled."""
    poll_interval_s: float = 15.0
    gmail_api_url: str | None = None
    gmail_token_uri: str | None = None
    gmail_token_path: Path | None = None
    gmail_query: str = ""
    gmail_backfill_days: int = BACKFILL_DAYS
    gmail_topic: str | None = None
    """The topic of Pub/Sub where Gmail announces new mails."""
    gmail_notification_account: str | None = None
    """The service account whose tokens a push may bring, with the audience that they are for."""
    gmail_notification_audience: str | None = None
    gmail_certs_url: str | None = None
    """Where the keys of such tokens are; None is Google's own address."""
    mail_parse_limit_s: float = LIMIT_S
    """For how long a mail may be parsed before it has failed."""
    alert_senders: tuple[str, ...] = ()
    """Addresses that this system's own alerts come from."""
    gemini_api_url: str | None = None
    gemini_model: str = "gemini-2.5-flash"
    gemini_usd_per_million: tuple[float, float] = (0.30, 2.50)
    """What a million tokens cost, read and written."""
    llm_order: tuple[str, ...] = ("gemini",)
    notion_api_url: str = API_URL
    notion_rate_per_s: float = 3.0
    notion_duplicate_strategy: str = "skip"
    notion_lookup_lag_s: float = 5.0
    """After which a row that was made turns up in queries."""
    notion_fields: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_FIELDS))
    notion_creates_companies: bool = False
    confidence_threshold: float = 0.85
    circuit_mode: str = "fail-fast"
    circuit_cooldown_s: float | None = None
    """Of all four breakers; None leaves each its own."""
    infisical: InfisicalConfig = field(default_factory=InfisicalConfig)
    env_file: Path | None = None
    data_dir: Path = Path("data")
    data_min_free_bytes: int = 100 * _MEBIBYTE

    @property
    def mailbox(self) -> str:
        """Who owns the mails."""
        return self.email_address or UNSET_MAILBOX

    @property
    def required_secrets(self) -> tuple[str, ...]:
        """The names without which nothing is started."""
        if self.email_address is None:
            return ()
        needless = {"GMAIL_TOKEN"} if self.gmail_token_path is not None else set()
        needless |= {"GEMINI_API_KEY"} if "gemini" not in self.llm_order else set()
        return tuple(name for name in REQUIRED_SECRETS if name not in needless)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Config:
        """Return what the variables say, and the defaults for all that they leave out.

        Raises `holdfast.errors.InvalidSetting` with the name of a variable that cannot be used.
        """
        given = Variables.of(environment, system=SYSTEM_NAME)
        usual = cls()
        address = _address(given)
        token_path = given.maybe("GMAIL_TOKEN_PATH")
        given.knows(*REQUIRED_SECRETS, "GMAIL_ENCRYPTION_KEY", "GMAIL_NOTIFICATION_SECRET")
        given.knows("GMAIL_CREDENTIALS_PATH")
        return cls(
            email_address=address,
            poll_interval_s=given.seconds("POLL_INTERVAL_MS", usual.poll_interval_s),
            gmail_api_url=_url(given, "GMAIL_API_URL"),
            gmail_token_uri=_url(given, "GMAIL_TOKEN_URI"),
            gmail_token_path=Path(token_path) if token_path else None,
            gmail_query=given.text("GMAIL_QUERY", default_query(address) if address else ""),
            gmail_backfill_days=given.whole(
                "GMAIL_BACKFILL_DAYS", usual.gmail_backfill_days, least=0, most=3_650
            ),
            gmail_topic=given.maybe("GMAIL_TOPIC"),
            **_push_settings(given),
            mail_parse_limit_s=given.seconds("MAIL_PARSE_LIMIT_MS", usual.mail_parse_limit_s),
            alert_senders=_listed(given, "ALERT_SENDERS"),
            gemini_api_url=_url(given, "GEMINI_API_URL"),
            gemini_model=given.text("GEMINI_MODEL", usual.gemini_model),
            gemini_usd_per_million=_prices(given, usual.gemini_usd_per_million),
            llm_order=_llm_order(given),
            notion_api_url=_url(given, "NOTION_API_URL") or usual.notion_api_url,
            notion_rate_per_s=given.number(
                "NOTION_RATE_LIMIT_PER_SEC", usual.notion_rate_per_s, least=0.1, most=1_000
            ),
            notion_duplicate_strategy=given.one_of(
                "NOTION_DUPLICATE_STRATEGY", STRATEGIES, default=usual.notion_duplicate_strategy
            ),
            notion_lookup_lag_s=given.whole(
                "NOTION_LOOKUP_LAG_MS", round(usual.notion_lookup_lag_s * 1_000), most=3_600_000
            )
            / 1_000,
            notion_fields=_fields(given),
            notion_creates_companies=_switch(given, "NOTION_CREATE_COMPANIES"),
            confidence_threshold=given.number(
                "CONFIDENCE_THRESHOLD", usual.confidence_threshold, least=0, most=1
            ),
            circuit_mode=given.one_of("CIRCUIT_MODE", CIRCUIT_MODES, default=usual.circuit_mode),
            circuit_cooldown_s=(
                given.seconds("CIRCUIT_COOLDOWN_MS", 60.0)
                if given.maybe("CIRCUIT_COOLDOWN_MS")
                else None
            ),
            infisical=_infisical(given),
            env_file=Path(given.text("ENV_FILE", ".env")),
            data_dir=Path(given.text("DATA_DIR", str(usual.data_dir))),
            data_min_free_bytes=given.whole(
                "DATA_MIN_FREE_BYTES", usual.data_min_free_bytes, most=2**50
            ),
        )


def _switch(given: Variables, name: str) -> bool:
    return given.one_of(name, ("0", "1"), default="0") == "1"


def _listed(given: Variables, name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in given.text(name, "").split(",") if part.strip())


def _address(given: Variables) -> str | None:
    found = given.maybe("EMAIL_ADDRESS")
    if found is not None and not _ADDRESS.fullmatch(found):
        raise given.invalid("EMAIL_ADDRESS", found, "one address, such as collab@example.com")
    return found


def _url(given: Variables, name: str) -> str | None:
    found = given.maybe(name)
    if found is None:
        return None
    parts = urlsplit(found)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise given.invalid(name, found, "an address that begins with http:// or https://")
    return found.rstrip("/")


def _push_settings(given: Variables) -> _PushSettings:
    """Return who signs pushes and for whom: both or neither."""
    account = given.maybe("GMAIL_NOTIFICATION_ACCOUNT")
    audience = given.maybe("GMAIL_NOTIFICATION_AUDIENCE")
    if account is not None and not _ADDRESS.fullmatch(account):
        limit = "the e-mail of a service account"
        raise given.invalid("GMAIL_NOTIFICATION_ACCOUNT", account, limit)
    for name, mine, other in (
        ("GMAIL_NOTIFICATION_ACCOUNT", account, audience),
        ("GMAIL_NOTIFICATION_AUDIENCE", audience, account),
    ):
        if mine is None and other is not None:
            raise given.invalid(name, "", "set together with the other of the two")
    return {
        "gmail_notification_account": account,
        "gmail_notification_audience": audience,
        "gmail_certs_url": _url(given, "GMAIL_CERTS_URL"),
    }


def _fields(given: Variables) -> dict[str, str]:
    text = given.maybe("NOTION_FIELD_MAP")
    try:
        return field_map(text)
    except InvalidFieldMap as error:
        raise given.invalid("NOTION_FIELD_MAP", text or "", str(error)) from None


def _llm_order(given: Variables) -> tuple[str, ...]:
    """Return which extractors are asked, in their order; without a key there are only the rules."""
    has_key = any(given.maybe(name) for name in ("GEMINI_API_KEY", "EMAIL_ADDRESS"))
    order = _listed(given, "LLM_ORDER") or (("gemini",) if has_key else ("offline",))
    if len(set(order)) != len(order) or not set(order) <= set(EXTRACTORS):
        limit = f"some of {', '.join(EXTRACTORS)}, each once, with commas between them"
        raise given.invalid("LLM_ORDER", ",".join(order), limit)
    return order


def _prices(given: Variables, usual: tuple[float, float]) -> tuple[float, float]:
    return (
        given.number("GEMINI_USD_PER_MILLION_IN", usual[0], least=0, most=1_000),
        given.number("GEMINI_USD_PER_MILLION_OUT", usual[1], least=0, most=1_000),
    )


def _infisical(given: Variables) -> InfisicalConfig:
    usual = InfisicalConfig()
    found = InfisicalConfig(
        enabled=_switch(given, "INFISICAL_ENABLED"),
        host=_url(given, "INFISICAL_HOST") or usual.host,
        project_id=given.text("INFISICAL_PROJECT_ID", ""),
        environment=given.text("INFISICAL_ENVIRONMENT", usual.environment),
        client_id=given.text("INFISICAL_CLIENT_ID", ""),
        client_secret=given.text("INFISICAL_CLIENT_SECRET", ""),
        cache_ttl_s=given.whole("INFISICAL_CACHE_TTL", USUAL_TTL_S, most=MAX_TTL_S),
        dlq_always=_switch(given, "INFISICAL_DLQ_ALWAYS"),
    )
    if found.enabled:
        for name in ("PROJECT_ID", "CLIENT_ID", "CLIENT_SECRET"):
            if not getattr(found, name.lower()):
                raise given.invalid(f"INFISICAL_{name}", "", "set while INFISICAL_ENABLED is 1")
    return found
