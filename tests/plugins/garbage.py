"""What a collection made stays to the end, so that nobody need look through it for garbage.

Thousands of tests and all that they import are 800,000 objects: to walk through them takes more
than half a second each time.
"""

import gc
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
