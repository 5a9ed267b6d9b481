-- token_insert: write a new API token, unless an earlier try did.
insert into holdfast.api_token (
    id, name, role, owner, hash, created_at, created_by, revoked_at, permissions
)
values (
    %(id)s, %(name)s, %(role)s, %(owner)s, %(hash)s, %(created_at)s, %(created_by)s, %(revoked_at)s,
    %(permissions)s
)
on conflict (id) do nothing
