"""Secrets by name: who is asked and how often, and what happens while nobody answers."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.classify import ProviderError, classify
from holdfast.core.values.failure import Category
from holdfast.core.values.instant import Instant
from holdfast.errors import InvalidValue, UsageError
from holdfast.secrecy import OF_THIS_PROCESS, redacted
from holdfast.secrets import Environment, Folder, Secrets, SecretUnavailable
from holdfast.secrets.source import AWAY_S

PATIENCE_S = 20


class Vault:
    """A provider whose values change, and that can be away."""

    def __init__(self, **values: str) -> None:
        self.values: dict[str, object] = dict(values)
        self.trouble: Exception | None = None
        self.asked: list[str] = []

    def read(self, name: str) -> str | None:
        self.asked.append(name)
        if self.trouble is not None:
            raise self.trouble
        return self.values.get(name)  # type: ignore[return-value] # some tests break the promise


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at_s = 100.0

    def __call__(self) -> float:
        return self.at_s


@pytest.fixture
def hand() -> Hand:
    return Hand()


def test_a_value_counts_for_its_time_and_then_the_next_use_has_the_new_one(hand):
    vault = Vault(KEY="Qp4-first-7Tz")
    secrets = Secrets(vault, ttl=60, now_s=hand)

    first = secrets.get("KEY")
    vault.values["KEY"] = "Qp4-second-8Ux"
    hand.at_s += 59.9
    same = secrets.get("KEY")
    hand.at_s += 0.1
    second = secrets.get("KEY")

    assert (first, same, second) == ("Qp4-first-7Tz", "Qp4-first-7Tz", "Qp4-second-8Ux")
    assert vault.asked == ["KEY", "KEY"]


def test_without_a_time_the_provider_is_asked_at_every_use(hand):
    vault = Vault(KEY="Qp4-first-7Tz")
    secrets = Secrets(vault, ttl=0, now_s=hand)

    assert secrets.get("KEY") == "Qp4-first-7Tz"
    vault.values["KEY"] = "Qp4-second-8Ux"
    assert secrets.get("KEY") == "Qp4-second-8Ux"


def test_a_refused_value_can_be_asked_for_anew(hand):
    vault = Vault(KEY="Qp4-first-7Tz")
    secrets = Secrets(vault, ttl=60, now_s=hand)
    secrets.get("KEY")
    vault.values["KEY"] = "Qp4-second-8Ux"

    assert secrets.get("KEY", fresh=True) == "Qp4-second-8Ux"
    assert secrets.get("KEY") == "Qp4-second-8Ux"


def test_old_and_new_values_are_hidden():
    vault = Vault(KEY="Qp4-older-3Rw")
    secrets = Secrets(vault, ttl=0)
    secrets.get("KEY")
    vault.values["KEY"] = "Qp4-newer-5Sv"
    secrets.get("KEY")

    shown = redacted("Qp4-older-3Rw was refused, Qp4-newer-5Sv was not")

    assert "Qp4" not in shown


def test_a_value_is_hidden_when_the_first_of_many_threads_has_it():
    def is_shown(number: int) -> bool:
        value = secrets.get(f"KEY_{number % 50}")
        return value in redacted(f"refused for {value}")

    secrets = Secrets(
        Vault(**{f"KEY_{number}": f"Qp4-{number}-of-many-2Kd" for number in range(50)})
    )
    with ThreadPoolExecutor(8) as pool:
        assert not any(pool.map(is_shown, range(400)))


def test_a_value_in_use_stays_hidden_however_many_others_are_named():
    secrets = Secrets(Vault(KEY="Qp4-in-use-9Lm"), ttl=60)
    secrets.get("KEY")
    OF_THIS_PROCESS.keep(f"Qp5-filler-{number}-k9Zx3" for number in range(1_000))
    assert "Qp4-in-use-9Lm" not in OF_THIS_PROCESS.values

    secrets.get("KEY")

    assert "Qp4" not in redacted("refused for Qp4-in-use-9Lm")


def test_of_a_document_what_is_secret_in_it_is_hidden_by_itself():
    token = {
        "installed": {"client_secret": "Qp4-of-a-client-6Yt"},
        "refresh_token": "Qp4-refreshes-1Wd",
        "token_uri": "https://oauth2.example.org/token",
    }
    secrets = Secrets(Vault(TOKEN=json.dumps(token)))

    assert json.loads(secrets.get("TOKEN")) == token
    shown = redacted(
        "Qp4-of-a-client-6Yt and Qp4-refreshes-1Wd at https://oauth2.example.org/token"
    )
    assert "Qp4" not in shown
    assert "https://oauth2.example.org/token" in shown


def test_while_the_provider_is_away_the_last_good_value_counts_and_one_line_says_so(hand, caplog):
    vault = Vault(KEY="Qp4-last-good-4Fs", OTHER="Qp4-other-3Gh")
    secrets = Secrets(vault, ttl=60, now_s=hand)
    secrets.get("KEY")
    secrets.get("OTHER")
    vault.trouble = ConnectionRefusedError("it quotes Qp4-unknown-0Aa")

    with caplog.at_level(logging.INFO, logger="holdfast.secrets"):
        for _ in range(3):
            hand.at_s += 100
            assert secrets.get("KEY") == "Qp4-last-good-4Fs"
            assert secrets.get("OTHER") == "Qp4-other-3Gh"
        away = list(caplog.records)
        vault.trouble = None
        vault.values["KEY"] = "Qp4-is-back-2Vb"
        hand.at_s += 100
        assert secrets.get("KEY") == "Qp4-is-back-2Vb"

    assert [line.event for line in away] == ["secrets_away"]
    assert away[0].levelno == logging.WARNING
    assert [line.event for line in caplog.records] == ["secrets_away", "secrets_back"]
    assert "Qp4" not in caplog.text


def test_a_provider_that_failed_is_left_alone_for_some_seconds(hand):
    vault = Vault()
    vault.trouble = TimeoutError()
    secrets = Secrets(vault, now_s=hand)

    with pytest.raises(UsageError) as caught:
        secrets.require("GEM", "NOTE", "MAIL")

    assert vault.asked == ["GEM"]
    assert "GEM, NOTE, MAIL" in str(caught.value)
    vault.trouble = None
    vault.values = {"GEM": "Qp4-gem-2Bn", "NOTE": "Qp4-note-4Cm", "MAIL": "Qp4-mail-6Dl"}
    hand.at_s += AWAY_S
    secrets.require("GEM", "NOTE", "MAIL")


def test_the_next_provider_is_asked_where_the_first_has_none_or_is_away(hand):
    first, second = Vault(KEY="Qp4-of-first-1Ab"), Vault(KEY="Qp4-of-second-2Bc", B="Qp4-b-3Cd")
    secrets = Secrets(first, second, ttl=0, now_s=hand)

    assert secrets.get("KEY") == "Qp4-of-first-1Ab"
    assert secrets.get("B") == "Qp4-b-3Cd"
    first.trouble = TimeoutError()
    assert secrets.get("KEY") == "Qp4-of-first-1Ab"
    first.trouble = None
    del first.values["KEY"]
    hand.at_s += AWAY_S
    assert secrets.get("KEY") == "Qp4-of-second-2Bc"


def test_a_missing_secret_is_named_and_waits_for_a_person():
    secrets = Secrets(Vault(OTHER="Qp4-not-told-8Ws"))

    with pytest.raises(SecretUnavailable, match="NOTION_API_KEY") as caught:
        secrets.get("NOTION_API_KEY")

    failure = classify(caught.value, (), now=Instant(0))
    assert (failure.retryable, failure.category) == (False, Category.CRITICAL)
    assert not failure.blames_upstream
    assert isinstance(caught.value, ProviderError)


def test_a_provider_that_is_away_is_waited_for_and_does_not_blame_the_upstream():
    class OfSomeSdk(Exception):
        pass

    vault = Vault()
    vault.trouble = OfSomeSdk("Qp4-in-its-words-1Zz")

    with pytest.raises(SecretUnavailable, match=r"KEY .*OfSomeSdk") as caught:
        Secrets(vault).get("KEY")

    failure = classify(caught.value, (), now=Instant(0))
    assert failure.retryable
    assert failure.outcome_known
    assert not failure.blames_upstream
    assert "Qp4" not in failure.message


def test_all_missing_names_are_told_at_once_and_no_value():
    secrets = Secrets(Vault(HAVE="Qp4-have-5Fg", EMPTY=""))

    with pytest.raises(UsageError, match=r"missing: GONE, EMPTY") as caught:
        secrets.require("GONE", "HAVE", "EMPTY")

    assert "Qp4" not in str(caught.value)


def test_threads_that_ask_at_once_share_one_question():
    asked, may_answer = threading.Event(), threading.Event()
    questions = []

    class Slow:
        def read(self, name: str) -> str:
            questions.append(name)
            asked.set()
            assert may_answer.wait(PATIENCE_S)
            return "Qp4-shared-7Hj"

    secrets = Secrets(Slow())
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(secrets.get, "KEY") for _ in range(8)]
        assert asked.wait(PATIENCE_S)
        may_answer.set()

        assert {answer.result(PATIENCE_S) for answer in answers} == {"Qp4-shared-7Hj"}
    assert questions == ["KEY"]


def test_while_one_thread_asks_another_goes_on_with_what_was_good(hand):
    asked, may_answer = threading.Event(), threading.Event()
    answers = iter(["Qp4-before-6Kl", "Qp4-after-8Mn"])

    class Slow:
        def read(self, name: str) -> str:
            answer = next(answers)
            if answer.startswith("Qp4-after"):
                asked.set()
                assert may_answer.wait(PATIENCE_S)
            return answer

    secrets = Secrets(Slow(), ttl=60, now_s=hand)
    secrets.get("KEY")
    hand.at_s += 60
    with ThreadPoolExecutor(1) as pool:
        new = pool.submit(secrets.get, "KEY")
        assert asked.wait(PATIENCE_S)
        assert secrets.get("KEY") == "Qp4-before-6Kl"
        may_answer.set()

        assert new.result(PATIENCE_S) == "Qp4-after-8Mn"
    assert secrets.get("KEY") == "Qp4-after-8Mn"


def test_who_asks_anew_is_not_given_an_answer_from_before():
    asked, may_answer = threading.Event(), threading.Event()
    answers = iter(["Qp4-revoked-1Pq", "Qp4-in-force-2Rs"])

    class Slow:
        def read(self, name: str) -> str:
            answer = next(answers)
            if answer.startswith("Qp4-revoked"):
                asked.set()
                assert may_answer.wait(PATIENCE_S)
            return answer

    secrets = Secrets(Slow())
    with ThreadPoolExecutor(2) as pool:
        pool.submit(secrets.get, "KEY")
        assert asked.wait(PATIENCE_S)
        anew = pool.submit(secrets.get, "KEY", fresh=True)
        threading.Timer(0.05, may_answer.set).start()

        assert anew.result(PATIENCE_S) == "Qp4-in-force-2Rs"


def test_what_is_no_text_is_not_handed_out():
    vault = Vault()
    vault.values["KEY"] = b"Qp4-as-bytes-9Tu"

    with pytest.raises(SecretUnavailable, match="TypeError") as caught:
        Secrets(vault).get("KEY")

    assert "Qp4" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "../passwd", "a/b", ".hidden", "Qp4 with blanks", 7, None])
def test_what_is_no_name_is_refused_and_not_shown(name):
    with pytest.raises(InvalidValue) as caught:
        Secrets(Vault()).get(name)

    assert "Qp4" not in str(caught.value)


def test_a_value_too_plain_to_be_hidden_is_pointed_out_once(caplog):
    secrets = Secrets(Vault(DOOR="kestrel"), ttl=0)

    with caplog.at_level(logging.WARNING, logger="holdfast.secrets"):
        secrets.get("DOOR")
        secrets.get("DOOR")

    assert [line.event for line in caplog.records] == ["secret_too_plain"]
    assert "DOOR" in caplog.text
    assert "kestrel" not in caplog.text


def test_the_environment_has_variables_and_files_that_they_name(tmp_path):
    file = tmp_path / "key"
    file.write_text("Qp4-in-a-file-3Vw\n")
    environment = Environment({"A": " Qp4-given-1Ab ", "B": " ", "C_FILE": str(file)})

    assert environment.read("A") == "Qp4-given-1Ab"
    assert environment.read("B") is None
    assert environment.read("C") == "Qp4-in-a-file-3Vw"
    file.write_text("Qp4-replaced-5Xy\n")
    assert environment.read("C") == "Qp4-replaced-5Xy"
    assert environment.read("D") is None


def test_a_folder_has_a_file_for_each_and_one_that_is_not_there_is_an_outage(tmp_path):
    (tmp_path / "KEY").write_text("Qp4-mounted-7Za\n")

    assert Folder(tmp_path).read("KEY") == "Qp4-mounted-7Za"
    assert Folder(str(tmp_path)).read("OTHER") is None
    with pytest.raises(FileNotFoundError):
        Folder(tmp_path / "gone").read("KEY")


def test_what_is_no_provider_and_no_time_is_refused():
    with pytest.raises(InvalidValue, match="read"):
        Secrets({"KEY": "Qp4-in-a-dict-2Cd"})
    for ttl in (-1, float("nan"), 86_401):
        with pytest.raises(InvalidValue, match="ttl"):
            Secrets(Vault(), ttl=ttl)
    assert "Vault" in repr(Secrets(Vault()))
