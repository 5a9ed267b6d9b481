"""The documents of conversions: the same fields, codes, lines and words on every route."""

import pytest

from apps.converter.tests.http.conftest import MAX_BYTES, OWN_TOKEN
from apps.converter.tests.http.test_routes import refusal, send
from apps.converter.tests.system.stand_in import PDF_BYTES
from converter.codes import CODES
from converter.gateway_failures import refusal as refused_by_gateway
from converter.retention import expire, kept_since
from holdfast.retention import Retention
from holdfast.testing import run_inline

FIELDS = {
    *("status", "attempt_count", "last_attempt_at", "retry_after", "queued_at", "started_at"),
    *("failed_at", "leased_by", "lease_expires_at", "manual_retry_count", "error_code"),
    *("error_message", "result_path"),
}
DAY_S = 24 * 3600


def everywhere(client, job_id):
    """A conversion as every route that has a document of it shows it."""
    return {
        "job": client.get(f"/api/jobs/{job_id}").json(),
        "list": next(
            each for each in client.get("/api/conversions").json()["items"] if each["id"] == job_id
        ),
    }


def events(client, job_id):
    return [
        (each["event"], each["meta"])
        for each in client.get(f"/api/jobs/{job_id}/events").json()["items"]
    ]


class TestFields:
    def test_every_document_of_a_conversion_has_them(self, visit, converter):
        ada = visit()
        sent = send(ada)
        job_id = sent.json()["id"]
        documents = [sent.json(), *everywhere(ada, job_id).values()]
        converter.gateway.plays[:] = [OSError("x")] * 3
        run_inline(converter.app, advance=True)
        documents += [*everywhere(ada, job_id).values()]
        documents.append(ada.post(f"/api/jobs/{job_id}/retry").json())
        documents.append(ada.post(f"/api/jobs/{job_id}/cancel").json())

        for document in documents:
            assert document.keys() >= FIELDS

    def test_they_say_how_a_conversion_goes(self, visit, converter):
        ada = visit()
        job_id = send(ada).json()["id"]
        converter.gateway.plays[:] = [refused_by_gateway(503, {}, b"")] * 3
        run_inline(converter.app)
        waits = everywhere(ada, job_id)
        run_inline(converter.app, advance=True)
        failed = everywhere(ada, job_id)
        converter.app.clock.advance(60)
        retried = ada.post(f"/api/jobs/{job_id}/retry").json()
        run_inline(converter.app)
        done = everywhere(ada, job_id)

        for document in waits.values():
            assert (document["status"], document["attempt_count"]) == ("queued", 1)
            assert document["retry_after"] > document["last_attempt_at"] >= document["started_at"]
            assert (document["failed_at"], document["error_code"]) == (None, None)
        for document in failed.values():
            assert (document["status"], document["attempt_count"]) == ("failed", 3)
            assert document["failed_at"] > document["started_at"]
            assert (document["retry_after"], document["manual_retry_count"]) == (None, 0)
        assert (retried["status"], retried["manual_retry_count"]) == ("queued", 1)
        assert (retried["error_code"], retried["error_message"]) == (None, None)
        assert retried["queued_at"] > retried["created_at"]
        for document in done.values():
            assert (document["status"], document["result_path"]) == ("complete", f"{job_id}.xml")
            assert document["queued_at"][:19] == retried["queued_at"][:19]
            assert document["failed_at"] is None

    def test_while_it_is_converted_it_is_leased_by_a_worker_whose_host_stays_hidden(
        self, visit, converter
    ):
        ada, seen = visit(), {}
        job_id = send(ada).json()["id"]

        async def look(into):
            seen["ada"] = everywhere(ada, job_id)
            seen["operator"] = visit(OWN_TOKEN).get(f"/api/jobs/{job_id}").json()
            await into.write(b"<document/>")

        converter.gateway.plays[:] = [look]
        run_inline(converter.app)

        assert seen["operator"]["leased_by"] == "inline"
        for document in seen["ada"].values():
            assert document["status"] == "processing"
            assert document["leased_by"].startswith("worker-")
            assert document["lease_expires_at"] is not None


