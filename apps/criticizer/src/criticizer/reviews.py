"""What people do with reviews: ask for one, and look how it stands.

An idempotency key names one request for good, and a change and its version name one review. Both
are kept by the engine's own keys: a request is a job of the pipeline `review-request` under the
caller's key, and a review is a job of the pipeline `review` under the change's id, whose reruns
are versions. So of any number of requests at once one makes the review, whichever way they are
alike.

An `owner` of None is somebody who may see everybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from criticizer.change import Change
from criticizer.payload import Asked, Review
from criticizer.pipeline import FETCH_STAGE, REQUEST, REVIEW
from criticizer.refusals import ReviewMissing, VersionRefused
from holdfast import DeliveryKey, DeliveryView, Holdfast, JobFilter, JobState, JobView
from holdfast.errors import InvalidValue, VersionConflict

MOST_VERSIONS: Final = 1_000
_FIRST: Final = 1
"""The version under which the request of a new key is kept; those of reruns lie above it."""


class Made(NamedTuple):
    """The review that a request stands for."""

    job: JobView
    created: bool
    differs: tuple[str, ...]
    """What the key's first request had otherwise; it is the one that counts."""


class Reviews:
    """The reviews of one engine."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app

    def ask(self, asked: Asked, *, key: str, owner: str) -> Made:
        """Have a change reviewed, or find the review that the key or the version already names.

        Raises `VersionRefused` for a version that there is already, or a higher one, unless that
        is what was asked for before.
        """
        kept, found = self._kept(asked, key, owner), None
        if kept is None:
            found = self._of_owner(asked.changelist_id, owner)
            _refuse_unfit(asked, found)
            kept = self._keep(asked, key, owner)
        if found is None or kept.changelist_id != asked.changelist_id:
            found = self._of_owner(kept.changelist_id, owner)
        job, created = self._make(kept, owner, found)
        mine, first = asdict(asked), asdict(kept)
        return Made(job, created, tuple(name for name in mine if mine[name] != first[name]))

    def versions(self, changelist_id: str, *, owner: str | None) -> list[JobView]:
        """Return the reviews of a change, the highest version first; raises `ReviewMissing`."""
        found = self._versions(changelist_id, owner)
        if not found:
            raise ReviewMissing(changelist_id)
        return found

    def latest(self, *, owner: str | None, before: str | None, limit: int) -> list[JobView]:
        """Return reviews, newest first."""
        return self._app.jobs(JobFilter(pipeline=REVIEW, owner=owner), before=before, limit=limit)

    def results_of(self, views: Sequence[JobView]) -> dict[str, dict[str, Any]]:
        """Return, by job, what the stages that are done have returned."""
        return self._app.results_of(views)

    def change(self, changelist_id: str, *, version: int | None, owner: str | None) -> Change:
        """Return the change that was reviewed; raises `ReviewMissing` while it is not fetched."""
        for view in self.versions(changelist_id, owner=owner):
            if version in (None, view.job.version):
                fetched = self._app.results(view.id).get(FETCH_STAGE)
                if fetched is not None:
                    return Change.from_document(fetched)
        raise ReviewMissing(changelist_id)

    def told(self, views: Sequence[JobView]) -> dict[str, list[DeliveryView]]:
        """Return, by job, who is told of a review, in the order of its recipients."""
        keys = {view.id: _deliveries_of(review_of(view)) for view in views}
        found = self._app.deliveries.of_keys([key for each in keys.values() for key in each])
        return {
            job_id: [found[key] for key in wanted if key in found]
            for job_id, wanted in keys.items()
        }

    def _kept(self, asked: Asked, key: str, owner: str) -> Asked | None:
        """Return the request that this one repeats, if there is one."""
        found = self._app.jobs(
            JobFilter(pipeline=REQUEST, key=key, owner=owner or None), limit=MOST_VERSIONS
        )
        kept = [Asked(**view.payload) for view in reversed(found) if view.job.owner == owner]
        if not kept:
            return None
        if not asked.rerun or kept[0].changelist_id != asked.changelist_id:
            return kept[0]
        same = (each for each in kept if each.rerun and each.review_version == asked.review_version)
        return next(same, None)

    def _keep(self, asked: Asked, key: str, owner: str) -> Asked:
        """Keep the request under its key; of several at once the first counts for all."""
        version = _FIRST + asked.review_version if asked.rerun else _FIRST
        try:
            handle = self._app.submit(
                REQUEST,
                asked,
                key=key,
                key_alone=True,
                owner=owner,
                version=version,
                rerun=asked.rerun,
            )
        except VersionConflict as conflict:
            kept = self._kept(asked, key, owner)
            if kept is None:
                raise _refused(asked, conflict.found - _FIRST, conflict.job_id) from None
            return kept
        return Asked(**handle.get().payload)

    def _make(self, asked: Asked, owner: str, found: list[JobView]) -> tuple[JobView, bool]:
        """Make the review of a request, or find the one that was made for it.

        `found` are the versions there were a moment ago; those made since the engine tells of.
        """
        of_version = [view for view in found if view.job.version == asked.review_version]
        if of_version:
            return of_version[0], False
        try:
            handle = self._app.submit(
                REVIEW,
                asked.review,
                key=asked.changelist_id,
                key_alone=True,
                owner=owner,
                version=asked.review_version,
                rerun=asked.rerun or _may_go_on(found),
            )
        except VersionConflict as conflict:
            if conflict.found == asked.review_version:
                return self._app.job(conflict.job_id), False
            raise _refused(asked, conflict.found, conflict.job_id) from None
        except InvalidValue as error:
            if error.field != "version":
                raise
            # Another request made a review meanwhile.
            _refuse_unfit(asked, self._of_owner(asked.changelist_id, owner))
            raise
        return handle.get(), handle.created

    def _of_owner(self, changelist_id: str, owner: str) -> list[JobView]:
        """Return the versions of exactly this owner, who may be nobody."""
        found = self._versions(changelist_id, owner)
        return [view for view in found if view.job.owner == owner]

    def _versions(self, changelist_id: str, owner: str | None) -> list[JobView]:
        wanted = JobFilter(pipeline=REVIEW, key=changelist_id, owner=owner or None)
        found = self._app.jobs(wanted, limit=MOST_VERSIONS)
        return sorted(found, key=lambda view: view.job.version, reverse=True)


def review_of(view: JobView) -> Review:
    """Return what was asked for with a review."""
    return Review(**view.payload)


def _refuse_unfit(asked: Asked, found: list[JobView]) -> None:
    if not found:
        return
    versions = {view.job.version for view in found}
    newest = found[0]
    if asked.rerun:
        fits = asked.review_version > newest.job.version
    else:
        fits = asked.review_version in versions or (
            asked.review_version > newest.job.version and _may_go_on(found)
        )
    if not fits:
        raise _refused(asked, newest.job.version, newest.id)


def _deliveries_of(review: Review) -> list[DeliveryKey]:
    return [
        DeliveryKey(review.changelist_id, recipient, review.review_version)
        for recipient in review.recipients
    ]


def _may_go_on(found: list[JobView]) -> bool:
    """Tell whether a higher version needs no explicit rerun: what failed was never told."""
    return bool(found) and found[0].state in (JobState.FAILED, JobState.CANCELLED)


def _refused(asked: Asked, found: int, job_id: str) -> VersionRefused:
    requested = asked.review_version
    if requested > found:
        message = (
            f"version {found} of this review is there; say rerun: true to have version "
            f"{requested} made and everybody told again"
        )
    else:
        message = f"a rerun needs a version above {found}, and {requested} was asked for"
    return VersionRefused(message, requested=requested, found=found, job_id=job_id)
