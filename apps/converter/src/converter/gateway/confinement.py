"""What a child process gives up before it looks at a file from a stranger."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from pathlib import Path
from typing import Final

from converter.gateway.limits import MEBIBYTE, Limits

OPEN_FILES: Final = 64
_FILE_BYTES: Final = 32 * MEBIBYTE
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000


def confine(limits: Limits) -> None:
    """Bind this process and its children to the limits, and to a network without a way out.

    The limits hold on every POSIX system. Where the kernel lets nobody make namespaces, the network
    stays; neither engine ever asks for it.
    """
    _lower(resource.RLIMIT_CORE, 0)
    # The second above it distinguishes a process that took too long from one that was killed.
    _lower(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)
    _lower(resource.RLIMIT_AS, limits.memory_bytes)
    # What pdftohtml writes is wordier than what is made of it, and tells the outline as well.
    _lower(resource.RLIMIT_FSIZE, 2 * limits.max_xml_bytes + _FILE_BYTES)
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    os.umask(0o077)
    end_with_parent()
    _leave_network()


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends (on Linux)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


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


def _leave_network() -> bool:
    """Move into a network namespace without interfaces; tell whether that was allowed."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    user, group = os.getuid(), os.getgid()
    if unshare is None or unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    # Without a mapping every file would seem to be nobody's.
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")
    return True
