-- token_insert: write a new API token, unless an earlier try did.
insert into holdfast_api_token (
    id, name, role, owner, hash, created_at, created_by, revoked_at, permissions
)
values (
    :id, :name, :role, :owner, :hash, :created_at, :created_by, :revoked_at, :permissions
)
on conflict (id) do nothing
