"""`POST /api/callbacks/{token}`: the token opens it, for one stage of one job."""

import json
import logging
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from holdfast import Holdfast, JobState, Pipeline, Retry, Wait
from holdfast.api import ApiOptions, create_api
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.runtime.outbox.callbacks import REPLIES
from holdfast.testing import ManualClock, run_inline

RESULT = {"outcome": "result", "result": {"grade": 87}}
BUSY = {"outcome": "failure", "error": {"error_class": "UPSTREAM_5XX", "message": "down"}}
BROKEN = {"outcome": "failure", "error": {"error_class": "AUDIO_UNREADABLE"}}
NOTE = {"outcome": "progress", "note": "page 3 of 6", "percent": 50}


class Asking:
    """A pipeline that asks outside, and the tokens it gave out."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.pipeline = Pipeline("asking", retry=Retry(attempts=3, base=60, jitter="none"))

        @self.pipeline.stage(progress_extends=600)
        def ask(job) -> Wait:
            self.tokens.append(job.callback_token(valid_for=86_400))
            return Wait(timeout=100)

        @self.pipeline.stage
        def tell(_job, ask: dict) -> str:
            return f"graded {ask['grade']}"


@pytest.fixture
def asking() -> Asking:
    return Asking()


@pytest.fixture
def pipeline(asking: Asking) -> Pipeline:
    return asking.pipeline


@pytest.fixture
def stranger(app: Holdfast) -> TestClient:
    """A client from elsewhere without any credentials, of an API that has some."""
    app.tokens.create("first", role="operator", by="test")
    api = create_api(app, options=ApiOptions(host="0.0.0.0", hosts=("jobs.example.org",)))
    return TestClient(
        api,
        base_url="http://jobs.example.org",
        client=("192.0.2.7", 50_000),
        raise_server_exceptions=False,
    )


@pytest.fixture
def waiting(app: Holdfast, asking: Asking):
    """A job that has asked, and the path by which it is answered."""

    def make(**options):
        job = app.submit("asking", **options)
        run_inline(app)
        assert job.get().state is JobState.WAITING
        return job, f"/api/callbacks/{asking.tokens[-1]}"

    return make


@pytest.fixture
def logged(caplog):
    """Returns all that was logged so far, with every field of every line."""
    caplog.set_level(logging.DEBUG)
    return lambda: "\n".join(
        f"{record.getMessage()} {vars(record)}"
        for record in caplog.records
        if record.name.startswith("holdfast")
    )


def events(app, job) -> list[str]:
    return [line.event for line in app.history(job.id) if line.event != "processing"]


def code_of(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_somebody_without_credentials_gives_the_result_with_the_token_alone(
    app, stranger, waiting, clock
):
    job, path = waiting()
    answer = stranger.post(path, json=RESULT)
    run_inline(app)

    assert answer.status_code == 200
    assert answer.json() == {
        "standing": "accepted",
        "job_id": job.id,
        "stage": "ask",
        "state": "queued",
        "received_at": to_rfc3339(clock.now()),
        "waits_until": None,
    }
    assert job.get().result == "graded 87"


def test_a_failure_has_the_stage_ask_again_or_ends_the_job(app, stranger, waiting, clock):
    job, path = waiting()
    passing = stranger.post(path, json=BUSY)
    clock.advance(60)
    run_inline(app)
    lasting = stranger.post(path, json=BROKEN)

    assert (passing.json()["standing"], passing.json()["state"]) == ("accepted", "queued")
    assert (lasting.json()["standing"], lasting.json()["state"]) == ("accepted", "failed")
    assert job.get().error["error_class"] == "AUDIO_UNREADABLE"
    assert [letter.id for letter in app.dead.find()] == [job.id]
    assert app.verify() == []


def test_a_failure_may_say_whether_and_when_to_ask_again(app, stranger, waiting, clock):
    job, path = waiting()
    error = {"error_class": "THEIR_OWN", "retryable": True, "retry_after": 120}
    stranger.post(path, json={"outcome": "failure", "error": error})

    assert job.get().run_at - app.job(job.id).created_at == timedelta(seconds=120)


def test_a_progress_note_says_until_when_the_stage_waits_and_changes_no_state(
    app, stranger, waiting, clock
):
    job, path = waiting()
    clock.advance(50)
    answers = [stranger.post(path, json=NOTE).json() for _ in range(2)]

    assert {answer["standing"] for answer in answers} == {"accepted"}
    assert {answer["state"] for answer in answers} == {"waiting"}
    assert answers[0]["waits_until"] == to_rfc3339(Instant(clock.now() + 600_000_000))
    # Without a key nobody knows whether it came again or goes on.
    assert events(app, job) == ["queued", "suspended", "progress", "progress"]


def test_what_is_sent_again_is_told_so_and_changes_nothing(app, stranger, waiting, clock):
    job, path = waiting()
    key = {"Idempotency-Key": "note-1"}
    notes = [stranger.post(path, json=NOTE, headers=key).json()["standing"] for _ in range(2)]
    failures = [stranger.post(path, json=BUSY).json()["standing"] for _ in range(2)]
    clock.advance(60)
    run_inline(app)
    failures.append(stranger.post(path, json=BUSY).json()["standing"])
    clock.advance(60)
    run_inline(app)
    results = [stranger.post(path, json=RESULT).json()["standing"] for _ in range(2)]
    run_inline(app)
    results.append(stranger.post(path, json=RESULT).json()["standing"])

    assert notes == ["accepted", "repeated"]
    assert failures == ["accepted", "repeated", "accepted"]
    assert results == ["accepted", "repeated", "repeated"]
    assert job.get().result == "graded 87"


def test_another_answer_after_the_first_is_refused_and_nobody_has_to_move(app, stranger, waiting):
    job, path = waiting()
    stranger.post(path, json=RESULT)
    answers = [stranger.post(path, json=body) for body in (BROKEN, NOTE)]

    assert {code_of(answer) for answer in answers} == {(409, "callback_over")}
    assert answers[0].json()["state"] == "queued"
    assert "do not send it again" in answers[0].json()["detail"]
    assert job.get().job.stage == "tell"


def test_a_stage_that_has_yet_to_ask_again_says_that_the_sender_may_try_later(
    app, stranger, waiting, clock
):
    _, path = waiting()
    clock.advance(101)
    run_inline(app)
    answer = stranger.post(path, json=RESULT)

    assert code_of(answer) == (409, "wrong_state")
    assert (answer.json()["state"], answer.json()["allowed"]) == ("queued", ["waiting"])
    assert "send the answer again" in answer.json()["detail"]


def test_a_job_that_is_gone_is_not_found(app, stranger, waiting, clock):
    job, path = waiting()
    app.cancel(job.id, by="ada")
    clock.advance(8 * 86_400)
    app.purge()

    assert code_of(stranger.post(path, json=RESULT)) == (404, "job_not_found")


@pytest.mark.parametrize("how", ["forged", "nothing", "expired", "another run", "an API token"])
def test_a_token_that_is_not_good_is_refused(app, stranger, waiting, clock, how):
    job, path = waiting(deadline=200)
    if how == "expired":
        clock.advance(86_401)
    elif how == "another run":
        clock.advance(201)
        run_inline(app)
        app.retry(job.id, by="ada", from_start=True)
        run_inline(app)
    tried = {
        "forged": path[:-3] + "AAA",
        "nothing": "/api/callbacks/x",
        "an API token": "/api/callbacks/" + app.tokens.create("t", role="operator", by="t")[1],
    }.get(how, path)
    answer = stranger.post(tried, json=RESULT)

    assert code_of(answer) == (403, "callback_refused")
    assert job.get().job.stage == "ask"


def test_a_token_of_another_job_answers_its_own_job_alone(app, stranger, waiting):
    (first, path), (second, _) = waiting(), waiting()
    stranger.post(path, json=RESULT)

    assert (first.get().job.stage, second.get().job.stage) == ("tell", "ask")


def test_the_token_is_judged_before_the_body_is_looked_at(stranger, waiting):
    _, path = waiting()
    typed = {"Content-Type": "application/json"}
    answers = [
        stranger.post(path[:-1], content=b"{", headers=typed),
        stranger.post(path[:-1], content=b"x", headers={"Content-Type": "text/plain"}),
        stranger.post(path[:-1], json={"outcome": "nope"}),
    ]

    assert {code_of(answer) for answer in answers} == {(403, "callback_refused")}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, ""),
        ({"outcome": "done", "result": 1}, ""),
        ({"result": 1}, ""),
        ({"outcome": "result"}, "/result"),
        ({"outcome": "result", "result": 1, "by": "me"}, "/by"),
        ({"outcome": "failure"}, "/error"),
        ({"outcome": "failure", "error": {}}, "/error/error_class"),
        ({"outcome": "failure", "error": {"error_class": "TIMEOUT"}}, "/error/error_class"),
        ({"outcome": "failure", "error": {"error_class": "no"}}, "/error/error_class"),
        (
            {"outcome": "failure", "error": {"error_class": "OWN", "retry_after": -1}},
            "/error/retry_after",
        ),
        ({"outcome": "progress", "note": ""}, "/note"),
        ({"outcome": "progress", "note": "n", "percent": 101}, "/percent"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_its_place(app, stranger, waiting, body, place):
    job, path = waiting()
    answer = stranger.post(path, json=body)

    assert answer.status_code == 422
    assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [place]
    assert events(app, job) == ["queued", "suspended"]


def test_a_body_that_is_too_large_is_cut_off(stranger, waiting):
    _, path = waiting()
    answer = stranger.post(path, json={"outcome": "result", "result": "x" * (1024 * 1024)})

    assert code_of(answer) == (413, "body_too_large")
    assert path.removeprefix("/api/callbacks/") not in answer.text


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("POST", "", RESULT),
        ("POST", "", BROKEN),
        ("POST", "", {"outcome": "nope"}),
        ("POST", "!", RESULT),
        ("POST", "/more", RESULT),
        ("GET", "", None),
        ("DELETE", "", None),
    ],
)
def test_the_token_is_neither_logged_nor_told(logged, stranger, waiting, *, method, tail, body):
    _, path = waiting()
    token = path.removeprefix("/api/callbacks/")
    answers = [
        stranger.request(method, path + tail, json=body, headers=headers)
        for headers in ({}, {}, {"Host": "evil.example.com"})
    ]

    text = logged()
    assert "/api/callbacks/hidden" in text
    for secret in (token, token.partition(".")[0], token.partition(".")[2]):
        assert secret not in text
        assert all(secret not in answer.text for answer in answers)


def test_late_answers_are_kept_as_late(app, stranger, waiting, clock):
    job, path = waiting(deadline=50)
    clock.advance(51)
    standings = [stranger.post(path, json=RESULT).json() for _ in range(2)]

    assert [one["standing"] for one in standings] == ["late", "repeated"]
    assert (job.get().state, job.get().late_result) == ("failed", {"grade": 87})
    assert code_of(stranger.post(path, json=NOTE)) == (409, "callback_over")


def test_after_a_cancel_an_answer_is_on_record(app, stranger, waiting):
    job, path = waiting()
    app.cancel(job.id, by="ada")
    answer = stranger.post(path, json=RESULT).json()

    assert (answer["standing"], answer["state"]) == ("late", "cancelled")
    assert events(app, job)[-1] == "late"


class Queueing(ManualClock):
    """A clock by which a request came some time before a thread has looked at it."""

    def __init__(self, lag_s: float) -> None:
        super().__init__()
        self.lag_s = lag_s

    def instant_of(self, reading_s: float) -> Instant:
        assert reading_s > 0
        return Instant(self.now() - int(self.lag_s * 1_000_000))


@pytest.mark.parametrize(
    ("lag_s", "standing"), [(2.0, "accepted"), (1.0, "accepted"), (0.999999, "late")]
)
def test_the_time_that_counts_is_when_the_answer_had_come(
    database_url, asking, lag_s, standing, serve
):
    clock = Queueing(lag_s)
    with Holdfast(database_url, pipelines=[asking.pipeline], clock=clock) as app:
        job = app.submit("asking", deadline=50)
        run_inline(app)
        clock.advance(51)
        answer = serve(app).post(f"/api/callbacks/{asking.tokens[0]}", json=RESULT)

        assert answer.json()["standing"] == standing
        told = app.history(job.id)[-1].meta
        assert told["received_at"] == answer.json()["received_at"]


def test_an_operator_signed_in_or_on_this_machine_is_nobody_here(app, client, waiting):
    """What else a request brings with it counts for nothing: the token does."""
    job, path = waiting()

    assert code_of(client.post("/api/callbacks/forged", json=RESULT)) == (403, "callback_refused")
    headers = {"Authorization": "Bearer hf_wrong", "Origin": "https://elsewhere.example"}
    assert client.post(path, json=RESULT, headers=headers).status_code == 200
    assert job.get().job.stage == "tell"


def test_it_is_described_as_opened_by_its_path(client):
    described = client.app.openapi()["paths"]["/api/callbacks/{token}"]["post"]

    assert described["security"] == []
    assert described["x-credential"] == "path"
    assert "x-role" not in described
    assert {"200", "403", "404", "409", "422"} <= set(described["responses"])
    assert "application/problem+json" in described["responses"]["409"]["content"]
    [token] = [each for each in described["parameters"] if each["in"] == "path"]
    assert token["name"] == "token"
    options = json.dumps(described["requestBody"])
    assert all(kind in options for kind in ("ResultAnswer", "FailureAnswer", "ProgressAnswer"))


def test_a_result_that_is_no_json_of_ours_is_refused(app, stranger, waiting):
    job, path = waiting()
    deep = "[" * 200 + "]" * 200
    answer = stranger.post(
        path,
        content=f'{{"outcome": "result", "result": {deep}}}',
        headers={"Content-Type": "application/json"},
    )

    assert code_of(answer) == (422, "invalid_document")
    assert job.get().state is JobState.WAITING


def test_what_is_noted_of_an_answer_is_a_digest(app, stranger, waiting):
    _, path = waiting()
    stranger.post(path, json=RESULT, headers={"Idempotency-Key": "the-key"})

    table = "holdfast_inbox" if app.store.url.startswith("sqlite") else "holdfast.inbox"
    with app.store.transaction() as connection:
        rows = connection.execute(f"select * from {table}").fetchall()
    stored = repr([tuple(row) for row in rows])
    assert REPLIES in stored
    assert "the-key" not in stored
    assert path.removeprefix("/api/callbacks/") not in stored
