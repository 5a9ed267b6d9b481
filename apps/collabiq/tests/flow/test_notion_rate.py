"""How many calls of Notion may begin."""

import pytest

from collabiq.services.upstreams import Upstreams
from collabiq.settings.config import Config

MINUTE_S = 60.0


@pytest.mark.parametrize("per_s", [0.1, 0.5, 1.0, 2.5, 3.0, 1_000.0])
def test_no_minute_has_more_calls_than_are_allowed_the_burst_included(per_s):
    rate = Upstreams(Config(notion_rate_per_s=per_s)).notion.rate

    most = rate.burst + MINUTE_S * rate.calls / rate.per

    assert most <= per_s * MINUTE_S
    assert rate.calls / rate.per >= per_s - rate.burst / MINUTE_S - 1e-9
