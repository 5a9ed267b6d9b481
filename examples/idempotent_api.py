"""Keys: submit as often as the network makes you, run once; and reruns, on purpose only."""

from __future__ import annotations

from holdfast import ConflictError, Holdfast, JobContext, JobFilter, Pipeline

reviews = Pipeline("reviews")


@reviews.stage
def review(job: JobContext, change: str) -> str:
    """Review a change; a rerun is a job of its own, with a higher version."""
    return f"review of {change}, version {job.version}"


app = Holdfast("sqlite:///reviews.db", pipelines=[reviews])


def main() -> None:
    """Submit the same thing twice, another thing under its key, and a rerun."""
    worker = app.worker()
    worker.start()

    first = app.submit(reviews, {"change": "c-17"}, key="c-17", owner="team-a")
    again = app.submit(reviews, {"change": "c-17"}, key="c-17", owner="team-a")
    print("same job:", first.id == again.id, "| made by the second call:", again.created)

    try:
        app.submit(reviews, {"change": "c-18"}, key="c-17", owner="team-a")
    except ConflictError as error:
        print("conflict:", error)

    other = app.submit(reviews, {"change": "c-18"}, key="c-17", owner="team-b")
    print("another owner, another job:", other.id != first.id)

    print(first.wait(timeout=30).result)
    newest = app.jobs(JobFilter(owner="team-a", key="c-17"), limit=1)[0].job.version
    rerun = app.submit(
        reviews, {"change": "c-17"}, key="c-17", owner="team-a", version=newest + 1, rerun=True
    )
    done = rerun.wait(timeout=30)
    print(done.result, "| follows the first:", done.job.rerun_of == first.id)
    worker.drain()


if __name__ == "__main__":
    main()
