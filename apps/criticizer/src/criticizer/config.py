"""What an operator sets for the criticizer: one frozen record, read once from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from criticizer.mail.open import MailConfig
from criticizer.reviewers.open import ReviewerConfig
from criticizer.sources.open import SourceConfig
from holdfast import Breaker, Retry
from holdfast.presets import full_jitter, hold_queue
from holdfast.variables import Variables

SYSTEM_NAME: Final = "criticizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticizerConfig:
    """Every knob of the criticizer. Times are in seconds."""

    source: SourceConfig = field(default_factory=lambda: SourceConfig.read(Variables({})))
    reviewer: ReviewerConfig = field(default_factory=lambda: ReviewerConfig.read(Variables({})))
    mail: MailConfig = field(default_factory=MailConfig)
    retry: Retry = field(default_factory=lambda: full_jitter({}))
    """Of each stage, and of each recipient."""
    breaker: Breaker = field(default_factory=lambda: hold_queue({}))
    fetch_timeout_s: float = 30.0
    llm_timeout_s: float = 120.0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> CriticizerConfig:
        """Return what the variables say, and the defaults for all that they leave out."""
        given = Variables.of(environment, system=SYSTEM_NAME)
        usual = cls()
        return cls(
            source=SourceConfig.read(given),
            reviewer=ReviewerConfig.read(given),
            mail=MailConfig.read(given),
            retry=full_jitter(given),
            breaker=hold_queue(given),
            fetch_timeout_s=given.seconds("FETCH_TIMEOUT_MS", usual.fetch_timeout_s),
            llm_timeout_s=given.seconds("LLM_TIMEOUT_MS", usual.llm_timeout_s),
        )
