-- drain_asked: a row when a worker was told to end; uses the key of id.
select 1 from holdfast_worker where id = :id and drain_asked_at is not null
