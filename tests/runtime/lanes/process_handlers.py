"""Handlers that run in child processes, which find them here by name."""

import asyncio
import contextvars
import ctypes
import os
import signal
import socket
import threading
import time
from pathlib import Path

from holdfast import GiveUp, Pipeline, RetryLater, Wait
from holdfast.classify import Rule, Verdict

pipeline = Pipeline("processes")
VARIABLE = contextvars.ContextVar("variable", default="clean")


class Odd(Exception):
    """An exception that only a rule of the stage knows."""


ODD = Rule(Odd, Verdict("ODD", retryable=True))


@pipeline.stage(runs="process")
def report(job, n: int = 0):
    return {
        "pid": os.getpid(),
        "payload": job.payload,
        "n": n,
        "attempt": job.attempt,
        "token": job.idempotency_token,
    }


@pipeline.stage(runs="process")
def result_of(job, report: int):
    return report + 1


@pipeline.stage(runs="process")
def call_upstream(job):
    job.answered(202)


@pipeline.stage(runs="process")
def ask_for_secrets(job):
    return [len(job.secret(name)) for name in job.payload["names"]]


@pipeline.stage(runs="process")
def let_secret_slip(job):
    raise ValueError(f"refused for {job.secret('KEY', fresh=True)}")


@pipeline.stage(runs="process")
def leave_a_question(job):
    """Return while a thread still asks for a secret."""
    asking = threading.Thread(target=job.secret, args=("SLOW",))
    asking.start()
    while asking.is_alive() and not Path(job.payload["asked"]).exists():
        asking.join(0.01)
    Path(job.payload["returning"]).write_text("now")
    return 1


@pipeline.stage(runs="process")
def segfault(job):
    ctypes.string_at(0)


@pipeline.stage(runs="process")
def kill_itself(job):
    os.kill(os.getpid(), signal.SIGKILL)


@pipeline.stage(runs="process")
def leave(job):
    os._exit(3)


@pipeline.stage(runs="process")
def hang_up(job):
    """Close every descriptor, the channel to the parent too, and go on."""
    os.closerange(3, 256)
    time.sleep(600)


@pipeline.stage(runs="process", timeout=0.3)
def sleep(job):
    time.sleep(600)


@pipeline.stage(runs="process")
def sleep_without_timeout(job, started: str):
    Path(started).write_text(str(os.getpid()))
    time.sleep(600)


@pipeline.stage(runs="process")
def survive_signals(job):
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)
    return "alive"


@pipeline.stage(runs="process")
def time_left(job):
    return job.time_left


@pipeline.stage(runs="process")
def talk(job):
    print("to whoever listens")
    os.write(1, b"raw\n")
    return "said"


@pipeline.stage(runs="process", rules=[ODD])
def raise_what_is_asked(job, kind: str):
    raise {
        "timeout": TimeoutError("slow"),
        "bug": KeyError("oops"),
        "odd": Odd("strange"),
        "give up": GiveUp("NOT_FOUND", "gone"),
        "later": RetryLater(after=7, reason="busy"),
        "exit": SystemExit(1),
        "interrupt": KeyboardInterrupt(),
        "cancel": asyncio.CancelledError(),
        "group": ExceptionGroup("many", [TimeoutError("a"), TimeoutError("b")]),
    }[kind]


@pipeline.stage(runs="process")
def wait_for_answer(job):
    return Wait(timeout=5)


@pipeline.stage(runs="process")
def unserialisable(job):
    return socket.socket()


@pipeline.stage(runs="process")
def enormous(job):
    return "x" * 20_000_000


@pipeline.stage(runs="process")
def dirty(job):
    found = VARIABLE.get()
    VARIABLE.set("dirty")
    return found


@pipeline.stage(runs="process")
def say(job, words: str, how: str):
    raise RetryLater(after=1, reason=words) if how == "later" else GiveUp("REFUSED", words)


STAGES = {stage.name: stage for stage in pipeline.bound().stages}
