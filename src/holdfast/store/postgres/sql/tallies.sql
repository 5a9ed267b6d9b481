-- tallies: what happened in each minute, the latest first; walks the key of minute.
select minute, pipeline, stage, kind, error_class, times, duration_us
  from holdfast.tally
 where minute >= %(since)s
 order by minute desc, pipeline, stage, kind, error_class
 limit %(limit)s
