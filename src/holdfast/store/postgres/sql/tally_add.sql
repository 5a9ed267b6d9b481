-- tally_add: add to the counters of minutes; uses the key.
insert into holdfast.tally as tally (
    minute, pipeline, stage, kind, error_class, times, duration_us
)
select minute, pipeline, stage, kind, error_class, times, duration_us
  from jsonb_to_recordset(%(rows)s::jsonb) as given (
           minute bigint, pipeline text, stage text, kind text, error_class text,
           times bigint, duration_us bigint
       )
 order by minute, pipeline collate "C", stage collate "C", kind collate "C",
          error_class collate "C"
on conflict (minute, pipeline, stage, kind, error_class) do update
   set times = tally.times + excluded.times,
       duration_us = tally.duration_us + excluded.duration_us
