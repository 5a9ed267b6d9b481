"""A site with the converter on it, and jobs that failed in every way, each with texts to look for.

What is planted must reach operators and no end user: words in messages, paths, stack frames, the
types of exceptions, the names of machines, and what operators wrote for each other.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from starlette.testclient import TestClient

import converter
from apps.converter.tests.system.stand_in import PDF_BYTES, ScriptedGateway, Sent
from converter.codes import CODES, FORBIDDEN
from converter.conversions import Conversions
from converter.gateway_failures import GATEWAY_RULES, cut_off, refusal, timed_out, unusable
from converter.http.routes import Served, routes_of
from converter.pages.pages import pages
from converter.pipeline import GATEWAY, conversion_pipeline
from converter.refusals import NotTaken
from converter.retention import kept_since
from converter.storage.contract import Storage
from converter.storage.errors import StorageFailed
from converter.system import SYSTEM
from holdfast import Breaker, GiveUp, Holdfast, Pipeline, Retry, RetryLater
from holdfast.api.auth.anonymous import COOKIE
from holdfast.classify import ProviderError, Verdict, classify
from holdfast.cli.processes.site import site_of
from holdfast.config.settings import Settings
from holdfast.core.job.event import Event, Failed
from holdfast.core.job.job import WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.values.failure import STAGE_TIMEOUT
from holdfast.core.values.instant import SECOND_US
from holdfast.deliveries import Notify
from holdfast.policies import BreakerMode
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.systems import Built, Parts
from holdfast.testing import ManualClock, Script, drain, run_inline
from tests.api.clients import on_loop
from tests.engine.mailbox import NEITHER, OPTIONS, Mailbox

WORD = "planted-4711"
PLACE = "/srv/planted/uploads/secret.pdf"
TEXT = f"{WORD} at {PLACE}"
HOST = "planted-host"
HOLDER = WorkerId(f"{HOST}-17-00c0ffee")
OPERATORS_TOKEN = "an-operators-own-token-of-enough-length"
CODE = str(Path(converter.__file__).parents[2])
EXCEPTIONS = (
    *("RuntimeError", "KeyError", "ZeroDivisionError", "OSError", "ConnectionResetError"),
    *("GatewayFailed", "StorageFailed", "ProviderError"),
)
FORBIDDEN_TEXTS = [
    re.escape(text)
    for text in (WORD, "/srv/", CODE, HOST, socket.gethostname(), "site-packages", "10.9.8.7")
] + [
    r"Traceback",
    r"\.py:\d+",
    rf"\b({'|'.join(EXCEPTIONS)})\b",
]
"""What no end user may read, anywhere."""
INTERNAL_CLASSES = r"\b(WORKER_LOST|WORKER_CRASH|STAGE_TIMEOUT|CIRCUIT_OPEN|BUG|NETWORK)\b"
"""What users of conversions read a public code for."""


@dataclass
class Planted:
    """The jobs of one owner, by what happened to them."""

    owner: str
    jobs: dict[str, str] = field(default_factory=dict)


class Haunted:
    """The site, its engine, and its clients."""

    def __init__(self, url: str, *, uploads: Storage, results: Storage) -> None:
        self.clock = ManualClock()
        self.gateway = ScriptedGateway()
        self.script = Script(then=1)
        self.mailbox = PlantedMailbox(self.clock, NEITHER)
        self._uploads, self._results = uploads, results
        pipeline = conversion_pipeline(
            uploads=uploads,
            results=results,
            gateway=self.gateway,
            timeout_s=10,
            retry=Retry(attempts=2, base=5, jitter="none"),
            breaker=Breaker(consecutive=1000, mode=BreakerMode.FAIL_FAST),
            rules=GATEWAY_RULES,
        )
        self.app = Holdfast(
            url,
            pipelines=[pipeline, self._plain(), self._telling()],
            providers=[self.mailbox],
            courier=OPTIONS,
            clock=self.clock,
        )
        self.conversions = Conversions(
            self.app,
            uploads=uploads,
            results=results,
            max_bytes=10_000,
            max_under_way=100,
            mappings=("text", "layout", "raw"),
        )
        settings = Settings(api_token=OPERATORS_TOKEN)
        self.site: FastAPI = site_of(self.app, settings, built=[Built(SYSTEM, self._parts())])
        self._closing = ExitStack()
        self._loop = self._closing.enter_context(start_blocking_portal())

    def close(self) -> None:
        self._closing.close()
        self.site.state.replays.stop()
        self.app.close()

    def client(self, token: str | None = None, *, html: bool = False) -> TestClient:
        headers = {"Accept": "text/html"} if html else {}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        made = TestClient(
            self.site,
            base_url="http://127.0.0.1",
            client=("127.0.0.1", 50_000),
            headers=headers,
            raise_server_exceptions=False,
            follow_redirects=False,
        )
        return on_loop(made, self._loop)

    def submitter(self, owner: str) -> tuple[TestClient, str]:
        """A client with a token for one owner, and the token."""
        secret = self.app.tokens.create(owner, role="submitter", owner=owner, by="test")[1]
        return self.client(secret), secret

    def anonymous(self) -> tuple[TestClient, str]:
        """A client without credentials that has its cookie, and the owner it stands for."""
        client = self.client()
        client.get("/api/conversions")
        return client, f"walk-in-{client.cookies[COOKIE].partition('.')[0]}"

    def plant(self, owner: str, *, others: bool = False) -> Planted:
        """Have jobs of this owner end in every way: conversions, and others if asked for."""
        planted = Planted(owner)
        if others:
            self._plant_others(planted)
        self._plant_conversions(planted)
        return planted

    def _plant_conversions(self, planted: Planted) -> None:
        owner = planted.owner
        jobs = planted.jobs
        for name, made in _FAILURES.items():
            jobs[name] = self._take(owner, name)
            self.gateway.plays[:] = [made() for _ in range(5)]
            drain(self.app)
        self.gateway.plays.clear()
        for name, body in (("not a pdf", b"planted"), ("too large", PDF_BYTES * 100)):
            try:
                self.conversions.take(Sent(body), owner=owner)
            except NotTaken as refused:
                jobs[name] = refused.job_id
        jobs["complete"] = self._take(owner, "complete")
        run_inline(self.app)
        jobs["removed"] = self._take(owner, "removed")
        run_inline(self.app)
        self.app.note_result_removed(jobs["removed"], by=TEXT, reason=TEXT)
        jobs["cancelled"] = self._take(owner, "cancelled")
        self.app.cancel(jobs["cancelled"], by=TEXT, reason=TEXT)
        for name, event in _SETTLED.items():
            jobs[name] = self._take(owner, name)
            while self._settle(jobs[name], event()):
                self.clock.advance(60)
        jobs["lost worker"] = self._lost(owner)
        self._force_open(owner, jobs)
        jobs["retrying"] = self._take(owner, "retrying")
        self.gateway.plays[:] = [RuntimeError(TEXT)]
        run_inline(self.app)
        jobs["interrupted and snoozed"] = self._take(owner, "interrupted and snoozed")
        self.gateway.plays[:] = [RetryLater(after=30, reason=TEXT)]
        run_inline(self.app)
        jobs["processing"] = self._take(owner, "processing")
        self._claim(jobs["processing"])
        self._work_on_letters(owner)

    def _plant_others(self, planted: Planted) -> None:
        """Have jobs without public codes fail, and deliveries with them."""
        self.script._outcomes = (KeyError(TEXT), GiveUp("NOT_WANTED", TEXT), OSError(5, TEXT))
        for name in ("plain bug", "plain refusal", "plain disk"):
            planted.jobs[name] = self.app.submit("plain", owner=planted.owner).id
            drain(self.app)
        self.mailbox.next.extend(["planted"] * 3)
        planted.jobs["telling"] = self.app.submit("telling", owner=planted.owner).id
        drain(self.app)
        self._work_on_letters(planted.owner)

    def _take(self, owner: str, name: str) -> str:
        sent = Sent(PDF_BYTES + name.encode(), filename=f"{name}.pdf")
        return self.conversions.take(sent, owner=owner).job.id

    def _claim(self, job_id: str) -> None:
        route = Route("default", "convert", "convert")
        leased = self.app.store.claim(
            [route], limit=50, holder=HOLDER, lease_us=30 * SECOND_US, now=self.clock.now()
        )
        assert job_id in {job.id for job in leased}

    def _settle(self, job_id: str, event: Event) -> bool:
        """Claim a job and have something happen to it; False once it has failed."""
        if self.app.job(job_id).state == "failed":
            return False
        self._claim(job_id)
        settler = Settler(
            self.app.store,
            plans=PlanCache(self.app.store),
            chance=self.app.chance,
            announcer=self.app.announcer,
        )
        settler.settle(self.app.job(job_id).job.id, lambda _: event, now=self.clock.now())
        return True

    def _lost(self, owner: str) -> str:
        job_id = self._take(owner, "lost worker")
        while self.app.job(job_id).state != "failed":
            self._claim(job_id)
            self.clock.advance(120)
            self._sweep()
            self.clock.advance(60)
        return job_id

    def _sweep(self) -> None:
        self.app.pause_queue("default", by="test")
        run_inline(self.app)
        self.app.resume_queue("default", by="test")

    def _force_open(self, owner: str, jobs: dict[str, str]) -> None:
        self.app.upstreams.force_open(GATEWAY, by="test", reason=TEXT)
        jobs["circuit open"] = self._take(owner, "circuit open")
        drain(self.app)
        self.app.upstreams.reset(GATEWAY, by="test")

    def _work_on_letters(self, owner: str) -> None:
        """Do what operators do about dead letters, with texts that are theirs."""
        letters = self.app.dead.find(owner=owner)
        for view in letters[:2]:
            if view.letter.state.value == "open":
                self.app.dead.triage(view.id, cause="transient", by="grace", note=TEXT)
                self.app.dead.remediate(view.id, evidence=TEXT, by="grace")
        self.app.replays.start(
            f"WORKER_LOST {WORD}",
            letters[-1].letter.fingerprint,
            by="grace",
            reason=TEXT,
            confirm_idempotent=True,
            cause="transient",
            evidence=TEXT,
            owner=owner,
        )

    def _plain(self) -> Pipeline:
        pipeline = Pipeline("plain", retry=Retry(attempts=1))
        pipeline.stage(name="one")(self.script.handler)
        return pipeline

    def _telling(self) -> Pipeline:
        pipeline = Pipeline("telling", retry=Retry(attempts=1))

        @pipeline.stage
        def tell(job: object) -> Notify:
            return Notify(
                subject="news",
                recipients=["jane@example.test"],
                message={"text": "hello"},
                provider="mail",
            )

        return pipeline

    def _parts(self) -> Parts:
        def router(app: Holdfast):
            return routes_of(
                Served(
                    app,
                    self.conversions,
                    attempts=2,
                    mappings=("text",),
                    max_bytes=10_000,
                    kept_since=lambda: kept_since(keep_days=30),
                )
            )

        return Parts(
            router=router,
            pages=pages,
            place="convert",
            walk_ins=True,
            not_yours=CODES.codes[FORBIDDEN],
        )


def _caused() -> Exception:
    """An exception that has been raised, with a stack and a cause."""
    try:
        try:
            _ = 1 / 0
        except ZeroDivisionError as cause:
            raise KeyError(TEXT) from cause
    except KeyError as raised:
        return raised


_FAILURES: dict[str, Callable[[], Exception]] = {
    "exception": lambda: RuntimeError(TEXT),
    "nested exception": _caused,
    "refusal": lambda: refusal(400, {}, f'{{"detail": "{TEXT}"}}'.encode()),
    "refusal with a stack": lambda: refusal(406, {}, b'File "/srv/gw/app.py:17" KeyError'),
    "upstream down": lambda: refusal(503, {}, TEXT.encode()),
    "timeout": lambda: timed_out(TEXT),
    "cut off": lambda: cut_off(f"[Errno 111] 10.9.8.7:8091 {TEXT}"),
    "unusable": lambda: unusable(TEXT),
    "disk": lambda: StorageFailed("uploads", TEXT),
}
_SETTLED: dict[str, Callable[[], Event]] = {
    "stage timeout": lambda: Failed(STAGE_TIMEOUT),
    "bug": lambda: Failed(classify(_caused(), (), now=0)),
    "network": lambda: Failed(classify(ConnectionResetError(TEXT), (), now=0)),
}


class PlantedMailbox(Mailbox):
    """A provider whose refusals say more than their recipients' owner may know."""

    def send(self, message, *, token, timeout_s):
        if self.next and self.next[0] == "planted":
            self.next.popleft()
            raise ProviderError(Verdict("INVALID", retryable=False), TEXT)
        return super().send(message, token=token, timeout_s=timeout_s)


def offences(text: str, *, internal: bool = False) -> Iterator[str]:
    """Yield what of a text no end user may read; with `internal` error classes as well."""
    patterns = [*FORBIDDEN_TEXTS, *([INTERNAL_CLASSES] if internal else [])]
    for pattern in patterns:
        found = re.search(pattern, text)
        if found is not None:
            yield text[max(found.start() - 60, 0) : found.end() + 60]
