"""Conversions under load, for a moment; `make bench` takes the figures."""

import pytest

from bench.measures.converting import converted

FILES = 60


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_file_is_taken_and_converted_once(database_url: str) -> None:
    seen = converted(database_url, files=FILES, large_bytes=5_000_000)

    assert (len(seen.upload_waits_ns), seen.refused) == (FILES, 0)
    assert seen.calls == FILES
    assert seen.per_second > 0
    assert seen.capacity > 0
