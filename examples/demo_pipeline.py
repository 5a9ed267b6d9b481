"""The demo's pipeline: fetch an article, summarise it, tell a reader.

Its upstreams are stand-ins that fail now and then: they time out, they answer 503 with a
Retry-After, the model has bad spells, and once in a while it refuses for good.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from dataclasses import dataclass

from holdfast import GiveUp, Holdfast, JobContext, Pipeline, Retry, Upstream

GIVEN_URL = os.environ.get("HOLDFAST_DATABASE_URL") or os.environ.get("DATABASE_URL")
SPELL_EVERY_S, SPELL_S = 30.0, 6.0
BEGAN_S = time.monotonic()

source = Upstream("source", timeout=3, retry=Retry(attempts=6, base=0.5, cap=8))
model = Upstream("model", timeout=5, retry=Retry(attempts=8, base=1, cap=15))
mail = Upstream("mail", timeout=3, retry=Retry(attempts=6, base=0.5, cap=8))

digest = Pipeline("digest", queue="demo")


@digest.stage(calls=source)
async def fetch(job: JobContext, article: str) -> dict[str, str]:
    """Fetch the article's text."""
    await asyncio.sleep(SOURCE.answers_after_s(job))
    return {"title": article, "text": f"The text of {article}."}


@digest.stage(calls=model)
async def summarise(job: JobContext, fetch: dict[str, str]) -> str:
    """Have the model summarise what `fetch` returned."""
    await asyncio.sleep(MODEL.answers_after_s(job))
    return f"In short: {fetch['text']}"


@digest.stage(calls=mail)
def notify(job: JobContext, summarise: str, reader: str) -> str:
    """Send what `summarise` returned; the token lets the mail service drop a second copy."""
    time.sleep(MAIL.answers_after_s(job))
    return f"sent {len(summarise)} characters to {reader} as {job.idempotency_token}"


class UpstreamAnswered(Exception):
    """An HTTP error, with what holdfast reads off the errors of every HTTP library."""

    def __init__(self, status_code: int, **headers: str) -> None:
        self.status_code = status_code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(f"the upstream answered {status_code}")


@dataclass(frozen=True)
class Flaky:
    """Stands in for a service. Shares are of calls, from 0 to 1."""

    quickest_s: float
    slowest_s: float
    timeouts: float = 0.0
    overloads: float = 0.0
    overloads_in_spell: float = 0.0
    refusals: float = 0.0

    def answers_after_s(self, job: JobContext) -> float:
        """Return how long this call takes, or raise what a client library would raise."""
        roll = random.random()
        if roll < self.refusals:
            raise GiveUp("CONTENT_POLICY", "the model will not summarise this article")
        if (roll := random.random()) < self.timeouts:
            raise TimeoutError(f"no answer to {job.stage}")
        in_spell = (time.monotonic() - BEGAN_S) % SPELL_EVERY_S > SPELL_EVERY_S - SPELL_S
        if (roll - self.timeouts) < (self.overloads_in_spell if in_spell else self.overloads):
            raise UpstreamAnswered(503, retry_after=str(random.randint(2, 5)))
        return random.uniform(self.quickest_s, self.slowest_s)


SOURCE = Flaky(0.1, 0.4, timeouts=0.04, overloads=0.03, overloads_in_spell=0.03)
MODEL = Flaky(0.3, 1.2, timeouts=0.04, overloads=0.03, overloads_in_spell=0.6, refusals=0.01)
MAIL = Flaky(0.05, 0.2, timeouts=0.03)

app = Holdfast(GIVEN_URL or "sqlite:///holdfast.db", pipelines=[digest])
