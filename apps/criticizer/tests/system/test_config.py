"""What an operator sets, and what is refused by the name of the variable."""

import re
from contextlib import suppress
from pathlib import Path

import pytest

from criticizer.config import CriticizerConfig
from criticizer.mail.open import open_mail
from holdfast import Retry, Upstream
from holdfast.errors import InvalidSetting
from holdfast.presets import FULL_JITTER, HOLD_QUEUE
from holdfast.variables import Variables


def test_without_variables_the_repository_here_is_read_by_rules_and_mail_goes_to_a_file():
    usual = CriticizerConfig.from_environment({})

    assert (usual.source.kind, usual.reviewer.provider, usual.mail.provider) == (
        "git",
        "offline",
        "file",
    )
    assert (usual.retry, usual.breaker) == (FULL_JITTER, HOLD_QUEUE)
    assert (usual.fetch_timeout_s, usual.llm_timeout_s) == (30, 120)


def test_every_knob_turns():
    config = CriticizerConfig.from_environment(
        {
            "CHANGES_URL": "https://changes.example.org/diffs",
            "LLM_BASE_URL": "https://models.example.org/v1",
            "LLM_MODEL": "tiny",
            "MAIL_PROVIDER": "postmark",
            "MAIL_FROM": "Reviews <r@example.org>",
            "POSTMARK_SERVER_TOKEN": "secret-token",
            "FETCH_TIMEOUT_MS": "1500",
            "LLM_TIMEOUT_MS": "2500",
            "RETRY_MAX_ATTEMPTS": "2",
            "RETRY_BASE_DELAY_MS": "10",
            "CIRCUIT_WINDOW": "7",
        }
    )

    assert (config.source.kind, config.reviewer.provider, config.reviewer.model) == (
        "url",
        "openai",
        "tiny",
    )
    assert (config.mail.provider, config.mail.sender) == ("postmark", "Reviews <r@example.org>")
    assert (config.fetch_timeout_s, config.llm_timeout_s) == (1.5, 2.5)
    assert (config.retry.attempts, config.retry.base, config.breaker.over_calls) == (2, 0.01, 7)
    assert "secret-token" not in repr(config)


def read_names() -> list[str]:
    given = Variables({}, system="criticizer")
    CriticizerConfig.from_environment(given)
    return sorted(given.readings)


def test_every_variable_is_described_and_no_other():
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[A-Z].*?) \|", text.partition("\n## Settings")[2], re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(read_names())


@pytest.mark.parametrize("name", read_names())
def test_the_systems_name_before_a_variable_sets_it_for_the_criticizer_and_wins(name):
    usual = Variables({}, system="criticizer")
    CriticizerConfig.from_environment(usual)
    own = f"CRITICIZER_{name}"
    given = Variables({own: usual.readings[name].default or "0"}, system="criticizer")
    with suppress(InvalidSetting):
        CriticizerConfig.from_environment(given)

    assert given.readings[name].variable == own


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"MAIL_PROVIDER": "pigeon"}, "MAIL_PROVIDER"),
        ({"MAIL_PROVIDER": "resend"}, "RESEND_API_KEY"),
        ({"MAIL_PROVIDER": "postmark"}, "POSTMARK_SERVER_TOKEN"),
        ({"MAIL_PROVIDER": "smtp"}, "SMTP_URL"),
        ({"CHANGES_SOURCE": "svn"}, "CHANGES_SOURCE"),
        ({"LLM_PROVIDER": "openai"}, "LLM_API_KEY"),
        ({"RETRY_MAX_ATTEMPTS": "none"}, "RETRY_MAX_ATTEMPTS"),
        ({"LLM_TIMEOUT_MS": "0"}, "LLM_TIMEOUT_MS"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(variables, name):
    with pytest.raises(InvalidSetting) as refused:
        CriticizerConfig.from_environment(variables)

    assert refused.value.field == name


class TestMail:
    @pytest.mark.parametrize(
        ("variables", "name"),
        [
            ({}, "file"),
            ({"RESEND_API_URL": "http://127.0.0.1:9"}, "resend"),
            ({"MAIL_PROVIDER": "resend", "RESEND_API_KEY": "re_x"}, "resend"),
            ({"MAIL_PROVIDER": "postmark", "POSTMARK_SERVER_TOKEN": "x"}, "postmark"),
            ({"MAIL_PROVIDER": "smtp", "SMTP_URL": "smtps://u:p@mail.example.org"}, "smtp"),
            ({"MAIL_PROVIDER": "smtp", "SMTP_URL": "smtp+plain://127.0.0.1:2525"}, "smtp"),
        ],
    )
    def test_each_provider_is_opened_with_the_stages_own_policy(self, variables, name):
        config = CriticizerConfig.from_environment(variables)
        policy = Retry(attempts=3)

        mail = open_mail(config.mail, retry=policy, upstream=Upstream("mail"))

        assert mail.name == name
        assert mail.retry is policy

    @pytest.mark.parametrize(
        "url",
        [
            "mail.example.org",
            "http://mail.example.org",
            "smtp://",
            "smtp://h:x",
            "smtp+plain://u:p@mail.example.org",
        ],
    )
    def test_an_address_that_is_none_of_a_mail_server_is_refused_without_its_password(self, url):
        config = CriticizerConfig.from_environment({"MAIL_PROVIDER": "smtp", "SMTP_URL": url})

        with pytest.raises(InvalidSetting) as refused:
            open_mail(config.mail, retry=Retry(), upstream=Upstream("mail"))

        assert refused.value.field == "SMTP_URL"
        assert "u:p" not in str(refused.value)
