"""Where secrets are kept: the environment, a folder of files, a provider of your own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from holdfast.classify import ProviderError

MAX_SECRET_BYTES: Final = 64 * 1024
_FILE_SUFFIX: Final = "_FILE"


@runtime_checkable
class SecretProvider(Protocol):
    """Where secrets are kept. It is asked from any thread."""

    def read(self, name: str) -> str | None:
        """Return the value that is in force now, or None where there is no secret of that name.

        It raises whatever it likes when it cannot tell, and has to do either in limited time.
        """
        ...


class SecretUnavailable(ProviderError):
    """There is no value of a secret: nobody has it, or who may have it cannot be asked.

    The message has the name; `verdict` says whether trying again may help.
    """


class Environment:
    """Secrets in variables of the environment: `NAME`, or the file that `NAME_FILE` names."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def read(self, name: str) -> str | None:
        """Return the variable, or what stands in the file; an empty variable is none."""
        given = self._environment.get(name, "").strip()
        path = self._environment.get(name + _FILE_SUFFIX, "").strip()
        return given or (read_file(Path(path)) if path else None)


class Folder:
    """Secrets in files that are called as they are, such as those in `/run/secrets`."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def read(self, name: str) -> str | None:
        """Return what stands in the file without the space around it."""
        try:
            return read_file(self._path / name)
        except FileNotFoundError:
            # A folder that is not there is not mounted, which is another matter.
            if self._path.is_dir():
                return None
            raise


def read_file(path: Path) -> str:
    """Return the text of a file that holds a secret, without the space around it."""
    with path.open("rb") as file:
        content = file.read(MAX_SECRET_BYTES + 1)
    return content[:MAX_SECRET_BYTES].decode().strip()
