"""The application that the crash tests run in processes of their own.

Every handler first records that its body runs, in a file that survives whatever happens next. The
tests judge by that file, never by what holdfast says of itself.
"""

import argparse
import asyncio
import ctypes
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from holdfast import GiveUp, Holdfast, Pipeline, Rate, Retry, RetryLater, Upstream
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.values.retention import Retention
from holdfast.deliveries import Notify
from holdfast.messaging import Message
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance
from holdfast.workers import Worker, WorkerOptions
from tests.crash import gateway, postbox

LOGGER = logging.getLogger("crash")
RECORD_VARIABLE = "CRASH_RECORD"
ATTEMPTS = 3
QUICK = Retry(attempts=ATTEMPTS, base=0.05, factor=1.0, jitter="none")

noop = Pipeline("noop", retry=QUICK)
steps = Pipeline("steps", retry=QUICK)
nap = Pipeline("nap", retry=QUICK)
burn = Pipeline("burn", retry=QUICK)
child = Pipeline("child", retry=QUICK)
stubborn = Pipeline("stubborn", retry=QUICK)
deadly = Pipeline("deadly", retry=QUICK)
poison = Pipeline("poison", retry=QUICK)
reborn = Pipeline("reborn", retry=QUICK)
forking = Pipeline("forking", retry=QUICK)
hog = Pipeline("hog", retry=QUICK)
half = Pipeline("half", retry=QUICK)
noted = Pipeline(
    "noted",
    retry=QUICK,
    on_decision=lambda decided: [Message(f"noted.{decided.kind}", {"at": decided.revision})],
)


def record(job) -> None:
    line = {
        "job": job.id,
        "stage": job.stage,
        "attempt": job.attempt,
        "pid": os.getpid(),
        "at": time.monotonic(),
    }
    file = os.open(os.environ[RECORD_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, json.dumps(line).encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


@noop.stage
async def only(job):
    record(job)
    return job.payload


@steps.stage
async def one(job, n: int, pause: float = 0.0):
    record(job)
    await asyncio.sleep(pause)
    return n + 1


@steps.stage
async def two(job, one: int, pause: float = 0.0):
    record(job)
    await asyncio.sleep(pause)
    return one * 10


@steps.stage
async def three(job, one: int, two: int, pause: float = 0.0):
    record(job)
    await asyncio.sleep(pause)
    return [one, two]


def result_of_steps(n: int) -> list[int]:
    """What a `steps` job returns when nothing goes wrong."""
    return [n + 1, (n + 1) * 10]


def _steps_of(stages) -> Pipeline:
    """Return the pipeline `steps` as another version of this program declares it."""
    pipeline = Pipeline("steps", retry=QUICK)
    for name, handler in stages.items():
        pipeline.stage(name=name)(handler)
    return pipeline


async def checks(job):
    record(job)
    return "checked"


async def three_without_two(job, one: int):
    record(job)
    return one


OTHER_VERSIONS = {
    "a stage was added": _steps_of({"one": one, "check": checks, "two": two, "three": three}),
    "a stage was removed": _steps_of({"one": one, "three": three_without_two}),
    "a stage was renamed": _steps_of({"one": one, "second": checks, "three": three_without_two}),
    "the stages were reordered": _steps_of({"check": checks, "one": one, "two": two}),
}


@half.stage
async def every_other(job, n: int):
    if n % 2:
        raise GiveUp("ODD", f"{n} is odd")
    return n


@noted.stage
async def fails_then_ends(job, n: int):
    record(job)
    if job.attempt == 1:
        raise TimeoutError
    return n


@nap.stage
def in_a_thread(job, seconds: float):
    record(job)
    time.sleep(seconds)
    return "slept"


@burn.stage
def processor(job, seconds: float):
    record(job)
    ends_at = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < ends_at:
        turns += 1
    return turns > 0


@child.stage(runs="process")
def in_a_child(job, does: str, seconds: float = 0.0):
    record(job)
    match does:
        case "sleep":
            time.sleep(seconds)
        case "hold the interpreter":
            hold_the_interpreter(seconds)
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(3)
        case "close every file":
            os.closerange(3, 256)
            time.sleep(seconds)
        case "start a program":
            program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            program.terminate()
            return program.wait(10)
    return "done"


def hold_the_interpreter(seconds: float) -> None:
    """Sleep without letting any other thread of this process run Python."""
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))


