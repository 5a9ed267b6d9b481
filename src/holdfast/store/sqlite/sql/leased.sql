-- leased: how many jobs each worker has leased.
select holder, count(*) from holdfast_job where state = 'processing' group by holder
