"""Recordings on a grader's disk while they are graded: fetched, decoded, and removed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

KEPT_S: Final = 86_400.0
"""How long what was left behind stays: what fails for good, or goes on with another machine."""
_FOLDER_MODE: Final = 0o700
_NAME: Final = re.compile(r"[0-9A-Za-z-]{1,64}")


class WorkFiles:
    """A folder for each job, readable by its user alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder_of(self, job_id: str) -> Path:
        """Return the folder of a job, made where it is not there."""
        folder = self._path(job_id)
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        return folder

    def remove(self, job_id: str) -> None:
        """Remove what this machine has of a job."""
        shutil.rmtree(self._path(job_id), ignore_errors=True)

    def remove_abandoned(self, instant_s: float) -> int:
        """Remove folders that were last used before an instant; return how many."""
        stale = [path for path in self._root.glob("*") if _is_older(path, instant_s)]
        for path in stale:
            shutil.rmtree(path, ignore_errors=True)
        return len(stale)

    def _path(self, job_id: str) -> Path:
        if not _NAME.fullmatch(job_id):
            raise ValueError("that is no id of a job")
        return self._root / job_id


def _is_older(path: Path, instant_s: float) -> bool:
    try:
        return path.stat().st_mtime < instant_s
    except FileNotFoundError:
        return False
