"""Names are read word by word: what holds a secret, and what is only about one."""

import pytest

from holdfast.redaction.patterns.key_names import KeyNames, words_of

names = KeyNames()


@pytest.mark.parametrize(
    "name",
    [
        *("password", "Password", "PASSWORD", "passwd", "pwd", "db_password_2", "dbPassword"),
        *("PGPASSWORD", "MYSQL_PWD", "SMTP_PASS", "pass", "passphrase", "new-password"),
        *("passwordConfirm", "password_hash", "user.password", "contraseña", "contrasen\u0303a"),
        *("contrase\\u00f1a", "passwort", "kennwort", "mot_de_passe", "пароль", "密码"),
        *("secret", "clientSecret", "CLIENT-SECRET", "client_secret_key", "secrets", "secret_id"),
        *("token", "access_token", "refreshToken", "X-Auth-Token", "x-vault-token", "apitoken"),
        *("api_key", "apiKey", "APIKey", "apikey", "X-Api-Key", "api.key", "aws_secret_access_key"),
        *(
            "AccountKey",
            "SharedAccessKey",
            "signing_key",
            "encryptionkey",
            "Ocp-Apim-Subscription-Key",
        ),
        *("private_key", "privateKey", "ssh_key", "private-key-pem-2", "code_verifier"),
        *("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "cookies"),
        *("session_id", "csrf", "dsn", "credentials", "auth", "signature", "X-Amz-Signature"),
        *("otp", "pin", "cvv", "ssn", "cardNumber", "phone", "mobile", "code", "api_keys"),
    ],
)
def test_a_name_for_a_secret_is_known(name):
    assert names.sensitivity(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        *("author", "authority", "tokenizer", "monkey", "keyboard", "passenger", "compass"),
        *("primary_key", "idempotency_key", "foreign_key", "public_key", "key", "key_id", "keys"),
        *("token_count", "max_tokens", "token_type", "token_expires_in", "next_page_token"),
        *("lease_token", "cancellation_token", "idempotency_token", "tokenUrl", "password_policy"),
        *(
            "password_file",
            "password_changed_at",
            "secret_name",
            "secretVersion",
            "imagePullSecrets",
        ),
        *(
            "api_key_id",
            "api_key_name",
            "private_key_id",
            "cookie_domain",
            "first_pass",
            "low_pass",
        ),
        *(
            "token.py",
            "auth.py",
            "secrets.yaml",
            "password_reset_url",
            "spin",
            "mapping",
            "",
            "_",
            "7",
        ),
        *("error_code", "status_code", "userAgent", "phone_type", "passport_office_hours"),
    ],
)
def test_a_name_for_something_else_is_left_alone(name):
    assert names.sensitivity(name) is None


def test_only_the_end_of_a_very_long_name_counts():
    assert names.sensitivity("x_" * 500 + "password") is not None
    assert names.sensitivity("password" + "_x" * 500) is None


def test_words_are_found_whatever_joins_them():
    assert words_of("getHTTPToken2_for-the.User") == ("get", "http", "token", "for", "the", "user")


def test_phones_can_be_left_alone():
    assert KeyNames(phones=False).sensitivity("phone") is None
    assert KeyNames(phones=False).sensitivity("password") is not None
