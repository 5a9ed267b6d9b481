"""A console with something on every page, and visitors who look at it without scripts."""

from __future__ import annotations

from contextlib import ExitStack
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import quote

from anyio.from_thread import start_blocking_portal
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.testclient import TestClient

from holdfast import Breaker, GiveUp, Holdfast, Pipeline, Upstream
from holdfast.api import ApiOptions, create_api
from holdfast.console import mount_console
from holdfast.core.job.job import WorkerId
from holdfast.core.upstream.breaker import Observed, decide_breaker
from holdfast.core.upstream.upstream import FailedCall
from holdfast.dead_letters import LetterFilter
from holdfast.deliveries import Notify
from holdfast.store.contract import WorkerRow
from holdfast.testing import ManualClock, drain
from tests.api.clients import on_loop
from tests.engine.mailbox import NEITHER, OPTIONS, Mailbox

HTML = {"Accept": "text/html"}
NOBODY = "0190aaaa-0000-7000-8000-000000000000"
POLICY = Breaker(consecutive=3, cooldown=30)


class Form(HTMLParser):
    """The fields of the form `asked` of a page, as a browser would send them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.blocked = False
        self._inside = False
        self._area = ""
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._inside = given.get("id") == "asked"
            self.action = given.get("action") or "" if self._inside else self.action
        if not self._inside:
            return
        name = given.get("name") or ""
        if tag == "input" and name and (given.get("type") != "checkbox" or "checked" in given):
            self.fields[name] = given.get("value") or ""
        elif tag == "textarea":
            self._area = name
            self.fields[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and ("selected" in given or self._select not in self.fields):
            self.fields[self._select] = given.get("value") or ""
        elif tag == "button" and "disabled" in given:
            self.blocked = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        elif tag == "form":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data


class Filled(NamedTuple):
    """Ids of what there is to look at."""

    queued: str
    complete: str
    failed: str
    delivery: str
    message: str
    worker: str
    fingerprint: str


class Site:
    """The console, the application behind it, and whoever comes to it."""

    def __init__(self, database_url: str) -> None:
        self.clock = ManualClock()
        self.mailbox = Mailbox(self.clock, NEITHER)
        self.down = False
        self.app = Holdfast(
            database_url,
            pipelines=[self._pipeline()],
            providers=[self.mailbox],
            courier=OPTIONS,
            clock=self.clock,
        )
        self.api = create_api(self.app, options=ApiOptions(host="127.0.0.1"))
        mount_console(self.api, self.app)
        self._closing = ExitStack()
        self._loop = self._closing.enter_context(start_blocking_portal())

    def _pipeline(self) -> Pipeline:
        made = Pipeline("p", queue="work")

        @made.stage
        def fetch(job, n: int) -> int:
            return n

        @made.stage(calls=Upstream("gateway", breaker=POLICY))
        def convert(job, n: int) -> int:
            if self.down:
                raise GiveUp("GATEWAY_DOWN", f"no answer for {n}")
            return n

        return made

    def local(self) -> TestClient:
        """Whoever sits at the machine while nobody has made a token."""
        return self._client()

    def bearer(self, role: str = "operator", owner: str | None = None) -> TestClient:
        """Whoever sends a token of that role with every request."""
        client = self._client()
        client.headers["Authorization"] = f"Bearer {self.token(role, owner)}"
        return client

    def signed_in(self, role: str = "operator", owner: str | None = None) -> TestClient:
        """Whoever has signed in with a token of that role."""
        client = self._client()
        answer = client.post("/login", data={"token": self.token(role, owner)})
        assert answer.status_code == 303
        return client

    def token(self, role: str = "operator", owner: str | None = None) -> str:
        name = f"{role} of {owner or 'all'}"
        return self.app.tokens.create(name, role=role, owner=owner, by="test")[1]

    def _client(self) -> TestClient:
        made = TestClient(
            self.api,
            base_url="http://127.0.0.1",
            client=("127.0.0.1", 50_000),
            headers=HTML,
            follow_redirects=False,
        )
        return on_loop(made, self._loop)

    def fill(self, owner: str = "") -> Filled:
        """Make something for every page."""
        complete = self.app.submit("p", {"n": 1}, key="fine", owner=owner).id
        drain(self.app)
        failed = self.dead(2, owner=owner)[0]
        queued = self.app.submit("p", {"n": 3}, key="later", owner=owner, delay=60).id
        (delivery,) = self.app.deliver("review-1", recipients=["jane@example.test"], message={})
        message = self.app.publish("thing.done", {"n": 1}, aggregate_id="thing-1")
        worker = self.worker()
        (group,) = self.app.dead.groups()
        return Filled(queued, complete, failed, delivery.id, message, worker, group.fingerprint)

    def dead(self, *numbers: int, owner: str = "", keys: bool = True) -> list[str]:
        """Jobs that died while the gateway was down; it is up afterwards."""
        self.down = True
        ids = [
            self.app.submit("p", {"n": n}, key=f"k-{n}" if keys else None, owner=owner).id
            for n in numbers
        ]
        drain(self.app)
        self.down = False
        return ids

    def worker(self, worker_id: str = "host-1-abc") -> str:
        now = self.app.clock.now()
        row = WorkerRow(WorkerId(worker_id), "host", 1, now, now, '["work"]', 8, "running")
        self.app.store.record_worker(row)
        return worker_id

    def open_breaker(self) -> None:
        """Let the gateway's breaker open, as after three failures."""
        rows, now = self.app.store.upstreams, self.app.clock.now()
        state = rows.get("gateway")
        failures = tuple(
            FailedCall(now, "UPSTREAM_5XX", f"503 from the gateway, call {n}", NOBODY)
            for n in range(1, 4)
        )
        observed = Observed("w", state.generation, ((0, 3),), failures=failures)
        decided = decide_breaker(state, observed, POLICY, now)
        rows.save(decided, now=now)

    def console_routes(self, method: str) -> list[str]:
        """The paths of the console's own routes, taken from the application."""
        return [
            context.path or ""
            for context in iter_route_contexts(list(self.api.routes))
            if isinstance(route := context.original_route, APIRoute)
            and method in route.methods
            and not (context.path or "").startswith("/api/")
            and not route.include_in_schema
            and route.endpoint.__module__.startswith("holdfast.console")
        ]

    def close(self) -> None:
        self._closing.close()
        self.api.state.replays.stop()
        self.app.close()


def form_of(client: TestClient, path: str) -> Form:
    """The form that a page asks with."""
    page = client.get(path)
    assert page.status_code == 200, page.text
    return Form(page.text)


def answered(client: TestClient, path: str, **said: str) -> Any:
    """Fill in the form of a page, and send it."""
    form = form_of(client, path)
    return client.post(path, data={**chosen(form.fields), **said})


def chosen(fields: dict[str, str]) -> dict[str, str]:
    """The fields of a form, with a cause chosen where none is offered first."""
    return {**fields, "cause": "transient"} if fields.get("cause") == "" else fields


def at(template: str, **parts: str) -> str:
    """The address of a route."""
    for name, value in parts.items():
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template


__all__ = [
    "HTML",
    "NOBODY",
    "Filled",
    "Form",
    "LetterFilter",
    "Notify",
    "Site",
    "answered",
    "at",
    "chosen",
]