@stubborn.stage
async def stays(job, does: str, seconds: float):
    record(job)
    ends_at = time.monotonic() + seconds
    if does == "hold the interpreter":
        hold_the_interpreter(seconds)
    elif does == "block the loop":
        time.sleep(seconds)  # noqa: ASYNC251 - the fault itself
    while (left_s := ends_at - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left_s)
        except asyncio.CancelledError:
            continue
    return "stayed"


blocking = Pipeline("blocking", retry=QUICK)


@blocking.stage(timeout=0.5)
async def blocks_once(job):
    record(job)
    if job.attempt == 1:
        time.sleep(120)  # noqa: ASYNC251 - the fault itself


@deadly.stage
def kills(job):
    record(job)
    os.kill(os.getpid(), signal.SIGKILL)


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def _cyclic() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def _deep(levels: int):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def _raise(error: BaseException):
    raise error


POISON = {
    "raises text that cannot be printed": lambda: _raise(_Unprintable()),
    "raises ten megabytes": lambda: _raise(ValueError("x" * 10_000_000)),
    "raises a cycle of causes": lambda: _raise(_cyclic()),
    "raises a group": lambda: _raise(ExceptionGroup("many", [ValueError("a"), OSError("b")])),
    "raises odd text": lambda: _raise(ValueError("\0 \ud800 \u202e 🙂")),
    "returns a socket": socket.socketpair,
    "returns NaN": lambda: float("nan"),
    "returns infinity": lambda: {"x": float("inf")},
    "returns NUL": lambda: "a\0b",
    "returns a lone surrogate": lambda: ["\ud800"],
    "returns a huge number": lambda: 10**5000,
    "returns deep nesting": lambda: _deep(20_000),
    "returns ten megabytes": lambda: "x" * 10_000_000,
}
STOPS_ITSELF = {
    "raises SystemExit": lambda: sys.exit(3),
    "raises KeyboardInterrupt": lambda: _raise(KeyboardInterrupt()),
    "raises CancelledError": lambda: _raise(asyncio.CancelledError()),
}
PUTS_OFF = "raises RetryLater"


def _swallow(job, kind: str):
    record(job)
    if _times_run(job) > 1 and (kind in STOPS_ITSELF or kind == PUTS_OFF):
        return "behaved"
    if kind == PUTS_OFF:
        raise RetryLater(after=0.05)
    if kind in STOPS_ITSELF:
        return STOPS_ITSELF[kind]()
    return POISON[kind]()


def _times_run(job) -> int:
    lines = Path(os.environ[RECORD_VARIABLE]).read_text(encoding="utf-8").splitlines()
    return sum(json.loads(line)["job"] == job.id for line in lines)


@poison.stage
def swallow(job, kind: str):
    return _swallow(job, kind)


poison_on_loop = Pipeline("poison-on-loop", retry=QUICK)


@poison_on_loop.stage
async def swallow_on_loop(job, kind: str):
    return _swallow(job, kind)


poison_in_child = Pipeline("poison-in-child", retry=QUICK)


@poison_in_child.stage(runs="process")
def swallow_in_child(job, kind: str):
    return _swallow(job, kind)


@reborn.stage
def replaces_its_process(job):
    record(job)
    if job.attempt == 1:
        # As a kill and a restart would, but with the same process id.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return "reborn"


