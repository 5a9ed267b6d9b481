"""The stand-ins as the lab serves them."""

import urllib.error
import urllib.request

import pytest

from collabiq.stand_ins.gemini import GeminiStandIn
from collabiq.stand_ins.gmail import GmailStandIn
from collabiq.stand_ins.infisical import InfisicalStandIn
from collabiq.stand_ins.notion import NotionStandIn
from holdfast.lab.stand_in_server import StandInServer
from holdfast.systems import StandIn

ALL = {
    "notion": ("NOTION_API_URL", NotionStandIn),
    "gmail": ("GMAIL_API_URL", GmailStandIn),
    "gemini": ("GEMINI_API_URL", GeminiStandIn),
    "infisical": ("INFISICAL_HOST", InfisicalStandIn),
}


@pytest.mark.parametrize("upstream", ALL)
def test_a_stand_in_serves_in_the_lab_with_its_faults_explained(upstream):
    variable, kind = ALL[upstream]
    made = kind()
    brought = StandIn(upstream=upstream, variable=variable, answer=made, faults=made.faults)

    server = StandInServer(brought)
    server.start()
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server.url}/nowhere", timeout=10)
        refused.value.close()
    finally:
        server.close()

    assert 400 <= refused.value.code < 500
    assert all(fault.__doc__ for fault in brought.faults.values())
    assert "lost_answer" in brought.faults
