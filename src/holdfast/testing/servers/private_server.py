"""A server that runs for the length of a block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class PrivateServer(ABC):
    """Starts with a `with` block and is gone after it, also when it does not start."""

    @abstractmethod
    def start(self) -> None:
        """Starts the server and returns when it takes connections; nothing if it runs."""

    @abstractmethod
    def close(self) -> None:
        """Ends the server for good and removes its files; in a forked child, nothing."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
