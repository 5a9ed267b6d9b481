"""API tokens: shown once, kept as a hash, good until they are revoked."""

import hashlib
import re

import pytest

from holdfast import UsageError
from holdfast.errors import InvalidValue, UnknownToken
from holdfast.redaction import Redactor
from holdfast.secrecy import redacted

NOBODY = "0190aaaa-0000-7000-8000-000000000000"


def test_a_token_lets_its_bearer_in_with_its_role_and_owner(app):
    view, secret = app.tokens.create("shop", role="submitter", owner="shop", by="ada")

    assert app.tokens.authenticate(secret) == view
    assert (view.name, view.role, view.owner, view.created_by) == (
        *("shop", "submitter", "shop"),
        "ada",
    )
    assert app.tokens.get(view.id) == view


def test_a_token_cannot_be_guessed_and_no_two_are_alike(open_app):
    app = open_app(chance=None)
    secrets = {app.tokens.create("shop", role="reader", by="ada")[1] for _ in range(20)}

    assert len(secrets) == 20
    assert all(re.fullmatch(r"hf_[A-Za-z0-9]{43}", secret) for secret in secrets)


def test_only_a_hash_of_a_token_is_kept_and_no_record_or_log_shows_it(app):
    view, secret = app.tokens.create("shop", role="reader", by="ada")

    stored = app.store.tokens.get(view.id)
    assert stored.hash == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in repr((stored, view, app.audit(), view.to_document()))
    assert secret not in redacted(f"Authorization: Bearer {secret}")
    assert secret not in redacted(f"it was {secret}, they say")
    # Also where nobody knows this very token.
    assert secret not in Redactor().text(f"it was {secret}, they say")


def test_a_token_is_a_secret_as_soon_as_it_is_made_however_it_is_written(app):
    _, secret = app.tokens.create("shop", role="reader", by="ada")
    written = secret.encode().hex()

    assert written not in redacted(f"it was {written}, they say")


@pytest.mark.parametrize(
    "guess",
    ["", "hf_", "hf_" + "A" * 43, "hf_" + "A" * 5000, "Bearer x", "hf_\ud800", "hf_\x00", "hf_é"],
)
def test_what_is_no_token_lets_nobody_in(app, guess):
    app.tokens.create("shop", role="operator", by="ada")

    assert app.tokens.authenticate(guess) is None


def test_a_token_with_one_letter_changed_lets_nobody_in(app):
    _, secret = app.tokens.create("shop", role="operator", by="ada")
    last = "A" if secret[-1] != "A" else "B"

    assert app.tokens.authenticate(secret[:-1] + last) is None
    assert app.tokens.authenticate(secret + "A") is None
    assert app.tokens.authenticate(secret.lower()) is None


def test_a_revoked_token_lets_nobody_in_and_the_others_go_on(app, clock):
    view, secret = app.tokens.create("shop", role="operator", by="ada")
    other, others = app.tokens.create("bank", role="operator", by="ada")
    clock.advance(5)

    revoked = app.tokens.revoke(view.id, by="bob", reason="lost")
    again = app.tokens.revoke(view.id, by="eve")

    assert app.tokens.authenticate(secret) is None
    assert app.tokens.authenticate(others) == other
    assert revoked.revoked
    assert again == revoked
    assert [token.id for token in app.tokens.list()] == [other.id, view.id]
    record = [(entry.action, entry.done_by) for entry in app.audit(subject=view.id)]
    assert record == [("revoked", "bob"), ("created", "ada")]


def test_a_store_whose_tokens_are_all_revoked_still_asks_for_one(app):
    assert app.tokens.exist() is False
    view, _ = app.tokens.create("shop", role="operator", by="ada")
    app.tokens.revoke(view.id, by="ada")

    assert app.tokens.exist() is True


@pytest.mark.parametrize("token_id", [NOBODY, "no id", "", "\x00", None])
def test_an_unknown_token_cannot_be_revoked(app, token_id):
    with pytest.raises(UnknownToken, match="check the id"):
        app.tokens.revoke(token_id, by="ada")


@pytest.mark.parametrize(
    "given",
    [{"role": "queen"}, {"role": None}, {"name": ""}, {"name": "a\nb"}, {"owner": ""}, {"by": ""}],
)
def test_a_token_says_who_it_is_for_and_what_they_may_do(app, given):
    terms = {"name": "shop", "role": "reader", "by": "ada", **given}

    with pytest.raises(InvalidValue):
        app.tokens.create(**terms)
    assert app.tokens.list() == []


def test_an_error_about_a_token_is_the_callers_to_mend():
    assert issubclass(UnknownToken, UsageError)


def test_a_token_may_allow_more_than_its_role_by_name(app):
    view, secret = app.tokens.create(
        "teacher", role="reader", permissions=["shop.refund", "shop.price", "shop.price"], by="ada"
    )

    assert view.permissions == ("shop.price", "shop.refund")
    assert app.tokens.authenticate(secret) == view
    assert view.to_document()["permissions"] == ["shop.price", "shop.refund"]
    [entry] = app.audit()
    assert entry.detail["permissions"] == "shop.price shop.refund"


@pytest.mark.parametrize(
    "wrong",
    [
        {"permissions": ["refund"]},
        {"permissions": ["Shop.Refund"]},
        {"permissions": ["shop.refund\n"]},
        {"permissions": ["shop." + "x" * 64]},
        {"permissions": [f"shop.p{number}" for number in range(51)]},
        {"permissions": ["shop.refund"], "owner": "shop"},
    ],
)
def test_permissions_that_make_no_sense_are_refused(app, wrong):
    with pytest.raises(InvalidValue):
        app.tokens.create("teacher", role="reader", by="ada", **wrong)

    assert app.tokens.list() == []
