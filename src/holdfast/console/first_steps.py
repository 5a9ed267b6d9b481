"""What to do first: shown on the overview while nothing has been submitted, longer in the lab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from holdfast.console.rendering.screens import Screen
from holdfast.core.job.access import SubmitBy
from holdfast.engine.app import Holdfast

LAB: Final = "lab"
TUTORIAL: Final = "docs/tutorial.md"
NEWCOMER_US: Final = 30 * 60 * 1_000_000
"""For how long the steps stay beside the lab, where systems submit jobs by themselves."""


class Step(NamedTuple):
    """Something to do: where, or with which command."""

    title: str
    text: str
    path: str = ""
    command: str = ""


def first_steps(engine: Holdfast, more: Sequence[Screen]) -> list[Step]:
    """Return what a newcomer can do here; nothing once a job has been submitted.

    Beside the lab they stay for a while.
    """
    lab = [each for each in more if each.name == LAB]
    since = engine.counted_since()
    if lab:
        is_new = since is None or engine.clock.now() - since < NEWCOMER_US
    else:
        is_new = since is None and not engine.jobs(limit=1)
    if not is_new:
        return []
    others = [each for each in more if each.name != LAB]
    return [
        *(
            Step("Watch upstreams fail", "Send postcards, then shut the printer.", each.path)
            for each in lab
        ),
        *(Step(f"Open {each.title}", each.summary, each.path) for each in others),
        *_submitting(engine),
        Step(
            "Follow the tutorial",
            "A pipeline of your own that survives kill -9, in ten minutes: in the repository,",
            command=TUTORIAL,
        ),
    ]


def _submitting(engine: Holdfast) -> list[Step]:
    """Return how to submit a job by hand, where a pipeline takes jobs from anybody."""
    open_to_all = [
        name for name, each in engine.pipelines.items() if each.access.submit_by is SubmitBy.ANYONE
    ]
    if not open_to_all:
        return []
    command = f"holdfast submit {min(open_to_all)} '{{…}}'"
    return [Step("Submit a job", "Its payload is a JSON object:", command=command)]
