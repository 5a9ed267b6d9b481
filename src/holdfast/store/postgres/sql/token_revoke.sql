-- token_revoke: let nobody in by a token any more; uses its key.
update holdfast.api_token set revoked_at = %(at)s where id = %(id)s and revoked_at is null
