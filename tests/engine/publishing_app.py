"""Stages that publish, one for each kind of lane."""

from holdfast import GiveUp, Pipeline, Retry

AT_ONCE = Retry(attempts=3, base=0, jitter="none")

on_loop = Pipeline("on-loop", retry=AT_ONCE)
in_thread = Pipeline("in-thread", retry=AT_ONCE)
in_process = Pipeline("in-process", retry=AT_ONCE)
fails_first = Pipeline("fails-first", retry=AT_ONCE)
greedy = Pipeline("greedy", retry=AT_ONCE)


@on_loop.stage
async def from_loop(job, n: int):
    job.publish("note", {"n": n, "part": 1})
    job.publish("note", {"n": n, "part": 2}, aggregate_id="other")
    return n


@in_thread.stage
def from_thread(job, n: int):
    job.publish("note", {"n": n, "part": 1})
    job.publish("note", {"n": n, "part": 2}, aggregate_id="other")
    return n


@in_process.stage(runs="process")
def from_process(job, n: int):
    job.publish("note", {"n": n, "part": 1})
    job.publish("note", {"n": n, "part": 2}, aggregate_id="other")
    return n


@fails_first.stage
def in_the_end(job, n: int):
    job.publish("note", {"attempt": job.attempt})
    if n == 0:
        raise GiveUp("NO", "never")
    if job.attempt == 1:
        raise TimeoutError
    return n


@greedy.stage
def too_much(job, n: int):
    for _ in range(n):
        job.publish("note")
