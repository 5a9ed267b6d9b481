-- secret_make: store a shared key unless there is one.
insert into holdfast.secret (name, value, created_at)
values (%(name)s, %(value)s, %(created_at)s)
on conflict do nothing
