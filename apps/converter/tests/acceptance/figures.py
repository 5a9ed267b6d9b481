"""What a server tells Prometheus, and what a process wrote to its log."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from apps.converter.tests.acceptance.running import Process


class Figures:
    """One look at `/metrics`."""

    def __init__(self, address: str) -> None:
        answer = httpx2.get(f"{address}/metrics", headers={"Accept": "text/plain"})
        assert answer.status_code == 200, answer.text
        self._samples = [
            sample
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        ]

    def of(self, name: str, **labels: str) -> float | None:
        """Return the sum of what a metric says under these labels; None where it says nothing."""
        found = [
            sample.value
            for sample in self._samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        return sum(found) if found else None


def lines_about(process: Process, job_id: str) -> list[dict[str, Any]]:
    """Return the lines of a process about a job, oldest first."""
    lines = [json.loads(line) for line in process.said.splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("job_id") == job_id]
