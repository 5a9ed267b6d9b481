"""Grading as a system that `holdfast up` finds, runs and mounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from grading.config import SYSTEM_NAME, GradingConfig
from grading.grader.opening import open_audio, open_tools
from grading.grader.pipelines import LLM, STT
from grading.grader.side import GraderSide
from grading.grader.tools import Tools
from grading.llm.stand_in import LlmStandIn
from grading.main.operating.observing import figures, needs
from grading.main.operating.upkeep import RETENTION_S, Upkeep, erase
from grading.main.side import MainSide
from grading.messages.contract import CALLBACK, DLQ, REQUEST, TYPES
from grading.refusals import NotYours
from grading.relaying import relay_options
from grading.speech.stand_in import FAULTS, SttStandIn
from grading.tables.times import from_us
from holdfast import Holdfast
from holdfast.bridges.loopback import EXPLANATIONS, Loopback, LoopbackFaults
from holdfast.classify import PublicCode
from holdfast.retention import Owned, Retention
from holdfast.systems import Asgi, Parts, Service, StandIn, Switch, System

if TYPE_CHECKING:
    from fastapi import APIRouter

PLACE: Final = "grading"
TABLES: Final = "grading.tables"
SECRET_NAMES: Final = ("transcript", "audioUrl", "callbackToken")
"""In logs and messages as well; what learners wrote is hidden by the pipelines."""
LAB_DELAY_S: Final = 60.0
"""Longer than an essay may take in the lab: so its result comes late."""
_STT_BODY_BYTES: Final = 32 * 1024 * 1024
_BODY_LIMITS: Final = {"/api/audio": 2**40}
"""The route of recordings has a limit of its own, and refuses with a code of its own."""


def build(environment: Mapping[str, str]) -> Parts:
    """Make grading's parts from the variables of the environment."""
    return parts_of(sides_of(GradingConfig.from_environment(environment)))


class Sides(NamedTuple):
    """What of grading is in this process."""

    main: MainSide
    grader: GraderSide | None
    """None where graders are behind a broker."""
    faults: LoopbackFaults
    """How the broker misbehaves that both sides have in one process."""


def sides_of(config: GradingConfig, *, tools: Tools | None = None) -> Sides:
    """Return both sides, or main alone where there is a broker."""
    grader = GraderSide(config, tools or open_tools(config)) if config.is_embedded else None
    return Sides(MainSide(config), grader, LoopbackFaults(delayed_types=(CALLBACK,)))


def parts_of(sides: Sides) -> Parts:
    """Make grading's parts."""
    main, grader, _ = sides
    config = main.config
    files = open_audio(config)

    def bind(app: Holdfast) -> None:
        main.bind(app)
        if grader is not None:
            grader.bind(app)

    def router(app: Holdfast) -> APIRouter:
        from grading.http.routes import routes_of  # noqa: PLC0415 - workers serve nothing
        from grading.http.serving import Served  # noqa: PLC0415 - as above

        return routes_of(
            Served(
                app=app,
                submissions=main.submissions(),
                callbacks=main.callbacks,
                questions=main.questions,
                files=files,
                recordings=main.recordings,
                now=lambda: from_us(app.clock.now()),
                max_audio_bytes=config.audio_max_bytes,
                max_audio_s=config.audio_max_s,
                reviews=config.review_below > 0,
            )
        )

    def pages_of(app: Holdfast) -> Asgi:
        from grading.pages.pages import pages  # noqa: PLC0415 - as above

        return pages(app)

    def erased(owned: Owned, dry_run: bool) -> Mapping[str, int]:  # noqa: FBT001 - as it is called
        return erase(main.app, files, owned, dry_run=dry_run)

    forbidden = NotYours()
    return Parts(
        pipelines=[main.pipeline, *(grader.pipelines if grader else [])],
        bind=bind,
        chores_of=lambda app: Upkeep(app, files).chores(),
        erase=erased,
        router=router,
        pages=pages_of,
        place=PLACE,
        devices=("microphone",),
        body_limits=_BODY_LIMITS,
        walk_ins=config.walk_ins,
        not_yours=PublicCode(message=forbidden.message, http_status=403, code=forbidden.code),
        retention=Retention(complete=RETENTION_S, cancelled=RETENTION_S, failed=RETENTION_S),
        secret_names=SECRET_NAMES,
        tables=TABLES,
        services=_services(sides),
        message_types=TYPES,
        switches=[] if grader is None else [_broker_switch(sides.faults)],
        figures=figures,
        needs=needs,
    )


def _services(sides: Sides) -> Mapping[str, Callable[[Holdfast], Service]]:
    main, grader, faults = sides
    config = main.config
    if grader is None:
        from grading.service import main_services  # noqa: PLC0415 - it needs the broker's client

        return main_services(config, main)

    main.broker_connected = lambda: faults.mode != "down"

    def relay(app: Holdfast) -> Service:
        handles = {
            REQUEST: grader.intake.handle,
            CALLBACK: main.handle_callback,
            DLQ: grader.dead_letters.keep,
        }
        return app.relay(
            Loopback(app, handles, faults=faults), options=relay_options(config), types=TYPES
        )

    return {"relay": relay}


def _broker_switch(faults: LoopbackFaults) -> Switch:
    """Return what makes the broker of the lab misbehave."""

    def choose(mode: str) -> None:
        faults.delay_s = LAB_DELAY_S
        faults.mode = mode

    return Switch(
        name="broker",
        title="Broker",
        options=EXPLANATIONS | {"delays": f"Hands callbacks over after {LAB_DELAY_S:g} seconds."},
        get=lambda: faults.mode,
        set=choose,
    )


def _switch_name(title: str) -> str:
    return title.lower().replace(" ", "-")


_LLM: Final = LlmStandIn()
SYSTEM: Final = System(
    name=SYSTEM_NAME,
    title="Grading",
    summary="Grades essays and recordings, and loses none.",
    build=build,
    read_settings=GradingConfig.from_environment,
    ops="grading.ops",
    stand_ins=[
        StandIn(upstream=LLM, variable="LLM_BASE_URL", answer=_LLM, faults=_LLM.faults),
        StandIn(
            upstream=STT,
            variable="STT_BASE_URL",
            answer=SttStandIn().answer,
            faults={_switch_name(name): fault for name, fault in FAULTS.items()},
            max_body_bytes=_STT_BODY_BYTES,
        ),
    ],
)
