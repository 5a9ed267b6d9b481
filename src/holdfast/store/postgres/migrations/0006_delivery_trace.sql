-- Deliveries carry the trace of whoever wanted them on to their providers.
alter table holdfast.delivery add column trace text;
