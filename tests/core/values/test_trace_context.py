import pytest

from holdfast.core.values.trace_context import MAX_TEXT_LENGTH, TraceContext, from_headers, read

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_context_is_read_as_it_was_stored():
    context = TraceContext(PARENT, "a=1,b=2")

    assert read(context.text) == context
    assert context.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert context.headers() == {"traceparent": PARENT, "tracestate": "a=1,b=2"}


def test_without_a_state_the_text_is_the_header():
    assert TraceContext(PARENT).text == PARENT
    assert read(PARENT) == TraceContext(PARENT)
    assert read(PARENT).headers() == {"traceparent": PARENT}


def test_a_state_that_is_too_long_to_be_stored_is_left_out():
    assert TraceContext(PARENT, "a=" + "x" * MAX_TEXT_LENGTH).text == PARENT


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "t",
        "order-17",
        PARENT[:-1],
        PARENT.upper(),
        f"ff{PARENT[2:]}",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
    ],
)
def test_what_is_no_context_is_none(text):
    assert read(text) is None


def test_headers_with_line_breaks_lose_their_state():
    given = {"traceparent": f" {PARENT} ", "tracestate": "a=1\r\nx-evil: 1"}

    assert from_headers(given) == TraceContext(PARENT)


def test_headers_without_a_context_have_none():
    assert from_headers({"tracestate": "a=1"}) is None
