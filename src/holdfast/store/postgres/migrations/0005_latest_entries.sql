-- concurrently
-- What was entered of late, in all jobs. The ledger is written in about the order of its
-- transactions, so a summary of every few pages leads there, and costs those who write next to
-- nothing.

-- One that was broken off is of no use, and in the way.
drop index concurrently if exists holdfast.ledger_xact;

create index concurrently ledger_xact on holdfast.ledger using brin (xact)
    with (pages_per_range = 16, autosummarize = on);
