"""The process that imports once and is forked for every process a test starts.

It has no thread and opens no database. Each fork becomes what was asked for, as an interpreter
with those arguments would. It serves its owner, and all that connect to the socket it was given.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import runpy
import select
import socket
import sys
import time
import types
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

IMPORTED = (
    "aio_pika",
    "argparse",
    "attr",
    "converter.cli",
    "converter.gateway.app",
    "converter.gateway.command",
    "converter.http.routes",
    "converter.pages.pages",
    "converter.system",
    "criticizer.cli",
    "criticizer.http.routes",
    "criticizer.pages.pages",
    "criticizer.reviewers.openai",
    "criticizer.system",
    "collabiq.cli.commands.status",
    "collabiq.http.routes",
    "collabiq.pages.pages",
    "collabiq.system",
    "grading.cli",
    "grading.http.routes",
    "grading.pages.pages",
    "grading.system",
    "holdfast.api.server.server",
    "holdfast.bridges.file",
    "holdfast.bridges.rabbitmq",
    "holdfast.bridges.rabbitmq.consumer",
    "holdfast.cli.shell.app_location",
    "holdfast.cli.main",
    "holdfast.cli.processes.site",
    "holdfast.console",
    "holdfast.lab.pages",
    "holdfast.lab.postcards",
    "holdfast.lab.stand_ins",
    "holdfast.config.logs",
    "holdfast.metrics",
    "holdfast.store.postgres.store",
    "rich.live",
    "rich.progress",
    "structlog",
    "tests.crash.gateway",
    "tests.crash.postbox",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
MAX_BYTES = 1 << 20


class Parent:
    """Starts what it is asked to, and tells whoever asked how it ended."""

    def __init__(self, owner: socket.socket, door: socket.socket | None) -> None:
        self._owner = owner
        self._door = door
        self._clients = [owner]
        self._told_of: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> dict[str, Any] | None:
        """Return in a fork, with what it shall be; in the parent `None`, once its owner is gone."""
        doors = [] if self._door is None else [self._door]
        while True:
            ready, _, _ = select.select([*self._clients, *doors, *self._told_of], [], [])
            for found in ready:
                if isinstance(found, int):
                    self._tell(found)
                elif found is self._door:
                    self._clients.append(found.accept()[0])
                else:
                    message, files, _, _ = socket.recv_fds(found, MAX_BYTES, 4)
                    if message:
                        request = json.loads(message)
                        if self._forked(request, files):
                            return request
                    elif found is self._owner:
                        return None
                    else:
                        self._clients.remove(found)
                        found.close()

    def _forked(self, request: dict[str, Any], files: list[int]) -> bool:
        *standard, news = files
        asker = socket.socket(fileno=news)
        pid = os.fork()
        if pid == 0:
            self._become(request, standard)
            asker.send(json.dumps({"pid": os.getpid()}).encode())
            asker.close()
            return True
        for file in standard:
            os.close(file)
        self._told_of[os.pidfd_open(pid)] = pid, asker
        return False

    def _tell(self, ended: int) -> None:
        pid, asker = self._told_of.pop(ended)
        os.close(ended)
        _, status = os.waitpid(pid, 0)
        with asker, suppress(OSError):  # whoever asked may be gone
            asker.send(json.dumps({"status": status}).encode())

    def _become(self, request: dict[str, Any], standard: list[int]) -> None:
        for one in [*self._clients, *([] if self._door is None else [self._door])]:
            one.close()
        for pidfd, (_, asker) in self._told_of.items():
            os.close(pidfd)
            asker.close()
        if request["new_session"]:
            os.setsid()
        for number, file in enumerate(standard):
            os.dup2(file, number)
        for file in standard:
            os.close(file)
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        os.chdir(request["folder"])


def open_standard_files() -> None:
    """Let the names in `sys` stand for the files that this process has now."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(_file(0, "rb"))
    sys.stdout = sys.__stdout__ = _writer(1, through=unbuffered, lines=os.isatty(1))
    sys.stderr = sys.__stderr__ = _writer(
        2, through=unbuffered, lines=True, errors="backslashreplace"
    )


def _file(number: int, mode: str) -> io.BufferedIOBase:
    return open(number, mode, closefd=False)


def _writer(number: int, *, through: bool, lines: bool, errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(
        _file(number, "wb"),
        errors=errors,
        line_buffering=lines,
        write_through=through,
    )


def run(arguments: list[str]) -> None:
    """Run what an interpreter with these arguments runs, as its main module."""
    sys.orig_argv = [sys.executable, *arguments]
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    # What reads its environment when it is imported.
    failpoint = sys.modules.get("holdfast.runtime.kernel.failpoint")
    if failpoint is not None:
        importlib.reload(failpoint)
    if arguments[0] == "-W":
        warnings.simplefilter(arguments[1])
        arguments = arguments[2:]
    match arguments:
        case ["-m", module, *_]:
            sys.argv = arguments[1:]
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", text, *rest]:
            sys.argv = ["-c", *rest]
            sys.path.insert(0, "")
            sys.modules["__main__"] = module = types.ModuleType("__main__")
            exec(compile(text, "<string>", "exec"), module.__dict__)
        case [script, *_]:
            sys.argv = arguments
            sys.path.insert(0, str(Path(script).parent))
            runpy.run_path(script, run_name="__main__")


def main() -> None:
    warmth, *files = sys.argv[1:]
    owner, *door = (socket.socket(fileno=int(number)) for number in files)
    parent = Parent(owner, *(door or [None]))
    for name in IMPORTED if warmth == "warm" else ():
        importlib.import_module(name)
    del sys.path[0]  # where this module was found
    gc.freeze()
    request = parent.serve()
    if request is not None:
        open_standard_files()
        run(request["arguments"])


if __name__ == "__main__":
    main()
