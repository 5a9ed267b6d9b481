-- bucket_insert: write a rate of an upstream that nothing is known about, unless somebody else did.
insert into holdfast_upstream (name, revision, body, updated_at, bucket_revision, bucket)
values (:name, 1, :body, :updated_at, 1, :bucket)
on conflict do nothing
