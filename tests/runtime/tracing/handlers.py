"""A handler that runs in a child process, which finds it here by name."""

from holdfast import Pipeline

apart = Pipeline("apart")


@apart.stage(runs="process")
def headers(job):
    return job.trace_headers
