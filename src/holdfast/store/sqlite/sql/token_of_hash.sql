-- token_of_hash: the API token of a hash; uses api_token_hash.
select id, name, role, owner, hash, created_at, created_by, revoked_at, permissions
  from holdfast_api_token
 where hash = :hash
