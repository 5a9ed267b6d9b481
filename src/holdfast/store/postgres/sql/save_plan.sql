-- save_plan: store a plan unless it is there.
insert into holdfast.plan (pipeline, digest, body, created_at)
values (%(pipeline)s, %(digest)s, %(body)s, %(created_at)s)
on conflict do nothing
