"""gRPC, blocking and not, against a real server that ends its calls with every status."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import grpc.aio
import pytest
from google.api_core import exceptions as api_core
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from holdfast.classify import classify
from holdfast.classify.services.grpc import _fields
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import LOOPBACK, Server, unused_port

LIMITED = retried("UPSTREAM_5XX", known=False, blames=True, attempts=3)

BY_CODE = {
    "CANCELLED": retried("NETWORK", known=False, blames=False),
    "UNKNOWN": LIMITED,
    "INVALID_ARGUMENT": rows.INVALID,
    "DEADLINE_EXCEEDED": rows.TIMEOUT,
    "NOT_FOUND": rows.NOT_FOUND,
    "ALREADY_EXISTS": rows.CONFLICT_FINAL,
    "PERMISSION_DENIED": rows.AUTH,
    "RESOURCE_EXHAUSTED": rows.RATE_LIMITED,
    "FAILED_PRECONDITION": rows.CONFLICT_FINAL,
    "ABORTED": rows.CONFLICT,
    "OUT_OF_RANGE": rows.INVALID,
    "UNIMPLEMENTED": rows.INVALID,
    "INTERNAL": LIMITED,
    "UNAVAILABLE": rows.NETWORK,
    "DATA_LOSS": LIMITED,
    "UNAUTHENTICATED": rows.AUTH,
}
METHOD = "/upstream.Upstream/Ask"


@contextmanager
def upstream(ask):
    """A server whose one method is this function."""
    handler = grpc.unary_unary_rpc_method_handler(ask)
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    service = grpc.method_handlers_generic_handler("upstream.Upstream", {"Ask": handler})
    server.add_generic_rpc_handlers([service])
    port = server.add_insecure_port(f"{LOOPBACK}:0")
    server.start()
    try:
        yield f"{LOOPBACK}:{port}"
    finally:
        server.stop(None).wait()


def ask_blocking(target, timeout=5.0):
    with grpc.insecure_channel(target) as channel:
        return channel.unary_unary(METHOD)(b"", timeout=timeout)


def ask_awaiting(target, timeout=5.0):
    async def ask():
        async with grpc.aio.insecure_channel(target) as channel:
            return await channel.unary_unary(METHOD)(b"", timeout=timeout)

    return asyncio.run(ask())


@pytest.fixture(params=[ask_blocking, ask_awaiting], ids=["blocking", "awaiting"])
def ask(request):
    return request.param


def test_the_table_has_every_code():
    assert set(BY_CODE) == {code.name for code in grpc.StatusCode} - {"OK"}


@pytest.mark.parametrize("code", BY_CODE)
def test_a_call_that_ends_with_a_status(ask, code):
    with upstream(lambda _, context: context.abort(grpc.StatusCode[code], "no")) as target:
        error = caught(ask, target)

    assert isinstance(error, grpc.RpcError)
    assert error.code().name == code
    assert row_of(error) == BY_CODE[code]
    assert classify(error, now=NOW).http_status is None


def status_with(*details):
    status = status_pb2.Status(code=code_pb2.RESOURCE_EXHAUSTED, message="slow down")
    for detail in details:
        packed = Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def retry_info(seconds, nanos=0):
    delay = Duration(seconds=seconds, nanos=nanos)
    return error_details_pb2.RetryInfo(retry_delay=delay)


@pytest.mark.parametrize(
    ("details", "asked_us"),
    [
        ([retry_info(37, 500_000_000)], 37_500_000),
        ([error_details_pb2.ErrorInfo(reason="BUSY"), retry_info(3)], 3_000_000),
        ([retry_info(0, 250_000_000)], 250_000),
        ([retry_info(10**9)], 365 * 24 * 3600 * 10**6),
        ([error_details_pb2.RetryInfo()], None),
        ([error_details_pb2.ErrorInfo(reason="BUSY", metadata={"a": "b"})], None),
        ([], None),
    ],
)
def test_the_wait_that_retry_info_asks_for(ask, details, asked_us):
    def refuse(_, context):
        context.abort_with_status(rpc_status.to_status(status_with(*details)))

    with upstream(refuse) as target:
        error = caught(ask, target)

    assert row_of(error) == rows.RATE_LIMITED
    assert classify(error, now=NOW).retry_after_us == asked_us


@pytest.mark.parametrize(
    "wire", [b"\xff" * 5_000, b"\x1a\xff\xff\xff\x7f", b"\x1a", b"\x0b", b"\x80"]
)
def test_details_that_cannot_be_read_ask_for_nothing(ask, wire):
    def refuse(_, context):
        context.set_trailing_metadata([("grpc-status-details-bin", wire)])
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "slow down")

    with upstream(refuse) as target:
        error = caught(ask, target)

    assert row_of(error) == rows.RATE_LIMITED
    assert classify(error, now=NOW).retry_after_us is None


def test_a_number_that_does_not_end_is_not_read_to_its_end():
    endless = b"\x1a" + b"\xff" * 11 + b"\x01"

    with pytest.raises(ValueError, match="64 bits"):
        list(_fields(endless))


def test_fields_of_fixed_width_are_passed_over():
    message = b"\x09" + bytes(8) + b"\x15" + bytes(4) + b"\x20\x07"

    assert list(_fields(message)) == [(4, 7)]


def test_nobody_listens(ask):
    error = caught(ask, f"{LOOPBACK}:{unused_port()}")

    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert row_of(error) == rows.UNSENT


def test_an_answer_that_does_not_come_in_time(ask):
    with Server(lambda connection: connection.hang()) as server:
        error = caught(ask, f"{LOOPBACK}:{server.port}", timeout=0.2)

    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert row_of(error) == rows.TIMEOUT


def test_a_handler_that_breaks(ask):
    def broken(_, context):
        raise RuntimeError("oops")

    with upstream(broken) as target:
        error = caught(ask, target)

    assert error.code() is grpc.StatusCode.UNKNOWN
    assert row_of(error) == LIMITED


@pytest.mark.parametrize("code", BY_CODE)
def test_what_googles_cloud_libraries_make_of_a_call(code):
    with upstream(lambda _, context: context.abort(grpc.StatusCode[code], "no")) as target:
        error = api_core.from_grpc_error(caught(ask_blocking, target))

    assert isinstance(error, api_core.GoogleAPICallError)
    assert row_of(error) == BY_CODE[code]


def test_a_wait_that_reaches_googles_cloud_libraries():
    def refuse(_, context):
        context.abort_with_status(rpc_status.to_status(status_with(retry_info(5))))

    with upstream(refuse) as target:
        error = api_core.from_grpc_error(caught(ask_blocking, target))

    assert isinstance(error, api_core.ResourceExhausted)
    assert classify(error, now=NOW).retry_after_us == 5_000_000
