"""A gateway that does not answer in time: how often it is called, and at which distance."""

from itertools import pairwise

import pytest

from apps.converter.tests.acceptance.visitor import new_pdf
from apps.converter.tests.scripted_gateway import Reply

NEVER = Reply(delay_s=20.0)


@pytest.mark.parametrize(
    ("knobs", "expected_s"),
    [
        (
            {"RETRY_BASE_DELAY_MS": "200", "RETRY_JITTER_MAX_MS": "100"},
            [(0.2, 0.3), (0.4, 0.5)],
        ),
        (
            {
                "RETRY_PROFILE": "fixed",
                "RETRY_BASE_DELAY_MS": "100",
                "RETRY_MAX_ATTEMPTS": "4",
            },
            [(0.08, 0.12), (0.24, 0.36), (0.72, 1.08)],
        ),
    ],
    ids=["exponential", "fixed"],
)
def test_it_is_called_again_with_growing_delays_then_given_up_on(site_with, knobs, expected_s):
    site = site_with(GATEWAY_TIMEOUT_MS="250", **knobs)
    ada, pdf = site.visit(), new_pdf()
    site.will_get(pdf, NEVER)
    job_id = ada.send_new(pdf)

    told = ada.ended(job_id)

    assert (told["state"], told["error_code"]) == ("failed", "GW_TIMEOUT")
    assert told["error_message"] == "Conversion took too long. Try again later."
    retried = [event["meta"] for event in ada.events(job_id) if event["event"] == "retry"]
    assert {meta["error_code"] for meta in retried} == {"GW_TIMEOUT"}
    delays_s = [meta["delay_us"] / 1_000_000 for meta in retried]
    for delay_s, (least_s, most_s) in zip(delays_s, expected_s, strict=True):
        assert least_s <= delay_s <= most_s
    started_s = [call.started_at_s for call in site.calls_for(pdf)]
    for delay_s, (one_s, next_s) in zip(delays_s, pairwise(started_s), strict=True):
        assert next_s - one_s >= delay_s
