"""The figures holdfast means to reach: ratios against others, and bounds of its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on a ratio or a figure."""

    bound: float
    less_is_better: bool = False

    def is_met(self, value: float) -> bool:
        return value <= self.bound if self.less_is_better else value >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.less_is_better else '≥'} {self.bound:g}"


EMPTY_TABLE = "holdfast, empty table"
"""What claims in front of a long history are compared with."""

NOBODY_WOKEN = "nobody is woken"
"""What submissions of many callers at once are compared with."""

RATIO_TARGETS: dict[tuple[str, str], Target] = {
    ("drain-one-stage", "PgQueuer"): Target(2.5),
    ("drain-one-stage", "PgQueuer (published)"): Target(2.5),
    ("drain-one-stage", "Graphile Worker"): Target(0.8),
    ("drain-three-stage", "DBOS"): Target(20),
    ("drain-sqlite", "Huey"): Target(3),
    ("submit-bulk", "PgQueuer"): Target(1),
    ("submit-single", "PgQueuer"): Target(2),
    ("drain-celery", "Celery"): Target(0.7),
    ("grading-sustained", "Celery with an outbox"): Target(0.5),
    ("latency", "PgQueuer"): Target(1, less_is_better=True),
    ("submit-at-once", NOBODY_WOKEN): Target(0.9),
    **{
        (f"claim-{limit}-{store}", EMPTY_TABLE): Target(2, less_is_better=True)
        for limit in (10, 500)
        for store in ("postgresql", "sqlite")
    },
}
"""By workload and system: holdfast's figure divided by the system's."""

FIGURE_TARGETS: dict[str, Target] = {
    "decide": Target(5, less_is_better=True),
    "guard": Target(5, less_is_better=True),
    "classify": Target(20, less_is_better=True),
    "redact": Target(1000, less_is_better=True),
    "idle": Target(2, less_is_better=True),
    # Per 100,000 jobs: 50 bytes each is less than anything that could be kept of a job. The
    # allocator's steps come to a few megabytes; the live objects of the next line have none.
    "memory": Target(5, less_is_better=True),
    "kept-objects": Target(0.5, less_is_better=True),
    "left": Target(0, less_is_better=True),
    # Of submissions that block, and of the pick-up of the same jobs; at most 5 ms for the loop.
    **{f"awaited-share-{store}": Target(0.8) for store in ("postgresql", "sqlite")},
    **{
        f"result-by-pick-up-{store}": Target(1.5, less_is_better=True)
        for store in ("postgresql", "sqlite")
    },
    **{f"loop-kept-{store}": Target(5, less_is_better=True) for store in ("postgresql", "sqlite")},
    # Shares of the pace of a worker without breakers whose calls all succeed.
    "pace-guarded": Target(0.9),
    "pace-failing": Target(0.5),
    # How many times slower the slow end of claims is.
    "claims-beside-held": Target(2, less_is_better=True),
    # Milliseconds at the 99th percentile, with 50 streams open and 200 requests a second.
    "serving": Target(250, less_is_better=True),
    "requests-failed": Target(0, less_is_better=True),
    "streams-failed": Target(0, less_is_better=True),
    # Of what the gateway answers to as many callers at a time.
    "conversion-share": Target(0.8),
    "converted-twice": Target(0, less_is_better=True),
    # Milliseconds at the 99th percentile, by 20 clients at once.
    "uploading": Target(500, less_is_better=True),
    "uploads-refused": Target(0, less_is_better=True),
    # Submissions a second, from handing in to COMPLETED, with a Celery fleet of two processes.
    "grading-sustained": Target(100),
    "grading-backlog": Target(200),
    # Of the pace of a backlog in a new database, with a million finished submissions before it.
    "grading-after-a-million": Target(0.8),
    # Milliseconds at the 99th percentile: from a callback to the event at one of 200 streams, from
    # the deadline to the event, and for handing in 50 a second while the outbox is emptied.
    "grading-events": Target(500, less_is_better=True),
    "grading-timeouts": Target(2_000, less_is_better=True),
    "grading-posts": Target(100, less_is_better=True),
    # Milliseconds after the broker is back.
    "grading-outage-first": Target(6_000, less_is_better=True),
    "grading-outage-all": Target(20_000, less_is_better=True),
    # Megabytes, for a recording of 25.
    "grading-upload-memory": Target(8, less_is_better=True),
    # Mails a minute within Notion's three requests a second: one each, and lookups of many at
    # once. No request is one too many, and there are at most 180 in any minute.
    "collabiq-mails-a-minute": Target(140),
    "collabiq-mails-refused": Target(0, less_is_better=True),
    "collabiq-mails-later-refused": Target(0, less_is_better=True),
    "collabiq-calls-in-a-minute": Target(180, less_is_better=True),
    # Of that pace, with ten thousand finished mails in the database.
    "collabiq-after-ten-thousand": Target(0.9),
    # Milliseconds at the 99th percentile, from a row that is refused for good to the next one.
    "collabiq-after-a-failure": Target(1_000, less_is_better=True),
    # Milliseconds for a mail of a megabyte; and how much more than four times a quarter takes.
    "collabiq-clean-growth": Target(1.5, less_is_better=True),
    "collabiq-clean": Target(200, less_is_better=True),
    # Milliseconds against 5,000 companies, and by which Infisical makes a start longer.
    "collabiq-match": Target(50, less_is_better=True),
    "collabiq-secrets": Target(500, less_is_better=True),
    # The same for a whole start; and from a mail's arrival to its row, with a poll every 500 ms.
    "collabiq-start": Target(500, less_is_better=True),
    "collabiq-arrival": Target(5_500, less_is_better=True),
    # Megabytes, for a file of 48.
    "upload-memory": Target(5, less_is_better=True),
}
"""By the first words of the workload: holdfast's figure itself."""


def figure_target(workload: str) -> Target | None:
    found = (target for name, target in FIGURE_TARGETS.items() if workload.startswith(name))
    return next(found, None)
