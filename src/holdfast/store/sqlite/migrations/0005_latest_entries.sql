-- What was entered of late, in all jobs: new entries go to the end of it.
create index holdfast_ledger_position on holdfast_ledger (position) where position is not null;
