-- leased: how many jobs each worker has leased; uses job_leased.
select holder, count(*) from holdfast.job where state = 'processing' group by holder
