-- sent_back: when jobs were last sent back; uses ledger_pkey.
select job_id::text, max(at)
  from holdfast.ledger
 where job_id = any(array(select value::uuid from json_array_elements_text(%(ids)s::json)))
   and kind = 'revived'
 group by job_id
