"""A criticizer without servers: its source and its reviewer play scripts, its mail is a file."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from criticizer.change import Change
from criticizer.critique import Critique, Finding
from criticizer.payload import Asked
from criticizer.pipeline import Terms, request_pipeline, review_pipeline
from criticizer.reviewers.contract import Reviewed, Usage
from criticizer.reviews import Made, Reviews
from criticizer.sources.contract import Pinned
from criticizer.system import SECRET_NAMES
from holdfast import Breaker, Holdfast, JobView, Retry
from holdfast.bridges.file import File
from holdfast.deliveries import Provider
from holdfast.testing import ManualClock, drain

QUICK = Retry(attempts=5, base=1, jitter="none", cap=60, retry_after_ceiling=300)
DIFF = """--- a/rope.py
+++ b/rope.py
@@ -1 +1,2 @@
 knot = 1
+loop = None
"""
CRITIQUE = Critique(
    summary="A loop was added.",
    findings=[
        Finding(file="rope.py", line=2, severity="warning", message="Never used.", suggestion=None)
    ],
)


@dataclass
class ScriptedSource:
    """Serves a change, or raises what it was told to instead, one per call."""

    plays: list[Exception] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    change: Change = field(default_factory=lambda: Change(diff=DIFF, title="Add a loop"))
    names: dict[str, str] = field(default_factory=dict)
    """What names such as HEAD stand for now; an id that is not here stands for itself."""
    unpinned: list[Exception] = field(default_factory=list)
    """What is raised instead of pinning, one per call."""

    def pin(self, changelist_id: str, *, timeout_s: float) -> Pinned:
        if self.unpinned:
            raise self.unpinned.pop(0)
        return Pinned(self.names.get(changelist_id, changelist_id), "team/rope")

    def located(self, changelist_id: str) -> Pinned | None:
        return None if changelist_id in self.names else Pinned(changelist_id, "team/rope")

    def fetch(self, changelist_id: str, *, timeout_s: float, headers: Mapping[str, str]) -> Change:
        self.calls.append(changelist_id)
        if self.plays:
            raise self.plays.pop(0)
        return self.change

    def close(self) -> None:
        return


@dataclass
class ScriptedReviewer:
    """Says the same of every change, or raises what it was told to instead, one per call."""

    name: str = "scripted"
    plays: list[Exception] = field(default_factory=list)
    repairs: list[bool] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def review(
        self,
        change: Change,
        *,
        timeout_s: float,
        repair: bool,
        token: str,
        headers: Mapping[str, str],
    ) -> Reviewed:
        self.repairs.append(repair)
        self.tokens.append(token)
        if self.plays:
            raise self.plays.pop(0)
        return Reviewed(critique=CRITIQUE, reviewer=self.name, usage=Usage(calls=1))

    def close(self) -> None:
        return


class Heard:
    """An engine, and what was asked of it: a name for each question."""

    def __init__(self, engine: object, asked: list[str]) -> None:
        self._engine, self._asked = engine, asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if not callable(found):
            return Heard(found, self._asked)

        def ask(*given: Any, **named: Any) -> Any:
            self._asked.append(name)
            return found(*given, **named)

        return ask


@dataclass
class Criticizer:
    app: Holdfast
    reviews: Reviews
    source: ScriptedSource
    reviewer: ScriptedReviewer
    mail: File
    mail_file: Path
    clock: ManualClock

    def forget_mail(self) -> None:
        """Have the provider know nothing of what it has accepted."""
        self.mail_file.unlink()

    def ask(self, key: str = "k-1", *, owner: str = "", **asked: Any) -> Made:
        given: dict[str, Any] = {
            "changelist_id": "cl-17",
            "review_version": 3,
            "recipients": ["ada@example.org", "bob@example.org"],
            **asked,
        }
        return self.reviews.ask(Asked(**given), key=key, owner=owner)

    def run(self) -> None:
        drain(self.app)

    def reviewed(self, key: str = "k-1", **asked: Any) -> JobView:
        made = self.ask(key, **asked)
        self.run()
        return self.app.job(made.job.id)

    def told(self) -> list[str]:
        return sorted(line["message"]["to"] for line in self.mail.sent())


@contextmanager
def made_criticizer(
    database_url: str, mail_file: Path, *, provider: Provider | None = None
) -> Generator[Criticizer]:
    """Make one whose mail is in the file, unless it goes through another provider."""
    source, reviewer, clock = ScriptedSource(), ScriptedReviewer(), ManualClock()
    mail = File(mail_file, retry=QUICK)
    through = provider or mail
    terms = Terms(
        retry=QUICK,
        breaker=Breaker(failure_rate=1.0, over_calls=1_000),
        fetch_timeout_s=5,
        llm_timeout_s=5,
        sender="Reviews <reviews@example.org>",
        provider=through.name,
    )
    pipelines = [
        review_pipeline(source=source, reviewer=reviewer, terms=terms),
        request_pipeline(),
    ]
    with Holdfast(
        database_url,
        pipelines=pipelines,
        providers=[through],
        clock=clock,
        secret_names=SECRET_NAMES,
    ) as app:
        yield Criticizer(
            app,
            Reviews(app, source=source, pin_timeout_s=5),
            source,
            reviewer,
            mail,
            mail_file,
            clock,
        )
