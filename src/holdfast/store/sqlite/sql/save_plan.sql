-- save_plan: store a plan, or note that it was asked for again; uses its key.
insert into holdfast_plan (pipeline, digest, body, created_at)
values (:pipeline, :digest, :body, :created_at)
on conflict (pipeline, digest) do update
   set created_at = excluded.created_at
 where holdfast_plan.created_at <= excluded.created_at - 86400000000