class TestCodes:
    def test_a_failure_has_the_same_code_and_line_everywhere(self, visit, converter):
        ada, operator = visit(), visit(OWN_TOKEN)
        job_id = send(ada).json()["id"]
        answer = refused_by_gateway(400, {}, b'{"detail": "Unsupported mapping."}')
        converter.gateway.plays[:] = [answer]
        run_inline(converter.app)
        line = f"{CODES.codes['GW_4XX'].message} Unsupported mapping."

        documents = [*everywhere(ada, job_id).values(), *everywhere(operator, job_id).values()]
        documents += [events(ada, job_id)[-1][1], events(operator, job_id)[-1][1]]
        documents.append(operator.get(f"/api/dead-letters/{job_id}").json())
        for document in documents:
            assert (document["error_code"], document["error_message"]) == ("GW_4XX", line)

    def test_the_line_about_a_large_file_names_the_limit_in_force_everywhere(self, visit):
        ada = visit()
        answer = send(ada, PDF_BYTES + b" " * MAX_BYTES)

        line = "File exceeds 0.0095 MB limit."
        assert answer.json()["detail"] == line
        for document in everywhere(ada, answer.json()["job_id"]).values():
            assert (document["error_code"], document["error_message"]) == ("TOO_LARGE", line)


class TestEvents:
    def test_they_have_the_words_and_the_facts_of_a_conversion(self, visit, converter):
        ada = visit()
        tail = converter.app.tail()
        job_id = send(ada).json()["id"]
        converter.gateway.plays[:] = [refused_by_gateway(503, {}, b"")] * 3
        run_inline(converter.app, advance=True)
        ada.post(f"/api/jobs/{job_id}/retry")
        run_inline(converter.app)

        lines = events(ada, job_id)

        assert [name for name, _ in lines] == [
            "queued",
            *("processing", "retry") * 2,
            *("processing", "failed"),
            *("queued", "processing", "complete"),
        ]
        assert [event.name for event in tail.read()] == [name for name, _ in lines]
        facts = ("attempt", "gateway_http_status", "error_code")
        ends = [(name, *(meta[fact] for fact in facts)) for name, meta in lines]
        assert ends[2] == ("retry", 1, 503, "GW_5XX")
        assert ends[6] == ("failed", 3, 503, "GW_5XX")
        assert ends[-1] == ("complete", 1, 200, None)
        assert all(lines[place][1]["duration_ms"] is not None for place in (2, 6, -1))

    def test_a_result_that_was_there_already_was_not_fetched_from_the_gateway(
        self, visit, converter
    ):
        ada = visit()
        job_id = send(ada).json()["id"]
        converter.results.put(f"{job_id}.xml", [b"<document/>"])
        run_inline(converter.app)

        (name, meta) = events(ada, job_id)[-1]
        assert (name, meta["gateway_http_status"]) == ("complete", None)

    def test_a_result_that_retention_removes_has_expired_once(self, visit, converter):
        ada = visit()
        job_id = send(ada).json()["id"]
        run_inline(converter.app)
        tail = converter.app.tail()
        old = kept_since(keep_days=-1)

        for _ in range(2):
            expire(converter.app, converter.results, before=old)
            converter.results.put(f"{job_id}.xml", [b"<document/>"])
        expire(converter.app, converter.results, before=old)

        assert [name for name, _ in events(ada, job_id)][-2:] == ["complete", "expired"]
        assert [event.name for event in tail.read()] == ["expired"]
        assert refusal(ada.get(f"/api/jobs/{job_id}/download")) == (404, "EXPIRED")


class TestDownloads:
    def test_one_whose_job_is_gone_has_expired_for_its_owner_and_is_nobody_elses(
        self, visit, converter
    ):
        ada, eve = visit(), visit()
        eve.get("/api/conversions")
        job_id = send(ada).json()["id"]
        run_inline(converter.app)
        converter.app.retention = Retention(complete=DAY_S)
        converter.app.clock.advance(2 * DAY_S)
        assert converter.app.purge()["jobs"] == 1

        assert ada.get(f"/api/jobs/{job_id}").status_code == 404
        assert refusal(ada.get(f"/api/jobs/{job_id}/download")) == (404, "EXPIRED")
        assert refusal(eve.get(f"/api/jobs/{job_id}/download")) == (403, "FORBIDDEN")

    @pytest.mark.parametrize("job_id", ["0190aaaa-0000-7000-8000-000000000000", "nothing"])
    def test_one_that_never_was_is_forbidden(self, visit, job_id):
        assert refusal(visit().get(f"/api/jobs/{job_id}/download")) == (403, "FORBIDDEN")

    @pytest.mark.parametrize("way", ["remove", "cancel"])
    def test_one_that_was_cancelled_is_gone_and_not_to_come(self, visit, converter, way):
        ada = visit()
        job_id = send(ada).json()["id"]
        if way == "remove":
            ada.delete(f"/api/jobs/{job_id}")
        else:
            ada.post(f"/api/jobs/{job_id}/cancel")

        answer = ada.get(f"/api/jobs/{job_id}/download")

        assert refusal(answer) == (404, "EXPIRED")
        assert "was cancelled" in answer.json()["detail"]
