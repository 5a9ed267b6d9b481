-- tokens: every API token, the newest first.
select id, name, role, owner, hash, created_at, created_by, revoked_at, permissions
  from holdfast.api_token
 order by id desc
