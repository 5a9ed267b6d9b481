-- tallies: what happened in each minute, the latest first; walks the key of minute.
select minute, pipeline, stage, kind, error_class, times, duration_us
  from holdfast_tally
 where minute >= :since
 order by minute desc, pipeline, stage, kind, error_class
 limit :limit
