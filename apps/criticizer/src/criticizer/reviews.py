"""What people do with reviews: ask for one, and look how it stands.

An idempotency key names one request for good, `rerun` included, and a change and its version name
one review. Both are kept by the engine's own keys, which outlive their jobs: a request is a job of
the pipeline `review-request` under the caller's key, and a review is a job of the pipeline `review`
under the change's id, whose reruns are versions. So of any number of requests at once one makes the
review, whichever way they are alike.

An `owner` of None is for those who may see everybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from criticizer.change import Change
from criticizer.payload import Asked, Review
from criticizer.pipeline import FETCH_STAGE, REQUEST, REVIEW
from criticizer.refusals import ChangeRefused, ReviewMissing, SourceAway, VersionRefused
from criticizer.sources.contract import Source
from criticizer.sources.errors import BadChangeId, ChangeMissing
from criticizer.sources.rules import SOURCE_RULES
from holdfast import Holdfast, JobFilter, JobState, JobView, UserError
from holdfast.classify import classify
from holdfast.deliveries import DeliveryKey, DeliveryView
from holdfast.errors import InvalidValue, UnknownJob, VersionConflict

MAX_VERSIONS: Final = 1_000
NO_CHANGE: Final = "CHANGE_UNKNOWN"
BAD_ID: Final = "CHANGE_ID_INVALID"
_ASKED: Final = ("changelist_id", "review_version", "recipients", "rerun")
"""What is asked for; the rest follows from it."""


class Made(NamedTuple):
    """The review that a request stands for."""

    job: JobView
    created: bool
    differs: tuple[str, ...]
    """What the key's first request had otherwise; it is the one that counts."""


class Reviews:
    """The reviews of one engine."""

    def __init__(self, app: Holdfast, *, source: Source, pin_timeout_s: float) -> None:
        self.app = app
        self._source, self._pin_timeout_s = source, pin_timeout_s

    def ask(self, asked: Asked, *, key: str, owner: str) -> Made:
        """Have a change reviewed, or find the review that the key or the version already names.

        A name such as `HEAD` is pinned to the commits that it stands for now. Raises
        `ChangeRefused` for a change that is not there, `SourceAway` while that cannot be found
        out, and `VersionRefused` for a version below one that there is, or above it without
        `rerun`.
        """
        request, found = self._request(key, owner), None
        if request is None:
            asked = self._pinned(asked, owner)
            found = self._of_owner(asked.changelist_id, owner)
            _refuse_unfit(asked, found)
            handle = self.app.submit(REQUEST, asked, key=key, key_alone=True, owner=owner)
            request = handle.get()
        if request.removed_at is not None:
            return self._remembered(asked, request, owner)
        kept = Asked(**request.payload)
        if found is None or kept.changelist_id != asked.changelist_id:
            found = self._of_owner(kept.changelist_id, owner)
        job, created = self._make(kept, owner, found)
        return Made(job, created, _differences(asked, kept))

    def _pinned(self, asked: Asked, owner: str) -> Asked:
        """Return the request with its change by an id that means the same forever."""
        name = asked.changelist_id
        try:
            change = self._source.pin(name, timeout_s=self._pin_timeout_s)
        except (BadChangeId, ChangeMissing) as error:
            # The sender can correct it; it is counted, and its key stays free.
            kind = BAD_ID if isinstance(error, BadChangeId) else NO_CHANGE
            self.app.refuse(REQUEST, asked, UserError(kind, str(error)), owner=owner)
            raise ChangeRefused(str(error)) from None
        except Exception as error:  # noqa: BLE001 - whatever a library raises of a source that is away
            failure = classify(error, SOURCE_RULES, now=self.app.clock.now())
            located = self._source.located(name)
            if located is None:
                raise SourceAway(failure.error_class) from None
            # It needs no pinning, and the review itself waits until the source is back.
            change = located
        named = "" if change.changelist_id == name else name
        return replace(
            asked,
            changelist_id=change.changelist_id,
            named=named,
            repository=change.repository,
        )

    def versions(self, changelist_id: str, *, owner: str | None) -> list[JobView]:
        """Return the reviews of a change, the highest version first; raises `ReviewMissing`.

        Of those whose data was removed there is what their keys keep.
        """
        wanted = JobFilter(pipeline=REVIEW, key=changelist_id, owner=owner or None)
        stored = self.app.jobs(wanted, limit=MAX_VERSIONS)
        known = self._of_owner(changelist_id, owner or "")
        removed = [view for view in known if view.removed_at is not None]
        found = sorted([*stored, *removed], key=_version_of, reverse=True)
        if not found:
            raise ReviewMissing(changelist_id)
        return found

    def latest(self, *, owner: str | None, before: str | None, limit: int) -> list[JobView]:
        """Return reviews, newest first."""
        return self.app.jobs(JobFilter(pipeline=REVIEW, owner=owner), before=before, limit=limit)

    def results_of(self, views: Sequence[JobView]) -> dict[str, dict[str, Any]]:
        """Return, by job, what the stages that are done have returned."""
        return self.app.results_of(views)

    def change(self, changelist_id: str, *, version: int | None, owner: str | None) -> Change:
        """Return the change that was reviewed; raises `ReviewMissing` while it is not fetched."""
        for view in self.versions(changelist_id, owner=owner):
            if version in (None, view.job.version) and view.removed_at is None:
                fetched = self.app.results(view.id).get(FETCH_STAGE)
                if fetched is not None:
                    return Change.from_document(fetched)
        raise ReviewMissing(changelist_id)

    def review(self, job_id: str, *, owner: str | None) -> JobView | None:
        """Return one review by its job; None when it is none, or another owner's."""
        try:
            view = self.app.job(job_id, owner=owner)
        except UnknownJob:
            return None
        return view if view.job.pipeline == REVIEW else None

    def diff_lines(self, view: JobView, *, most: int) -> list[str]:
        """Return the first lines of the diff that was reviewed; none while it is not fetched."""
        fetched = self.app.results(view.id).get(FETCH_STAGE)
        if fetched is None:
            return []
        lines = Change.from_document(fetched).diff.splitlines()
        more = len(lines) - most
        return [*lines[:most], f"… and {more} more lines"] if more > 0 else lines

    def told(self, views: Sequence[JobView]) -> dict[str, list[DeliveryView]]:
        """Return, by job, who is notified of a review, in the order of its recipients."""
        keys = {view.id: _deliveries_of(view) for view in views}
        found = self.app.deliveries.of_keys([key for each in keys.values() for key in each])
        return {
            job_id: [found[key] for key in wanted if key in found]
            for job_id, wanted in keys.items()
        }

    def _request(self, key: str, owner: str) -> JobView | None:
        """Return the request that was made under a key, if there is one: the first counts."""
        found = self.app.of_key(REQUEST, key, owner=owner)
        return found[0] if found else None

    def _remembered(self, asked: Asked, request: JobView, owner: str) -> Made:
        """Find the review of a request that was removed; none is made of it a second time."""
        first = replace(asked, **(request.memo or {}))
        job = self._version(first, owner)
        if job is None:
            raise VersionRefused(
                "this key was used before, and nothing is left of what it stood for; use another",
                requested=asked.review_version,
                found=first.review_version,
                job_id=request.id,
            )
        return Made(job, created=False, differs=_differences(asked, first))

    def _make(self, asked: Asked, owner: str, found: list[JobView]) -> tuple[JobView, bool]:
        """Make the review of a request, or find the one that was made for it.

        `found` are the versions there were a moment ago; those made since the engine tells of.
        """
        of_version = [view for view in found if view.job.version == asked.review_version]
        if of_version:
            return of_version[0], False
        try:
            handle = self.app.submit(
                REVIEW,
                asked.review,
                key=asked.changelist_id,
                key_alone=True,
                owner=owner,
                version=asked.review_version,
                rerun=asked.rerun or _may_go_on(found),
            )
        except VersionConflict as conflict:
            made = self._version(asked, owner)
            if made is None:
                raise _refused(asked, conflict.found, conflict.job_id) from None
            return made, False
        except InvalidValue as error:
            if error.field != "version":
                raise
            # Another request made a review meanwhile.
            _refuse_unfit(asked, self._of_owner(asked.changelist_id, owner))
            raise
        return handle.get(), handle.created

    def _version(self, asked: Asked, owner: str) -> JobView | None:
        """Return the review of this very version, if there is one by now."""
        found = self._of_owner(asked.changelist_id, owner)
        of_version = [view for view in found if view.job.version == asked.review_version]
        return of_version[0] if of_version else None

    def _of_owner(self, changelist_id: str, owner: str) -> list[JobView]:
        """Return the versions of exactly this owner, who may be nobody, the highest first."""
        found = self.app.of_key(REVIEW, changelist_id, owner=owner)
        return sorted(found, key=_version_of, reverse=True)


