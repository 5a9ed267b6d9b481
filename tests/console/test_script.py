"""The console's script, as far as it can be looked at without a browser."""

import re
from importlib.resources import files

from holdfast.runtime.events.stream_event import BREAKER, NAMES, PROCESSING, QUEUE, QUEUED

SCRIPT = files("holdfast.console").joinpath("static", "console.js").read_text(encoding="utf-8")
LONGEST = 500


def test_the_script_hears_of_every_event_that_the_stream_tells():
    listed = re.search(r"const EVENTS = \[(.*?)\]", SCRIPT, re.DOTALL)
    assert listed is not None

    heard = set(re.findall(r'"(\w+)"', listed[1]))

    assert {QUEUED, PROCESSING, BREAKER, QUEUE, *NAMES.values()} <= heard
    assert "gap" in heard


def test_the_script_stays_small_and_makes_no_markup_of_texts():
    assert SCRIPT.count("\n") < LONGEST
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in SCRIPT
