"""An application's secrets are hidden from the moment it names them, also while jobs run."""

import asyncio
import itertools
import logging
import threading

import pytest

from holdfast import Holdfast, Pipeline, Retry
from holdfast.errors import InvalidValue
from holdfast.secrecy import MAX_VALUES, OF_THIS_PROCESS, redacted
from holdfast.secrets import Secrets
from holdfast.testing import Script, run_inline
from holdfast.workers import WorkerOptions


def test_the_password_of_the_database_is_known():
    Holdfast("postgresql://ada:Mz7%40of-the-url-3Qs@db.invalid/jobs?sslpassword=Mz7-of-a-key-9Lt")

    for secret in ("Mz7%40of-the-url-3Qs", "Mz7@of-the-url-3Qs", "Mz7-of-a-key-9Lt"):
        assert secret not in redacted(f"cannot connect with {secret}")


def test_variables_that_are_secret_by_their_name_are_known(monkeypatch):
    monkeypatch.setenv("CRM_API_KEY", "Mz7-of-the-environment-2Wv")
    Holdfast("sqlite://:memory:")

    assert "Mz7" not in redacted("refused for Mz7-of-the-environment-2Wv")


def test_secrets_and_names_are_given_with_the_application():
    Holdfast("sqlite://:memory:", secrets=["Mz7-given-6Bh"], secret_names=["door code"])

    assert "Mz7" not in redacted("refused for Mz7-given-6Bh")
    assert "magpie" not in redacted("door_code=magpie")


@pytest.mark.parametrize("secrets", ["Mz7-as-one-text-8Nd", [b"Mz7-as-bytes-8Nd"], [None]])
def test_what_is_no_list_of_texts_is_refused_and_not_shown(secrets):
    with pytest.raises(InvalidValue) as caught:
        Holdfast("sqlite://:memory:", secrets=secrets)

    assert "Mz7" not in str(caught.value)


def test_a_secret_too_plain_to_be_hidden_is_pointed_out_and_not_shown(caplog):
    with caplog.at_level(logging.WARNING, logger="holdfast.engine"):
        Holdfast("sqlite://:memory:", secrets=["kestrel"])

    assert "1 of the secrets" in caplog.text
    assert "kestrel" not in caplog.text


def test_what_an_operator_gives_as_reason_is_kept_without_secrets(app):
    app.add_secrets(["Mz7-of-an-operator-4Xp"])
    job = app.submit("p")

    app.cancel(job.id, by="ada", reason="called with Mz7-of-an-operator-4Xp")

    assert "Mz7" not in str([line.to_document() for line in app.history(job.id)])


def test_a_payload_reaches_its_handler_as_it_is(open_app):
    pipeline = Pipeline("letters")
    script = Script(lambda job: job.payload["token"])
    pipeline.stage(name="send")(script.handler)
    app = open_app(pipeline, secrets=["Mz7-in-a-payload-5Ry"])
    job = app.submit(pipeline, {"token": "Mz7-in-a-payload-5Ry"})
    run_inline(app, until=job)

    assert job.get().result == "Mz7-in-a-payload-5Ry"


def test_secrets_are_rotated_under_load(open_app):
    """Whatever is current, before or after: no failure that is stored tells any of them."""
    current = ["Mz7-rotated-000-7Kd"]
    numbers = itertools.count(1)
    pipeline = Pipeline("calls", retry=Retry(attempts=3, base=0, jitter="none"))

    @pipeline.stage
    def call(job):
        raise TimeoutError(f"no answer to {current[-1]}, nor to {current[0]}")

    app = open_app(pipeline, secrets=current, clock=None)
    jobs = [app.submit(pipeline) for _ in range(150)]
    done = threading.Event()

    def rotate():
        while not done.wait(0.01) and len(current) < MAX_VALUES // 2:
            new = f"Mz7-rotated-{next(numbers):03}-7Kd"
            app.add_secrets([new])
            current.append(new)

    rotating = threading.Thread(target=rotate)
    worker = app.worker(options=WorkerOptions(concurrency=4))
    rotating.start()
    worker.start()
    try:
        ended = [job.wait(timeout=50) for job in jobs]
    finally:
        done.set()
        rotating.join(30)
        worker.drain()

    assert len(current) > 3
    assert {view.error["error_class"] for view in ended} == {"NETWORK_TIMEOUT"}
    told = str([(view.error, app.history(view.id)) for view in ended])
    assert "Mz7-rotated" not in told
    assert told.count("[redacted:known") >= 2 * len(jobs)
    assert set(current) <= set(OF_THIS_PROCESS.values)


