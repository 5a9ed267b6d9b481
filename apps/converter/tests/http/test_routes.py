"""The converter as browsers and programs reach it."""

from datetime import timedelta

import pytest

from apps.converter.tests.http.conftest import MAX_BYTES, OWN_TOKEN
from apps.converter.tests.system.stand_in import PDF_BYTES
from converter.presentation import result_name
from converter.storage.errors import StorageFull
from holdfast import UserError


def send(client, body=PDF_BYTES, *, mapping="text", name="invoice.pdf"):
    return client.post(
        "/api/upload", data={"mapping": mapping}, files={"file": (name, body, "application/pdf")}
    )


def refusal(answer):
    return answer.status_code, answer.json()["code"]


def test_a_file_that_was_sent_is_listed_converted_and_fetched(visit, converter):
    ada = visit()
    sent = send(ada)
    assert sent.status_code == 201
    document = sent.json()
    assert sent.headers["location"] == f"/api/jobs/{document['id']}"
    assert (document["state"], document["download"]) == ("queued", None)

    converter.run()
    (listed,) = ada.get("/api/conversions").json()["items"]
    got = ada.get(listed["download"])

    assert (listed["state"], listed["filename"], listed["size"]) == (
        "complete",
        "invoice.pdf",
        len(PDF_BYTES),
    )
    assert got.content == b"<document/>"
    assert got.headers["content-type"].startswith("application/xml")
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''invoice.xml"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert ada.get(f"/api/jobs/{document['id']}").json()["state"] == "complete"


def test_a_twin_is_the_job_that_has_the_file(visit):
    ada = visit()
    first, second = send(ada), send(ada, name="again.pdf")

    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["id"] == first.json()["id"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<svg onload='alert(1)'/>", (400, "NOT_PDF")),
        (b"", (400, "NOT_PDF")),
        (PDF_BYTES + b" " * MAX_BYTES, (413, "TOO_LARGE")),
    ],
)
def test_what_is_not_taken_is_refused_and_listed_as_failed(visit, converter, body, expected):
    ada = visit()
    answer = send(ada, body)
    converter.run()

    assert refusal(answer) == expected
    (listed,) = ada.get("/api/conversions").json()["items"]
    assert (listed["state"], listed["error_code"]) == ("failed", expected[1])
    assert listed["id"] == answer.json()["job_id"]
    assert ada.get(f"/api/jobs/{listed['id']}").json()["error_code"] == expected[1]
    assert not listed["can_retry"]


def test_the_message_of_a_refusal_is_the_one_that_users_know(visit):
    assert send(visit(), b"x").json()["detail"] == "Only PDF files are supported."


def test_a_disk_that_refuses_is_an_io_error(visit, tmp_path):
    folder = tmp_path / "uploads"
    folder.rmdir()
    folder.write_text("in the way")

    answer = send(visit())

    assert refusal(answer) == (500, "IO_ERROR")
    assert str(tmp_path) not in answer.text


def test_whoever_has_too_much_under_way_is_told_to_wait(visit):
    ada = visit()
    answers = [send(ada, PDF_BYTES + bytes([n])) for n in range(6)]

    assert [answer.status_code for answer in answers] == [201] * 5 + [429]
    assert answers[-1].json()["code"] == "QUOTA_REACHED"
    assert send(visit()).status_code == 201


