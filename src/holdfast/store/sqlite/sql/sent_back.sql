-- sent_back: when jobs were last sent back.
select job_id, max(at)
  from holdfast_ledger
 where job_id in (select value from json_each(:ids)) and kind = 'revived'
 group by job_id
