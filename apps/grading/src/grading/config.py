"""What an operator sets for grading: one frozen record, read once from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from grading.llm.config import LlmConfig
from grading.speech.config import SttConfig
from grading.states import Skill
from holdfast import Breaker, Retry
from holdfast.presets import CAPPED, THREE_TRIALS
from holdfast.systems import LAB_VARIABLE
from holdfast.variables import Variables

SYSTEM_NAME: Final = "grading"
RUNNERS: Final = ("celery", "worker")
DEFAULT_PORT: Final = 8000
DAY_S: Final = 86_400.0
MEBIBYTE: Final = 1024 * 1024
_MAX_RETRIES: Final = 99
LAB_SLA_WRITING_S: Final = 40.0
LAB_SLA_SPEAKING_S: Final = 60.0
"""So short that a timeout and a late result can be watched."""
_MOST: Final = 1_000_000
_MAX_ACTIVE: Final = 10_000
"""As far as the engine counts jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingConfig:
    """Every setting of grading. Times are in seconds, sizes in bytes."""

    database_url: str | None = field(default=None, repr=False)
    """Of the grader alone; None is the database of the process. It may hold a password."""
    broker_url: str | None = field(default=None, repr=False)
    """Where RabbitMQ is. Without one both sides are in one process, by a loopback transport."""
    runner: str = "celery"
    """What runs the stages of a grader behind a broker: `celery`, or `worker`: holdfast's own."""
    exchange: str = "grading"
    exchange_type: str = "topic"
    queue_prefix: str = ""
    """Stands before the names of queues, where several installations share a broker."""
    declares_topology: bool = True
    """False: queues and exchanges are another's, and only looked for."""
    consumes_dlq: bool = False
    """Whether `grading service` moves dead-letter records into the store as well."""
    redacts_dlq: bool = False
    """Whether dead-letter records hold ids, hashes and lengths in place of the message."""
    outbox_poll_s: float = 5.0
    outbox_batch_size: int = 50
    outbox_stale_s: float = 60.0
    sla_writing_s: float = 1_200.0
    sla_speaking_s: float = 3_600.0
    late_grace_s: float = 1_800.0
    """For how long after its deadline a submission is still graded, for the audit."""
    lease_s: float = 30.0
    """After which another worker takes over what a lost one has begun."""
    concurrency: int = 10
    """How many stages a worker of holdfast's own runs at a time."""
    retry: Retry = CAPPED
    breaker: Breaker = THREE_TRIALS
    llm: LlmConfig = field(default_factory=LlmConfig)
    stt: SttConfig = field(default_factory=SttConfig)
    audio_dir: Path = Path("audio")
    audio_max_bytes: int = 25 * MEBIBYTE
    audio_max_s: float = 600.0
    audio_quota_bytes: int = 1024 * MEBIBYTE
    """How much the recordings of one owner may take together; 0 for no limit."""
    uploads_per_minute: int = 20
    """How many recordings one owner may send in a minute; 0 for no limit."""
    audio_hosts: tuple[str, ...] = ()
    """Hosts of others from which recordings may be fetched."""
    public_url: str = f"http://127.0.0.1:{DEFAULT_PORT}"
    """Under which graders reach this server, for links to recordings."""
    submissions_per_minute: int = 10
    """How many submissions one owner may make in a minute; 0 for no limit."""
    quota_active: int = 20
    """How many submissions one owner may have under way."""
    review_below: int = 0
    """Results with less confidence wait for a teacher; 0 switches reviews off."""
    walk_ins: bool = True
    """Whether people without credentials may use it, each as an owner of their own."""

    def sla_s(self, skill: Skill) -> float:
        """Return how long grading an answer of this skill may take."""
        return self.sla_writing_s if skill is Skill.WRITING else self.sla_speaking_s

    @property
    def is_embedded(self) -> bool:
        """Whether both sides are in one process."""
        return self.broker_url is None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> GradingConfig:
        """Return what the variables say, and the defaults for all that they leave out."""
        given = Variables.of(environment, system=SYSTEM_NAME)
        in_lab = given.maybe(LAB_VARIABLE) == "1"
        usual = (
            cls(sla_writing_s=LAB_SLA_WRITING_S, sla_speaking_s=LAB_SLA_SPEAKING_S)
            if in_lab
            else cls()
        )
        return cls(
            database_url=given.maybe("GRADING_DATABASE_URL"),
            broker_url=given.maybe("AMQP_URL") or given.maybe("HOLDFAST_BROKER_URL"),
            runner=given.one_of("GRADING_RUNNER", RUNNERS, default=usual.runner),
            exchange=given.text("GRADING_EXCHANGE", usual.exchange),
            exchange_type=given.one_of(
                "GRADING_EXCHANGE_TYPE", ("topic", "direct"), default=usual.exchange_type
            ),
            queue_prefix=given.text("GRADING_QUEUE_PREFIX", usual.queue_prefix),
            declares_topology=given.one_of(
                "GRADING_TOPOLOGY", ("declare", "check"), default="declare"
            )
            == "declare",
            consumes_dlq=_switch(given, "GRADING_DLQ_CONSUMER", usual=usual.consumes_dlq),
            redacts_dlq=_switch(given, "DLQ_REDACT", usual=usual.redacts_dlq),
            outbox_poll_s=given.seconds("OUTBOX_POLL_INTERVAL_MS", usual.outbox_poll_s),
            outbox_batch_size=given.whole(
                "OUTBOX_BATCH_SIZE", usual.outbox_batch_size, least=1, most=1_000
            ),
            outbox_stale_s=given.seconds("OUTBOX_STALE_THRESHOLD_MS", usual.outbox_stale_s),
            sla_writing_s=given.seconds("SLA_WRITING_MS", usual.sla_writing_s),
            sla_speaking_s=given.seconds("SLA_SPEAKING_MS", usual.sla_speaking_s),
            late_grace_s=given.seconds("LATE_GRACE_MS", usual.late_grace_s),
            lease_s=given.number("WORKER_LEASE_TTL_SEC", usual.lease_s, least=0.1, most=DAY_S),
            concurrency=given.whole("WORKER_CONCURRENCY", usual.concurrency, least=1, most=10_000),
            retry=_retry(given, usual.retry),
            breaker=_breaker(given, usual.breaker),
            llm=LlmConfig.from_variables(given),
            stt=SttConfig.from_variables(given),
            audio_dir=Path(given.text("AUDIO_DIR", str(usual.audio_dir))),
            audio_max_bytes=given.size("AUDIO_MAX_BYTES", usual.audio_max_bytes),
            audio_max_s=given.number("AUDIO_MAX_SECONDS", usual.audio_max_s, least=1, most=DAY_S),
            audio_quota_bytes=given.size("AUDIO_QUOTA_BYTES", usual.audio_quota_bytes),
            uploads_per_minute=given.whole(
                "UPLOADS_PER_MINUTE", usual.uploads_per_minute, most=_MOST
            ),
            audio_hosts=_hosts(given),
            public_url=_public_url(given),
            submissions_per_minute=given.whole(
                "SUBMISSIONS_PER_MINUTE", usual.submissions_per_minute, most=_MOST
            ),
            quota_active=given.whole("QUOTA_ACTIVE", usual.quota_active, least=1, most=_MAX_ACTIVE),
            review_below=given.whole("GRADING_REVIEW_BELOW", usual.review_below, most=100),
            walk_ins=_switch(given, "GRADING_WALK_INS", usual=usual.walk_ins),
        )


