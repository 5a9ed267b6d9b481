import json

from holdfast import Holdfast
from tests.cli.conftest import Command, lines


def made(on_app: Command, *arguments: str) -> dict[str, object]:
    return json.loads(on_app("tokens", "create", *arguments, "--json").stdout)


def test_a_token_is_printed_alone_on_stdout_and_lets_its_bearer_in(
    on_app: Command, app: Holdfast
) -> None:
    result = on_app("tokens", "create", "shop", "--role", "submitter", "--owner", "shop")

    (secret,) = result.stdout.splitlines()
    bearer = app.tokens.authenticate(secret)
    assert bearer is not None
    assert (bearer.name, bearer.role, bearer.owner) == ("shop", "submitter", "shop")
    assert bearer.id in result.stderr
    assert secret not in result.stderr


def test_tokens_are_listed_without_anything_that_lets_somebody_in(on_app: Command) -> None:
    old = made(on_app, "grace", "--role", "operator", "--by", "ada")
    new = made(on_app, "shop", "--role", "reader", "--owner", "shop")

    table = on_app("tokens", "list").stdout
    listed = lines(on_app("tokens", "list", "--json").stdout)

    assert [line["id"] for line in listed] == [new["id"], old["id"]]
    assert "every owner's" in table
    assert "ada" in table
    for secret in (old["token"], new["token"]):
        assert secret not in table
        assert secret not in json.dumps(listed)


def test_a_revoked_token_lets_nobody_in(on_app: Command, app: Holdfast) -> None:
    token = made(on_app, "grace", "--role", "operator")

    said = on_app("tokens", "revoke", token["id"], "--by", "ada", "--reason", "she left")

    assert said.exit_code == 0
    assert "grace is revoked" in said.stdout
    assert app.tokens.authenticate(str(token["token"])) is None
    assert "revoked" in on_app("tokens", "list").stdout
    entry = app.audit(subject_kind="token")[0]
    assert (entry.action, entry.done_by, entry.reason) == ("revoked", "ada", "she left")


def test_an_unknown_token_is_not_found_and_an_unknown_role_is_refused(on_app: Command) -> None:
    missing = on_app("tokens", "revoke", "0197a3c0-0000-7000-8000-000000000000")
    odd = on_app("tokens", "revoke", "no id")
    role = on_app("tokens", "create", "eve", "--role", "queen")

    assert (missing.exit_code, odd.exit_code, role.exit_code) == (3, 3, 2)
    assert "holdfast tokens list" in missing.stderr
    assert on_app("tokens", "list").stdout == ""


def test_a_permission_is_given_by_name_and_listed(on_app: Command, app: Holdfast) -> None:
    token = made(on_app, "ann", "--role", "reader", "--may", "shop.refund", "--may", "shop.price")
    refused = on_app("tokens", "create", "bob", "--role", "reader", "--may", "refund")

    assert token["permissions"] == ["shop.price", "shop.refund"]
    assert "shop.price shop.refund" in on_app("tokens", "list").stdout
    assert app.tokens.get(str(token["id"])).permissions == ("shop.price", "shop.refund")
    assert refused.exit_code == 2
    assert "shop.refund" in refused.stderr
