"""The page of the lab: a switch for every stand-in, work to send, and what becomes of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, FastAPI
from jinja2 import ChoiceLoader, PackageLoader
from starlette.responses import Response

from holdfast.console.pages.jobs.queues import DEPTH, queue_lines
from holdfast.console.pages.operations.upstreams import (
    UpstreamLine,
    held_by_upstream,
    upstream_lines,
)
from holdfast.console.rendering.rendering import ACT_ON_ALL, LOOK_AT_ALL, Console
from holdfast.console.rendering.screens import Screen
from holdfast.console.requests.ask import Ask, Done
from holdfast.console.requests.visit import Visit
from holdfast.core.job.job import JobState
from holdfast.engine.app import Holdfast
from holdfast.errors import InvalidValue, UnknownUpstream, UsageError
from holdfast.lab import postcards
from holdfast.lab.behaviour import EXPLANATIONS, TITLES, Behaviour
from holdfast.lab.stand_in_server import StandInServer
from holdfast.lab.stand_ins import StandIns
from holdfast.store.contract import JobFilter
from holdfast.systems.stand_in import Answer, Call, Switch

SCREEN: Final = Screen("lab", "Fault lab", "/lab", "lab", "l", every_owner=True)
MAX_CARDS: Final = 1_000
USUAL_CARDS: Final = 60
_TONES: Final = {
    Behaviour.HEALTHY: "good",
    Behaviour.SLOW: "warn",
    Behaviour.LIMITING: "warn",
    Behaviour.FAILING: "bad",
    Behaviour.HANGING: "bad",
    Behaviour.DOWN: "bad",
}


def mount_lab(
    api: FastAPI,
    app: Holdfast,
    *,
    stand_ins: StandIns,
    switches: Sequence[Switch] = (),
    more: Sequence[Screen] = (),
) -> Screen:
    """Serve the lab beside an API, and return the screen that leads there.

    `switches` stand beside the stand-ins; two of one name are refused. `more` are the screens of
    others that its navigation leads to as well.
    """
    named = _by_name(switches)
    console = _LabConsole(app, more=(*more, SCREEN))
    lab = _Lab(console, app, stand_ins, switches)
    console.page("/lab", LOOK_AT_ALL, lab.page)
    console.page("/lab/tables/{name}", LOOK_AT_ALL, lab.table)
    console.action("/lab/upstreams/{name}", ACT_ON_ALL, _Behave(stand_ins))
    console.action("/lab/switches/{name}", ACT_ON_ALL, _Set(named))
    console.action("/lab/cards", ACT_ON_ALL, _Send(app))
    api.include_router(console.router)
    api.include_router(_style())
    return SCREEN


class _LabConsole(Console):
    """The console, with the lab's own templates."""

    def __init__(self, engine: Holdfast, *, more: tuple[Screen, ...]) -> None:
        super().__init__(engine, more=more)
        own = PackageLoader("holdfast.lab")
        self._templates.loader = ChoiceLoader([PackageLoader("holdfast.console"), own])


class _Lab:
    def __init__(
        self, console: Console, app: Holdfast, stand_ins: StandIns, switches: Sequence[Switch]
    ) -> None:
        self._console = console
        self._app = app
        self._stand_ins = stand_ins
        self._switches = switches

    def page(self, visit: Visit) -> Response:
        """Return the page."""
        engine = self._app
        breakers = {line.name: line for line in upstream_lines(self._console)}
        held = held_by_upstream(self._console)
        return self._console.render(
            visit,
            "lab.html",
            screen=SCREEN.name,
            stand_ins=[
                _stand_in(server, breakers.get(name), waiting=held.get(name, 0))
                for server in self._stand_ins
                for name in [server.stand_in.upstream]
            ],
            switches=[_switch(each) for each in self._switches],
            queues=queue_lines(engine.queues(), engine.clock.now()),
            depth_key=DEPTH,
            has_cards=postcards.PIPELINE in engine.pipelines,
            usual_cards=USUAL_CARDS,
            most_cards=MAX_CARDS,
            complete=engine.count(JobFilter(states=(JobState.COMPLETE,))),
            failed=engine.count(JobFilter(states=(JobState.FAILED,))),
        )

    def table(self, visit: Visit) -> Response:
        """Return what a stand-in holds."""
        name = visit.part("name")
        shown = [each for each in self._stand_ins if each.stand_in.upstream == name]
        if not shown or shown[0].stand_in.table is None:
            raise UnknownUpstream(name, known=[each.stand_in.upstream for each in self._stand_ins])
        return self._console.render(
            visit, "lab_table.html", screen=SCREEN.name, name=name, table=shown[0].stand_in.table()
        )


