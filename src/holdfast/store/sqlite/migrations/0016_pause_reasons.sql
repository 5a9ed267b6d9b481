-- Why a queue is paused; null where nobody said, or an older version paused it.
alter table holdfast_queue add column reason text;
