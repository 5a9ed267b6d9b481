"""A queue of jobs that do nothing, worked off by one worker process on SQLite."""

from bench.workload import Workload, drain

WORKLOAD = Workload(
    name="drain-sqlite",
    store="sqlite",
    jobs=20_000,
    quick_jobs=5_000,
    jobs_of={"Huey": 8_000},
    measure=drain("one"),
)
