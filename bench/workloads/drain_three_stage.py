"""A queue of jobs with three stages, each stage's result kept before the next one starts."""

from bench.workload import Workload, drain

WORKLOAD = Workload(
    name="drain-three-stage",
    store="postgresql",
    jobs=20_000,
    quick_jobs=5_000,
    jobs_of={"DBOS": 500},
    measure=drain("three"),
)
