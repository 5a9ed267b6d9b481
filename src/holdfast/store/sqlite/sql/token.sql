-- token: one API token; uses its key.
select id, name, role, owner, hash, created_at, created_by, revoked_at, permissions
  from holdfast_api_token
 where id = :id
