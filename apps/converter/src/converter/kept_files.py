"""Which conversions still have their files: asked of storage once for all that are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from converter.presentation import result_name
from converter.storage.contract import Storage
from holdfast import JobState, JobView


class KeptFiles(NamedTuple):
    """What was there of some conversions when it was looked for."""

    results: frozenset[str]
    """The jobs that are complete and have their XML."""
    sources: frozenset[str]
    """The jobs that failed and have their PDF."""

    def has_result(self, view: JobView) -> bool:
        """Return whether there is XML to fetch."""
        return view.id in self.results

    def can_retry(self, view: JobView) -> bool:
        """Return whether a conversion failed, a retry may help, and its file is still there."""
        return view.id in self.sources and is_retryable(view)

    def has_any(self, view: JobView) -> bool:
        """Return whether there is a file to remove of a conversion that has ended."""
        return view.id in self.sources or view.id in self.results


def kept_files(views: Sequence[JobView], *, uploads: Storage, results: Storage) -> KeptFiles:
    """Look for the files that matter of some conversions: one question to each storage at most."""
    made = {result_name(view.id): view.id for view in views if view.state is JobState.COMPLETE}
    sent = {view.payload["source"]: view.id for view in views if view.state is JobState.FAILED}
    return KeptFiles(
        results=frozenset(made[name] for name in _there(results, made)),
        sources=frozenset(sent[name] for name in _there(uploads, sent)),
    )


def is_retryable(view: JobView) -> bool:
    """Return whether a failed conversion may succeed as it is: not where its sender has to act."""
    error = view.error
    return view.state is JobState.FAILED and not (error and error.get("user_error"))


def _there(storage: Storage, names: dict[str, str]) -> set[str]:
    return storage.those_there(names) if names else set()
