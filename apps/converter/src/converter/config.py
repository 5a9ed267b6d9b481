"""What an operator sets for the converter: one frozen record, read once from the environment.

A variable that is empty counts as not set. One that cannot be read is an `InvalidSetting` that
names the variable and says what it must be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from converter.gateway_address import checked_url
from converter.storage.open import checked_location
from holdfast import Breaker, BreakerMode, Retry, WorkerOptions
from holdfast.errors import InvalidSetting
from holdfast.presets import added_jitter, fixed_spread, hold_queue

DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"
DEFAULT_GATEWAY_URL: Final = "http://127.0.0.1:8091"
MEBIBYTE: Final = 1024 * 1024
DAY_MS: Final = 24 * 3600 * 1000

_DATABASES: Final = ("sqlite:", "postgresql:", "postgres:")
_PROFILES: Final = ("exponential", "fixed")
_MODES: Final = {"hold": BreakerMode.HOLD, "fail-fast": BreakerMode.FAIL_FAST}
_SECOND_DELAY: Final = 3
_THIRD_DELAY: Final = 9
_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConverterConfig:
    """Every knob of the converter. Times are in seconds, sizes in bytes."""

    database_url: str = field(default=DEFAULT_DATABASE_URL, repr=False)
    """It may hold a password."""
    gateway_url: str = DEFAULT_GATEWAY_URL
    uploads_dir: str = "uploads"
    results_dir: str = "results"
    """Folders, or places like `s3://bucket/prefix`."""
    min_free_bytes: int = 64 * MEBIBYTE
    """How much has to be free on a disk before anything is written to it."""
    retry: Retry = field(default_factory=lambda: added_jitter({}))
    breaker: Breaker = field(default_factory=lambda: hold_queue({}))
    gateway_timeout_s: float = 120.0
    gateway_idle_timeout_s: float = 30.0
    """How long the answer of a gateway may stop flowing once it has begun."""
    lease_s: float = 90.0
    """Renewed three times in its life."""
    concurrency: int = 10
    retention_days: float = 30.0
    upload_max_bytes: int = 50 * MEBIBYTE
    result_max_bytes: int = 64 * MEBIBYTE
    quota_active_jobs: int = 200
    """How many conversions one owner may have under way."""

    @property
    def worker_options(self) -> WorkerOptions:
        """How a worker behaves."""
        return WorkerOptions(concurrency=self.concurrency, lease=self.lease_s)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ConverterConfig:
        """Return what the variables say, and the defaults for all that they leave out."""
        given = _Given(environment)
        usual = cls()
        return cls(
            database_url=_database_url(given.text("DATABASE_URL", usual.database_url)),
            gateway_url=checked_url(
                given.text("GATEWAY_URL", usual.gateway_url), variable="GATEWAY_URL"
            ),
            uploads_dir=given.location("UPLOADS_DIR", usual.uploads_dir),
            results_dir=given.location("RESULTS_DIR", usual.results_dir),
            min_free_bytes=given.whole("STORAGE_MIN_FREE_BYTES", usual.min_free_bytes, most=2**50),
            retry=_retry(given),
            breaker=_breaker(given),
            gateway_timeout_s=given.seconds("GATEWAY_TIMEOUT_MS", usual.gateway_timeout_s),
            gateway_idle_timeout_s=given.seconds(
                "GATEWAY_IDLE_TIMEOUT_MS", usual.gateway_idle_timeout_s
            ),
            lease_s=given.number("WORKER_LEASE_TTL_SEC", usual.lease_s, least=0.1, most=86_400),
            concurrency=given.whole("WORKER_CONCURRENCY", usual.concurrency, least=1, most=10_000),
            # Parts of a day, down to a tenth of a second.
            retention_days=given.number(
                "RETENTION_DAYS", usual.retention_days, least=0.000_001, most=3650
            ),
            upload_max_bytes=given.size("UPLOAD_MAX_BYTES", usual.upload_max_bytes),
            result_max_bytes=given.size("RESULT_MAX_BYTES", usual.result_max_bytes),
            quota_active_jobs=given.whole(
                "QUOTA_ACTIVE_JOBS", usual.quota_active_jobs, least=1, most=1_000_000
            ),
        )


class _Given:
    """The variables that are set."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.variables = {name: text for name, text in environment.items() if text.strip()}

    def text(self, name: str, default: str) -> str:
        return self.variables.get(name, default).strip()

    def location(self, name: str, default: str) -> str:
        return checked_location(self.text(name, default), variable=name)

    def whole(self, name: str, default: int, *, least: int = 0, most: int) -> int:
        text = self.text(name, str(default))
        value = int(text) if _WHOLE.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise _invalid(name, text, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        if name not in self.variables:
            return default
        text = self.text(name, "")
        value = float(text) if _NUMBER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            shown = f"{least:.6f}".rstrip("0").rstrip(".")
            raise _invalid(name, text, f"a number from {shown} to {most:g}")
        return value

    def seconds(self, name: str, default_s: float) -> float:
        """A variable in milliseconds."""
        return self.whole(name, round(default_s * 1000), least=1, most=DAY_MS) / 1000

    def size(self, name: str, default: int) -> int:
        return self.whole(name, default, least=1, most=2**40)

    def one_of(self, name: str, allowed: Collection[str], *, default: str) -> str:
        text = self.text(name, default).lower()
        if text not in allowed:
            raise _invalid(name, text, f"one of {', '.join(allowed)}")
        return text


def _retry(given: _Given) -> Retry:
    usual = added_jitter(given.variables)
    if given.one_of("RETRY_PROFILE", _PROFILES, default="exponential") == "exponential":
        return usual
    # 5, 15 and 45 s, unless the first of them is set.
    first_s = usual.base
    return replace(
        fixed_spread(given.variables),
        cap=None,
        delays=(first_s, first_s * _SECOND_DELAY, first_s * _THIRD_DELAY),
    )


def _breaker(given: _Given) -> Breaker:
    mode = given.one_of("CIRCUIT_MODE", _MODES, default="hold")
    usual = hold_queue(given.variables)
    # Who has it tried again soon does not want to wait longer than that for all of the calls.
    return replace(usual, mode=_MODES[mode], release=min(usual.release, usual.cooldown))


def _database_url(url: str) -> str:
    if not url.startswith(_DATABASES):
        scheme = url.partition(":")[0] if ":" in url else "…"
        limit = "like sqlite:///holdfast.db or postgresql://host/database"
        raise _invalid("DATABASE_URL", f"{scheme}:…", limit)
    return url


def _invalid(name: str, value: str, limit: str) -> InvalidSetting:
    return InvalidSetting("environment", field=name, value=value, limit=limit)
