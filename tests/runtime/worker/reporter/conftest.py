"""A worker whose parts are turned by hand, and what it announced."""

import pytest

from tests.runtime.crew import Crew, pipeline_of


@pytest.fixture
def announced():
    return []


@pytest.fixture
def make_crew(open_app, announced):
    def make(*scripts, limit=5, **options):
        app = open_app(pipeline_of(*scripts, **options))
        app.subscribe(lambda applied: announced.append(applied.decision.entry.kind))
        return app, Crew(app, limit=limit)

    return make
