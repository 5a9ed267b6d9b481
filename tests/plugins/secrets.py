"""Forgets after each test the secrets that it made known to the process.

They would hide words of other tests, and looking for a thousand of them takes time.
"""

from collections.abc import Iterator

import pytest

from holdfast.secrecy import OF_THIS_PROCESS


@pytest.fixture(autouse=True)
def secrets_as_before() -> Iterator[None]:
    values, names = OF_THIS_PROCESS.values, OF_THIS_PROCESS.names
    yield
    OF_THIS_PROCESS.keep_only(values, names=names)
