"""The same as `drain_sqlite`, on a file in memory: no commit waits for a disk."""

from bench.workload import Workload, drain

WORKLOAD = Workload(
    name="drain-sqlite-tmpfs",
    store="sqlite-tmpfs",
    jobs=20_000,
    quick_jobs=5_000,
    measure=drain("one"),
)
