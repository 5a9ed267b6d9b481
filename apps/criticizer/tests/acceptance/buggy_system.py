"""The criticizer with a mistake in it: of a reviewer that is not there it wants to know more."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from criticizer.config import CriticizerConfig
from criticizer.pipeline import Terms, request_pipeline, review_pipeline
from criticizer.sources.open import open_source
from criticizer.system import parts_of
from holdfast.systems import Parts, System

NAME: Final = "buggy-criticizer"


def build(environment: Mapping[str, str]) -> Parts:
    config = CriticizerConfig.from_environment(environment)
    terms = Terms(
        retry=config.retry,
        breaker=config.breaker,
        fetch_timeout_s=config.fetch_timeout_s,
        llm_timeout_s=config.llm_timeout_s,
        sender=config.mail.sender,
        provider="resend",
    )
    buggy = review_pipeline(
        source=open_source(config.source),
        reviewer=None,  # type: ignore[arg-type] - the mistake
        terms=terms,
    )
    return replace(parts_of(config), pipelines=[buggy, request_pipeline()])


SYSTEM: Final = System(name=NAME, title="Buggy", summary="Has a mistake in it.", build=build)
