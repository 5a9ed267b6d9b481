"""Removes the files of an owner who is erased: what they sent, and what was made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from converter.pipeline import PIPELINE
from converter.presentation import job_of, result_name
from converter.retention import kept_since
from converter.storage.contract import Storage
from holdfast.retention import Owned

_ALL_DAYS: Final = -1.0
"""For all files there are: what was written before tomorrow."""


def erase_files(
    owned: Owned,
    dry_run: bool,  # noqa: FBT001 - as it is called
    *,
    uploads: Storage,
    results: Storage,
) -> Mapping[str, int]:
    """Remove the uploads and results of these jobs; without jobs, results of those that are gone.

    Whose an upload is only its job says: one without a job is removed by the retention of files.
    """
    gone: Counter[str] = Counter()
    for view in owned.jobs:
        # Another application may have a pipeline of that name on the same database.
        if view.job.pipeline == PIPELINE and "source" in view.payload:
            gone[uploads.label] += _gone(uploads, view.payload["source"], dry_run=dry_run)
            # Where nothing is removed, those that the owner's mark gives away are counted below.
            if not (dry_run and owned.made(view.id)):
                gone[results.label] += _gone(results, result_name(view.id), dry_run=dry_run)
    if not owned.jobs:
        for name in list(results.written_before(kept_since(keep_days=_ALL_DAYS))):
            if owned.made(job_of(name)):
                gone[results.label] += _gone(results, name, dry_run=dry_run)
    return gone


def _gone(storage: Storage, name: str, *, dry_run: bool) -> bool:
    """Remove a file, or look for it, and return whether there was one."""
    return storage.exists(name) if dry_run else storage.remove(name)
