from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collabiq.secrets import (
    InfisicalFailure,
    InfisicalSettings,
    InfisicalSource,
    MissingSecrets,
    SecretProvider,
    env_file_values,
)
from collabiq.stand_ins.infisical import CLIENT_ID, CLIENT_SECRET, InfisicalStandIn
from collabiq.stand_ins.serving import Serving


@pytest.fixture
def infisical() -> Iterator[Serving]:
    with Serving(InfisicalStandIn({"GEMINI_API_KEY": "key-1", "EMPTY": ""})) as serving:
        yield serving


@pytest.fixture
def made_source() -> Iterator[Callable[..., InfisicalSource]]:
    made = []

    def make(url: str, **given) -> InfisicalSource:
        usual = {"project_id": "p", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        made.append(InfisicalSource(InfisicalSettings(host=url, **(usual | given))))
        return made[-1]

    yield make
    for each in made:
        each.close()


class Told:
    """A provider with a clock of its own, and what it told."""

    def __init__(self, source, *, environment=None, env_file=None, ttl_s=60) -> None:
        self.now = 0.0
        self.failures: list[InfisicalFailure] = []
        self.values: list[str] = []
        self.provider = SecretProvider(
            source=source,
            environment=environment or {},
            env_file=env_file,
            ttl_s=ttl_s,
            clock=lambda: self.now,
            on_failure=self.failures.append,
            on_values=self.values.extend,
        )

    def get(self, name: str = "GEMINI_API_KEY"):
        found = self.provider.get(name)
        return (found.value, found.origin) if found else None


def test_secrets_come_with_one_sign_in_and_one_request(infisical: Serving, made_source):
    source = made_source(infisical.url)

    assert source.fetch() == {"GEMINI_API_KEY": "key-1", "EMPTY": ""}
    assert source.fetch()["GEMINI_API_KEY"] == "key-1"
    assert infisical.stand_in.logins == 1
    assert len(infisical.calls) == 3


def test_a_session_that_has_ended_is_begun_again(infisical: Serving, made_source):
    source = made_source(infisical.url)
    source.fetch()
    infisical.stand_in.expire_tokens()

    assert source.fetch()["GEMINI_API_KEY"] == "key-1"
    assert infisical.stand_in.logins == 2


def test_wrong_credentials_are_refused_once_and_not_repeated_in_words(
    infisical: Serving, made_source
):
    source = made_source(infisical.url, client_secret="wrong-secret")

    with pytest.raises(InfisicalFailure) as failed:
        source.fetch()

    assert failed.value.refused
    assert "wrong-secret" not in f"{failed.value} {failed.value.__cause__}"
    assert len(infisical.calls) == 1


@pytest.mark.parametrize("fault", ["lost_answer", "no_json", "forbidden"])
def test_a_failure_costs_one_request(infisical: Serving, made_source, fault):
    infisical.fault = fault

    with pytest.raises(InfisicalFailure):
        made_source(infisical.url).fetch()

    assert len(infisical.calls) == 1


def test_no_answer_is_given_up_in_time(infisical: Serving, made_source):
    infisical.hanging.set()

    with pytest.raises(InfisicalFailure):
        made_source(infisical.url, timeout_s=0.3).fetch()

    assert len(infisical.calls) == 1


def test_a_refused_connection_is_told_at_once(made_source):
    with Serving(InfisicalStandIn()) as gone:
        url = gone.url

    with pytest.raises(InfisicalFailure) as failed:
        made_source(url).fetch()

    assert not failed.value.refused


def test_a_value_is_fetched_again_after_its_time(infisical: Serving, made_source):
    told = Told(made_source(infisical.url))

    first = told.get()
    infisical.stand_in.rotate("GEMINI_API_KEY", "key-2")
    told.now = 59
    within = told.get()
    told.now = 60
    after = told.get()

    assert [first, within, after] == [
        ("key-1", "infisical"),
        ("key-1", "infisical"),
        ("key-2", "infisical"),
    ]


def test_a_value_that_was_refused_is_renewed_at_once_or_is_none(infisical: Serving, made_source):
    told = Told(made_source(infisical.url))
    told.get()

    unchanged = told.provider.renewed("GEMINI_API_KEY", refused="key-1")
    infisical.stand_in.rotate("GEMINI_API_KEY", "key-2")
    changed = told.provider.renewed("GEMINI_API_KEY", refused="key-1")

    assert unchanged is None
    assert changed.value == "key-2"


def test_last_good_values_count_while_infisical_fails_and_one_outage_is_told_once(
    infisical: Serving, made_source
):
    told = Told(made_source(infisical.url), environment={"GEMINI_API_KEY": "of the environment"})
    told.get()
    infisical.fault = "lost_answer"

    found = []
    for minute in range(1, 4):
        told.now = 60.0 * minute
        found.append(told.get())
    infisical.fault = None
    told.now = 300
    found.append(told.get())
    infisical.fault = "lost_answer"
    told.now = 400
    told.get()

    assert found == [*[("key-1", "cache")] * 3, ("key-1", "infisical")]
    assert len(told.failures) == 2


def test_file_and_environment_follow_in_this_order(infisical: Serving, made_source, tmp_path: Path):
    file = tmp_path / ".env"
    file.write_text("GEMINI_API_KEY=of the file\nONLY_FILE=f\n")
    environment = {
        "GEMINI_API_KEY": "of the environment",
        "ONLY_ENVIRONMENT": "e",
        "ONLY_FILE": "x",
    }
    infisical.fault = "lost_answer"
    told = Told(made_source(infisical.url), environment=environment, env_file=file)

    assert told.get() == ("of the file", "env_file")
    assert told.get("ONLY_FILE") == ("f", "env_file")
    assert told.get("ONLY_ENVIRONMENT") == ("e", "environment")
    assert told.get("NOWHERE") is None


def test_while_infisical_is_down_it_is_asked_once_a_time(infisical: Serving, made_source):
    infisical.fault = "lost_answer"
    told = Told(made_source(infisical.url), environment={"GEMINI_API_KEY": "e"})

    for _ in range(5):
        told.get()

    assert len(infisical.calls) == 1


def test_while_infisical_is_down_even_a_time_of_nothing_leaves_it_alone_for_a_while(
    infisical: Serving, made_source
):
    infisical.fault = "lost_answer"
    told = Told(made_source(infisical.url), environment={"GEMINI_API_KEY": "e"}, ttl_s=0)

    told.get()
    told.now = 9
    told.get()
    asked_within = len(infisical.calls)
    told.now = 10
    told.get()

    assert (asked_within, len(infisical.calls)) == (1, 2)


def test_every_value_is_told_before_anybody_gets_it(infisical: Serving, made_source):
    told = Told(made_source(infisical.url), environment={"OTHER": "of the environment"})

    told.get()
    told.get("OTHER")

    assert {"key-1", "of the environment"} <= set(told.values)
    assert "" not in told.values


def test_what_is_missing_is_named_and_no_value_is(infisical: Serving, made_source):
    told = Told(made_source(infisical.url))

    with pytest.raises(MissingSecrets) as failed:
        told.provider.require(["GEMINI_API_KEY", "EMPTY", "NOTION_API_KEY"])

    assert failed.value.names == ("EMPTY", "NOTION_API_KEY")
    assert "key-1" not in str(failed.value)


def test_without_infisical_there_is_the_environment():
    assert Told(None, environment={"GEMINI_API_KEY": "e"}).get() == ("e", "environment")


@pytest.mark.parametrize("ttl_s", [-1, 3_601])
def test_a_time_out_of_range_is_refused(ttl_s):
    with pytest.raises(ValueError, match="INFISICAL_CACHE_TTL"):
        Told(None, ttl_s=ttl_s)


def test_a_time_of_nothing_asks_every_time(infisical: Serving, made_source):
    told = Told(made_source(infisical.url), ttl_s=0)

    told.get()
    told.get()

    assert len(infisical.asked("GET", "/secrets/raw")) == 2


def test_a_file_is_read_as_python_dotenv_reads_it(tmp_path: Path):
    file = tmp_path / ".env"
    file.write_bytes(
        b"\xef\xbb\xbfexport FIRST=one\r\nQUOTED=\"a b\"\r\nSINGLE='c # d'\r\nEQUALS=a=b==\r\n"
        b"# comment\r\nSPACED = x \r\nDOLLAR=$HOME\r\nNOTHING\r\n"
    )

    assert env_file_values(file) == {
        "FIRST": "one",
        "QUOTED": "a b",
        "SINGLE": "c # d",
        "EQUALS": "a=b==",
        "SPACED": "x",
        "DOLLAR": "$HOME",
    }


def test_a_file_that_is_not_there_or_no_text_has_nothing(tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

    assert env_file_values(None) == {}
    assert env_file_values(tmp_path / "absent") == {}
    assert env_file_values(tmp_path / "binary") == {}


def test_nothing_that_is_printed_has_a_value():
    settings = InfisicalSettings(project_id="p", client_id="i", client_secret="hush-hush")
    found = Told(None, environment={"GEMINI_API_KEY": "hush-hush"}).provider.get("GEMINI_API_KEY")

    assert "hush-hush" not in f"{settings!r} {found!r}"
