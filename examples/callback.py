"""A stage that waits for a callback, a deadline, and a result that comes after it."""

from __future__ import annotations

import time

from holdfast import Holdfast, JobContext, JobHandle, Pipeline, Wait

grading = Pipeline("grading")


@grading.stage
def ask_grader(job: JobContext, essay: str) -> Wait:
    """Hand the essay to a grader, who answers by `app.answer` hours later, or never."""
    print(f"grader, please grade {essay!r} and answer for job {job.id}")
    return Wait(timeout=3600)


@grading.stage
def publish(job: JobContext, ask_grader: int) -> str:
    """Use the answer as if `ask_grader` had returned it."""
    return f"graded {ask_grader} by attempt {job.attempt}"


app = Holdfast("sqlite:///grading.db", pipelines=[grading])


def until(job: JobHandle, state: str) -> None:
    """Wait until the job is in a state; a web handler would simply return."""
    for _ in range(200):
        if job.get().state == state:
            return
        time.sleep(0.05)
    raise TimeoutError(f"job {job.id} is {job.get().state}, not {state}")


def main() -> None:
    """Answer one job in time and one too late."""
    worker = app.worker()
    worker.start()

    prompt = app.submit(grading, {"essay": "On Kelp"})
    until(prompt, "waiting")
    app.answer(prompt.id, 87)
    print(prompt.wait(timeout=30).result)

    slow = app.submit(grading, {"essay": "On Tides"}, deadline=1.5)
    late = slow.wait(timeout=30)  # the sweeper ends it when its deadline has passed
    print(late.state, late.error and late.error["error_class"])
    after = app.answer(slow.id, 91)
    print("still", after.state, "but the late result is kept:", after.late_result)
    worker.drain()


if __name__ == "__main__":
    main()
