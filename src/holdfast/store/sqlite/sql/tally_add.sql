-- tally_add: add to the counters of minutes; uses the key.
insert into holdfast_tally (minute, pipeline, stage, kind, error_class, times, duration_us)
select value ->> 'minute', value ->> 'pipeline', value ->> 'stage', value ->> 'kind',
       value ->> 'error_class', value ->> 'times', value ->> 'duration_us'
  from json_each(:rows)
 where true
on conflict (minute, pipeline, stage, kind, error_class) do update
   set times = times + excluded.times, duration_us = duration_us + excluded.duration_us
