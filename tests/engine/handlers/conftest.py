"""A pipeline that stages can be declared on."""

import pytest

from holdfast import Pipeline, Retry


@pytest.fixture
def pipeline():
    return Pipeline("p", retry=Retry(attempts=1))
