from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from apps.collabiq.tests.world import World, open_world


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    """The system against stand-ins, with Gemini as its extractor and secrets in Infisical."""
    with open_world(database_url, tmp_path, LLM_ORDER="gemini", INFISICAL_ENABLED="1") as made:
        yield made


@pytest.fixture
def world_of(database_url: str, tmp_path: Path) -> Callable[..., AbstractContextManager[World]]:
    """Returns what opens the system with other settings."""
    return partial(open_world, database_url, tmp_path)
