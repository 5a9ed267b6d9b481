-- tail_whose: where jobs belong; uses job_pkey.
select id::text, pipeline, queue, owner
  from holdfast.job
 where id = any(array(select value::uuid from json_array_elements_text(%(ids)s::json)))
