from collections.abc import Iterator

import pytest

from apps.collabiq.tests.notion.world import World
from collabiq.stand_ins.notion import NotionStandIn
from collabiq.stand_ins.serving import Serving


@pytest.fixture
def notion() -> Iterator[World]:
    """Notion without its limit of calls, and a client of it."""
    stand_in = NotionStandIn(rate_per_s=None)
    with Serving(stand_in) as serving:
        world = World(stand_in, serving)
        yield world
        world.api.close()
