"""The criticizer as a system that `holdfast up` finds, runs and mounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from criticizer import stand_in
from criticizer.config import SYSTEM_NAME, CriticizerConfig
from criticizer.mail.open import open_mail
from criticizer.pipeline import MAIL, Terms, request_pipeline, review_pipeline
from criticizer.reviewers.open import open_reviewer
from criticizer.reviews import Reviews
from criticizer.sources.open import open_source
from holdfast import Holdfast, Upstream
from holdfast.systems import Asgi, Parts, StandIn, System

if TYPE_CHECKING:
    from fastapi import APIRouter

PLACE: Final = "reviews"
SECRET_NAMES: Final = ("recipients",)
"""Where addresses of people stand in what is stored."""


def build(environment: Mapping[str, str]) -> Parts:
    """Make the criticizer's parts from the variables of the environment."""
    return parts_of(CriticizerConfig.from_environment(environment))


def parts_of(config: CriticizerConfig) -> Parts:
    """Make the criticizer's parts."""
    mail = open_mail(
        config.mail, retry=config.retry, upstream=Upstream(MAIL, breaker=config.breaker)
    )
    source = open_source(config.source)
    pipeline = review_pipeline(
        source=source,
        reviewer=open_reviewer(config.reviewer),
        terms=Terms(
            retry=config.retry,
            breaker=config.breaker,
            fetch_timeout_s=config.fetch_timeout_s,
            llm_timeout_s=config.llm_timeout_s,
            sender=config.mail.sender,
            provider=mail.name,
        ),
    )

    def router(app: Holdfast) -> APIRouter:
        from criticizer.http.routes import routes_of  # noqa: PLC0415 - workers serve nothing

        return routes_of(Reviews(app, source=source, pin_timeout_s=config.fetch_timeout_s))

    def pages_of(app: Holdfast) -> Asgi:
        from criticizer.pages.pages import pages  # noqa: PLC0415 - as above

        return pages(app)

    return Parts(
        pipelines=[pipeline, request_pipeline()],
        providers=[mail],
        router=router,
        pages=pages_of,
        place=PLACE,
        secret_names=SECRET_NAMES,
    )


SYSTEM: Final = System(
    name=SYSTEM_NAME,
    title="Criticizer",
    summary="Reviews a change and tells everyone once.",
    build=build,
    read_settings=CriticizerConfig.from_environment,
    stand_ins=[StandIn(upstream=MAIL, variable="RESEND_API_URL", answer=stand_in.answer)],
)
