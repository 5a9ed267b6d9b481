"""CPU-bound work in child processes: it uses every core, and it can be killed."""

from __future__ import annotations

from holdfast import Holdfast, JobContext, Pipeline, Retry
from holdfast.workers import WorkerOptions

primes = Pipeline("primes", retry=Retry(attempts=1))


@primes.stage(runs="process", timeout=20)
def count_primes(job: JobContext, below: int) -> int:
    """Count primes the slow way; lives at the top level, where a child process can import it."""
    job.log.info("counting below %d", below)
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, below))


@primes.stage(runs="process", timeout=1)
def look_for_the_last_one(job: JobContext, count_primes: int) -> int:
    """Never return: its process is killed when its second is over."""
    while True:
        count_primes += 1


app = Holdfast("sqlite:///primes.db", pipelines=[primes])


def main() -> None:
    """Run one job: the first stage ends, the second is stopped."""
    worker = app.worker(options=WorkerOptions(processes=2))
    worker.start()
    job = app.submit(primes, {"below": 20_000})
    done = job.wait(timeout=50)
    print("primes below 20000:", app.results(job.id)["count_primes"])
    print(done.state, done.error and done.error["error_class"])
    worker.drain()


# A child process imports this file too; what only the program should do stands below.
if __name__ == "__main__":
    main()
