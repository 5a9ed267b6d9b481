-- save_plan: store a plan unless it is there.
insert into holdfast_plan (pipeline, digest, body, created_at)
values (:pipeline, :digest, :body, :created_at)
on conflict do nothing
