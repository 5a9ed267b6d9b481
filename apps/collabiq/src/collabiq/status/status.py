"""How the system is: each service, what to do about it, today's counts, the last poll, the cost."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from collabiq.gmail.credentials import GmailCredentials
from collabiq.gmail.errors import GmailFailure
from collabiq.gmail.token_file import TokenFile
from collabiq.records.circuit_breaker import SERVICES, CircuitState
from collabiq.rows import MailboxRow, count_by_status, counts_since, get_mailbox, last_written_at
from collabiq.settings.sources import found_secret, infisical_failure
from collabiq.tables.times import day_start

if TYPE_CHECKING:
    from collabiq.collabiq import Collabiq

OPERATIONAL: Final = "OPERATIONAL"
DEGRADED: Final = "DEGRADED"
UNAVAILABLE: Final = "UNAVAILABLE"
_RECENT: Final = timedelta(hours=24)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = 1_000_000
_MISSED_POLLS: Final = 10
_LEAST_SILENCE: Final = timedelta(minutes=2)
_MAX_RECORDS: Final = 50
_OPERATIONS: Final = {
    "gmail_fetch": "gmail",
    "gemini_extract": "gemini",
    "notion_write": "notion",
    "infisical_fetch": "infisical",
}
_NAMES: Final = {"gmail": "Gmail", "gemini": "Gemini", "notion": "Notion", "infisical": "Infisical"}
_LOGIN: Final = "Run `collabiq gmail login`; then everything since is fetched by itself."
_CURES: Final = {
    "gmail": _LOGIN,
    "gemini": "Check GEMINI_API_KEY and the quota of its project, then replay the dead letters of "
    "gemini_extract.",
    "notion": "Check NOTION_API_KEY and that the databases are shared with the integration, then "
    "replay the dead letters of notion_write.",
    "infisical": "Check INFISICAL_CLIENT_ID, INFISICAL_CLIENT_SECRET and the project; the last "
    "good values are used meanwhile.",
}


class Standing(NamedTuple):
    """How a service is, why, and what to do."""

    state: str
    reason: str | None = None
    next_step: str | None = None
    critical: bool = False


def status_document(collabiq: Collabiq, *, owner: str | None = None) -> dict[str, Any]:
    """Return how the system is; counts are of one owner's mails where one is given."""
    engine, config = collabiq.engine, collabiq.config
    now = datetime.fromtimestamp(engine.clock.now() / _US, UTC)
    with engine.transaction() as tx:
        today = counts_since(tx, day_start(now), mailbox=owner)
        totals = (
            count_by_status(tx)
            if owner is None
            else counts_since(tx, _EPOCH, mailbox=owner).by_status
        )
        mailbox = get_mailbox(tx, config.mailbox)
    token = _token(collabiq, mailbox, now)
    services = Services(collabiq, mailbox, token, now).all()
    files = _files(config.data_dir, config.data_min_free_bytes)
    critical = [
        {"service": each["service"], "sentence": each["reason"], "next_step": each["next_step"]}
        for each in services
        if each["critical"]
    ]
    if files["short"]:
        critical.append(
            {
                "service": "files",
                "sentence": f"{files['folder']} has {files['free_bytes']} bytes left, so no new "
                "mail is taken.",
                "next_step": "Make room there; mails wait at Gmail meanwhile.",
            }
        )
    offline = config.llm_order[0] == "offline"
    return {
        "at": now.isoformat(),
        "mailbox": config.email_address,
        "services": services,
        "critical": critical,
        "today": {**today.by_status, "total": sum(today.by_status.values())},
        "totals": totals,
        "last_poll": collabiq.inbox.last_poll(),
        "poll_interval_s": config.poll_interval_s,
        "token": token,
        "cost_today_usd": round(today.usd, 6),
        "extractor": {
            "order": list(config.llm_order),
            "model": None if offline else config.gemini_model,
            "offline": offline,
        },
        "confidence_threshold": config.confidence_threshold,
        "files": files,
    }


