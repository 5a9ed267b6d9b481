-- save_plan: store a plan, or note that it was asked for again; uses its key.
-- An insert that updates on conflict would lock the plan in the caller's transaction every time;
-- so it is locked once a day.
with asked_for_again as (
    update holdfast.plan
       set created_at = %(created_at)s
     where pipeline = %(pipeline)s
       and digest = %(digest)s
       and created_at <= %(created_at)s::bigint - 86400000000
)
insert into holdfast.plan (pipeline, digest, body, created_at)
values (%(pipeline)s, %(digest)s, %(body)s, %(created_at)s)
on conflict do nothing