class TestStrangers:
    def test_what_is_ours_is_forbidden_to_them(self, visit, converter):
        job_id = send(visit()).json()["id"]
        converter.run()
        eve = visit()

        assert refusal(eve.get(f"/api/jobs/{job_id}/download")) == (403, "FORBIDDEN")
        assert refusal(eve.delete(f"/api/jobs/{job_id}")) == (403, "FORBIDDEN")
        assert refusal(eve.post(f"/api/jobs/{job_id}/retry")) == (403, "FORBIDDEN")
        assert eve.get("/api/conversions").json()["items"] == []

    def test_they_do_not_learn_which_ids_there_are(self, visit, converter):
        job_id = send(visit()).json()["id"]
        converter.run()
        eve = visit()

        def told(wanted):
            answers = (
                eve.get(f"/api/jobs/{wanted}/download"),
                eve.delete(f"/api/jobs/{wanted}"),
                eve.post(f"/api/jobs/{wanted}/retry"),
                eve.get(f"/api/jobs/{wanted}"),
            )
            varying = {"instance", "request_id"}
            return [
                {name: value for name, value in answer.json().items() if name not in varying}
                for answer in answers
            ]

        assert told(job_id) == told("018f0000-0000-7000-8000-000000000000")

    def test_one_who_sees_everybodys_is_told_that_there_is_none(self, visit):
        operator = visit(OWN_TOKEN)
        nobodys = "/api/jobs/018f0000-0000-7000-8000-000000000000"

        assert refusal(operator.get(f"{nobodys}/download")) == (404, "job_not_found")
        assert refusal(operator.post(f"{nobodys}/retry")) == (404, "job_not_found")

    def test_an_operator_sees_everybodys(self, visit, converter):
        job_id = send(visit()).json()["id"]
        converter.run()

        assert visit(OWN_TOKEN).get(f"/api/jobs/{job_id}/download").content == b"<document/>"

    def test_a_submitters_token_is_an_owner_of_its_own(self, visit, converter):
        token = converter.app.tokens.create("shop", role="submitter", owner="shop", by="ada")[1]
        sent = send(visit(token))
        converter.run()

        assert sent.status_code == 201
        assert visit(token).get(f"/api/jobs/{sent.json()['id']}/download").status_code == 200

    def test_a_reader_sends_nothing(self, visit, converter):
        token = converter.app.tokens.create("wall", role="reader", owner="shop", by="ada")[1]

        assert refusal(send(visit(token))) == (403, "role_missing")


class TestBeforeAndAfter:
    def test_before_its_time_it_is_not_ready_and_after_it_is_expired(
        self, visit, converter, kept_since
    ):
        ada = visit()
        job_id = send(ada).json()["id"]
        early = ada.get(f"/api/jobs/{job_id}/download")
        converter.run()
        converter.results.remove(result_name(job_id))
        kept_since["then"] = converter.app.job(job_id).finished_at + timedelta(days=1)
        late = ada.get(f"/api/jobs/{job_id}/download")

        assert refusal(early) == (409, "NOT_READY")
        assert refusal(late) == (404, "EXPIRED")
        (listed,) = ada.get("/api/conversions").json()["items"]
        assert (listed["state"], listed["download"]) == ("expired", None)

    def test_a_failed_one_is_retried_by_its_owner_while_its_file_is_there(self, visit, converter):
        ada = visit()
        converter.gateway.plays += [StorageFull("results", "no room")] * 2
        job_id = send(ada).json()["id"]
        converter.run()
        (failed,) = ada.get("/api/conversions").json()["items"]
        assert (failed["error_code"], failed["can_retry"]) == ("IO_ERROR", True)

        assert ada.post(f"/api/jobs/{job_id}/retry").json()["state"] == "queued"
        converter.run()
        converter.uploads.remove(converter.app.job(job_id).payload["source"])
        (failed,) = ada.get("/api/conversions").json()["items"]

        assert not failed["can_retry"]
        assert refusal(ada.post(f"/api/jobs/{job_id}/retry")) == (409, "retry_refused")

    def test_removing_leaves_nothing_to_fetch(self, visit, converter):
        ada = visit()
        job_id = send(ada).json()["id"]
        converter.run()

        assert ada.delete(f"/api/jobs/{job_id}").status_code == 204
        (listed,) = ada.get("/api/conversions").json()["items"]
        assert (listed["state"], listed["says"]) == ("removed", "Removed.")
        assert refusal(ada.get(f"/api/jobs/{job_id}/download")) == (404, "EXPIRED")


