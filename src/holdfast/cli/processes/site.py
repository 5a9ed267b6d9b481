"""What is served: the API, the console, what systems mount, and in development the lab."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from holdfast.config.settings import Settings
from holdfast.engine.app import Holdfast
from holdfast.errors import UsageError
from holdfast.systems import Built

if TYPE_CHECKING:
    from fastapi import FastAPI

    from holdfast.api import Server
    from holdfast.lab.stand_ins import StandIns

LOGGER: Final = logging.getLogger("holdfast.cli")


def server_of(
    engine: Holdfast,
    settings: Settings,
    *,
    built: Sequence[Built] = (),
    stand_ins: StandIns | None = None,
    port: int | None = None,
) -> Server:
    """Return what serves an engine as the settings say, yet to be started; see `site_of`."""
    site = site_of(engine, settings, built=built, stand_ins=stand_ins)
    from holdfast.api import Server  # noqa: PLC0415 - an extra, which is there by now

    # That a server starts and ends is logged by what it is part of.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    return Server(
        cast("Any", site),  # uvicorn and starlette each have a type of their own for it
        settings.host,
        settings.port if port is None else port,
        options=site.state.serving.options,
        grace_s=request_grace_s(settings),
    )


def request_grace_s(settings: Settings) -> int:
    """Return how many seconds requests may go on once the process ends."""
    return max(math.ceil(settings.worker.grace), 1)


def site_of(
    engine: Holdfast,
    settings: Settings,
    *,
    built: Sequence[Built] = (),
    stand_ins: StandIns | None = None,
) -> FastAPI:
    """Return the API with the console, with all that systems bring, and with the lab.

    Raises `UsageError` when it would listen where others reach it and nobody has credentials, and
    for a system whose routes demand no role or whose name is taken.
    """
    try:
        from holdfast.api import ApiOptions, create_api  # noqa: PLC0415 - an extra brings it
        from holdfast.console import Screen, mount_console  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the API and the console take an extra ({error.name} is missing): "
            "pip install 'holdfast[api]'"
        ) from error
    limits = {path: size for one in built for path, size in one.parts.body_limits.items()}
    options = ApiOptions(
        host=settings.host,
        token=settings.api_token,
        hosts=settings.host_names,
        https=settings.https,
        body_limits=limits,
        walk_ins=any(one.parts.walk_ins for one in built),
        devices={one.place: one.parts.devices for one in built if one.parts.devices},
        not_yours=next((one.parts.not_yours for one in built if one.parts.not_yours), None),
    )
    api = create_api(engine, options=options)
    screens = [
        Screen(
            one.system.name, one.system.title, f"{one.place}/", "jobs", summary=one.system.summary
        )
        for one in built
        if one.parts.pages is not None
    ]
    if stand_ins is None:
        _warn_if_open(settings, locked=api.state.serving.authenticator.have_keys())
    else:
        from holdfast.lab.pages import mount_lab  # noqa: PLC0415 - for development only

        switches = [each for one in built for each in one.parts.switches]
        lab = mount_lab(api, engine, stand_ins=stand_ins, switches=switches, more=screens)
        screens.append(lab)
    mount_console(api, engine, more=screens, trace_url=settings.trace_url)
    for each in built:
        _mount(each, api, engine)
    return api


def _mount(built: Built, api: FastAPI, engine: Holdfast) -> None:
    from fastapi.routing import iter_route_contexts  # noqa: PLC0415 - an extra, there by now
    from starlette.responses import RedirectResponse  # noqa: PLC0415 - as above

    system, parts = built.system, built.parts
    if parts.router is not None:
        api.include_router(parts.router(engine))  # which refuses routes without a role
    if parts.pages is None:
        return
    place = built.place
    for context in iter_route_contexts(list(api.routes)):
        if f"{context.path}/".startswith(f"{place}/"):
            raise UsageError(
                f"system {system.name!r} cannot have its pages under {place}: {context.path} is "
                "there already; they need another place"
            )
    api.mount(place, parts.pages(engine), name=system.name)
    # What people type: a mount answers for what is below it only.
    api.add_route(place, lambda _: RedirectResponse(f"{place}/"), include_in_schema=False)


def _warn_if_open(settings: Settings, *, locked: bool) -> None:
    """Refuse to serve others without credentials, and warn where nobody needs any."""
    if locked:
        return
    if settings.host_names or settings.https:
        said = "HOLDFAST_HOST_NAMES" if settings.host_names else "HOLDFAST_HTTPS"
        raise UsageError(
            f"{said} says that others are served, and there are no credentials: whoever comes "
            "through the proxy could do everything; make a token (holdfast tokens create), or set "
            "HOLDFAST_API_TOKEN"
        )
    LOGGER.warning(
        "there are no credentials: whoever reaches %s, also through a proxy, may do everything; "
        "make a token with: holdfast tokens create",
        settings.host,
        extra={"event": "no_credentials"},
    )
