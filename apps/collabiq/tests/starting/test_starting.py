"""Secrets at the start and afterwards, with Infisical well, slow, wrong and away."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collabiq.failures.dlq import DeadLetterQueue
from collabiq.failures.errors import ErrorRecords
from collabiq.records.retry_configs import INFISICAL_RETRY_CONFIG
from collabiq.secrets import GuardedSource, InfisicalSettings, InfisicalSource
from collabiq.settings.config import REQUIRED_SECRETS, Config, InfisicalConfig
from collabiq.settings.system_secrets import SystemSecrets
from collabiq.stand_ins.infisical import CLIENT_ID, CLIENT_SECRET, InfisicalStandIn
from collabiq.stand_ins.serving import Serving
from collabiq.starting import MissingAtStart, Starting
from holdfast import Holdfast, UsageError
from holdfast.secrets import SecretUnavailable
from holdfast.testing import ManualClock

VALUES = {name: f"value-of-{name.lower()}-1" for name in REQUIRED_SECRETS}
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
DATABASE = "NOTION_DATABASE_ID_COLLABIQ"


class Started:
    """A system that begins, and what it leaves behind."""

    def __init__(self, engine: Holdfast, config: Config, source: Any, environment=None) -> None:
        self.now_s = 0.0
        self.engine = engine
        self.secrets = SystemSecrets(
            config, environment or {}, source=source, clock=lambda: self.now_s
        )
        self.errors = ErrorRecords(engine, config)
        self.dlq = DeadLetterQueue(engine, config, database_id=lambda: self.secrets.plain(DATABASE))
        self.starting = Starting(engine, config, self.secrets, errors=self.errors, dlq=self.dlq)

    def records(self) -> list[dict[str, Any]]:
        return self.errors.list()["errors"]

    def entries(self) -> list[dict[str, Any]]:
        return self.dlq.list()["entries"]


@pytest.fixture
def infisical() -> Iterator[Serving]:
    with Serving(InfisicalStandIn(VALUES)) as serving:
        yield serving


@pytest.fixture
def begun(sqlite_url: str, tmp_path: Path, infisical: Serving) -> Iterator[Callable[..., Started]]:
    made: list[Any] = []
    with Holdfast(
        sqlite_url, tables={"collabiq": "collabiq.tables"}, clock=ManualClock()
    ) as engine:

        def make(
            *, env_file: str | None = None, environment=None, timeout_s=10.0, **given: Any
        ) -> Started:
            path = tmp_path / ".env"
            if env_file is not None:
                path.write_text(env_file, "utf-8")
            settings = InfisicalSettings(
                host=infisical.url, project_id="p", client_id=CLIENT_ID, client_secret=CLIENT_SECRET
            )
            source = InfisicalSource(settings)
            guarded = GuardedSource(source, timeout_s=timeout_s, sleep=lambda _: None)
            config = Config(
                email_address="collab@example.com",
                data_dir=tmp_path / "data",
                env_file=path,
                infisical=InfisicalConfig(enabled=True, project_id="p", **given),
            )
            started = Started(engine, config, guarded, environment)
            made.append((source, started))
            return started

        yield make
        for source, started in made:
            source.close()
            started.dlq.mirror.close()


def written(values: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())


def test_all_secrets_are_there_with_one_sign_in_and_one_request(begun, infisical: Serving):
    started = begun()

    began = time.monotonic()
    found = started.starting.begin()
    took_s = time.monotonic() - began

    assert {name: each.value for name, each in found.items()} == VALUES
    assert {each.origin for each in found.values()} == {"infisical"}
    assert len(infisical.calls) == 2
    assert took_s < 5.0
    assert (started.records(), started.entries()) == ([], [])


def test_a_file_that_is_complete_takes_infisicals_place_with_a_warning_and_no_entry(
    begun, infisical: Serving
):
    infisical.close()
    started = begun(env_file=written(VALUES))

    found = started.starting.begin()

    (record,) = started.records()
    assert {each.origin for each in found.values()} == {"env_file"}
    assert (record["severity"], record["category"]) == ("WARNING", "TRANSIENT")
    assert record["context"]["operation"] == "infisical_fetch"
    assert record["context"]["email_id"] == "startup"
    assert started.entries() == []


def test_a_fallback_leaves_an_entry_as_well_where_that_is_wanted(begun, infisical: Serving):
    infisical.fault = "forbidden"
    started = begun(env_file=written(VALUES), dlq_always=True)

    started.starting.begin()

    (entry,) = started.entries()
    assert (entry["operation_type"], entry["email_id"]) == ("infisical_fetch", "startup")
    assert (entry["status"], entry["processed"]) == ("pending", False)
    assert started.records()[0]["category"] == "CRITICAL"


@pytest.mark.parametrize("env_file", [None, written({"GEMINI_API_KEY": "from-the-file-1"})])
def test_a_start_without_all_secrets_is_refused_with_the_names_that_lack(
    begun, infisical: Serving, env_file
):
    infisical.close()
    started = begun(env_file=env_file)
    missing = [name for name in REQUIRED_SECRETS if not env_file or name != "GEMINI_API_KEY"]

    with pytest.raises(MissingAtStart) as refused:
        started.starting.begin()

    (entry,) = started.entries()
    assert isinstance(refused.value, UsageError), "the exit code is 2"
    assert list(refused.value.names) == missing
    assert all(name in str(refused.value) for name in missing)
    assert "from-the-file-1" not in f"{refused.value} {json.dumps(entry)}"
    assert (entry["email_id"], entry["operation_type"]) == ("startup", "infisical_fetch")
    assert entry["original_payload"]["names"] == missing
    assert {each["severity"] for each in started.records()} == {"WARNING", "CRITICAL"}


def test_a_second_start_that_fails_alike_leaves_no_second_entry_and_a_good_one_closes_it(
    begun, infisical: Serving
):
    known = infisical.stand_in.secrets.pop("NOTION_API_KEY")
    for _ in range(2):
        failing = begun()
        failing.engine.clock.advance(60)
        with pytest.raises(MissingAtStart):
            failing.starting.begin()
    before = begun().entries()
    infisical.stand_in.secrets["NOTION_API_KEY"] = known

    started = begun()
    started.starting.begin()

    assert [entry["status"] for entry in before] == ["pending"]
    (entry,) = started.entries()
    assert (entry["status"], entry["processed"]) == ("completed", True)


def test_an_outage_after_the_start_is_recorded_once_and_the_last_values_count(
    begun, infisical: Serving
):
    started = begun(cache_ttl_s=60)
    started.starting.begin()
    infisical.fault = "unauthorized"

    values = []
    for now_s in (61, 130, 200):
        started.now_s = now_s
        values.append(started.secrets.get("NOTION_API_KEY"))
    infisical.fault = None
    started.now_s = 300
    started.secrets.get("NOTION_API_KEY")
    infisical.fault = "unauthorized"
    started.now_s = 400
    started.secrets.get("NOTION_API_KEY")

    assert values == [VALUES["NOTION_API_KEY"]] * 3
    records = started.records()
    assert [each["severity"] for each in records] == ["WARNING"] * 2, "one for each outage"
    assert {each["context"]["email_id"] for each in records} == {"inbox"}


def test_a_rotated_secret_is_used_after_its_time_or_when_the_old_one_was_refused(
    begun, infisical: Serving
):
    started = begun(cache_ttl_s=60)
    started.starting.begin()
    infisical.stand_in.rotate("NOTION_API_KEY", "value-of-notion-2")

    within = started.secrets.get("NOTION_API_KEY")
    fresh = started.secrets.get("NOTION_API_KEY", fresh=True)
    infisical.stand_in.rotate("NOTION_API_KEY", "value-of-notion-3")
    started.now_s = 61
    after = started.secrets.get("NOTION_API_KEY")

    assert [within, fresh, after] == [
        VALUES["NOTION_API_KEY"],
        "value-of-notion-2",
        "value-of-notion-3",
    ]


def test_values_are_hidden_before_they_are_used_and_ids_of_databases_are_not(begun):
    started = begun()
    started.starting.begin()

    path = started.errors.record(
        f"refused {VALUES['NOTION_API_KEY']} for {VALUES[DATABASE]}",
        at=START,
        operation="notion_write",
    )

    assert VALUES["NOTION_API_KEY"] not in path.read_text("utf-8")
    assert started.secrets.plain(DATABASE) == VALUES[DATABASE]
    assert VALUES[DATABASE] in path.read_text("utf-8")
    with pytest.raises(ValueError, match="is a secret"):
        started.secrets.plain("NOTION_API_KEY")


def test_the_parts_of_a_document_are_hidden_like_the_whole(begun, infisical: Serving):
    token = {"refresh_token": "1//refresh-me-please", "client_secret": "GOCSPX-of-a-client"}
    infisical.stand_in.rotate("GMAIL_TOKEN", json.dumps(token))
    started = begun()
    started.starting.begin()

    path = started.errors.record(
        f"refused {token['refresh_token']} of {token['client_secret']}",
        at=START,
        operation="gmail_fetch",
    )

    assert not any(value in path.read_text("utf-8") for value in token.values())


def test_a_secret_that_nobody_has_is_refused_by_its_name(begun):
    started = begun()

    with pytest.raises(SecretUnavailable, match="GMAIL_ENCRYPTION_KEY"):
        started.secrets.get("GMAIL_ENCRYPTION_KEY")


def test_infisical_is_tried_twice_and_a_refusal_once(begun, infisical: Serving):
    infisical.fault = "lost_answer"
    begun(env_file=written(VALUES)).starting.begin()
    lost = len(infisical.calls)
    infisical.fault = "unauthorized"
    begun(env_file=written(VALUES)).starting.begin()

    assert (lost, len(infisical.calls) - lost) == (2, 1)


def test_a_server_that_never_answers_is_given_up_within_its_time(begun, infisical: Serving):
    infisical.hanging.set()
    started = begun(env_file=written(VALUES), timeout_s=0.2)

    began = time.monotonic()
    started.starting.begin()

    assert time.monotonic() - began < 8.0
    assert "within 0.2 seconds" in started.records()[0]["message"]


def test_the_waits_of_an_outage_stay_below_its_bounds(infisical: Serving):
    waits: list[float] = []
    infisical.close()
    source = InfisicalSource(
        InfisicalSettings(host=infisical.url, project_id="p", client_id="i", client_secret="s")
    )
    guarded = GuardedSource(source, sleep=waits.append)

    with pytest.raises(Exception, match="no answer of Infisical"):
        guarded.fetch()
    source.close()

    assert sum(waits) <= 3.0, "refused connections cost 4 seconds at most"
    assert 2 * INFISICAL_RETRY_CONFIG.timeout + sum(waits) <= 25.0


def test_three_failures_open_the_breaker_and_infisical_is_left_alone(infisical: Serving):
    infisical.fault = "lost_answer"
    source = InfisicalSource(
        InfisicalSettings(host=infisical.url, project_id="p", client_id="i", client_secret="s")
    )
    guarded = GuardedSource(source, sleep=lambda _: None)

    for _ in range(4):
        with pytest.raises(Exception, match="Infisical"):
            guarded.fetch()
    source.close()

    assert len(infisical.calls) == 3
    assert guarded.guard.gate.value == "open"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('NOTION_API_KEY="quoted value"', "quoted value"),
        ("export NOTION_API_KEY=exported", "exported"),
        ("NOTION_API_KEY=a=b==", "a=b=="),
        ("\ufeffNOTION_API_KEY=after-a-mark", "after-a-mark"),
        ("OTHER=1\r\nNOTION_API_KEY=windows\r\n", "windows"),
    ],
)
def test_a_file_is_read_as_dotenv_reads_it(tmp_path: Path, text, value):
    path = tmp_path / ".env"
    path.write_bytes(text.encode())

    secrets = SystemSecrets(Config(env_file=path), {"NOTION_API_KEY": "of-the-environment"})

    assert secrets.get("NOTION_API_KEY") == value
