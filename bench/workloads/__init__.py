"""The workloads, in the order of the table; one file each."""

from bench.workload import Workload
from bench.workloads import (
    drain_one_stage,
    drain_sqlite,
    drain_sqlite_tmpfs,
    drain_three_stage,
    latency,
    submit_bulk,
    submit_single,
)

WORKLOADS: tuple[Workload, ...] = (
    drain_one_stage.WORKLOAD,
    drain_three_stage.WORKLOAD,
    submit_bulk.WORKLOAD,
    submit_single.WORKLOAD,
    latency.WORKLOAD,
    drain_sqlite.WORKLOAD,
    drain_sqlite_tmpfs.WORKLOAD,
)
