import pytest

from apps.converter.tests.acceptance.running import made_site
from tests.deployed.fixtures import SiteMaker, shared_database_url, site, site_with

__all__ = ["shared_database_url", "site", "site_with"]


@pytest.fixture(scope="session")
def site_maker() -> SiteMaker:
    return made_site
