"""Files of the real limit, 50 MB, and what they cost."""

import json
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from apps.converter.tests.acceptance.visitor import new_pdf
from tests.deployed.process import OPERATOR, PATIENCE_S

pytestmark = pytest.mark.timeout(240)

MEBIBYTE = 1024 * 1024
LIMIT_BYTES = 50 * MEBIBYTE
PIECE_BYTES = 256 * 1024
MAX_GROWTH_BYTES = 32 * MEBIBYTE
HEAD = (
    b'--b\r\nContent-Disposition: form-data; name="mapping"\r\n\r\ntext\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="large.pdf"\r\n'
    b"Content-Type: application/pdf\r\n\r\n"
)
END = b"\r\n--b--\r\n"


def of_size(size):
    """Yield a file that nobody has sent before, piece by piece."""
    first = new_pdf(PIECE_BYTES)
    yield first
    rest = b"\n" * PIECE_BYTES
    for start in range(PIECE_BYTES, size, PIECE_BYTES):
        yield rest[: size - start]


def forget_peak(process):
    """Have the peak counted from now on, also where a test runs for the second time."""
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    return peak_bytes(process)


def peak_bytes(process):
    """The most memory that a process has had so far."""
    status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def answered(site, pieces):
    """Send a form in chunks, without saying how long it is, and return status and document."""
    parts = urlsplit(site.front.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S) as connection:
        connection.sendall(
            f"POST /api/upload HTTP/1.1\r\nHost: {parts.netloc}\r\nTransfer-Encoding: chunked\r\n"
            f"Authorization: Bearer {OPERATOR}\r\nConnection: close\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\n\r\n".encode()
        )
        for piece in pieces:
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        with connection.makefile("rb") as answer:
            head, _, body = answer.read().partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])


@pytest.fixture
def warm(site):
    """A site that has converted before, so that what it needs anyway is loaded."""
    ada = site.visit()
    ada.ended(ada.send_new(new_pdf()))
    return site


def test_a_file_of_fifty_megabytes_is_converted_in_little_memory(warm):
    operator = warm.visit(OPERATOR)
    before = forget_peak(warm.front)

    status, sent = answered(warm, [HEAD, *of_size(LIMIT_BYTES), END, b""])

    assert (status, sent["size"]) == (201, LIMIT_BYTES)
    assert operator.ended(sent["id"])["state"] == "complete"
    assert peak_bytes(warm.front) - before < MAX_GROWTH_BYTES


def test_one_byte_more_is_refused_while_it_is_being_sent_and_nothing_is_kept(warm):
    kept = set((warm.folder / "uploads").iterdir())
    before = forget_peak(warm.front)

    # Without an end: the answer cannot have waited for it.
    status, problem = answered(warm, [HEAD, *of_size(LIMIT_BYTES + 1)])

    assert (status, problem["code"]) == (413, "TOO_LARGE")
    assert problem["detail"] == "File exceeds 50 MB limit."
    told = warm.visit(OPERATOR).ended(problem["job_id"])
    assert (told["state"], told["error_code"]) == ("failed", "TOO_LARGE")
    assert told["error_message"] == "File exceeds 50 MB limit."
    assert set((warm.folder / "uploads").iterdir()) == kept
    assert peak_bytes(warm.front) - before < MAX_GROWTH_BYTES
