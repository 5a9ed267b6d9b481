"""A program's own secrets are found where it keeps them."""

import pytest

from holdfast.redaction import secrets_in_environment, secrets_in_url


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("postgresql://ada:k9Zx3QvT@db/jobs", ["k9Zx3QvT"]),
        ("postgresql://ada:k9%40Zx3@db/jobs", ["k9%40Zx3", "k9@Zx3"]),
        ("postgresql://ada@db/jobs", []),
        ("postgresql://db/jobs?user=ada&password=k9Zx3QvT", ["k9Zx3QvT"]),
        ("postgresql://ada:one@db/jobs?sslpassword=two&sslmode=require", ["one", "two"]),
        ("postgresql://ada:with:colon@[::1]:5432/jobs", ["with:colon"]),
        ("https://k9Zx3QvT7bNw2RfL@api.test/v1", ["k9Zx3QvT7bNw2RfL"]),
        ("redis://:k9Zx3QvT@cache", ["k9Zx3QvT"]),
        ("sqlite:///holdfast.db", []),
        ("postgresql://ada:x@[db/jobs", []),
        ("", []),
    ],
)
def test_the_secrets_of_an_address(url, secrets):
    assert list(secrets_in_url(url)) == secrets


def test_variables_are_secret_by_their_names():
    environment = {
        "OPENAI_API_KEY": "k9Zx3QvT7bNw2RfL",
        "SMTP_PASSWORD": "Lp8YcHs4",
        "HOME": "/home/ada",
        "PWD": "/home/ada",
        "LANG": "C.UTF-8",
        "SSH_AUTH_SOCK": "/tmp/ssh-XK9dQ2vT7bNw/agent.2718",
        "TOKEN_COUNT": "512",
        "API_TOKEN": "",
        "DATABASE_URL": "postgresql://ada:JdGm6VtXa@db/jobs",
        "CRM_LOGIN": "ada/RfLp8YcH",
        "HOLDFAST_SECRET_VARIABLES": "CRM_LOGIN,ABSENT",
    }

    found = set(secrets_in_environment(environment, names={"CRM_LOGIN", "ABSENT"}))

    assert found == {"k9Zx3QvT7bNw2RfL", "Lp8YcHs4", "JdGm6VtXa", "ada/RfLp8YcH"}