def test_while_the_gateway_is_not_called_the_list_says_so(visit, converter):
    ada = visit()
    send(ada)
    converter.run()
    assert ada.get("/api/conversions").json()["paused"] is False

    converter.app.upstreams.force_open("gateway", by="ada")

    assert ada.get("/api/conversions").json()["paused"] is True


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\r\nX: y.pdf", "\x00.pdf", "x" * 300])
def test_what_a_file_is_called_reaches_no_path_and_no_header(visit, converter, tmp_path, name):
    ada = visit()
    body = (
        b'--b\r\nContent-Disposition: form-data; name="mapping"\r\n\r\ntext\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="'
        + name.replace("\r\n", "%0D%0A").encode()
        + b'"\r\n\r\n'
        + PDF_BYTES
        + b"\r\n--b--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    sent = ada.post("/api/upload", content=body, headers=headers)
    converter.run()
    got = ada.get(f"/api/jobs/{sent.json()['id']}/download")

    assert sent.status_code == 201
    assert len(sent.json()["filename"]) <= 200
    assert got.content == b"<document/>"
    assert [path.suffix for path in (tmp_path / "uploads").iterdir()] == [".pdf"]
    assert "X" not in got.headers


def test_what_serves_every_pipeline_alike_makes_no_conversion(visit, converter):
    sent = {"source": "x.pdf", "filename": "x.pdf", "mapping": "text", "size": 1, "sha256": "0"}

    answer = visit(OWN_TOKEN).post("/api/jobs", json={"pipeline": "convert", "payload": sent})

    assert refusal(answer) == (403, "pipeline_closed")
    assert "POST /api/upload" in answer.json()["detail"]
    assert converter.app.jobs() == []


class TestOnThisMachineWithoutAnyToken:
    @pytest.fixture
    def own_token(self):
        return None

    def test_each_browser_sees_and_touches_what_it_sent(self, visit, converter):
        ada, eve = visit(), visit()
        converter.gateway.plays.append(StorageFull("results", "no room"))
        failed = send(ada).json()["id"]
        converter.run()
        done = send(ada, body=PDF_BYTES + b"2").json()["id"]
        converter.run()
        other = send(eve, body=PDF_BYTES + b"3").json()["id"]

        answers = [
            eve.get(f"/api/jobs/{done}"),
            eve.get(f"/api/jobs/{done}/events"),
            eve.get(f"/api/jobs/{done}/download"),
            eve.post(f"/api/jobs/{failed}/retry"),
            eve.delete(f"/api/jobs/{done}"),
        ]

        assert [refusal(each) for each in answers] == [(403, "FORBIDDEN")] * 5
        listed = {each["id"] for each in eve.get("/api/conversions").json()["items"]}
        assert listed == {other}
        assert ada.get(f"/api/jobs/{done}/download").content == b"<document/>"
        assert ada.post(f"/api/jobs/{failed}/retry").json()["state"] == "queued"

    def test_a_browser_that_was_never_here_is_nobodys_operator(self, visit, converter):
        ada = visit()
        job_id = send(ada).json()["id"]
        converter.run()

        answers = [
            visit().get(f"/api/jobs/{job_id}"),
            visit().get(f"/api/jobs/{job_id}/download"),
            visit().post(f"/api/jobs/{job_id}/retry"),
        ]

        assert [refusal(each) for each in answers] == [(403, "FORBIDDEN")] * 3
        assert visit().get("/api/conversions").json()["items"] == []
        assert {each["id"] for each in visit().get("/api/jobs").json()["items"]} == {job_id}


def test_where_the_sender_has_to_correct_the_file_no_retry_is_offered_and_it_can_be_removed(
    visit, converter
):
    client = visit()
    converter.gateway.plays.append(UserError("PDF_ENCRYPTED", "It needs a password."))
    job_id = send(client).json()["id"]
    converter.run()

    listed = client.get("/api/conversions").json()["items"][0]
    assert (listed["status"], listed["error_code"]) == ("failed", "GW_4XX")
    assert (listed["retryable"], listed["can_retry"], listed["removable"]) == (False, False, True)
    refused = client.post(f"/api/jobs/{job_id}/retry")
    assert (refused.status_code, refused.json()["code"]) == (409, "retry_refused")
    assert client.delete(f"/api/jobs/{job_id}").status_code == 204
    assert not client.get("/api/conversions").json()["items"][0]["removable"]


def test_an_unknown_mapping_is_400_and_names_those_that_there_are(visit, converter):
    client = visit()
    answer = send(client, mapping="txet")

    assert (answer.status_code, answer.json()["code"]) == (400, "GW_4XX")
    assert "There is no mapping txet; choose one of text, layout, raw." in answer.json()["detail"]
    listed = client.get("/api/conversions").json()["items"][0]
    assert (listed["id"], listed["status"]) == (answer.json()["job_id"], "failed")
    assert not listed["retryable"]
    assert converter.app.dead.find() == []
