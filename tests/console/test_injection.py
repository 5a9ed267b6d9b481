"""Nothing that stands in the address of a page reaches the database as anything but a value."""

from __future__ import annotations

import pytest

from tests.api.routes.operating.test_injection import CORPUS
from tests.console.site import Site, at

NAMES = (
    *("pipeline", "stage", "queue", "owner", "key", "error_class", "fingerprint", "state"),
    *("within", "before", "after", "kind", "subject", "status", "provider", "q", "done", "count"),
)
"""What pages read of their address."""
SLOW = [pytest.mark.slow, pytest.mark.timeout(300)]
ANSWERS = {200, 303, 404, 422}


def listing(site: Site) -> list[str]:
    """The pages that are about no single thing."""
    return [path for path in site.console_routes("GET") if "{" not in path]


@pytest.mark.parametrize("share", [len(CORPUS), pytest.param(6, marks=SLOW)])
def test_no_word_of_an_address_is_anything_but_a_value(site: Site, share: int):
    filled = site.fill()
    client = site.local()
    record = site.app.audit()
    odd = []

    for place, path in enumerate(sorted(listing(site))):
        for number, name in enumerate(NAMES):
            for text in CORPUS[(7 * place + number) % share :: share]:
                answer = client.get(path, params={name: text})
                found = any(f"/jobs/{job}" in answer.text for job in filled[:3])
                narrowed = path == "/jobs" and name in NAMES[:6] and text.strip()
                if answer.status_code not in ANSWERS or (narrowed and found):
                    odd.append((path, name, text, answer.status_code))

    assert odd == []
    assert site.app.audit() == record
    assert len(site.app.jobs()) == 3


def test_no_id_in_the_address_of_a_page_is_anything_but_a_value(site: Site):
    site.fill()
    client = site.local()
    single = [path for path in site.console_routes("GET") if path.count("{") == 1]

    answers = {
        (path, text): client.get(at(path, **{path.split("{")[1].split("}")[0]: text}))
        for place, path in enumerate(sorted(single))
        for text in CORPUS[place % 6 :: 6]
        if "/" not in text
    }

    odd = {
        (*asked, answer.status_code)
        for asked, answer in answers.items()
        if answer.status_code not in ANSWERS
    }
    assert odd == set()
    assert len(site.app.jobs()) == 3


@pytest.mark.parametrize("number", ["9" * 30, "9" * 18, "-1", "\u0663", "1e309", "x"])
def test_no_number_is_more_than_the_database_can_hold(site: Site, number: str):
    site.fill()
    (group,) = site.app.dead.groups()
    terms = {"by": "ada", "cause": "data", "evidence": "it is back"}
    replay = site.app.replays.start("again", group.fingerprint, confirm_idempotent=True, **terms)
    client = site.local()
    form = {"filter": "state=queued", "until": number, "reason": "because"}

    answers = [
        client.get("/audit", params={"before": number}),
        client.get(f"/replays/{replay.id}", params={"after": number}),
        client.post("/jobs/bulk/cancel?state=queued", data=form),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 303]


def test_a_reason_may_hold_any_character_that_a_form_can_send(site: Site):
    filled = site.fill()
    reason = "a\x00b\x1b[31m\u2028\U0001f600 ' or '1'='1"

    answer = site.local().post(f"/jobs/{filled.queued}/cancel", data={"reason": reason})

    assert answer.status_code == 303
    assert "\U0001f600 ' or '1'='1" in (site.app.audit()[0].reason or "")
