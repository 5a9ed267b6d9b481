"""A job that has failed for good."""

import pytest

from tests.engine.dead_letters.letters import NO_AMOUNT, died, next_outcomes


@pytest.fixture
def dead(app, script):
    """The id of a job that has failed for good; a second run would succeed."""
    next_outcomes(script, NO_AMOUNT)
    return died(app)
