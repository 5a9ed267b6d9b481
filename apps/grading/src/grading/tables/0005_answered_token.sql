-- The right to answer that the end of a run went to: a newer one has yet to hear of it.
alter table grading.request add column answered_token text;
