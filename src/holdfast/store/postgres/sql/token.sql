-- token: one API token; uses its key.
select id, name, role, owner, hash, created_at, created_by, revoked_at, permissions
  from holdfast.api_token
 where id = %(id)s
