"""Requests and event streams under load, for a moment; `make bench` takes the figures."""

import pytest

from bench.measures.serving import PER_SECOND, STREAMS, served

SECONDS = 2.0


@pytest.mark.slow
def test_no_request_fails_and_no_stream_is_deaf_while_a_worker_drains_jobs(
    database_url: str,
) -> None:
    load = served(database_url, seconds=SECONDS, backlog=500)

    assert load.failures == []
    assert len(load.waits_ns) == PER_SECOND * SECONDS
    assert (len(load.streams), load.deaf) == (STREAMS, 0)
