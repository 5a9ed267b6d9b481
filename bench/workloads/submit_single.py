"""Submission of one job per call, one call after the other."""

from bench.workload import Workload, submit

WORKLOAD = Workload(
    name="submit-single",
    store="postgresql",
    jobs=3_000,
    quick_jobs=1_000,
    jobs_of={"DBOS": 1_000},
    measure=submit(per_call=1),
)