@forking.stage
def forks(job):
    record(job)
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            RUNNING[0].job(job.id)
            said = "nothing"
        except Exception as error:  # noqa: BLE001 - told to the parent
            said = f"{type(error).__name__}: {error}"
        os.write(writable, said.encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


@hog.stage
def takes_a_connection(job, until: str):
    """Hold one of the application's own connections until a file appears."""
    with RUNNING[0].store.transaction() as connection:
        connection.execute("select 1")
        record(job)
        while not Path(until).exists():
            time.sleep(0.02)
    return "let go"


BREAKER = Breaker(consecutive=5, cooldown=1.0, growth=1.0, trials=2, trial_timeout=5.0, release=2.0)
PATIENT = Retry(attempts=1_000, base=0.1, factor=1.0, jitter="none")
guarded = Pipeline("guarded", retry=PATIENT)
GATEWAY_VARIABLE = "CRASH_GATEWAY"


@guarded.stage(calls=Upstream("gateway", breaker=BREAKER))
async def calls_the_gateway(_job):
    status = await gateway.call(int(os.environ[GATEWAY_VARIABLE]))
    if status != 200:
        raise ConnectionError(f"the gateway answered {status}")


RATE = Rate(40, per=1, burst=10)
rated = Pipeline("rated", retry=PATIENT)


@rated.stage(calls=Upstream("rated", rate=RATE))
async def calls_a_gateway_that_counts(_job):
    status = await gateway.call(int(os.environ[GATEWAY_VARIABLE]))
    if status != 200:
        raise ConnectionError(f"the gateway answered {status}")


notice = Pipeline("notice", retry=QUICK)


@notice.stage
def tell(job, n: int, to: int = 1) -> Notify:
    record(job)
    recipients = [f"{n}-{each}@example.test" for each in range(to)]
    return Notify(subject=f"notice-{n}", recipients=recipients, message={"text": "hello"})


PIPELINES = {
    pipeline.name: pipeline
    for pipeline in (
        guarded,
        rated,
        notice,
        noop,
        steps,
        nap,
        burn,
        child,
        stubborn,
        blocking,
        deadly,
        poison,
        poison_on_loop,
        poison_in_child,
        reborn,
        forking,
        hog,
        half,
        noted,
    )
}
RUNNING: list[Holdfast] = []


class JsonLines(logging.Formatter):
    def format(self, log: logging.LogRecord) -> str:
        known = logging.makeLogRecord({}).__dict__
        extra = {key: value for key, value in vars(log).items() if key not in known}
        trouble = self.formatException(log.exc_info) if log.exc_info else None
        line = {"at": time.monotonic(), "level": log.levelname, "text": log.getMessage(), **extra}
        return json.dumps({**line, "trouble": trouble}, default=str)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--only", default="", help="pipelines to know, separated by commas")
    parser.add_argument("--version", choices=OTHER_VERSIONS, help="what happened to `steps`")
    parser.add_argument("--seed", type=int, help="makes the worker's id repeatable")
    parser.add_argument("--kill-thread", help="end this thread once the worker has run a while")
    parser.add_argument("--no-migrate", action="store_true")
    parser.add_argument("--queues", type=lambda names: names.split(","))
    parser.add_argument("--keep", type=float, help="for how long, whatever the jobs' end")
    for name in ("lease", "poll", "sweep", "grace"):
        parser.add_argument(f"--{name}", type=float)
    for name in ("concurrency", "processes"):
        parser.add_argument(f"--{name}", type=int)
    return parser.parse_args()


def _options(arguments: argparse.Namespace) -> WorkerOptions:
    names = ("lease", "poll", "sweep", "grace", "concurrency", "processes")
    given = {name: getattr(arguments, name) for name in names}
    given["deadline_check"] = arguments.sweep
    return WorkerOptions(**{name: value for name, value in given.items() if value is not None})


def _retention(keep: float | None) -> Retention | None:
    return None if keep is None else Retention(complete=keep, cancelled=keep, failed=keep)


def end_thread(name: str) -> None:
    """Make a thread of this process end without a word, as a defect in it might."""
    for thread in threading.enumerate():
        if thread.name == name and thread.ident is not None:
            identity = ctypes.c_ulong(thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(SystemExit))


def main() -> int:
    arguments = _arguments()
    log = logging.FileHandler(arguments.log)
    log.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[log])
    pipelines = dict(PIPELINES)
    if arguments.version:
        pipelines["steps"] = OTHER_VERSIONS[arguments.version]
    known = arguments.only.split(",") if arguments.only else pipelines
    app = Holdfast(
        arguments.url,
        pipelines=[pipelines[name] for name in known],
        auto_migrate=not arguments.no_migrate,
        **postbox.from_environment(os.environ),
        retention=_retention(arguments.keep),
        chance=None if arguments.seed is None else Chance(arguments.seed),
    )
    RUNNING.append(app)
    worker = app.worker(queues=arguments.queues, options=_options(arguments))
    LOGGER.info("made", extra={"event": "made", "worker": worker.id})
    if arguments.kill_thread:
        end_thread_later(worker, arguments.kill_thread)
    status = worker.run()
    LOGGER.info(
        "ended",
        extra={
            "event": "ended",
            "status": status,
            "refused": worker._reporter.stale,
            "reached": failpoint._active._reached,
        },
    )
    app.close()
    return status


def end_thread_later(worker: Worker, name: str) -> None:
    def wait_and_end() -> None:
        # Once an attempt is in flight the thread has had its turns.
        while not len(worker._in_flight):
            time.sleep(0.02)
        end_thread(name)

    threading.Thread(target=wait_and_end, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
