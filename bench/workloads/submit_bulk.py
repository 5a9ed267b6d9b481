"""Submission of a thousand jobs per call."""

from bench.workload import Workload, submit

WORKLOAD = Workload(
    name="submit-bulk",
    store="postgresql",
    jobs=50_000,
    quick_jobs=20_000,
    jobs_of={"DBOS": 1_000},
    measure=submit(per_call=1_000),
)