def _stand_in(
    server: StandInServer, breaker: UpstreamLine | None, *, waiting: int
) -> dict[str, Any]:
    options = [
        *(_Option(each.value, TITLES[each], EXPLANATIONS[each], each.value) for each in Behaviour),
        *(_fault(name, answer) for name, answer in server.stand_in.faults.items()),
    ]
    present = server.fault or server.behaviour.value
    chosen = next(option for option in options if option.value == present)
    return {
        "name": server.stand_in.upstream,
        "url": server.url,
        "has_table": server.stand_in.table is not None,
        "options": options,
        "chosen": chosen,
        "tone": "bad" if server.fault else _TONES[server.behaviour],
        "calls": sorted(server.calls.items()),
        "waiting": waiting,
        "breaker": breaker,
    }


class _Option(NamedTuple):
    """A button of a switch."""

    value: str
    title: str
    hint: str
    style: str


def _fault(name: str, answer: Callable[[Call], Answer]) -> _Option:
    lines = (answer.__doc__ or "").strip().splitlines()
    hint = lines[0] if lines else f"Answers as the fault {name} says."
    return _Option(name, _titled(name), hint, "failing")


def _switch(switch: Switch) -> dict[str, Any]:
    present, usual = switch.get(), next(iter(switch.options))
    options = [
        _Option(value, _titled(value), hint, "healthy" if value == usual else "failing")
        for value, hint in switch.options.items()
    ]
    unknown = _Option(present, _titled(present), "", "failing")
    return {
        "name": switch.name,
        "title": switch.title,
        "options": options,
        "chosen": next((each for each in options if each.value == present), unknown),
        "tone": "good" if present == usual else "bad",
    }


def _titled(value: str) -> str:
    return value.replace("_", " ").replace("-", " ").capitalize()


def _by_name(switches: Sequence[Switch]) -> dict[str, Switch]:
    named: dict[str, Switch] = {}
    for switch in switches:
        if named.setdefault(switch.name, switch) is not switch:
            raise UsageError(
                f"two systems bring a switch called {switch.name!r}; "
                "leave one of them out with --systems"
            )
    return named


class _Set:
    """Sets a switch of a system."""

    def __init__(self, switches: Mapping[str, Switch]) -> None:
        self._switches = switches

    def ask(self, visit: Visit) -> Ask:
        """Point to the page: its switches ask nothing more."""
        return _see_page(f"Switch {visit.part('name')} in the lab")

    def do(self, visit: Visit) -> Done:
        """Set it as the button says."""
        name, given = visit.part("name"), visit.text("value")
        switch = self._switches.get(name)
        if switch is None:
            known = ", ".join(self._switches) or "none"
            raise InvalidValue("lab", field="switch", value=name, limit=f"one of {known}")
        if given not in switch.options:
            known = ", ".join(switch.options)
            raise InvalidValue("lab", field=name, value=given, limit=f"one of {known}")
        switch.set(given)
        return Done("/lab", "lab-switched")


class _Behave:
    """Sets how a stand-in behaves."""

    def __init__(self, stand_ins: StandIns) -> None:
        self._stand_ins = stand_ins

    def ask(self, visit: Visit) -> Ask:
        """Point to the page: its switches ask nothing more."""
        return _see_page(f"Switch {visit.part('name')} in the lab")

    def do(self, visit: Visit) -> Done:
        """Set it as the button says."""
        self._stand_ins.behave(visit.part("name"), visit.text("behaviour"))
        return Done("/lab", "lab-switched")


class _Send:
    """Submits cards."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app

    def ask(self, visit: Visit) -> Ask:  # noqa: ARG002 - the contract of an action
        """Point to the page, where it says how many."""
        return _see_page("Send cards from the lab")

    def do(self, visit: Visit) -> Done:
        """Send as many as the form says."""
        count = visit.count("count") or 0
        if not 1 <= count <= MAX_CARDS:
            limit = f"a whole number from 1 to {MAX_CARDS}"
            raise InvalidValue("lab", field="count", value=count, limit=limit)
        cards = list(postcards.cards(count))
        if visit.ticked("unprintable"):
            cards.append(postcards.unprintable())
        for refused in self._app.submit_many(postcards.PIPELINE, cards):
            if refused.error is not None:
                raise refused.error
        return Done("/lab", "lab-sent", len(cards))


def _see_page(title: str) -> Ask:
    return Ask(
        title=title,
        touches="Nothing is changed from here.",
        verb="Nothing to do",
        back="/lab",
        fields=(),
        blocked=True,
    )


def _style() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    content = files("holdfast.lab").joinpath("static", "lab.css").read_bytes()

    async def style() -> Response:
        return Response(content, media_type="text/css; charset=utf-8")

    router.add_api_route("/lab/lab.css", style, methods=["GET"], response_model=None)
    return router
