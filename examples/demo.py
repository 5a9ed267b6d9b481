"""Run the demo: a worker, a pipeline whose upstreams fail now and then, and a steady flow of jobs.

.venv/bin/python examples/demo.py             until Ctrl-C
.venv/bin/python examples/demo.py --jobs 50   until so many have ended
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from demo_pipeline import GIVEN_URL, app, digest
from demo_screen import Lines, Screen, View, hints, summary
from demo_tally import Tally
from rich.console import Console

from holdfast import HoldfastError, UnavailableError
from holdfast.workers import Worker, WorkerOptions

FRAME_S = 0.2
HINT_S = 8.0
ENDING = "ending: finishing what runs; Ctrl-C once more hands it back at once"
WORDS = ("kelp", "reef", "tide", "cove", "dune", "wave", "gull", "sand", "rock", "pier")
"""One names the articles of a run, so that those of an earlier run stand out."""
READERS = ("ada", "grace", "edsger", "barbara", "tony", "leslie")
OPTIONS = WorkerOptions(concurrency=16, lease=5, grace=10)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="A worker, a flaky upstream, live progress.")
    parser.add_argument("--jobs", type=int, help="submit this many jobs, see them end, and stop")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--rate", type=float, default=6.0, help="jobs per second (default: 6)")
    parser.add_argument("--plain", action="store_true", help="lines instead of a screen")
    return parser.parse_args()


class Demo:
    """Submits jobs at a steady rate while a worker in the same process runs them."""

    def __init__(self, asked: argparse.Namespace, tally: Tally) -> None:
        self._asked = asked
        self._tally = tally
        self._began_s = time.monotonic()
        self._word = random.choice(WORDS)
        self._run = f"{self._word}-{time.time_ns():x}"
        self.stop = threading.Event()
        self._hints = (
            "Ctrl-C ends it: what runs is finished, what waits stays in the database",
            f"kill -9 {os.getpid()}, then start it again: nothing is lost",
        )

    @property
    def elapsed_s(self) -> float:
        """How long the demo has been running."""
        return time.monotonic() - self._began_s

    def run(self, view: View) -> None:
        """Go on until told to stop, or until all that was asked for is done."""
        while not self.stop.is_set() and not self._finished():
            hint = self._hints[int(self.elapsed_s / HINT_S) % len(self._hints)]
            self._frame(view, hint, submits=True)
            self.stop.wait(FRAME_S)

    def drain(self, worker: Worker, view: View) -> int:
        """End the worker, still showing how the jobs stand, and return its exit status."""
        with ThreadPoolExecutor(1) as pool:
            worker.request_stop()
            ending = pool.submit(worker.drain)
            while not ending.done():
                self._frame(view, ENDING, submits=False)
                time.sleep(FRAME_S)
            self._frame(view, ENDING, submits=False)
            return ending.result()

    def _frame(self, view: View, hint: str, *, submits: bool) -> None:
        """Submit what is due, read how the jobs stand, and show it; an outage is waited out."""
        warning = ""
        try:
            if submits:
                self._submit_due()
            self._tally.refresh()
        except UnavailableError as error:
            warning = str(error)
        view.show(self._tally, elapsed_s=self.elapsed_s, hint=hint, warning=warning)

    def _finished(self) -> bool:
        jobs, seconds = self._asked.jobs, self._asked.seconds
        if seconds is not None and self.elapsed_s >= seconds:
            return True
        return jobs is not None and self._tally.submitted >= jobs and not self._tally.still_open

    def _submit_due(self) -> None:
        wanted = int(self.elapsed_s * self._asked.rate) + 1
        if self._asked.jobs is not None:
            wanted = min(wanted, self._asked.jobs)
        for number in range(self._tally.submitted, wanted):
            payload = {
                "article": f"{self._word}-{number + 1}",
                "reader": f"{READERS[number % len(READERS)]}@example.org",
            }
            # The key makes it safe to submit again after an outage in the middle of it.
            key = f"{self._run}-{number}"
            self._tally.add(app.submit(digest, payload, key=key).id)


def main() -> int:
    """Run the demo and return its exit status."""
    asked = arguments()
    # The screen shows failures itself; only what ends the worker is worth a line beside it.
    logging.basicConfig(level=logging.CRITICAL, format="%(message)s")
    console = Console()
    tally = Tally(app, pipeline=digest.name)
    try:
        tally.find_earlier()
        worker = app.worker(options=OPTIONS)
    except HoldfastError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    demo = Demo(asked, tally)

    def on_signal(_number: int, _frame: object) -> None:
        # The first asks for an end, the next ones for haste.
        if demo.stop.is_set():
            worker.request_stop()
        demo.stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    view: View = Lines(console)
    if console.is_terminal and not console.is_dumb_terminal and not asked.plain:
        view = Screen(
            console,
            title=f"{app.store.url}  process {os.getpid()}",
            subtitle="fetch → summarise → notify, on upstreams that fail now and then",
            goal=asked.jobs,
        )
    if tally.found:
        cut_off = f", {tally.found_running} of them cut off" if tally.found_running else ""
        found = f"Found {tally.found} jobs of an earlier run{cut_off}; they go on where they stood."
        console.print(found, highlight=False)
    worker.start()
    with view:
        demo.run(view)
        status = demo.drain(worker, view)
    farewell(console, tally, elapsed_s=demo.elapsed_s)
    app.close()
    return status


def farewell(console: Console, tally: Tally, *, elapsed_s: float) -> None:
    """Account for every job, and say what to try next."""
    for line in summary(tally, elapsed_s=elapsed_s):
        console.print(line, highlight=False)
    console.print("\n[bold]To try next[/bold]")
    for command, shows in hints(tally, database_url=GIVEN_URL):
        console.print(f"  {command}\n    [dim]{shows}[/dim]", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
