import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.upstream.upstream import FailedCall, Gate, Permit, Sample, UpstreamState

names = st.text(min_size=1, max_size=8)
instants = st.integers(0, 2**53)
counts = st.integers(0, 1_000)
upstreams = st.builds(
    UpstreamState,
    name=names,
    revision=counts,
    gate=st.sampled_from(Gate),
    generation=counts,
    since=instants,
    open_until=st.none() | instants,
    reopenings=counts,
    successes=counts,
    granted=counts,
    permits=st.lists(st.builds(Permit, counts, names, instants), max_size=3).map(tuple),
    samples=st.lists(st.builds(Sample, instants, names, counts, counts), max_size=3).map(tuple),
    paused_until=st.none() | instants,
    forced=st.none() | st.sampled_from([Gate.OPEN, Gate.CLOSED]),
    forced_by=st.none() | names,
    forced_reason=st.none() | names,
    opened_at=st.none() | instants,
    open_us=counts,
    reason=st.none() | names,
    failures=st.lists(
        st.builds(FailedCall, instants, names, names, st.none() | names), max_size=3
    ).map(tuple),
)


@given(upstreams)
def test_what_is_stored_is_read_as_it_was(upstream: UpstreamState):
    text = json.dumps(upstream.to_document())

    found = UpstreamState.from_document(upstream.name, upstream.revision, json.loads(text))

    assert found == upstream
    assert type(found.gate) is Gate
    assert all(type(sample) is Sample for sample in found.samples)
    assert all(type(permit) is Permit for permit in found.permits)
    assert all(type(call) is FailedCall for call in found.failures)


def test_the_name_and_the_revision_stand_beside_the_document():
    document = UpstreamState("gateway", 7).to_document()

    assert {"name", "revision"} & set(document) == set()
    assert UpstreamState.from_document("mail", 8, document) == UpstreamState("mail", 8)


def test_what_a_newer_holdfast_added_is_left_aside():
    document = UpstreamState(
        "gateway", permits=(Permit(1, "w", 5),), samples=(Sample(1, "w", 2, 3),)
    ).to_document()
    newer = {
        **document,
        "mood": "grim",
        "permits": [[1, "w", 5, "more"]],
        "samples": [[1, "w", 2, 3, "more"]],
    }

    assert UpstreamState.from_document("gateway", 0, newer).to_document() == document


def test_what_an_earlier_holdfast_wrote_gives_no_reason():
    document = UpstreamState("gateway", gate=Gate.OPEN).to_document()
    del document["reason"], document["failures"]

    found = UpstreamState.from_document("gateway", 3, document)

    assert (found.reason, found.failures) == (None, ())