def review_of(view: JobView) -> Review:
    """Return what was asked for with a review, as far as it is still known."""
    if view.removed_at is not None:
        return Review(
            changelist_id=view.job.key or "", review_version=view.job.version, recipients=[]
        )
    return Review(**view.payload)


def _differences(asked: Asked, first: Asked) -> tuple[str, ...]:
    mine, kept = asdict(asked), asdict(first)
    if asked.changelist_id in (first.named, first.changelist_id):
        # A name that was pinned is still the one that was asked for.
        kept["changelist_id"] = asked.changelist_id
    return tuple(name for name in _ASKED if mine[name] != kept[name])


def _refuse_unfit(asked: Asked, found: list[JobView]) -> None:
    """Raise unless the version is there, or is higher and may be made."""
    if not found or any(view.job.version == asked.review_version for view in found):
        return
    newest = found[0]
    higher = asked.review_version > newest.job.version
    if not higher or not (asked.rerun or _may_go_on(found)):
        raise _refused(asked, newest.job.version, newest.id)


def _version_of(view: JobView) -> int:
    return view.job.version


def _deliveries_of(view: JobView) -> list[DeliveryKey]:
    review = review_of(view)
    return [
        DeliveryKey(review.changelist_id, recipient, review.review_version)
        for recipient in review.recipients
    ]


def _may_go_on(found: list[JobView]) -> bool:
    """Return whether a higher version needs no explicit rerun: what failed notified nobody."""
    return bool(found) and found[0].state in (JobState.FAILED, JobState.CANCELLED)


def _refused(asked: Asked, found: int, job_id: str) -> VersionRefused:
    requested = asked.review_version
    if requested > found:
        message = (
            f"version {found} of this review is there; say rerun: true to have version "
            f"{requested} made and everybody told again"
        )
    else:
        message = f"version {found} of this review is there, and {requested} is below it"
    return VersionRefused(message, requested=requested, found=found, job_id=job_id)
