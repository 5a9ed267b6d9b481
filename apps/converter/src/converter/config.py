"""What an operator sets for the converter: one frozen record, read once from the environment.

A variable that is empty counts as not set. One that cannot be read is an `InvalidSetting` that
names the variable and says what it must be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from converter.callbacks import CallbackConfig
from converter.gateway.mappings import MAPPINGS
from converter.gateway_address import checked_url
from converter.sending import HighPriority
from converter.storage.open import S3_SCHEME, S3_VARIABLES, checked_location
from holdfast import Breaker, Retry
from holdfast.policies import BreakerMode
from holdfast.presets import added_jitter, fixed_spread, hold_queue
from holdfast.variables import Variables
from holdfast.workers import WorkerOptions

SYSTEM_NAME: Final = "converter"
DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"
DEFAULT_GATEWAY_URL: Final = "http://127.0.0.1:8091"
MEBIBYTE: Final = 1024 * 1024
MAX_PER_MINUTE: Final = 1_000

_DATABASES: Final = ("sqlite:", "postgresql:", "postgres:")
_PROFILES: Final = ("exponential", "fixed")
_MODES: Final = {"hold": BreakerMode.HOLD, "fail-fast": BreakerMode.FAIL_FAST}
_MAPPING: Final = re.compile(r"[\w.:/+-]{1,100}")
_IN_A_ROW: Final = 5
"""So many failed calls in a row open the breaker, however few calls there are."""
_SECOND_DELAY: Final = 3
_THIRD_DELAY: Final = 9


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
    breaker: Breaker = field(default_factory=lambda: replace(hold_queue({}), consecutive=_IN_A_ROW))
    mappings: tuple[str, ...] = tuple(MAPPINGS)
    """What the gateway can make of a file; an upload that asks for another is refused."""
    gateway_timeout_s: float = 120.0
    gateway_idle_timeout_s: float = 30.0
    """How long the answer of a gateway may stop flowing once it has begun."""
    lease_s: float = WorkerOptions().lease
    """Renewed three times in its life."""
    concurrency: int = WorkerOptions().concurrency
    retention_days: float = 30.0
    upload_max_bytes: int = 50 * MEBIBYTE
    result_max_bytes: int = 64 * MEBIBYTE
    quota_active_jobs: int = 200
    """How many conversions one owner may have under way."""
    uploads_per_minute: int = 0
    """How many files one owner may send in a minute; 0 for no limit."""
    high_priority: HighPriority = HighPriority.TOKENS
    """Who may send files with high priority."""
    callbacks: CallbackConfig = field(default_factory=CallbackConfig)

    @property
    def worker_options(self) -> WorkerOptions:
        """How a worker behaves."""
        return WorkerOptions(concurrency=self.concurrency, lease=self.lease_s)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> ConverterConfig:
        """Return what the variables say, and the defaults for all that they leave out."""
        given = Variables.of(environment, system=SYSTEM_NAME)
        usual = cls()
        return cls(
            database_url=_database_url(given, usual.database_url),
            gateway_url=checked_url(
                given.text("GATEWAY_URL", usual.gateway_url), variable=given.named("GATEWAY_URL")
            ),
            uploads_dir=_location(given, "UPLOADS_DIR", usual.uploads_dir),
            results_dir=_location(given, "RESULTS_DIR", usual.results_dir),
            min_free_bytes=given.whole("STORAGE_MIN_FREE_BYTES", usual.min_free_bytes, most=2**50),
            retry=_retry(given),
            breaker=_breaker(given),
            mappings=_mappings(given, usual.mappings),
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
            uploads_per_minute=given.whole(
                "UPLOADS_PER_MINUTE", usual.uploads_per_minute, most=MAX_PER_MINUTE
            ),
            high_priority=HighPriority(
                given.one_of(
                    "UPLOAD_HIGH_PRIORITY", tuple(HighPriority), default=usual.high_priority
                )
            ),
            callbacks=CallbackConfig.read(given),
        )


def _location(given: Variables, name: str, default: str) -> str:
    if given.text(name, default).startswith(S3_SCHEME):
        given.knows(*S3_VARIABLES)
    return checked_location(given.text(name, default), variable=given.named(name))


def _retry(given: Variables) -> Retry:
    usual = added_jitter(given)
    if given.one_of("RETRY_PROFILE", _PROFILES, default="exponential") == "exponential":
        return usual
    # 5, 15 and 45 s, unless the first of them is set.
    first_s = usual.base
    return replace(
        fixed_spread(given),
        cap=None,
        delays=(first_s, first_s * _SECOND_DELAY, first_s * _THIRD_DELAY),
    )


def _mappings(given: Variables, usual: tuple[str, ...]) -> tuple[str, ...]:
    named = given.text("GATEWAY_MAPPINGS", ",".join(usual))
    names = tuple(dict.fromkeys(name.strip() for name in named.split(",")))
    if not all(_MAPPING.fullmatch(name) for name in names):
        limit = "names with commas between them, like text,layout,raw"
        raise given.invalid("GATEWAY_MAPPINGS", named, limit)
    return names


def _breaker(given: Variables) -> Breaker:
    mode = given.one_of("CIRCUIT_MODE", _MODES, default="hold")
    usual = hold_queue(given)
    # Who has it tried again soon does not want to wait longer than that for all of the calls.
    return replace(
        usual,
        consecutive=given.whole("CIRCUIT_CONSECUTIVE", _IN_A_ROW, least=1, most=1_000),
        mode=_MODES[mode],
        release=min(usual.release, usual.cooldown),
    )


def _database_url(given: Variables, default: str) -> str:
    url = given.text("DATABASE_URL", default)
    if not url.startswith(_DATABASES):
        scheme = url.partition(":")[0] if ":" in url else "…"
        limit = "like sqlite:///holdfast.db or postgresql://host/database"
        raise given.invalid("DATABASE_URL", f"{scheme}:…", limit)
    return url
