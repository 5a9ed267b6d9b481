-- upstream_update: write an upstream, unless somebody else did since it was read.
update holdfast_upstream
   set revision = revision + 1, body = :body, updated_at = :updated_at
 where name = :name and revision = :revision