class Vault:
    """A provider whose values change."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def read(self, name: str) -> str | None:
        return self.values.get(name)


def leaking(name: str) -> Pipeline:
    pipeline = Pipeline(name, retry=Retry(attempts=1))

    @pipeline.stage
    def call(job):
        raise ValueError(f"refused for {job.secret('CRM_KEY')}")

    return pipeline


def test_a_handler_gets_a_secret_by_its_name_and_cannot_let_it_slip(open_app):
    vault = Vault(CRM_KEY="Nb3-first-of-the-crm-4Wq")
    app = open_app(leaking("leaking"), secrets=Secrets(vault, ttl=0))
    first = app.submit("leaking")
    run_inline(app, until=first)
    vault.values["CRM_KEY"] = "Nb3-rotated-of-the-crm-8Ep"
    second = app.submit("leaking")
    run_inline(app, until=second)

    told = [str(job.get().error) for job in (first, second)]

    assert all("refused for [redacted:known" in each for each in told)
    assert told[0] != told[1]
    assert "Nb3" not in str(told)
    assert "Nb3" not in str([app.dead.get(job.id).to_document() for job in (first, second)])


def test_a_provider_may_be_given_as_it_is_and_is_asked_by_the_application_too(open_app):
    app = open_app(leaking("leaking"), secrets=Vault(CRM_KEY="Nb3-of-a-vault-2Xs"))

    assert app.secrets.get("CRM_KEY") == "Nb3-of-a-vault-2Xs"
    assert "Nb3" not in redacted("Nb3-of-a-vault-2Xs")


def test_without_a_provider_the_environment_is_asked(open_app, monkeypatch):
    app = open_app(leaking("leaking"))
    monkeypatch.setenv("CRM_LOGIN", "Nb3-of-the-environment-1Ty")

    assert app.secrets.get("CRM_LOGIN") == "Nb3-of-the-environment-1Ty"
    assert "Nb3" not in redacted("Nb3-of-the-environment-1Ty")


def test_a_missing_secret_fails_the_job_with_its_name(open_app):
    app = open_app(leaking("leaking"), secrets=Vault())
    job = app.submit("leaking")
    run_inline(app, until=job)

    error = job.get().error

    assert (error["error_class"], error["category"]) == ("AUTH_DENIED", "CRITICAL")
    assert "CRM_KEY" in error["message"]


def test_each_pipeline_asks_the_provider_of_its_system(open_app):
    app = open_app(leaking("ours"), leaking("theirs"), secrets=Vault(CRM_KEY="Nb3-ours-5Rt"))
    app.job_secrets.use(Vault(CRM_KEY="Nb3-theirs-7Gh"), pipelines=["theirs"])

    assert app.job_secrets.get("ours", "CRM_KEY", fresh=False) == "Nb3-ours-5Rt"
    assert app.job_secrets.get("theirs", "CRM_KEY", fresh=False) == "Nb3-theirs-7Gh"


def test_a_worker_hands_secrets_to_handlers_of_every_kind(open_app):
    pipeline = Pipeline("kinds", retry=Retry(attempts=1))

    @pipeline.stage
    def plain(job) -> int:
        return len(job.secret("CRM_KEY"))

    @pipeline.stage
    async def waiting(job) -> int:
        return len(await asyncio.to_thread(job.secret, "CRM_KEY"))

    app = open_app(pipeline, secrets=Vault(CRM_KEY="Nb3-for-all-9Kd"), clock=None)
    worker = app.worker(options=WorkerOptions(poll=0.05))
    worker.start()
    try:
        job = app.submit("kinds")
        job.wait(timeout=30)
    finally:
        worker.drain()

    assert app.results(job.id) == {"plain": 15, "waiting": 15}
