"""Every event that a stream or a tail tells has its line on the page about events."""

from holdfast.runtime.events import stream_event
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "events.md"


def test_every_event_is_documented() -> None:
    text = PAGE.read_text("utf-8")
    names = {*stream_event.NAMES.values(), stream_event.QUEUED, stream_event.PROCESSING}
    names |= {stream_event.BREAKER, stream_event.QUEUE, "gap", "bye"}

    missing = [name for name in sorted(names) if f"\n| `{name}` | " not in text]
    assert missing == []


def test_every_field_of_an_event_is_documented() -> None:
    text = PAGE.read_text("utf-8")

    missing = [
        name
        for name in stream_event.StreamEvent._fields
        if f"`{name}`" not in text and name != "rank"
    ]
    assert missing == []
