-- Which stages a worker runs, as JSON; null for one of a version that does not say.
alter table holdfast_worker add column stages text;
