-- upstream_insert: write an upstream for the first time, unless somebody else did.
insert into holdfast.upstream (name, revision, body, updated_at)
values (%(name)s, %(revision)s + 1, %(body)s, %(updated_at)s)
on conflict do nothing
