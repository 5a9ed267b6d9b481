"""Settings: each is read strictly, and what cannot be used is refused by its name."""

from pathlib import Path

import pytest

from collabiq.settings.config import REQUIRED_SECRETS, Config
from holdfast.errors import InvalidSetting

MAILBOX = {"EMAIL_ADDRESS": "collab@example.com"}


def test_without_any_setting_there_are_the_defaults():
    config = Config.read({})

    assert config.mailbox == "inbox"
    assert config.required_secrets == ()
    assert config.llm_order == ("offline",)
    assert (config.poll_interval_s, config.notion_rate_per_s) == (15.0, 3.0)
    assert (config.confidence_threshold, config.notion_lookup_lag_s) == (0.85, 5.0)
    assert (config.circuit_mode, config.circuit_cooldown_s) == ("fail-fast", None)
    assert (config.data_dir, config.env_file) == (Path("data"), Path(".env"))


def test_the_own_name_before_a_variable_wins():
    given = {"POLL_INTERVAL_MS": "1000", "COLLABIQ_POLL_INTERVAL_MS": "2000"}

    assert Config.read(given).poll_interval_s == 2.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMAIL_ADDRESS", "nobody"),
        ("EMAIL_ADDRESS", "a@b@c"),
        ("POLL_INTERVAL_MS", "0"),
        ("POLL_INTERVAL_MS", "soon"),
        ("GMAIL_API_URL", "file:///etc/passwd"),
        ("GMAIL_TOKEN_URI", "gopher://x"),
        ("GEMINI_API_URL", "example.com"),
        ("NOTION_API_URL", "http://"),
        ("INFISICAL_HOST", "ftp://x"),
        ("GMAIL_BACKFILL_DAYS", "-1"),
        ("LLM_ORDER", "gemini,gemini"),
        ("LLM_ORDER", "claude"),
        ("NOTION_RATE_LIMIT_PER_SEC", "0"),
        ("NOTION_DUPLICATE_STRATEGY", "delete"),
        ("NOTION_LOOKUP_LAG_MS", "-5"),
        ("NOTION_FIELD_MAP", "{"),
        ("NOTION_FIELD_MAP", '{"nothing": "x"}'),
        ("NOTION_CREATE_COMPANIES", "yes"),
        ("CONFIDENCE_THRESHOLD", "85"),
        ("CIRCUIT_MODE", "open"),
        ("CIRCUIT_COOLDOWN_MS", "0"),
        ("INFISICAL_CACHE_TTL", "3601"),
        ("INFISICAL_ENABLED", "true"),
        ("INFISICAL_DLQ_ALWAYS", "2"),
        ("DATA_MIN_FREE_BYTES", "1 GB"),
        ("GEMINI_USD_PER_MILLION_IN", "cheap"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(name, value):
    with pytest.raises(InvalidSetting) as refused:
        Config.read({name: value})

    assert name in str(refused.value)


@pytest.mark.parametrize("missing", ["PROJECT_ID", "CLIENT_ID", "CLIENT_SECRET"])
def test_infisical_needs_who_asks_and_for_what(missing):
    given = {f"INFISICAL_{name}": "x" for name in ("PROJECT_ID", "CLIENT_ID", "CLIENT_SECRET")}
    given |= {"INFISICAL_ENABLED": "1", f"INFISICAL_{missing}": ""}

    with pytest.raises(InvalidSetting, match=f"INFISICAL_{missing}"):
        Config.read(given)


@pytest.mark.parametrize(
    ("given", "needless"),
    [
        ({}, set()),
        ({"GMAIL_TOKEN_PATH": "token.json"}, {"GMAIL_TOKEN"}),
        ({"LLM_ORDER": "offline"}, {"GEMINI_API_KEY"}),
        ({"LLM_ORDER": "gemini,offline"}, set()),
    ],
)
def test_what_is_required_follows_from_what_is_used(given, needless):
    assert set(Config.read(MAILBOX | given).required_secrets) == set(REQUIRED_SECRETS) - needless


def test_no_secret_stands_in_what_a_config_shows_of_itself():
    given = {
        "INFISICAL_ENABLED": "1",
        "INFISICAL_PROJECT_ID": "p",
        "INFISICAL_CLIENT_ID": "i",
        "INFISICAL_CLIENT_SECRET": "a-secret-of-a-machine",
        "NOTION_API_KEY": "a-key-of-notion",
    }

    shown = repr(Config.read(given))

    assert "a-secret-of-a-machine" not in shown
    assert "a-key-of-notion" not in shown
