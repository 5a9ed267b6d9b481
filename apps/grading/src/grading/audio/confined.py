"""Starts a program that looks at a stranger's file: `python -I -S confined.py LIMITS PROGRAM …`.

It gives up what the program does not need, then becomes the program. Run by its path, it imports
nothing but the standard library, so that it starts within some milliseconds.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path

_OPEN_FILES = 64
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


def main(limits: str, program: str, *arguments: str) -> None:
    """Become the program, bound to limits given as JSON, without a network."""
    given = json.loads(limits)
    _lower(resource.RLIMIT_CORE, 0)
    # The hard limit is a second later, so that its signal differs from that of others who kill.
    _lower(resource.RLIMIT_CPU, given["cpu_s"], given["cpu_s"] + 1)
    _lower(resource.RLIMIT_AS, given["memory_bytes"])
    _lower(resource.RLIMIT_FSIZE, given["file_bytes"])
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    os.umask(0o077)
    # The kernel ends the program when the thread that started it ends.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _leave_network()
    os.execve(program, [program, *arguments], dict(os.environ))  # noqa: S606 - what it is for


def _lower(kind: int, soft: int, hard: int | None = None) -> None:
    _, given = resource.getrlimit(kind)
    bounds = (soft, soft if hard is None else hard)
    if given != resource.RLIM_INFINITY:
        bounds = (min(bounds[0], given), min(bounds[1], given))
    resource.setrlimit(kind, bounds)


def _prctl(option: int, value: int) -> None:
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _leave_network() -> None:
    """Move into a network namespace without interfaces, where the kernel allows it."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    user, group = os.getuid(), os.getgid()
    if unshare is None or unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return
    # Without a mapping every file would belong to nobody.
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


if __name__ == "__main__":
    main(*sys.argv[1:])