class Services:
    """Finds out how each of the four services is, without calling any."""

    def __init__(
        self,
        collabiq: Collabiq,
        mailbox: MailboxRow | None,
        token: Mapping[str, Any],
        now: datetime,
    ) -> None:
        self._collabiq, self._mailbox, self._token, self._now = collabiq, mailbox, token, now
        self._views = {view.name: view for view in collabiq.engine.upstreams.list()}
        self._critical = self._critical_records()

    def all(self) -> list[dict[str, Any]]:
        """Return the four, in a stable order."""
        return [self._document(service) for service in SERVICES]

    def _document(self, service: str) -> dict[str, Any]:
        circuit = self._collabiq.circuits.state_of(service)
        standing = (
            self._own(service)
            or self._of_records(service)
            or _of_circuit(service, circuit.state, circuit.failure_count, self._reason(service))
            or self._lesser(service)
            or Standing(OPERATIONAL)
        )
        return {
            "service": service,
            **standing._asdict(),
            "circuit": circuit.state.value,
            "next_call_at": self._next_call_at(service),
        }

    def _own(self, service: str) -> Standing | None:
        """Return what is wrong with a service that no call has to find out."""
        config, secrets = self._collabiq.config, self._collabiq.secrets
        if service == "gmail" and config.email_address is not None:
            if self._token["refused"]:
                said = "Google refuses the credentials of the mailbox (invalid_grant)."
                return Standing(UNAVAILABLE, said, _LOGIN, critical=True)
            if self._token["problem"]:
                return Standing(UNAVAILABLE, self._token["problem"], _LOGIN, critical=True)
        needed = {"gemini": "GEMINI_API_KEY", "notion": "NOTION_API_KEY"}.get(service)
        if service == "gemini" and "gemini" not in config.llm_order:
            return None
        is_used = service == "notion" or config.llm_order[0] == "gemini"
        if needed is not None and is_used and found_secret(secrets, needed) is None:
            said = f"{needed} is found nowhere."
            cure = f"Put {needed} into Infisical, the file ENV_FILE, or the environment."
            return Standing(UNAVAILABLE, said, cure, critical=True)
        if service == "infisical" and config.infisical.enabled:
            failure = infisical_failure(secrets)
            if failure is not None:
                said = f"{failure}. The last good values are used, then the file."
                return Standing(DEGRADED, said, _CURES["infisical"])
        return None

    def _of_records(self, service: str) -> Standing | None:
        found = self._critical.get(service)
        if found is None:
            return None
        return Standing(UNAVAILABLE, _sentence(found["message"]), _CURES[service], critical=True)

    def _lesser(self, service: str) -> Standing | None:
        """Return what is less than well with a service that answers."""
        config = self._collabiq.config
        if service == "gmail":
            if config.email_address is None:
                said = "No mailbox is watched: mails are only taken as files."
                return Standing(
                    DEGRADED, said, "Set EMAIL_ADDRESS, and run `collabiq gmail login`."
                )
            return self._silence()
        if service == "gemini" and config.llm_order[0] == "offline":
            said = "The offline extractor is used: everything it writes is for review."
            return Standing(DEGRADED, said, "Set GEMINI_API_KEY to have a model read the mails.")
        if service == "infisical" and not config.infisical.enabled:
            said = "Not used: secrets come from the file and the environment."
            return Standing(OPERATIONAL, said)
        return None

    def _silence(self) -> Standing | None:
        polled_at = None if self._mailbox is None else self._mailbox.polled_at
        longest = timedelta(seconds=self._collabiq.config.poll_interval_s * _MISSED_POLLS)
        if polled_at is None or self._now - polled_at <= max(longest, _LEAST_SILENCE):
            return None
        away = [each for each in ("gemini", "notion") if not self._is_closed(each)]
        if away:
            said = f"No mail is taken while {_NAMES[away[0]]} is unavailable; mails wait at Gmail."
            return Standing(DEGRADED, said, "Wait: it goes on by itself.")
        minutes = int((self._now - polled_at).total_seconds() // 60)
        said = f"The mailbox was last polled {minutes} minutes ago."
        return Standing(DEGRADED, said, "See whether `holdfast up` or `collabiq run` is running.")

    def _is_closed(self, service: str) -> bool:
        return self._collabiq.circuits.state_of(service).state is CircuitState.CLOSED

    def _reason(self, service: str) -> str | None:
        view = self._views.get(service)
        return None if view is None else view.reason

    def _next_call_at(self, service: str) -> str | None:
        view = self._views.get(service)
        until = None if view is None else view.until
        if not until or until <= self._collabiq.engine.clock.now():
            return None
        return datetime.fromtimestamp(until / _US, UTC).isoformat()

    def _critical_records(self) -> dict[str, dict[str, Any]]:
        """Return the newest CRITICAL record of each service that has not gone well since."""
        records = self._collabiq.errors.list(
            severity="CRITICAL", since=self._now - _RECENT, limit=_MAX_RECORDS
        )["errors"]
        found: dict[str, dict[str, Any]] = {}
        for record in records:
            service = _OPERATIONS.get(record["context"].get("operation", ""))
            if service is not None and service not in found and not self._cured(service, record):
                found[service] = record
        return found

    def _cured(self, service: str, record: Mapping[str, Any]) -> bool:
        """Return whether a service has done its work since a record was written."""
        good_at = self._good_at(service)
        return good_at is not None and good_at > datetime.fromisoformat(record["timestamp"])

    def _good_at(self, service: str) -> datetime | None:
        config = self._collabiq.config
        match service:
            case "gmail":
                return None if self._mailbox is None else self._mailbox.polled_at
            case "gemini" if config.llm_order != ("gemini",):
                return None  # rows may come of the rules
            case "gemini" | "notion":
                with self._collabiq.engine.transaction() as tx:
                    return last_written_at(tx)
            case _:
                return None if infisical_failure(self._collabiq.secrets) else self._now


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _of_circuit(
    service: str, state: CircuitState, failures: int, reason: str | None
) -> Standing | None:
    name = _NAMES[service]
    why = f" {_sentence(reason)}" if reason else ""
    match state:
        case CircuitState.OPEN:
            said = f"{name} is not called: its circuit is open.{why}"
            step = f"Look at the status page of {name}; it is tried again by itself."
            return Standing(UNAVAILABLE, said, step)
        case CircuitState.HALF_OPEN:
            said = f"{name} is being tried again after an outage."
            return Standing(DEGRADED, said, "Wait: it goes on by itself once two calls went well.")
        case _ if failures:
            said = f"The last {failures} calls of {name} failed."
            return Standing(DEGRADED, said, "Look at the errors; calls are repeated by themselves.")
        case _:
            return None


def _token(collabiq: Collabiq, mailbox: MailboxRow | None, now: datetime) -> dict[str, Any]:
    """Return how the credentials of the mailbox stand; no call is made."""
    config = collabiq.config
    path = config.gmail_token_path
    nothing = {
        "present": False,
        "refused": False,
        "problem": None,
        "refreshed_at": None,
        "age_s": None,
        "expires_at": None,
    }
    if config.email_address is None:
        return nothing
    try:
        credentials = _credentials(collabiq)
        found = credentials.load()
        fingerprint = credentials.fingerprint()
    except (GmailFailure, OSError) as error:
        return nothing | {"problem": f"The credentials of the mailbox cannot be read: {error}."}
    refreshed_at = _modified_at(path)
    return {
        "present": True,
        "refused": mailbox is not None and mailbox.refused_grant == fingerprint,
        "problem": None,
        "refreshed_at": None if refreshed_at is None else refreshed_at.isoformat(),
        "age_s": None if refreshed_at is None else max(0, (now - refreshed_at).total_seconds()),
        "expires_at": None if found.expiry is None else found.expiry.isoformat(),
    }


def _credentials(collabiq: Collabiq) -> GmailCredentials:
    """Return those that the flow works with, which may have a newer token than the secret."""
    if collabiq.flow is not None:
        return collabiq.flow.works.tools.credentials()
    config, secrets = collabiq.config, collabiq.secrets
    path = config.gmail_token_path
    key = found_secret(secrets, "GMAIL_ENCRYPTION_KEY")
    return GmailCredentials(
        file=None if path is None else TokenFile(path, key=key),
        initial=lambda: found_secret(secrets, "GMAIL_TOKEN"),
        token_uri=config.gmail_token_uri,
    )


def _modified_at(path: Path | None) -> datetime | None:
    try:
        return None if path is None else datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None


def _files(folder: Path, least_bytes: int) -> dict[str, Any]:
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    return {"folder": str(folder), "free_bytes": free, "short": free < least_bytes}