def _switch(given: Variables, name: str, *, usual: bool) -> bool:
    return given.one_of(name, ("0", "1"), default="1" if usual else "0") == "1"


def _retry(given: Variables, usual: Retry) -> Retry:
    retries = given.whole("RETRY_MAX_RETRIES", usual.attempts - 1, most=_MAX_RETRIES)
    cap_s = given.seconds("RETRY_CAP_MS", usual.cap or 0.0)
    return replace(
        usual,
        attempts=retries + 1,
        base=min(usual.base, cap_s),
        cap=cap_s,
        retry_after_ceiling=min(usual.retry_after_ceiling, cap_s),
    )


def _breaker(given: Variables, usual: Breaker) -> Breaker:
    return replace(
        usual,
        minimum_calls=None,
        successes=None,
        over_calls=given.whole("CIRCUIT_WINDOW", usual.over_calls or 0, least=1, most=1_000),
        failure_rate=given.number(
            "CIRCUIT_FAIL_THRESHOLD", usual.failure_rate or 0.0, least=0.01, most=0.99
        ),
        cooldown=given.seconds("CIRCUIT_COOLDOWN_MS", usual.cooldown),
        trials=given.whole("CIRCUIT_TRIALS", usual.trials, least=1, most=100),
    )


def _hosts(given: Variables) -> tuple[str, ...]:
    text = given.text("GRADING_AUDIO_HOSTS", "")
    return tuple(host.strip().lower() for host in text.split(",") if host.strip())


def _public_url(given: Variables) -> str:
    host = given.text("HOLDFAST_HOST", "127.0.0.1")
    port = given.text("HOLDFAST_PORT", given.text("PORT", str(DEFAULT_PORT)))
    own = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"  # noqa: S104
    url = given.text("PUBLIC_URL", own).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise given.invalid("PUBLIC_URL", url, "like https://grading.example.org")
    return url
