-- token_revoke: let nobody in by a token any more; uses its key.
update holdfast_api_token set revoked_at = :at where id = :id and revoked_at is null
