"""A queue of jobs that do nothing, worked off by one worker process on PostgreSQL."""

from bench.workload import Workload, drain

WORKLOAD = Workload(
    name="drain-one-stage",
    store="postgresql",
    jobs=60_000,
    quick_jobs=15_000,
    jobs_of={"PgQueuer (published)": 20_000, "Procrastinate": 1_500, "DBOS": 600},
    measure=drain("one"),
)
