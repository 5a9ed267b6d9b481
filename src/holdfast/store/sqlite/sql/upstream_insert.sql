-- upstream_insert: write an upstream for the first time, unless somebody else did.
insert into holdfast_upstream (name, revision, body, updated_at)
values (:name, :revision + 1, :body, :updated_at)
on conflict do nothing
