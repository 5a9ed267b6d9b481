"""What storage raises, and nothing else."""

from __future__ import annotations


class StorageError(Exception):
    """Storage did not do what was asked; nothing half-written can be seen."""

    def __init__(self, label: str, problem: str) -> None:
        self.label, self.problem = label, problem
        super().__init__(f"{label}: {problem}")

    def __reduce__(self) -> tuple[type[StorageError], tuple[str, str]]:
        return type(self), (self.label, self.problem)


class BadName(StorageError):
    """The name is none that the server makes, or leads elsewhere."""


class StorageMissing(StorageError):
    """Nothing is kept under the name: never written, or removed by now."""


class StorageFull(StorageError):
    """There is no room; free some, then try again."""


class StorageFailed(StorageError):
    """Reading or writing failed for any other reason."""
