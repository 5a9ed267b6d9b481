"""What a store promises about API tokens."""

from typing import Any

from holdfast.core.values.role import Role
from holdfast.store.contract import Store
from holdfast.store.credentials.tokens import SUBJECT, TokenRow
from holdfast.store.tables.audit import AuditEntry
from holdfast.testing.conformance.samples import NOW, after, entries, next_id


def a_token(**changes: Any) -> TokenRow:
    """A token that is not stored yet."""
    token_id = next_id()
    token = TokenRow(
        id=token_id,
        name="it's % \\ odd",
        role=Role.OPERATOR,
        owner=None,
        hash=f"hash of {token_id}",
        created_at=NOW,
        created_by="ada",
    )
    return token._replace(**changes)


def about(token: TokenRow, action: str) -> AuditEntry:
    """What the record says of a token."""
    return AuditEntry(NOW, "ada", action, SUBJECT, token.id, "why", detail={"name": token.name})


def added(store: Store, **changes: Any) -> TokenRow:
    """A token as the store has it."""
    token = a_token(**changes)
    store.tokens.add(token, audit=about(token, "created"))
    return token


class TokenConformance:
    """What `tokens` promises."""

    def test_permissions_are_kept_with_a_token(self, store: Store) -> None:
        token = added(store, permissions=("shop.price", "shop.refund"))

        assert store.tokens.of_hash(token.hash) == token
        assert [row.permissions for row in store.tokens.all()] == [token.permissions]

    def test_a_token_is_found_by_its_id_and_by_its_hash(self, store: Store) -> None:
        token = added(store, role=Role.READER, owner="ada")
        added(store)

        assert store.tokens.get(token.id) == token
        assert store.tokens.of_hash(token.hash) == token
        assert store.tokens.of_hash(token.id) is None
        assert store.tokens.get(next_id()) is None

    def test_every_token_is_listed_the_newest_first(self, store: Store) -> None:
        tokens = [added(store) for _ in range(3)]

        assert store.tokens.all() == tokens[::-1]

    def test_an_empty_owner_is_not_every_owner(self, store: Store) -> None:
        nobody, everybody = added(store, owner=""), added(store, owner=None)

        assert store.tokens.of_hash(nobody.hash) == nobody
        assert store.tokens.of_hash(everybody.hash) == everybody

    def test_a_token_is_written_with_its_record_once(self, store: Store) -> None:
        token = added(store)
        store.tokens.add(token, audit=about(token, "created"))

        assert entries(store) == [about(token, "created")]
        assert store.tokens.all() == [token]

    def test_a_token_is_revoked_once_and_stays(self, store: Store) -> None:
        token, other = added(store), added(store)

        assert store.tokens.revoke(token.id, at=after(1), audit=about(token, "revoked"))
        assert not store.tokens.revoke(token.id, at=after(2), audit=about(token, "revoked"))
        assert not store.tokens.revoke(next_id(), at=after(2), audit=about(token, "revoked"))

        assert store.tokens.of_hash(token.hash) == token._replace(revoked_at=after(1))
        assert store.tokens.get(other.id) == other
        assert [entry.action for entry in entries(store)] == ["revoked", "created", "created"]

    def test_a_store_that_ever_had_a_token_has_one(self, store: Store) -> None:
        assert store.tokens.any() is False
        token = added(store)
        store.tokens.revoke(token.id, at=NOW, audit=about(token, "revoked"))

        assert store.tokens.any() is True

    def test_an_ended_session_is_known_until_its_cookie_is_good_for_nothing(
        self, store: Store
    ) -> None:
        sessions = store.sessions
        sessions.end("short", expires_at=after(30), now=NOW)
        sessions.end("long", expires_at=after(60), now=NOW)
        sessions.end("another", expires_at=after(60), now=after(30))

        assert sessions.has_ended("long")
        assert sessions.has_ended("another")
        assert not sessions.has_ended("short")
        assert not sessions.has_ended("never")
