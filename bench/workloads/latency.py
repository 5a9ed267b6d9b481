"""From submit to start on an idle worker, each in a process of its own."""

from bench.workload import Workload, latency

WORKLOAD = Workload(name="latency", store="postgresql", jobs=150, quick_jobs=60, measure=latency)
