"""The converter as a system that `holdfast up` finds, runs and mounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from converter.codes import CODES, FORBIDDEN
from converter.config import SYSTEM_NAME, ConverterConfig
from converter.conversions import Conversions
from converter.erasure import erase_files
from converter.gateway import options as gateway_options
from converter.gateway import stand_in
from converter.gateway_client import GatewayClient
from converter.gateway_failures import GATEWAY_RULES
from converter.pipeline import GATEWAY, conversion_pipeline
from converter.retention import job_retention, kept_since, retention_chore
from converter.storage.open import open_storage
from converter.webhooks import Webhooks
from holdfast import Holdfast
from holdfast.policies import BreakerMode
from holdfast.systems import Asgi, Parts, StandIn, System

if TYPE_CHECKING:
    from fastapi import APIRouter

UPLOAD: Final = "/api/upload"
PLACE: Final = "convert"
_NO_LIMIT: Final = 2**40
"""Of the server's: the converter counts the bytes of a file itself, and says so in its words."""


def build(environment: Mapping[str, str]) -> Parts:
    """Make the converter's parts from the variables of the environment."""
    config = ConverterConfig.from_environment(environment)
    uploads, results = (
        open_storage(
            location,
            label=label,
            environment=environment,
            min_free_bytes=config.min_free_bytes,
        )
        for location, label in ((config.uploads_dir, "uploads"), (config.results_dir, "results"))
    )
    gateway = GatewayClient(
        config.gateway_url,
        timeout_s=config.gateway_timeout_s,
        idle_s=config.gateway_idle_timeout_s,
        max_answer_bytes=config.result_max_bytes,
        holds=config.breaker.mode is BreakerMode.HOLD,
    )
    pipeline = conversion_pipeline(
        uploads=uploads,
        results=results,
        gateway=gateway,
        timeout_s=config.gateway_timeout_s,
        retry=config.retry,
        breaker=config.breaker,
        max_bytes=config.upload_max_bytes,
        rules=GATEWAY_RULES,
    )

    webhooks = Webhooks(config.callbacks) if config.callbacks.hosts else None

    def pages_of(app: Holdfast) -> Asgi:
        from converter.pages.pages import pages  # noqa: PLC0415 - workers serve nothing

        return pages(app)

    def chores_of(app: Holdfast) -> list[Callable[[], None]]:
        return [
            retention_chore(app, uploads=uploads, results=results, keep_days=config.retention_days)
        ]

    def router(app: Holdfast) -> APIRouter:
        from converter.http.routes import Served, routes_of  # noqa: PLC0415 - as above

        conversions = Conversions(
            app,
            uploads=uploads,
            results=results,
            max_bytes=config.upload_max_bytes,
            mappings=config.mappings,
            max_under_way=config.quota_active_jobs,
            max_per_minute=config.uploads_per_minute,
            webhooks=webhooks,
        )
        return routes_of(
            Served(
                app,
                conversions,
                attempts=config.retry.attempts,
                mappings=config.mappings,
                max_bytes=config.upload_max_bytes,
                kept_since=partial(kept_since, keep_days=config.retention_days),
                high_priority=config.high_priority,
            )
        )

    return Parts(
        pipelines=[pipeline] if webhooks is None else [pipeline, webhooks.pipeline],
        providers=[] if webhooks is None else [webhooks.provider],
        chores=[] if webhooks is None else [webhooks.chore],
        chores_of=chores_of,
        erase=partial(erase_files, uploads=uploads, results=results),
        bind=None if webhooks is None else webhooks.bind,
        router=router,
        pages=pages_of,
        place=PLACE,
        body_limits={UPLOAD: _NO_LIMIT},
        walk_ins=True,
        not_yours=CODES.codes[FORBIDDEN],
        retention=job_retention(keep_days=config.retention_days),
    )


SYSTEM: Final = System(
    name=SYSTEM_NAME,
    title="Converter",
    summary="Turns PDF into XML, whatever the gateway does.",
    build=build,
    read_settings=ConverterConfig.from_environment,
    other_variables=gateway_options.VARIABLES,
    stand_ins=[
        StandIn(
            upstream=GATEWAY,
            variable="GATEWAY_URL",
            answer=stand_in.answer,
            max_body_bytes=ConverterConfig().upload_max_bytes,
        )
    ],
)
