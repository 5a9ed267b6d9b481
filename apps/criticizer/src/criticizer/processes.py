"""Runs a program within limits: of time, and of what it says."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from criticizer.wire import Deadline

_READ_BYTES: Final = 65_536
_KEPT_COMPLAINTS_BYTES: Final = 16_384
_GRACE_S: Final = 2.0
"""How long a program may take to tidy up after itself when it is to end."""


class SaysTooMuch(Exception):
    """The program said more than it may."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended."""

    code: int
    """Below zero it was ended by that signal."""
    output: bytes
    complaints: str
    """The beginning of what it wrote to its standard error."""


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    deadline: Deadline,
    max_bytes: int,
    folder: Path | None = None,
    kept_open: Collection[int] = (),
) -> Finished:
    """Run a program to its end, without a shell and with nothing to read.

    It starts with this environment and nothing of ours but the descriptors in `kept_open`. Raises
    `TimeoutError` or `SaysTooMuch`, and then it has ended with all that it started.
    """
    program = subprocess.Popen(  # noqa: S603 - no shell, and who calls checks what is in it
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd=folder,
        pass_fds=tuple(kept_open),
        start_new_session=True,
    )
    with program:
        try:
            output, complaints = _listen(program, deadline, max_bytes)
            code = program.wait(deadline.left_s())
        except subprocess.TimeoutExpired:
            raise TimeoutError("the program did not end in time") from None
        finally:
            _end(program)
    return Finished(code, output, complaints.decode("utf-8", "replace"))


def _listen(
    program: subprocess.Popen[bytes], deadline: Deadline, max_bytes: int
) -> tuple[bytes, bytes]:
    """Return what the program writes until it closes both of its ends."""
    assert program.stdout is not None and program.stderr is not None  # noqa: PT018, S101 - piped
    output, complaints = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(program.stdout, selectors.EVENT_READ, output)
        selector.register(program.stderr, selectors.EVENT_READ, complaints)
        while selector.get_map():
            for key, _ in selector.select(deadline.left_s()):
                read = os.read(key.fd, _READ_BYTES)
                if not read:
                    selector.unregister(key.fileobj)
                elif key.data is output:
                    output += read
                    if len(output) > max_bytes:
                        raise SaysTooMuch(f"more than {max_bytes} bytes")
                elif len(complaints) < _KEPT_COMPLAINTS_BYTES:
                    complaints += read
    return bytes(output), bytes(complaints[:_KEPT_COMPLAINTS_BYTES])


def _end(program: subprocess.Popen[bytes]) -> None:
    """End the program, and what it started and left behind."""
    if program.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            program.wait(_GRACE_S)
    # Its group outlives it where it left children behind.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, signal.SIGKILL)
