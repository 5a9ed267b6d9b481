"""What is taken, what is refused, and what counts as the same file."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf, refusal
from apps.converter.tests.scripted_gateway import XML, Reply
from tests.deployed.process import OPERATOR, PATIENCE_S

LIMIT_BYTES = 1024 * 1024
QUOTA = 25
KNOBS = {"UPLOAD_MAX_BYTES": str(LIMIT_BYTES), "QUOTA_ACTIVE_JOBS": str(QUOTA)}
UPLOADERS = 20
FORM = (
    b'--b\r\nContent-Disposition: form-data; name="mapping"\r\n\r\ntext\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n'
    b"Content-Type: application/pdf\r\n\r\n"
)


def test_what_is_no_pdf_is_refused_whatever_it_is_called_and_its_job_has_failed(site):
    ada = site.visit()

    answer = ada.send(b"PK\x03\x04 a zip, by any other name", name="invoice.pdf")

    assert refusal(answer) == (400, "NOT_PDF")
    assert answer.json()["detail"] == "Only PDF files are supported."
    told = ada.ended(answer.json()["job_id"])
    assert (told["state"], told["error_code"]) == ("failed", "NOT_PDF")
    assert not told["can_retry"]


def test_a_file_of_the_largest_size_is_taken(site):
    ada = site.visit()

    assert ada.ended(ada.send_new(new_pdf(LIMIT_BYTES)))["state"] == "complete"


def test_one_byte_over_the_limit_is_refused_while_it_is_still_being_sent(site):
    body = FORM + new_pdf(LIMIT_BYTES + 1)

    # In chunks, without a length, and without an end: the answer cannot wait for it.
    with sending(site) as connection, connection.makefile("rb") as answer:
        for start in range(0, len(body), 60_000):
            connection.sendall(chunk(body[start : start + 60_000]))
        head, _, document = answer.read().partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 413 ")
    problem = json.loads(document)
    assert (problem["code"], problem["detail"]) == ("TOO_LARGE", "File exceeds 1 MB limit.")
    told = site.visit(OPERATOR).ended(problem["job_id"])
    assert (told["state"], told["error_code"]) == ("failed", "TOO_LARGE")
    assert told["error_message"] == "File exceeds 1 MB limit."


def sending(site) -> socket.socket:
    """Open a connection on which a form is sent in chunks."""
    parts = urlsplit(site.front.address)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S)
    connection.sendall(
        f"POST /api/upload HTTP/1.1\r\nHost: {parts.netloc}\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n".encode()
    )
    return connection


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_a_form_of_ten_thousand_parts_is_refused_and_leaves_nothing(site):
    ada = site.visit()
    parts = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n' * 10_000
    kept = set((site.folder / "uploads").iterdir())

    answer = ada.http.post(
        "/api/upload",
        content=parts + FORM + new_pdf() + b"\r\n--b--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )

    assert refusal(answer) == (400, "malformed_request")
    assert ada.http.get("/api/conversions").json()["items"] == []
    assert set((site.folder / "uploads").iterdir()) == kept


def test_a_disk_that_refuses_an_upload_is_an_io_error_and_its_job_has_failed(site):
    ada, uploads = site.visit(), site.folder / "uploads"
    away = uploads.rename(site.folder / "uploads-away")
    try:
        uploads.write_text("in the way")
        answer = ada.send(new_pdf())
    finally:
        uploads.unlink()
        away.rename(uploads)

    assert refusal(answer) == (500, "IO_ERROR")
    assert str(site.folder) not in answer.text
    told = ada.ended(answer.json()["job_id"])
    assert (told["state"], told["error_code"]) == ("failed", "IO_ERROR")


def test_twins_that_are_sent_at_the_same_moment_are_one_job_and_one_call(site):
    ada, pdf, held = site.visit(), new_pdf(), Held()
    ada.http.get("/api/conversions")  # where a walk-in gets the cookie that all of them share
    site.will_get(pdf, Reply(body=held))

    with ThreadPoolExecutor(UPLOADERS) as pool:
        answers = list(pool.map(lambda _: ada.send(pdf), range(UPLOADERS)))
    held.release()

    assert sorted(answer.status_code for answer in answers) == [200] * (UPLOADERS - 1) + [201]
    (job_id,) = {answer.json()["id"] for answer in answers}
    assert ada.ended(job_id)["state"] == "complete"
    assert ada.send(pdf).json()["id"] == job_id
    assert len(site.calls_for(pdf)) == 1
    assert ada.download(job_id).content == XML


def test_whoever_has_too_much_under_way_is_told_to_wait_and_nobody_else_is(site):
    ada, held = site.visit(), Held()
    files = [new_pdf() for _ in range(QUOTA + 1)]
    for pdf in files:
        site.will_get(pdf, Reply(body=held))

    jobs = [ada.send_new(pdf) for pdf in files[:QUOTA]]
    refused = ada.send(files[QUOTA])
    others = site.visit().send(new_pdf())
    held.release()

    assert refusal(refused) == (429, "QUOTA_REACHED")
    assert others.status_code == 201
    assert {ada.ended(job_id)["state"] for job_id in jobs} == {"complete"}
    assert ada.send(files[QUOTA]).status_code == 201
    assert site.calls_for(files[0])
