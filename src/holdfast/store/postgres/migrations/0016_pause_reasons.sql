-- Why a queue is paused; null where nobody said, or an older version paused it.
alter table holdfast.queue add column reason text;
