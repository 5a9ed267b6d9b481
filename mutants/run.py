"""Plant every fault of the list, one at a time, and see whether the tests notice it.

`make mutants`, or for some of them `python -m mutants.run --only "another owner"`.
"""

import argparse
import queue
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mutants import page
from mutants.fault import FAULTS, Fault, ListError, load
from mutants.scratch import Scratch, TestRun
from mutants.verdict import Verdict

ENOUGH = 0.95
LIMIT_S = 240.0
_TESTS_PASSED, _TESTS_FAILED = 0, 1


@dataclass(frozen=True)
class Project:
    """What faults are planted in, and how to know that a copy of it is what its tests import."""

    tree: Path
    packages: tuple[str, ...]
    canary: Fault


HOLDFAST = Project(
    tree=Path(__file__).parent.parent,
    packages=("holdfast", "collabiq", "converter", "criticizer", "grading"),
    canary=Fault(
        name="The canary: ids are of another version",
        group="canary",
        file="src/holdfast/core/values/ids.py",
        before="_VERSION = 7 << 12",
        after="_VERSION = 6 << 12",
        tests=("tests/core/values/test_ids.py",),
    ),
)


def judge(fault: Fault, run: TestRun) -> Verdict:
    """Return what a run of the tests says about the fault that was planted during it."""
    if run.status is None:
        return Verdict(fault, "error", run.seconds, "the time was up before a test had failed")
    if run.status == _TESTS_PASSED:
        return Verdict(fault, "survived", run.seconds, run.summary)
    if run.status == _TESTS_FAILED and "ERROR collecting" not in run.output:
        return Verdict(fault, "caught", run.seconds, run.failed_test)
    return Verdict(fault, "error", run.seconds, f"pytest ended with {run.status}: {run.summary}")


def tried(fault: Fault, scratch: Scratch, *, limit_s: float) -> Verdict:
    """Plant a fault and run its tests."""
    try:
        with scratch.planted(fault):
            return judge(fault, scratch.test(fault.tests, keyword=fault.keyword, limit_s=limit_s))
    except (ListError, OSError) as error:
        return Verdict(fault, "error", 0.0, f"the list is wrong: {error}")


def red_without_fault(faults: Iterable[Fault], scratch: Scratch, *, limit_s: float) -> set[str]:
    """Return the names of faults whose tests fail or are skipped while nothing is planted."""
    faults = list(faults)
    every = sorted({test for fault in faults for test in fault.tests})
    if not faults or _sound(scratch.test(every, limit_s=limit_s * len(faults))):
        return set()
    return {
        fault.name
        for fault in faults
        if not _sound(scratch.test(fault.tests, keyword=fault.keyword, limit_s=limit_s))
    }


def _sound(run: TestRun) -> bool:
    return run.status == _TESTS_PASSED and "skipped" not in run.summary


def try_all(
    faults: Sequence[Fault], scratches: Sequence[Scratch], *, limit_s: float
) -> list[Verdict]:
    """Try faults side by side, one in each copy at a time, and print what becomes of them."""
    free: queue.SimpleQueue[Scratch] = queue.SimpleQueue()
    for scratch in scratches:
        free.put(scratch)

    def baseline(group: str) -> set[str]:
        members = [fault for fault in faults if fault.group == group]
        with _lent(free) as scratch:
            return red_without_fault(members, scratch, limit_s=limit_s)

    def verdict_on(fault: Fault) -> Verdict:
        if fault.name in red:
            verdict = Verdict(fault, "error", 0.0, "its tests do not pass without it")
        else:
            with _lent(free) as scratch:
                verdict = tried(fault, scratch, limit_s=limit_s)
        print(verdict, flush=True)
        return verdict

    groups = list(dict.fromkeys(fault.group for fault in faults))
    pool = ThreadPoolExecutor(len(scratches))
    try:
        red = set().union(*pool.map(baseline, groups))
        return list(pool.map(verdict_on, faults))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for scratch in scratches:
            scratch.stop()
        pool.shutdown()


@contextmanager
def _lent(free: "queue.SimpleQueue[Scratch]") -> Iterator[Scratch]:
    scratch = free.get()
    try:
        yield scratch
    finally:
        free.put(scratch)


def check_copies(scratches: Iterable[Scratch], project: Project) -> None:
    """Raise unless each copy is what its tests import, and a fault in it makes them fail."""
    canary = project.canary
    for scratch in scratches:
        if not scratch.imports_itself(project.packages):
            raise ListError("the tests do not import the copy")
        if scratch.test(canary.tests, limit_s=LIMIT_S).status != _TESTS_PASSED:
            raise ListError("the canary's tests fail without it")
        if tried(canary, scratch, limit_s=LIMIT_S).outcome != "caught":
            raise ListError("the canary was not noticed: what is planted is not what is run")


def main(arguments: Sequence[str] | None = None, *, project: Project = HOLDFAST) -> int:
    """Return 0 when enough of the faults are caught."""
    options = _parsed(arguments)
    try:
        listed = load(options.faults)
    except ListError as error:
        print(f"error: {error}")
        return 2
    faults = [
        fault
        for fault in listed
        if options.group in {None, fault.group}
        and any(words.lower() in fault.name.lower() for words in options.only or [""])
    ]
    if not faults:
        print("error: no fault of that name or group")
        return 2
    began = time.monotonic()
    with ExitStack() as cleanup:
        scratches = [
            Scratch(project.tree, Path(cleanup.enter_context(tempfile.TemporaryDirectory())))
            for _ in range(min(options.jobs, len(faults)))
        ]
        try:
            check_copies(scratches, project)
        except ListError as error:
            print(f"error: {error}")
            return 2
        verdicts = try_all(faults, scratches, limit_s=options.limit)
    if options.write:
        page.write(verdicts, listed, tree=project.tree)
    return _reported(verdicts, seconds=time.monotonic() - began)


def _reported(verdicts: Sequence[Verdict], *, seconds: float) -> int:
    missed = [verdict for verdict in verdicts if verdict.outcome != "caught"]
    caught = len(verdicts) - len(missed)
    print()
    for verdict in missed:
        print(f"{verdict.outcome}: {verdict.fault.group}: {verdict.fault.name}")
    share = caught / len(verdicts)
    print(f"{caught} of {len(verdicts)} caught, {share:.1%}, in {seconds:.0f} s")
    return 0 if share >= ENOUGH else 1


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", help="only the faults of this group")
    parser.add_argument(
        "--only", action="append", metavar="WORDS", help="only names that have these words"
    )
    parser.add_argument("--jobs", type=int, default=2, help="copies in which faults are tried")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for each fault")
    parser.add_argument("--faults", type=Path, default=FAULTS, help="the folder of the list")
    parser.add_argument("--write", action="store_true", help="write the page with the score")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what it has started, too
    sys.exit(main())
