"""Whether waking workers slows down callers who submit in transactions of their own.

A commit that notifies keeps a lock of the whole server until it is on disk, so this is measured on
a server of its own whose commits wait for the disk, whatever the other rows do.
"""

import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

from bench.callers import Wakes
from bench.database import PostgresPlace
from bench.environments import Command
from bench.figure import Rate, middle
from bench.measure import Conditions, Measure, Measured
from bench.process import Failed, Process
from bench.system import OURS
from bench.targets import NOBODY_WOKEN
from holdfast import Holdfast
from holdfast.testing.postgres.server import PrivatePostgres

CALLERS = Command((sys.executable, "-m", "bench.callers"), {})
PROCESSES = 4
THREADS = 16
TRANSACTIONS = 20
"""Of each caller in each turn."""
TURNS = 9
QUICK_TURNS = 1
LIMIT_S = 120.0
SYSTEMS: dict[str, Wakes] = {
    OURS: "by holdfast",
    NOBODY_WOKEN: "never",
    "pg_notify inside": "in the transaction",
}


def paces(conditions: Conditions) -> Iterator[Measured]:
    turns = QUICK_TURNS if conditions.quick else TURNS
    rates: dict[str, list[Rate]] = {name: [] for name in SYSTEMS}
    _check_disk()
    with (
        PrivatePostgres(durable=True) as server,
        PostgresPlace(server).fresh() as database,
        _listening(database.url),
        ExitStack() as stack,
    ):
        options = {"url": database.url, "callers": THREADS}
        processes = [
            stack.enter_context(Process(CALLERS, "transact", options)) for _ in range(PROCESSES)
        ]
        for process in processes:
            process.expect("ready", within_s=LIMIT_S)
        for turn in range(-1, turns):
            for name in SYSTEMS if turn % 2 == 0 else reversed(SYSTEMS):
                rate = _pace(processes, SYSTEMS[name])
                if turn >= 0:
                    rates[name].append(rate)
    jobs = PROCESSES * THREADS * TRANSACTIONS * turns
    for name, taken in rates.items():
        yield Measured("submit-at-once", middle(taken), jobs, name, version("holdfast"))


def _pace(processes: Sequence[Process], wakes: Wakes) -> Rate:
    asked = json.dumps({"transactions": TRANSACTIONS, "wakes": wakes})
    for process in processes:
        process.ask(asked)
    said = [process.expect("measured", within_s=LIMIT_S) for process in processes]
    took_ns = max(each["ended_ns"] for each in said) - min(each["began_ns"] for each in said)
    return Rate(PROCESSES * THREADS * TRANSACTIONS * 1e9 / took_ns)


@contextmanager
def _listening(url: str) -> Iterator[None]:
    """Listen as a worker does, without running anything."""
    with Holdfast(url) as app:
        listener = app.store.listen()
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                listener.wait(1.0)

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            listener.close()
            thread.join()


def _check_disk() -> None:
    """Refuse a server whose files would be in memory: there a commit waits for nothing."""
    folder = Path(tempfile.gettempdir()).resolve()
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    kinds = {Path(where): kind for _, where, kind, *_ in map(str.split, lines)}
    if next(kinds[each] for each in (folder, *folder.parents) if each in kinds) == "tmpfs":
        raise Failed(f"{folder} is in memory; set TMPDIR to a folder on a disk")


MEASURE = Measure("submit-at-once", paces)
