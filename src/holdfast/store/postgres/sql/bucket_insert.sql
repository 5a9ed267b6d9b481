-- bucket_insert: write a rate of an upstream that nothing is known about, unless somebody else did.
insert into holdfast.upstream (name, revision, body, updated_at, bucket_revision, bucket)
values (%(name)s, 1, %(body)s, %(updated_at)s, 1, %(bucket)s)
on conflict do nothing
