"""Nobody learns by a clock how much of a token was guessed right."""

from __future__ import annotations

import math
import random
import string
import time

import pytest

from holdfast.api import ApiOptions, create_api
from holdfast.api.auth.authenticator import Authenticator

PAIRS = 50_000
"""Of a guess that is nearly right and one that is not: a hundred thousand looks."""
SURPRISING = 4.5
"""By chance alone the result is further off once in 150,000 runs, in standard deviations."""
LETTERS = string.ascii_letters + string.digits


def near_ones_that_took_longer(authenticator: Authenticator, token: str, *, pairs: int) -> float:
    """Try pairs of guesses, in an order by lot; in how many the near one took longer."""
    lot = random.Random(5)
    longer = 0.0
    for _ in range(pairs):
        place = lot.randrange(-10, 0)
        wrong = lot.choice(LETTERS.replace(token[place], ""))
        near = token[:place] + wrong + token[len(token) + place + 1 :]
        far = "hf_" + "".join(lot.choices(LETTERS, k=len(token) - 3))
        took_ns = {}
        for guess in lot.sample([near, far], 2):
            began_ns = time.perf_counter_ns()
            found = authenticator.bearer(guess)
            took_ns[guess] = time.perf_counter_ns() - began_ns
            assert found is None
        longer += 0.5 if took_ns[near] == took_ns[far] else took_ns[near] > took_ns[far]
    return longer


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kept_in", ["store", "environment"])
def test_a_near_miss_takes_as_long_as_a_far_one(small_app, kept_in):
    _, token = small_app.tokens.create("one", role="reader", by="test")
    options = ApiOptions(host="127.0.0.1", token=token if kept_in == "environment" else None)
    authenticator = create_api(small_app, options=options).state.serving.authenticator

    longer = near_ones_that_took_longer(authenticator, token, pairs=PAIRS)

    # Of two that take the same time, each is the slower one as often as a coin shows heads.
    deviation = (longer - PAIRS / 2) / (math.sqrt(PAIRS) / 2)
    assert abs(deviation) < SURPRISING
