-- present: whether a job of this id is stored.
select 1 from holdfast_job where id = ?
