import pytest

from apps.converter.tests.system.stand_in import make_converter


@pytest.fixture
def converter(database_url, uploads, results):
    yield from make_converter(database_url, uploads, results)
