"""Which jobs a filter finds, whichever of its conditions are given."""

import itertools
from collections.abc import Iterator
from typing import Any

from holdfast.core.job.event import CancelRequested, Done, Failed, Suspended
from holdfast.core.job.job import Job, JobState
from holdfast.store.contract import JobFilter, Store
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    after,
    after_event,
    started,
    submitted,
)

_STATES = (
    (),
    *((state,) for state in JobState),
    (JobState.FAILED, JobState.QUEUED),
)
_CONDITIONS: dict[str, tuple[Any, ...]] = {
    "owner": (None, "", "ada", "nobody"),
    "key": (None, "k", "nothing"),
    "queue": (None, "slow"),
    "error_class": (None, "INVALID", "NETWORK"),
    "created_since": (None, after(5)),
}


def _filters() -> Iterator[JobFilter]:
    """All combinations of those conditions."""
    for states in _STATES:
        for chosen in itertools.product(*_CONDITIONS.values()):
            yield JobFilter(states, **dict(zip(_CONDITIONS, chosen, strict=True)))


def _filled(store: Store) -> list[Job]:
    """Store jobs in every state, some of an owner, some with a key; return them, newest first."""
    for owner, seconds in itertools.product(("", "ada"), (0, 9)):
        more: dict[str, Any] = {"owner": owner, "created_at": after(seconds)}
        submitted(store, queue="slow", key=None if seconds else "k", **more)
        for event in (Failed(LASTING_FAILURE), CancelRequested("ada"), Suspended()):
            after_event(store, started(store, **more), event)
        after_event(store, started(store, stage="send", **more), Done('"sent"'))
        started(store, **more)
    return store.find(JobFilter(), before=None, limit=100)


def _fits(job: Job, wanted: JobFilter) -> bool:
    same = ("owner", "key", "queue", "error_class")
    return (
        (not wanted.states or job.state in wanted.states)
        and all(getattr(wanted, name) in {None, getattr(job, name)} for name in same)
        and (wanted.created_since is None or job.created_at >= wanted.created_since)
    )


class FindConformance:
    """What `find` and `count` promise of every combination of conditions."""

    def test_conditions_together_find_what_fits_each_of_them(self, store: Store) -> None:
        jobs = _filled(store)

        for wanted in _filters():
            fitting = [job.id for job in jobs if _fits(job, wanted)]
            found = store.find(wanted, before=None, limit=100)
            assert (wanted, [job.id for job in found]) == (wanted, fitting)
            assert (wanted, store.count(wanted, at_most=100)) == (wanted, len(fitting))

    def test_every_list_continues_where_it_ended(self, store: Store) -> None:
        jobs = _filled(store)

        for wanted in (JobFilter(states) for states in _STATES):
            fitting = [job.id for job in jobs if _fits(job, wanted)]
            first = store.find(wanted, before=None, limit=2)
            rest = store.find(wanted, before=first[-1].id, limit=100)
            assert (wanted, [job.id for job in (*first, *rest)]) == (wanted, fitting)
            assert store.count(wanted, at_most=1) == 1
