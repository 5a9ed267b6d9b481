-- secret_make: store a shared key unless there is one.
insert into holdfast_secret (name, value, created_at)
values (:name, :value, :created_at)
on conflict do nothing
